package journal_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/journal"
)

// TestRetention checks that for every order of appends and readers, a store keeps all runs that are
// active, are held, or have an active parent run; that it keeps no more ended runs than allowed
// once there has been further activity; and that it keeps the newest of them.
func TestRetention(t *testing.T) {
	t.Parallel()
	type run struct {
		id, parent string
		last       uint64
		ended      int // when it ended, as a count of appends; 0 means still active
		holds      []func()
	}
	rapid.Check(t, func(rt *rapid.T) {
		ctx, m := t.Context(), journal.NewMemory()
		most, events := rapid.IntRange(0, 3).Draw(rt, "runs"), rapid.IntRange(1, 20).Draw(rt, "events")
		m.Retain(most, events)
		h := m.Open(journal.KindRun)
		var runs []*run
		appends := 0
		store := func(r *run, n uint64, status journal.Status) {
			appends++
			a := journal.Append{Run: r.id, Epoch: 1, At: time.Unix(int64(appends), 0), Status: status,
				Record:  journal.Record{First: r.last + 1, Last: r.last + n, Data: []byte("x")},
				Release: status.Ended(), Notices: []journal.Notice{{Seq: r.last + 1, Type: "t"}}}
			if r.last == 0 {
				a.Create = &journal.NewRun{Parent: r.parent}
			}
			if err := h.Append(ctx, a); err != nil {
				rt.Fatal(err)
			}
			if r.last += n; status.Ended() {
				r.ended = appends
			}
		}
		isThere := func(r *run) bool { _, err := h.Head(ctx, r.id); return err == nil }
		find := func(id string) *run {
			if i := slices.IndexFunc(runs, func(r *run) bool { return r.id == id }); i >= 0 {
				return runs[i]
			}
			return nil
		}
		needed := func(r *run) bool {
			p := find(r.parent)
			return r.ended == 0 || len(r.holds) > 0 || p != nil && p.ended == 0
		}
		active := func() []*run {
			return slices.DeleteFunc(slices.Clone(runs), func(r *run) bool { return r.ended > 0 })
		}
		rt.Repeat(map[string]func(*rapid.T){
			"begin": func(rt *rapid.T) {
				r := &run{id: fmt.Sprint("run", len(runs))}
				if list := active(); len(list) > 0 && rapid.Bool().Draw(rt, "child") {
					r.parent = rapid.SampledFrom(list).Draw(rt, "parent").id
				}
				runs = append(runs, r)
				store(r, 1, journal.StatusRunning)
			},
			"end": func(rt *rapid.T) {
				list := active()
				if len(list) == 0 {
					rt.Skip("none")
				}
				store(rapid.SampledFrom(list).Draw(rt, "run"), uint64(rapid.IntRange(1, 8).Draw(rt, "events")),
					journal.StatusCompleted)
			},
			"hold": func(rt *rapid.T) {
				if len(runs) == 0 {
					rt.Skip("none")
				}
				if r := rapid.SampledFrom(runs).Draw(rt, "run"); isThere(r) {
					r.holds = append(r.holds, h.(journal.Retainer).Hold(r.id))
				}
			},
			"release": func(rt *rapid.T) {
				for _, r := range runs {
					if n := len(r.holds); n > 0 {
						r.holds[n-1]()
						r.holds[n-1]() // a second call changes nothing
						r.holds = r.holds[:n-1]
						return
					}
				}
			},
			"": func(rt *rapid.T) {
				for _, r := range runs {
					if needed(r) && !isThere(r) {
						rt.Fatalf("%s is gone", r.id)
					}
				}
			},
		})
		// Nothing is held any more: once runs end, only the allowed number remains, the most recent
		// ones.
		for _, r := range runs {
			for _, release := range r.holds {
				release()
			}
		}
		for _, r := range active() {
			store(r, 1, journal.StatusCompleted)
		}
		for range 2 * len(runs) {
			r := &run{id: fmt.Sprint("run", len(runs))}
			runs = append(runs, r)
			store(r, 1, journal.StatusRunning)
			store(r, 1, journal.StatusCompleted)
		}
		var there []*run
		total := uint64(0)
		for _, r := range runs {
			if isThere(r) {
				there = append(there, r)
				total += r.last
			}
		}
		if len(there) > most || total > uint64(events) && len(there) > 1 {
			rt.Fatalf("%d ended runs with %d events are there", len(there), total)
		}
		notices, err := h.Notices(ctx, 0, 0)
		if err != nil {
			rt.Fatal(err)
		}
		for _, n := range notices {
			if r := find(n.Run); r == nil || !isThere(r) {
				rt.Fatalf("notice %d is of run %q, which is gone", n.ID, n.Run)
			}
		}
	})
}
