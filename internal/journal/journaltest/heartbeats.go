package journaltest

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hocket-run/hocket/internal/journal"
)

// testSigns checks that owners of runs are listed with their last heartbeat, and that the same
// heartbeat is reported for a run and in an error (D15).
func testSigns(t *testing.T, m Medium) {
	reader, a, b := handle(t, m), handle(t, m), handle(t, m)
	owners := func(want ...journal.Owner) {
		t.Helper()
		got, err := reader.Owners(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(got, func(x, y journal.Owner) int { return x.Seen.Compare(y.Seen) })
		if diff := cmp.Diff(got, want, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("owners (-got +want):\n%s", diff)
		}
	}
	sign := func(h journal.Backend, n int) journal.Owner {
		t.Helper()
		if err := h.Sign(t.Context(), at(n)); err != nil {
			t.Fatal(err)
		}
		o := h.Owner()
		o.Seen = at(n)
		return o
	}
	sign(b, 1)
	owners() // owners without runs are not listed
	mustAppend(t, a, create("r1", 0))
	owners(a.Owner())
	owners(sign(a, 2))
	second := sign(a, 3)
	owners(second)
	if h := head(t, reader, "r1"); h.By != second {
		t.Errorf("the run is driven by %+v, want %+v", h.By, second)
	}
	_, err := b.Claim(t.Context(), "r1")
	//nolint:errorlint,nolintlint // it may be wrapped: then testClaim tells
	if owned, ok := err.(*journal.OwnedError); ok &&
		owned.Owner != second {
		t.Errorf("the error names %+v, want %+v", owned.Owner, second)
	}
	if _, _, err := b.Lead(t.Context(), "", ""); err != nil {
		t.Fatal(err)
	}
	leads := sign(b, 4)
	owners(second, leads)
	if o, _, err := reader.Leader(t.Context(), ""); err != nil || o != leads {
		t.Errorf("the leader is %+v, %v, want %+v", o, err, leads)
	}
	mustClose(t, a)
	owners(leads)
	if err := a.Sign(t.Context(), at(9)); err == nil {
		t.Error("a closed handle gives a sign of life")
	}
}

// testEvict checks that a run taken from a living owner has no owner, and that later writes of the
// former owner are rejected (P18).
func testEvict(t *testing.T, m Medium) {
	hung, heir, other := handle(t, m), handle(t, m), handle(t, m)
	mustAppend(t, hung, create("r1", 0), create("r2", 1))
	checkRejected(t, "evict from another owner", heir.Evict(t.Context(), "r1", other.Owner().ID), journal.ErrOwned)
	checkRejected(t, "evict from no run", heir.Evict(t.Context(), "r9", hung.Owner().ID), journal.ErrNotFound)
	for range 2 { // the second time there is no owner
		if err := heir.Evict(t.Context(), "r1", hung.Owner().ID); err != nil {
			t.Fatal(err)
		}
	}
	if h := head(t, heir, "r1"); h.Owner != "" || h.By != (journal.Owner{}) || !h.Interrupted || h.Epoch != 2 {
		t.Errorf("after eviction: %+v", h)
	}
	checkRejected(t, "append after eviction", hung.Append(t.Context(), next("r1", 2)), journal.ErrFenced)
	if err := hung.Release(t.Context(), "r1", 1); err == nil {
		t.Error("a run that was taken away is given up")
	}
	if h := mustClaim(t, heir, "r1"); h.Epoch != 3 || h.Owner != heir.Owner().ID {
		t.Errorf("claimed: %+v", h)
	}
	checkRejected(t, "append after another's claim", hung.Append(t.Context(), next("r1", 2)), journal.ErrFenced)
	checkRejected(t, "evict for the owner before", other.Evict(t.Context(), "r1", hung.Owner().ID), journal.ErrOwned)
	mustAppend(t, hung, next("r2", 2)) // it keeps its other runs
}

// testLeadHung checks that a leader that is alive but hung is replaced and learns of it (P37).
func testLeadHung(t *testing.T, m Medium) {
	a, b := handle(t, m), handle(t, m)
	lead := func(h journal.Backend, hung, want string) {
		t.Helper()
		if o, mine, err := h.Lead(t.Context(), "", hung); err != nil || o.ID != want || mine != (want == h.Owner().ID) {
			t.Fatalf("Lead gives %v, %v, %v; want %s", o, mine, err, want)
		}
	}
	lead(a, "", a.Owner().ID)
	lead(b, "none", a.Owner().ID)
	lead(b, a.Owner().ID, b.Owner().ID)
	lead(a, "", b.Owner().ID)
	lead(b, b.Owner().ID, b.Owner().ID)
}
