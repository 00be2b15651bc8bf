package journaltest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/hocket-run/hocket/internal/journal"
)

func mustPrune(t *testing.T, s journal.Lists, q journal.PruneQuery) journal.PruneResult {
	t.Helper()
	res, err := s.Prune(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func listed(t *testing.T, s journal.Lists) string {
	t.Helper()
	page, _, err := s.List(t.Context(), journal.Query{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return ids(page)
}

// testPruneAge checks D26: ended runs and paused runs are each pruned by their own age.
func testPruneAge(t *testing.T, m Medium) {
	h := handle(t, m)
	n := 0
	for _, status := range journal.Statuses() {
		for _, old := range []bool{true, false} {
			for _, owned := range []bool{true, false} {
				run := string(status)
				end := next(run, 2)
				end.At, end.Status, end.Release = at(10), status, !owned
				if old {
					run += "-old"
				} else {
					end.At = at(100)
				}
				if owned {
					run += "-owned"
				}
				end.Run = run
				mustAppend(t, h, create(run, n), end)
				n++
			}
		}
	}
	mustPrune(t, h, journal.PruneQuery{})
	if page, _, _ := h.List(t.Context(), journal.Query{}); len(page) != n {
		t.Fatalf("the zero query left %d of %d", len(page), n)
	}
	res := mustPrune(t, h, journal.PruneQuery{EndedBefore: at(10)})
	if res.Runs != 0 {
		t.Errorf("nothing ended before its own minute, yet %d went", res.Runs)
	}
	res = mustPrune(t, h, journal.PruneQuery{EndedBefore: at(11)})
	if res.Runs != 3 {
		t.Errorf("%d ended runs went, want 3", res.Runs)
	}
	for _, run := range []string{"completed-old", "failed-old", "cancelled-old"} {
		_, err := h.Read(t.Context(), run, 0)
		checkRejected(t, "pruned run "+run, err, journal.ErrNotFound)
	}
	res = mustPrune(t, h, journal.PruneQuery{PausedBefore: at(11)})
	if _, err := h.Head(t.Context(), "paused-old"); res.Runs != 1 || !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("%d paused runs went, want paused-old: %v", res.Runs, err)
	}
	if page, _, _ := h.List(t.Context(), journal.Query{}); len(page) != n-4 {
		t.Errorf("%d runs are left of %d", len(page), n)
	}
}

func testPruneNamed(t *testing.T, m Medium) {
	a, b := handle(t, m), handle(t, m)
	mustAppend(t, a, create("r1", 0), create("r2", 1), create("r3", 2))
	for seq := uint64(2); seq < 30; seq++ {
		mustAppend(t, a, next("r2", seq))
	}
	if err := a.Release(t.Context(), "r2", 1); err != nil {
		t.Fatal(err)
	}
	_, err := b.Prune(t.Context(), journal.PruneQuery{Runs: []string{"r2", "r1"}})
	checkRejected(t, "prune of a run with a living owner", err, journal.ErrOwned)
	_, err = b.Prune(t.Context(), journal.PruneQuery{Runs: []string{"r2", "r9"}})
	checkRejected(t, "prune of no run", err, journal.ErrNotFound)
	if got := listed(t, a); got != "r3 r2 r1" {
		t.Fatalf("after refusals: %s", got)
	}
	if res := mustPrune(t, b, journal.PruneQuery{Runs: []string{"r2"}}); res.Runs != 1 {
		t.Errorf("got %+v", res)
	}
	if got := listed(t, a); got != "r3 r1" {
		t.Errorf("left: %s", got)
	}
	// The other runs continue, and the id can be reused, with its own journal.
	mustAppend(t, a, next("r1", 2), next("r3", 2), create("r2", 5), next("r2", 2))
	for _, run := range []string{"r1", "r2", "r3"} {
		if got, err := dump(t.Context(), b, run, 0); err != nil ||
			got != "[1-1 v2 events 1 to 1][2-2 v2 events 2 to 2]" {
			t.Errorf("%s: got %s, %v", run, got, err)
		}
	}
}

// testPruneBlobs checks that a blob stays as long as any run refers to it.
func testPruneBlobs(t *testing.T, m Medium) {
	h := handle(t, m)
	shared := journal.NewBlob([]byte("shared"))
	for i := range 3 {
		a := create(fmt.Sprintf("r%d", i), i)
		a.Blobs = []journal.Blob{shared, journal.NewBlob(fmt.Appendf(nil, "own %d", i))}
		a.Release = true
		mustAppend(t, h, a)
	}
	for i := range 3 {
		res := mustPrune(t, h, journal.PruneQuery{Runs: []string{fmt.Sprintf("r%d", i)}})
		want := journal.PruneResult{Runs: 1, Blobs: 1, Freed: res.Freed}
		if i == 2 {
			want.Blobs = 2
		}
		if res != want {
			t.Errorf("run %d: got %+v, want %+v", i, res, want)
		}
		_, err := h.Blob(t.Context(), journal.HashOf(fmt.Appendf(nil, "own %d", i)))
		checkRejected(t, "its own blob", err, journal.ErrNotFound)
		if _, err := h.Blob(t.Context(), shared.Hash); (err == nil) != (i < 2) {
			t.Errorf("shared blob after run %d: %v", i, err)
		}
	}
}
