package journaltest

import (
	"errors"
	"regexp"
	"sync"
	"testing"

	"github.com/hocket-run/hocket/internal/journal"
)

// createCommon returns an append that creates a shared run.
func createCommon(run string) journal.Append {
	a := create(run, 0)
	a.Create.Kind, a.Common = journal.KindTemporal, true
	return a
}

// testCommon checks that all handles can append to a shared run, provided its epoch and last event
// match; no handle owns it.
func testCommon(t *testing.T, m Medium) {
	a, b := handle(t, m), handle(t, m)
	if m.OwnedOnly {
		checkRejected(t, "a run held in common", a.Append(t.Context(), createCommon("r1")), journal.ErrNoCommon)
		checkRejected(t, "a move", a.SetKind(t.Context(), "r1", journal.KindTemporal), journal.ErrNoCommon)
		_, err := a.StoreID(t.Context())
		checkRejected(t, "the id of the store", err, journal.ErrNoCommon)
		return
	}
	common := func(seq, epoch uint64) journal.Append {
		n := next("r1", seq)
		n.Epoch, n.Common = epoch, true
		return n
	}
	wrong := create("r0", 0)
	wrong.Common = true
	if a.Append(t.Context(), wrong) == nil {
		t.Error("a run of another kind is held in common")
	}
	mustAppend(t, a, createCommon("r1"), create("r2", 1))
	checkRejected(t, "a second creation", b.Append(t.Context(), createCommon("r1")), journal.ErrExists)
	owned := func(want string, epoch uint64) {
		t.Helper()
		h := head(t, b, "r1")
		if h.Owner != want || h.Epoch != epoch || h.Interrupted != (want == "" && h.Status.IsActive()) ||
			want == journal.CommonOwner && h.By != journal.Common() {
			t.Fatalf("the run is %+v, want owner %q in epoch %d", h, want, epoch)
		}
	}
	owned(journal.CommonOwner, 1)
	if alive, err := b.Alive(t.Context(), journal.CommonOwner); err != nil || !alive {
		t.Errorf("the common owner is alive: %v, %v", alive, err)
	}
	mustAppend(t, b, common(2, 1))
	mustAppend(t, a, common(3, 1))
	checkRejected(t, "an append after another's", b.Append(t.Context(), common(3, 1)), journal.ErrConflict)
	checkRejected(t, "an append in another epoch", b.Append(t.Context(), common(4, 2)), journal.ErrFenced)
	checkRejected(t, "an append of an owner", a.Append(t.Context(), next("r1", 4)), journal.ErrFenced)
	foreign := next("r2", 2)
	foreign.Common = true
	checkRejected(t, "a common append to a run with an owner", a.Append(t.Context(), foreign), journal.ErrFenced)
	_, err := b.Claim(t.Context(), "r1")
	checkRejected(t, "claim", err, journal.ErrOwned)
	checkRejected(t, "evict", b.Evict(t.Context(), "r1", journal.CommonOwner), journal.ErrOwned)
	owners, err := a.Owners(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range owners {
		if o.ID == journal.CommonOwner {
			t.Error("the common owner is among the processes")
		}
	}
	q := mustPost(t, b, journal.Request{Run: "r1", Kind: "answer", Data: []byte("{}"), At: at(3)})
	if open, err := a.Unclaimed(t.Context(), "r1"); err != nil || len(open) != 1 || open[0].ID != q.ID {
		t.Errorf("open requests are %v, %v; want the one to the run", open, err)
	}

	paused := common(4, 1)
	paused.Status, paused.Release = journal.StatusPaused, true
	mustAppend(t, a, paused)
	owned("", 1)
	_, err = b.Claim(t.Context(), "r1")
	checkRejected(t, "claim of a paused run", err, journal.ErrOwned)
	mustAppend(t, b, common(5, 1))
	owned(journal.CommonOwner, 1)
	testSetKind(t, a, b, common, owned)
	first, err := a.StoreID(t.Context())
	if second, berr := b.StoreID(t.Context()); err != nil || berr != nil || first != second ||
		!regexp.MustCompile(`^[A-Za-z0-9-]{20,36}$`).MatchString(first) {
		t.Errorf("two handles of a store have the ids %q and %q, %v, %v", first, second, err, berr)
	}

	ended := common(7, 3)
	ended.Status, ended.Release = journal.StatusCompleted, true
	mustAppend(t, a, ended)
	mustPrune(t, b, journal.PruneQuery{Runs: []string{"r1"}})
}

// testSetKind moves an active run to an owner and back.
func testSetKind(t *testing.T, a, b journal.Backend, common func(seq, epoch uint64) journal.Append,
	owned func(want string, epoch uint64)) {
	t.Helper()
	checkRejected(t, "a move of a run with an owner", b.SetKind(t.Context(), "r2", journal.KindTemporal),
		journal.ErrOwned)
	checkRejected(t, "a move of no run", b.SetKind(t.Context(), "r9", journal.KindTemporal), journal.ErrNotFound)
	for range 2 { // the second call changes nothing
		if err := b.SetKind(t.Context(), "r1", journal.KindServe); err != nil {
			t.Fatal(err)
		}
	}
	owned("", 2)
	checkRejected(t, "a common append to a run that is common no more", a.Append(t.Context(), common(6, 1)),
		journal.ErrFenced)
	if err := b.SetKind(t.Context(), "r1", journal.KindTemporal); err != nil {
		t.Fatal(err)
	}
	owned(journal.CommonOwner, 3)
	if h := head(t, a, "r1"); h.Kind != journal.KindTemporal || h.LastSeq != 5 {
		t.Fatalf("moved: %+v", h)
	}
	mustAppend(t, a, common(6, 3))
}

// testCommonContended checks that only one of several appends that continue the same event is
// stored.
func testCommonContended(t *testing.T, m Medium) {
	first := handle(t, m)
	if m.OwnedOnly {
		checkRejected(t, "a run held in common", first.Append(t.Context(), createCommon("r1")), journal.ErrNoCommon)
		return
	}
	mustAppend(t, first, createCommon("r1"), createCommon("r2"))
	const handles, each = 4, 10
	var wg sync.WaitGroup
	for range handles {
		h := handle(t, m)
		for _, run := range []string{"r1", "r2"} {
			wg.Go(func() {
				for done := 0; done < each; {
					head, err := h.Head(t.Context(), run)
					if err != nil {
						t.Error(err)
						return
					}
					a := next(run, head.LastSeq+1)
					a.Common = true
					switch err := h.Append(t.Context(), a); {
					case err == nil:
						done++
					case !errors.Is(err, journal.ErrConflict):
						t.Error(err)
						return
					}
				}
			})
		}
	}
	wg.Wait()
	for _, run := range []string{"r1", "r2"} {
		if h := head(t, first, run); h.LastSeq != 1+handles*each {
			t.Errorf("%s has %d events, want %d", run, h.LastSeq, 1+handles*each)
		}
	}
}
