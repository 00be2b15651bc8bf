package journaltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/hocket-run/hocket/internal/journal"
)

func testAppendRead(t *testing.T, m Medium) {
	a, b := handle(t, m), handle(t, m)
	two := next("r1", 2)
	two.Record = record(2, 4)
	mustAppend(t, a, create("r1", 0), create("r2", 0), two, next("r2", 2), next("r1", 5))
	for _, tt := range []struct {
		run   string
		after uint64
		want  string
	}{
		{"r1", 0, "[1-1 v2 events 1 to 1][2-4 v2 events 2 to 4][5-5 v2 events 5 to 5]"},
		{"r1", 1, "[2-4 v2 events 2 to 4][5-5 v2 events 5 to 5]"},
		{"r1", 2, "[2-4 v2 events 2 to 4][5-5 v2 events 5 to 5]"},
		{"r1", 4, "[5-5 v2 events 5 to 5]"},
		{"r1", 5, ""},
		{"r1", 99, ""},
		{"r2", 1, "[2-2 v2 events 2 to 2]"},
	} {
		for i, h := range []journal.Backend{a, b} {
			got, err := dump(t.Context(), h, tt.run, tt.after)
			if err != nil || got != tt.want {
				t.Errorf("handle %d: Read(%s, %d) = %s, %v, want %s", i, tt.run, tt.after, got, err, tt.want)
			}
		}
	}
	_, err := a.Read(t.Context(), "r3", 0)
	checkRejected(t, "read of a run that is not there", err, journal.ErrNotFound)
}

// testAppendParts checks that the records of one append are stored in order, all or none.
func testAppendParts(t *testing.T, m Medium) {
	a, b := handle(t, m), handle(t, m)
	first := create("r1", 0)
	first.More = []journal.Record{record(2, 4), record(5, 5)}
	second := next("r1", 6)
	second.More = []journal.Record{record(7, 9)}
	second.Notices = []journal.Notice{{Seq: 9, Type: "wait.opened"}}
	mustAppend(t, a, first, create("r2", 0), second)
	const all = "[1-1 v2 events 1 to 1][2-4 v2 events 2 to 4][5-5 v2 events 5 to 5][6-6 v2 events 6 to 6][7-9 v2 " +
		"events 7 to 9]"
	for after, want := range map[uint64]string{0: all,
		4: "[5-5 v2 events 5 to 5][6-6 v2 events 6 to 6][7-9 v2 events 7 to 9]", 6: "[7-9 v2 events 7 to 9]", 9: ""} {
		for i, h := range []journal.Backend{a, b} {
			if got, err := dump(t.Context(), h, "r1", after); err != nil || got != want {
				t.Errorf("handle %d: Read after %d = %s, %v, want %s", i, after, got, err, want)
			}
		}
	}
	if h := head(t, b, "r1"); h.LastSeq != 9 {
		t.Errorf("the head has event %d as the last", h.LastSeq)
	}
	for name, more := range map[string][]journal.Record{
		"a gap": {record(12, 12)}, "backwards": {{First: 11, Last: 10, Data: []byte("x")}},
		"no data":                     {{First: 11, Last: 11}},
		"a version that is not known": {{First: 11, Last: 11, Version: journal.RecordVersion + 1, Data: []byte("x")}},
	} {
		bad := next("r1", 10)
		bad.More = more
		if err := a.Append(t.Context(), bad); err == nil {
			t.Errorf("%s: append was taken", name)
		}
	}
	stale := next("r1", 10)
	stale.Epoch, stale.More = 9, []journal.Record{record(11, 12)}
	checkRejected(t, "a former owner", a.Append(t.Context(), stale), journal.ErrFenced)
	late := next("r1", 9)
	late.More = []journal.Record{record(10, 12)}
	checkRejected(t, "an event that is there", a.Append(t.Context(), late), journal.ErrConflict)
	if got, err := dump(t.Context(), b, "r1", 0); err != nil || got != all {
		t.Errorf("after the refusals the run has %s, %v", got, err)
	}
	mustAppend(t, a, next("r1", 10))
}

