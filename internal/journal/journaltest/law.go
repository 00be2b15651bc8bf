package journaltest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/randtest"
)

// testLaw performs the same random operations on the store and on the in-memory store, with three
// owners that die and return, and compares every result.
func testLaw(t *testing.T, m Medium) {
	var round atomic.Int64
	randtest.Check(t, 8, func(rt *rapid.T) {
		l := &law{t: t, rt: rt, medium: m, twin: journal.NewMemory(), round: round.Add(1), owners: map[string]string{}}
		defer l.close()
		for i := range l.pairs {
			l.open(i)
		}
		l.lastNotice, _ = l.pairs[0].real.LastNotice(t.Context())
		rt.Repeat(map[string]func(*rapid.T){
			"":        func(rt *rapid.T) { l.compare(rt, l.run(rt)) },
			"append":  l.append,
			"claim":   l.claim,
			"release": l.release,
			"die":     func(rt *rapid.T) { l.open(l.pick(rt)) },
			"prune":   l.prune,
			"post":    l.post,
			"take":    l.take,
		})
	})
}

// pair is the same owner on both stores.
type pair struct{ real, twin journal.Backend }

type law struct {
	t          *testing.T
	rt         *rapid.T
	medium     Medium
	twin       *journal.Memory
	round      int64 // makes ids unique: all rounds share the medium
	pairs      [3]pair
	owners     map[string]string // twin's owner ids, by real owner id
	posted     map[uint64]uint64
	lastNotice uint64 // the last notice of the real store before the round
}

func (l *law) close() {
	for _, p := range l.pairs {
		if p.real != nil {
			l.same(l.rt, "close", p.real.Close(), p.twin.Close())
		}
	}
}

// open replaces an owner with a new one, as after a crash.
func (l *law) open(i int) {
	if p := l.pairs[i]; p.real != nil {
		l.same(l.rt, "close", p.real.Close(), p.twin.Close())
	}
	l.pairs[i] = pair{l.medium.Open(l.t), l.twin.Open(journal.KindRun)}
	l.owners[l.pairs[i].real.Owner().ID] = l.pairs[i].twin.Owner().ID
}

func (l *law) pick(rt *rapid.T) int { return rapid.IntRange(0, len(l.pairs)-1).Draw(rt, "owner") }

func (l *law) run(rt *rapid.T) string {
	return fmt.Sprintf("%d-%s", l.round, rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(rt, "run"))
}

var lawErrors = []error{
	journal.ErrNotFound, journal.ErrExists, journal.ErrConflict, journal.ErrFenced, journal.ErrOwned, journal.ErrClosed,
	journal.ErrBusy,
}

// same checks that both errors belong to the same family.
func (l *law) same(rt *rapid.T, what string, got, want error) {
	rt.Helper()
	if (got == nil) != (want == nil) {
		rt.Fatalf("%s: got error %v, twin %v", what, got, want)
	}
	for _, e := range lawErrors {
		if errors.Is(got, e) != errors.Is(want, e) {
			rt.Fatalf("%s: got error %v, twin %v", what, got, want)
		}
	}
}

func (l *law) append(rt *rapid.T) {
	p, run := l.pairs[l.pick(rt)], l.run(rt)
	a := journal.Append{
		Run:     run,
		At:      at(rapid.IntRange(0, 50).Draw(rt, "at")),
		Status:  rapid.SampledFrom(journal.Statuses()).Draw(rt, "status"),
		Waiting: rapid.IntRange(0, 2).Draw(rt, "waiting"),
		Release: rapid.IntRange(0, 4).Draw(rt, "release") == 0,
	}
	a.NotStarted = a.Release && rapid.Bool().Draw(rt, "notStarted")
	h, err := p.twin.Head(l.t.Context(), run)
	switch {
	case err != nil || rapid.IntRange(0, 9).Draw(rt, "create") == 0:
		a.Create = &journal.NewRun{Workflow: rapid.SampledFrom([]string{"x", "y"}).Draw(rt, "workflow"), Created: a.At}
		if rapid.Bool().Draw(rt, "in a session") {
			a.Create.Session = fmt.Sprint(l.round)
		}
		a.Record = record(1, rapid.Uint64Range(1, 3).Draw(rt, "last"))
	default:
		a.Epoch = h.Epoch - uint64(rapid.IntRange(0, 5).Draw(rt, "stale")/5)
		first := h.LastSeq + 1 - uint64(rapid.IntRange(0, 5).Draw(rt, "old")/5)
		a.Record = record(first, first+rapid.Uint64Range(0, 2).Draw(rt, "more"))
	}
	for range rapid.IntRange(0, 5).Draw(rt, "parts") / 2 {
		first := a.Last() + 1
		a.More = append(a.More, record(first, first+rapid.Uint64Range(0, 1).Draw(rt, "part")))
	}
	for _, data := range rapid.SliceOfN(rapid.SampledFrom([]string{"one", "two", "three"}), 0, 2).Draw(rt, "blobs") {
		b := journal.NewBlob(fmt.Appendf(nil, "%d %s", l.round, data))
		if rapid.Bool().Draw(rt, "by name") {
			b.Data = nil
		}
		a.Blobs = append(a.Blobs, b)
	}
	for range rapid.IntRange(0, 2).Draw(rt, "notices") {
		a.Notices = append(a.Notices, journal.Notice{Seq: rapid.Uint64Range(a.Record.First, a.Last()).Draw(rt, "seq"),
			Type: "wait.opened"})
	}
	l.same(rt, "append", p.real.Append(l.t.Context(), a), p.twin.Append(l.t.Context(), a))
}

