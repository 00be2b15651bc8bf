package journaltest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hocket-run/hocket/internal/journal"
)

// claimed returns the sorted runs that a handle claims; a star marks runs with no started call.
func claimed(t *testing.T, h journal.Backend, q journal.ClaimQuery) string {
	t.Helper()
	heads, err := h.ClaimSome(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, one := range heads {
		now := head(t, h, one.Run)
		if one.Owner != h.Owner().ID || one.By.ID != one.Owner || one.Interrupted || now.Epoch != one.Epoch ||
			now.Owner != one.Owner || now.NotStarted {
			t.Errorf("claimed: %+v, the store has %+v", one, now)
		}
		name := one.Run
		if one.NotStarted {
			name += "*"
		}
		got = append(got, name)
	}
	slices.Sort(got)
	return strings.Join(got, " ")
}

// shared is like create, but for a run that only servers at the given place execute.
func shared(run string, minutes int, place string) journal.Append {
	a := create(run, minutes)
	a.Create.Kind, a.Create.Place = journal.KindServe, place
	return a
}

// testClaimSome checks that runs that can continue and have no living owner are claimed, and no
// others (D15).
func testClaimSome(t *testing.T, m Medium) {
	dead, other, h := handle(t, m), handle(t, m), handle(t, m)
	all := journal.ClaimQuery{Kind: journal.KindServe, Limit: 100}
	if got := claimed(t, h, all); got != "" {
		t.Errorf("of an empty store: %s", got)
	}
	for i, s := range journal.Statuses() {
		for _, by := range []journal.Backend{dead, other} {
			a := shared(string(s)+"/living", i, "")
			if by == dead {
				a.Run = string(s) + "/dead"
			}
			a.Status = s
			mustAppend(t, by, a)
			a.Run += "/released"
			mustAppend(t, by, a)
			if err := by.Release(t.Context(), a.Run, 1); err != nil {
				t.Fatal(err)
			}
			a.Run, a.Release = string(s)+"/made", true
			if by == dead {
				mustAppend(t, by, a)
			}
		}
	}
	mustAppend(t, dead, create("of another kind", 1))
	mustClose(t, dead)
	few := all
	few.Limit, few.Except = 2, []string{"pending/dead", "not there"}
	got := strings.Fields(claimed(t, h, few))
	few.Limit, few.Except = 100, few.Except[:1]
	got = append(got, strings.Fields(claimed(t, h, few))...)
	slices.Sort(got)
	if want := []string{"pending/dead/released", "pending/living/released", "running/dead", "running/dead/released",
		"running/living/released"}; !slices.Equal(got, want) {
		t.Errorf("claimed %q, want %q", got, want)
	}
	if got := claimed(t, h, all); got != "pending/dead" {
		t.Errorf("without exception: %s", got)
	}
	if got := claimed(t, h, all); got != "" {
		t.Errorf("claimed again: %s", got)
	}
	none := all
	none.Limit = 0
	release(t, other, shared("last", 9, ""))
	if got := claimed(t, h, none); got != "" {
		t.Errorf("claimed without a limit: %s", got)
	}
	if err := h.Evict(t.Context(), "running/dead", h.Owner().ID); err != nil {
		t.Fatal(err)
	}
	if got := claimed(t, other, all); got != "last running/dead" {
		t.Errorf("after an eviction: %s", got)
	}
}

// release stores runs and releases them.
func release(t *testing.T, h journal.Backend, runs ...journal.Append) {
	t.Helper()
	for _, a := range runs {
		mustAppend(t, h, a)
		if err := h.Release(t.Context(), a.Run, 1); err != nil {
			t.Fatal(err)
		}
	}
}

// testClaimSomeConcurrent checks that if many handles claim, each run goes to one of them, in one
// epoch.
func testClaimSomeConcurrent(t *testing.T, m Medium) {
	maker := handle(t, m)
	const runs, claimers = 40, 3
	for i := range runs {
		release(t, maker, shared(fmt.Sprint("r", i), i, ""))
	}
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		seen = map[string]int{}
	)
	for range claimers {
		h := handle(t, m)
		wg.Go(func() {
			for empty := 0; empty < 2; {
				heads, err := h.ClaimSome(t.Context(), journal.ClaimQuery{Kind: journal.KindServe, Limit: 7})
				if err != nil {
					t.Error(err)
					return
				}
				if len(heads) == 0 {
					empty++
				}
				mu.Lock()
				for _, one := range heads {
					if seen[one.Run]++; one.Epoch != 2 {
						t.Errorf("claimed in epoch %d: %s", one.Epoch, one.Run)
					}
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(seen) != runs {
		t.Errorf("%d runs of %d were claimed", len(seen), runs)
	}
	for run, n := range seen {
		if n != 1 {
			t.Errorf("%s was claimed %d times", run, n)
		}
	}
}

// testReturn checks that the next owner of a run, and only the next, learns that none of its calls
// has started.
func testReturn(t *testing.T, m Medium) {
	a, b := handle(t, m), handle(t, m)
	all := journal.ClaimQuery{Kind: journal.KindServe, Limit: 100}
	paused := shared("paused", 2, "")
	paused.Status = journal.StatusPaused
	mustAppend(t, a, shared("r1", 0, ""), shared("r2", 1, ""), paused)
	checkRejected(t, "return of another's run", b.Return(t.Context(), "r1", 1), journal.ErrFenced)
	checkRejected(t, "return in another epoch", a.Return(t.Context(), "r1", 2), journal.ErrFenced)
	checkRejected(t, "return of no run", a.Return(t.Context(), "r9", 1), journal.ErrNotFound)
	for _, run := range []string{"r1", "r2", "paused"} {
		if err := a.Return(t.Context(), run, 1); err != nil {
			t.Fatal(err)
		}
	}
	checkRejected(t, "append after a return", a.Append(t.Context(), next("r1", 2)), journal.ErrFenced)
	if h := head(t, b, "r1"); h.Owner != "" || !h.Interrupted || h.NotStarted {
		t.Errorf("returned: %+v", h)
	}
	if h := mustClaim(t, b, "r1"); !h.NotStarted || h.Epoch != 2 {
		t.Errorf("claimed by name: %+v", h)
	}
	if err := b.Release(t.Context(), "r1", 2); err != nil {
		t.Fatal(err)
	}
	if got := claimed(t, b, all); got != "paused* r1 r2*" {
		t.Errorf("claimed %s", got)
	}
	mustClose(t, b)
	if got := claimed(t, a, all); got != "r1 r2" {
		t.Errorf("after the death of the owner: %s", got)
	}
}

// testReturnInAppend checks that an append can release a run and record that none of its calls has
// started, even if the append also creates the run.
func testReturnInAppend(t *testing.T, m Medium) {
	a, b := handle(t, m), handle(t, m)
	s := subscribe(t, b, journal.OfRequests())
	all := journal.ClaimQuery{Kind: journal.KindServe, Limit: 100}
	created := shared("created", 0, "")
	created.Release, created.NotStarted = true, true
	mustAppend(t, a, created)
	signalled(t, s, "a run can be claimed", func() bool { return claimed(t, b, all) == "created*" })
	checkRejected(t, "append after it was given up", a.Append(t.Context(), next("created", 2)), journal.ErrFenced)
	further := next("created", 2)
	further.Epoch, further.Release, further.NotStarted = 2, true, true
	mustAppend(t, b, further)
	signalled(t, s, "it can be claimed again", func() bool { return claimed(t, a, all) == "created*" })
	mustAppend(t, a, shared("driven", 1, ""))
	bad := next("driven", 2)
	bad.NotStarted = true
	if err := a.Append(t.Context(), bad); err == nil {
		t.Error("a run that is not given up was stored as unbegun")
	}
}

// testPlaces checks that a run that needs a place is claimed there, until it is moved.
func testPlaces(t *testing.T, m Medium) {
	a, b := handle(t, m), handle(t, m)
	release(t, a, shared("anywhere", 0, ""), shared("here", 1, "gpu1"), shared("there", 2, "gpu2"))
	if h := head(t, b, "here"); h.Place != "gpu1" {
		t.Errorf("the head has %+v", h)
	}
	at := func(place string) journal.ClaimQuery {
		return journal.ClaimQuery{Kind: journal.KindServe, Place: place, Limit: 100}
	}
	for _, tt := range []struct{ place, want string }{{"gpu3", "anywhere"}, {"gpu1", "here"}, {"gpu1", ""}, {"", ""}} {
		if got := claimed(t, b, at(tt.place)); got != tt.want {
			t.Errorf("at %q: claimed %q, want %q", tt.place, got, tt.want)
		}
	}
	checkRejected(t, "move of no run", a.Move(t.Context(), "r9", "gpu1"), journal.ErrNotFound)
	for _, bad := range []string{"a b", "a\x00", "\xff", strings.Repeat("x", 101)} {
		if err := a.Move(t.Context(), "there", bad); err == nil {
			t.Errorf("moved to %q", bad)
		}
	}
	for _, tt := range []struct{ place, at string }{{"gpu1", "gpu1"}, {"", "gpu9"}} {
		if err := a.Move(t.Context(), "there", tt.place); err != nil {
			t.Fatal(err)
		}
		if h := head(t, b, "there"); h.Place != tt.place {
			t.Errorf("moved: %+v", h)
		}
		if got := claimed(t, b, at(tt.at)); got != "there" {
			t.Errorf("after the move, at %q: claimed %q", tt.at, got)
		}
		if err := b.Release(t.Context(), "there", head(t, b, "there").Epoch); err != nil {
			t.Fatal(err)
		}
	}
}

// testProcesses checks that living processes are listed, including those that execute no run.
func testProcesses(t *testing.T, m Medium) {
	reader, a, b := handle(t, m), handle(t, m), handle(t, m)
	processes := func(want ...journal.Owner) {
		t.Helper()
		got, err := reader.Processes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range got {
			if o.ID != reader.Owner().ID && !slices.Contains(want, o) {
				t.Errorf("the process %+v is listed", o)
			}
		}
		for _, o := range want {
			if !slices.Contains(got, o) {
				t.Errorf("the process %+v is missing in %+v", o, got)
			}
		}
	}
	signed := func(h journal.Backend, n int) journal.Owner {
		if err := h.Sign(t.Context(), at(n)); err != nil {
			t.Fatal(err)
		}
		o := h.Owner()
		o.Seen = at(n)
		return o
	}
	first, second := signed(a, 1), signed(b, 2)
	processes(first, second)
	mustClose(t, a)
	processes(second)
}

// testChangesWaiting checks that claimers are signaled when a run can be claimed.
func testChangesWaiting(t *testing.T, m Medium) {
	a, b, c := handle(t, m), handle(t, m), handle(t, m)
	mustAppend(t, a, shared("r1", 0, ""), shared("r2", 0, ""), shared("r5", 0, ""))
	release(t, a, shared("r3", 0, "x"))
	mustAppend(t, c, shared("r4", 0, ""))
	s := subscribe(t, b, journal.OfRequests())
	for _, tt := range []struct {
		run string
		do  func() error
	}{
		{"r1", func() error { return a.Release(t.Context(), "r1", 1) }},
		{"r2", func() error { return a.Return(t.Context(), "r2", 1) }},
		{"r5", func() error {
			b := next("r5", 2)
			b.Release = true
			return a.Append(t.Context(), b)
		}},
		{"r3", func() error { return a.Move(t.Context(), "r3", "") }},
		{"r4", c.Close},
	} {
		if err := tt.do(); err != nil {
			t.Fatal(err)
		}
		signalled(t, s, tt.run+" can be claimed", func() bool {
			return strings.TrimSuffix(claimed(t, b, journal.ClaimQuery{Kind: journal.KindServe, Limit: 1}),
				"*") == tt.run
		})
	}
}