func testAppendRefuses(t *testing.T, m Medium) {
	h := handle(t, m)
	mustAppend(t, h, create("r1", 0), next("r1", 2))
	other := handle(t, m)
	change := func(a journal.Append, f func(a *journal.Append)) journal.Append {
		f(&a)
		return a
	}
	for _, tt := range []struct {
		name string
		by   journal.Log
		a    journal.Append
		want error // nil means any error
	}{
		{"a run that is there", h, create("r1", 0), journal.ErrExists},
		{"a run that is not there", h, next("r9", 2), journal.ErrNotFound},
		{"an event that is there", h, next("r1", 2), journal.ErrConflict},
		{"a gap", h, next("r1", 4), journal.ErrConflict},
		{"an epoch that never was", h, change(next("r1", 3), func(a *journal.Append) { a.Epoch = 2 }),
			journal.ErrFenced},
		{"no epoch", h, change(next("r1", 3), func(a *journal.Append) { a.Epoch = 0 }), journal.ErrFenced},
		{"another's run", other, next("r1", 3), journal.ErrFenced},
		{"a blob that is not stored", h, change(next("r1", 3), func(a *journal.Append) {
			a.Blobs = []journal.Blob{{Hash: journal.HashOf([]byte("never"))}}
		}), journal.ErrNotFound},
		{"no id", h, next("", 3), nil},
		{"no data", h, change(next("r1", 3), func(a *journal.Append) { a.Record.Data = nil }), nil},
		{"no status", h, change(next("r1", 3), func(a *journal.Append) { a.Status = "" }), nil},
		{"event 0", h, next("r1", 0), nil},
		{"a record backwards", h, change(next("r1", 3), func(a *journal.Append) { a.Record.Last = 2 }), nil},
		{"a new run in the middle", h, change(create("r9", 0), func(a *journal.Append) { a.Record = record(2, 2) }),
			nil},
		{"a blob with another hash", h, change(next("r1", 3), func(a *journal.Append) {
			a.Blobs = []journal.Blob{{Hash: journal.HashOf([]byte("a")), Data: []byte("b")}}
		}), nil},
	} {
		err := tt.by.Append(t.Context(), tt.a)
		if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%s: got error %v, want %v", tt.name, err, tt.want)
		}
	}
	newer := next("r1", 3)
	newer.Record.Version = journal.RecordVersion + 1
	if _, ok := errors.AsType[*journal.NewerError](h.Append(t.Context(), newer)); !ok {
		t.Error("a record of a version that cannot be read was taken")
	}
	if got, err := dump(t.Context(), h, "r1", 1); err != nil || got != "[2-2 v2 events 2 to 2]" {
		t.Errorf("after the refusals the run has %s, %v", got, err)
	}
	mustAppend(t, h, next("r1", 3))
}

// testAppendAtomic checks that a rejected append leaves nothing behind, not even blobs.
func testAppendAtomic(t *testing.T, m Medium) {
	h := handle(t, m)
	mustAppend(t, h, create("r1", 0))
	b := journal.NewBlob([]byte("value"))
	for _, a := range []journal.Append{next("r1", 7), create("r1", 0), next("r8", 2)} {
		a.Blobs = []journal.Blob{b}
		a.Status = journal.StatusPaused
		if err := h.Append(t.Context(), a); err == nil {
			t.Fatal("append was taken")
		}
	}
	if _, err := h.Blob(t.Context(), b.Hash); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("blob of a refused append: got error %v", err)
	}
	if got := head(t, h, "r1").Status; got != journal.StatusRunning {
		t.Errorf("status after refused appends: %s", got)
	}
}

func testSlices(t *testing.T, m Medium) {
	h := handle(t, m)
	a := create("r1", 0)
	a.Record.Data = []byte("record")
	b := journal.NewBlob([]byte("blob"))
	a.Blobs = []journal.Blob{b}
	a.Create.Meta = map[string]string{"k": "v"}
	mustAppend(t, h, a)
	for _, mine := range [][]byte{a.Record.Data, b.Data} {
		mine[0] = 'X'
	}
	a.Create.Meta["k"] = "X"
	for range 2 { // the second pass shows whether the results shared the store's own memory
		records, err := h.Read(t.Context(), "r1", 0)
		if err != nil {
			t.Fatal(err)
		}
		blob, err := h.Blob(t.Context(), b.Hash)
		if err != nil {
			t.Fatal(err)
		}
		meta := head(t, h, "r1").Meta
		if got, want := fmt.Sprintf("%s %s %s", records[0].Data, blob, meta["k"]), "record blob v"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		records[0].Data[0], blob[0], meta["k"] = 'Y', 'Y', "Y"
	}
}