func (l *law) claim(rt *rapid.T) {
	p, run := l.pairs[l.pick(rt)], l.run(rt)
	got, err := p.real.Claim(l.t.Context(), run)
	want, werr := p.twin.Claim(l.t.Context(), run)
	l.same(rt, "claim", err, werr)
	l.sameHead(rt, got, want)
}

func (l *law) release(rt *rapid.T) {
	p, run := l.pairs[l.pick(rt)], l.run(rt)
	h, _ := p.twin.Head(l.t.Context(), run)
	epoch := h.Epoch - uint64(rapid.IntRange(0, 3).Draw(rt, "stale")/3)
	l.same(rt, "release", p.real.Release(l.t.Context(), run, epoch), p.twin.Release(l.t.Context(), run, epoch))
}

func (l *law) prune(rt *rapid.T) {
	p, run := l.pairs[l.pick(rt)], l.run(rt)
	q := journal.PruneQuery{Runs: []string{run}}
	got, err := p.real.Prune(l.t.Context(), q)
	want, werr := p.twin.Prune(l.t.Context(), q)
	l.same(rt, "prune", err, werr)
	if got.Runs != want.Runs || got.Blobs != want.Blobs {
		rt.Fatalf("prune: got %+v, twin %+v", got, want)
	}
}

func (l *law) post(rt *rapid.T) {
	p := l.pairs[l.pick(rt)]
	r := journal.Request{Run: l.run(rt), Kind: "cancel", At: at(1)}
	got, err := p.real.Post(l.t.Context(), r)
	want, werr := p.twin.Post(l.t.Context(), r)
	l.same(rt, "post", err, werr)
	if l.posted == nil {
		l.posted = map[uint64]uint64{}
	}
	l.posted[got] = want
}

func (l *law) take(rt *rapid.T) {
	p := l.pairs[l.pick(rt)]
	settle := rapid.Bool().Draw(rt, "settle")
	got, err := p.real.Take(l.t.Context())
	want, werr := p.twin.Take(l.t.Context())
	l.same(rt, "take", err, werr)
	if len(got) != len(want) {
		rt.Fatalf("take: got %v, twin %v", got, want)
	}
	for i, r := range got {
		if l.posted[r.ID] != want[i].ID || r.Run != want[i].Run {
			rt.Fatalf("take: got %v, twin %v", got, want)
		}
		if settle {
			l.same(rt, "settle", p.real.Settle(l.t.Context(), r.ID, nil), p.twin.Settle(l.t.Context(), want[i].ID, nil))
		}
	}
}

func (l *law) sameHead(rt *rapid.T, got, want journal.Head) {
	rt.Helper()
	got.Owner = l.owners[got.Owner]
	got.By, want.By = journal.Owner{}, journal.Owner{} // compared by testSigns
	if diff := cmp.Diff(got, want); diff != "" {
		rt.Fatalf("head (-got +twin):\n%s", diff)
	}
}

// compare compares what a random owner reads about a run on both stores.
func (l *law) compare(rt *rapid.T, run string) {
	p := l.pairs[l.pick(rt)]
	after := rapid.Uint64Range(0, 6).Draw(rt, "after")
	got, err := dump(l.t.Context(), p.real, run, after)
	want, werr := dump(l.t.Context(), p.twin, run, after)
	l.same(rt, "read", err, werr)
	if got != want {
		rt.Fatalf("read %s after %d: got %s, twin %s", run, after, got, want)
	}
	gotHead, err := p.real.Head(l.t.Context(), run)
	wantHead, werr := p.twin.Head(l.t.Context(), run)
	l.same(rt, "head", err, werr)
	l.sameHead(rt, gotHead, wantHead)
	l.compareNotices(rt, p)
	hash := journal.HashOf(
		fmt.Appendf(nil, "%d %s", l.round, rapid.SampledFrom([]string{"one", "two", "three"}).Draw(rt, "blob")))
	_, err = p.real.Blob(l.t.Context(), hash)
	_, werr = p.twin.Blob(l.t.Context(), hash)
	l.same(rt, "blob", err, werr)
}

// compareNotices checks that both stores return the same notices, in the same order, and that a
// reader that continues from any position gets the rest.
func (l *law) compareNotices(rt *rapid.T, p pair) {
	rt.Helper()
	type told struct {
		Run, Type string
		Seq       uint64
		At        time.Time
	}
	read := func(s journal.Notices, after uint64, limit int) (list []told, ids []uint64) {
		for {
			page, err := s.Notices(l.t.Context(), after, limit)
			if err != nil {
				rt.Fatal(err)
			}
			for _, n := range page {
				if n.ID <= after {
					rt.Fatalf("notice %d stands behind notice %d", n.ID, after)
				}
				after, list, ids = n.ID, append(list, told{n.Run, n.Type, n.Seq, n.At}), append(ids, n.ID)
			}
			if len(page) < limit {
				return list, ids
			}
		}
	}
	got, ids := read(p.real, l.lastNotice, 2)
	want, _ := read(p.twin, 0, 1000)
	if diff := cmp.Diff(got, want); diff != "" {
		rt.Fatalf("notices (-got +twin):\n%s", diff)
	}
	if len(ids) > 0 {
		from := rapid.IntRange(0, len(ids)-1).Draw(rt, "from")
		if rest, _ := read(p.real, ids[from], 1000); !cmp.Equal(rest, got[from+1:], cmpopts.EquateEmpty()) {
			rt.Fatalf("notices after %d: %v, want %v", ids[from], rest, got[from+1:])
		}
		if last, err := p.real.LastNotice(l.t.Context()); err != nil || last != ids[len(ids)-1] {
			rt.Fatalf("last notice %d, %v; want %d", last, err, ids[len(ids)-1])
		}
	}
}