// testContext checks that nothing is done under a done context, and that the handle remains usable.
func testContext(t *testing.T, m Medium) {
	h := handle(t, m)
	mustAppend(t, h, create("r1", 0))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 5 { // more often than there are connections
		_, readErr := h.Read(ctx, "r1", 0)
		_, headErr := h.Head(ctx, "r1")
		_, _, listErr := h.List(ctx, journal.Query{})
		_, claimErr := h.Claim(ctx, "r1")
		_, postErr := h.Post(ctx, journal.Request{Run: "r1"})
		_, takeErr := h.Take(ctx)
		_, aliveErr := h.Alive(ctx, h.Owner().ID)
		_, pruneErr := h.Prune(ctx, journal.PruneQuery{EndedBefore: at(1000)})
		for what, err := range map[string]error{
			"append": h.Append(ctx, next("r1", 2)), "create": h.Append(ctx, create("r2", 0)), "read": readErr,
			"head": headErr, "list": listErr,
			"claim": claimErr, "release": h.Release(ctx, "r1", 1), "post": postErr, "take": takeErr,
			"settle": h.Settle(ctx, 1, nil),
			"alive":  aliveErr, "prune": pruneErr,
		} {
			checkRejected(t, what, err, context.Canceled)
		}
	}
	mustAppend(t, h, next("r1", 2))
	if got, err := dump(t.Context(), h, "r1", 0); err != nil || got != "[1-1 v2 events 1 to 1][2-2 v2 events 2 to 2]" {
		t.Errorf("afterwards: %s, %v", got, err)
	}
	_, err := h.Head(t.Context(), "r2")
	checkRejected(t, "the run that was not made", err, journal.ErrNotFound)
}

func testAppendConcurrent(t *testing.T, m Medium) {
	const runs, events = 50, 20
	handles := []journal.Backend{handle(t, m), handle(t, m)}
	var wg sync.WaitGroup
	for i := range runs {
		wg.Go(func() {
			run, h := fmt.Sprintf("r%d", i), handles[i%2]
			if err := h.Append(t.Context(), create(run, i)); err != nil {
				t.Error(err)
				return
			}
			for seq := uint64(2); seq <= events; seq++ {
				if err := h.Append(t.Context(), next(run, seq)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	for i := range runs {
		records, err := handles[i/2%2].Read(t.Context(), fmt.Sprintf("r%d", i), 0)
		if err != nil || len(records) != events {
			t.Fatalf("run %d: %d records, %v", i, len(records), err)
		}
	}
}

// testAppendContended checks that if many writers append the same event, exactly one succeeds.
func testAppendContended(t *testing.T, m Medium) {
	h := handle(t, m)
	mustAppend(t, h, create("r1", 0))
	for seq := uint64(2); seq < 12; seq++ {
		var (
			wg   sync.WaitGroup
			mu   sync.Mutex
			wins []string
		)
		for i := range 10 {
			wg.Go(func() {
				a := next("r1", seq)
				a.Record.Data = fmt.Appendf(nil, "by %d", i)
				err := h.Append(t.Context(), a)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					wins = append(wins, string(a.Record.Data))
				} else if !errors.Is(err, journal.ErrConflict) {
					t.Errorf("got error %v", err)
				}
			})
		}
		wg.Wait()
		got, err := dump(t.Context(), h, "r1", seq-1)
		if want := fmt.Sprintf("[%d-%d v2 %s]", seq, seq, strings.Join(wins, ",")); err != nil || got != want {
			t.Fatalf("got %s, %v, want %s", got, err, want)
		}
	}
}

func testBlobs(t *testing.T, m Medium) {
	h := handle(t, m)
	value, empty := journal.NewBlob(bytes.Repeat([]byte("x"), 100_000)), journal.NewBlob(nil)
	a, b := create("r1", 0), create("r2", 0)
	a.Blobs = []journal.Blob{value, empty, value}
	b.Blobs = []journal.Blob{{Hash: value.Hash}} // held by name
	mustAppend(t, h, a, b)
	for _, want := range []journal.Blob{value, empty} {
		got, err := h.Blob(t.Context(), want.Hash)
		if err != nil || got == nil || !bytes.Equal(got, want.Data) {
			t.Errorf("blob of %d bytes: got %d bytes, %v", len(want.Data), len(got), err)
		}
	}
	for _, hash := range []string{journal.HashOf([]byte("never")), "", "zz", strings.ToUpper(value.Hash),
		value.Hash + "00"} {
		_, err := h.Blob(t.Context(), hash)
		checkRejected(t, "blob "+hash, err, journal.ErrNotFound)
	}
}
