package journaltest

import (
	"errors"
	"io"
	"sync"
	"testing"

	"github.com/hocket-run/hocket/internal/journal"
)

func mustClaim(t *testing.T, l journal.Ownership, run string) journal.Head {
	t.Helper()
	h, err := l.Claim(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func mustClose(t *testing.T, s io.Closer) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func testClaim(t *testing.T, m Medium) {
	a, b := handle(t, m), handle(t, m)
	mustAppend(t, a, create("r1", 0))
	for _, by := range []journal.Backend{a, b} {
		_, err := by.Claim(t.Context(), "r1")
		checkRejected(t, "claim of a run with a living owner", err, journal.ErrOwned)
		owned, ok := errors.AsType[*journal.OwnedError](err)
		if !ok || owned.Run != "r1" || owned.Owner != a.Owner() {
			t.Errorf("the error names %+v, the owner is %+v", owned, a.Owner())
		}
	}
	_, err := a.Claim(t.Context(), "r9")
	checkRejected(t, "claim of no run", err, journal.ErrNotFound)

	alive := func(owner string, want bool) {
		t.Helper()
		if got, err := b.Alive(t.Context(), owner); got != want || err != nil {
			t.Errorf("alive: got %v, %v, want %v", got, err, want)
		}
	}
	alive(a.Owner().ID, true)
	alive("", false)
	alive("../../etc/passwd", false)
	mustClose(t, a) // its death is detected immediately (D15)
	alive(a.Owner().ID, false)
	h := mustClaim(t, b, "r1")
	if h.Epoch != 2 || h.Owner != b.Owner().ID || h.LastSeq != 1 || h.Interrupted {
		t.Errorf("claimed: %+v", h)
	}
	alive(b.Owner().ID, true)
}

// testClaimConcurrent checks that if many handles take over a dead owner's run, exactly one
// succeeds, each time in a new epoch (P18).
func testClaimConcurrent(t *testing.T, m Medium) {
	dead := handle(t, m)
	mustAppend(t, dead, create("r1", 0))
	mustClose(t, dead)
	var (
		wg     sync.WaitGroup
		mu     sync.Mutex
		epochs []uint64
	)
	for range 4 {
		h := handle(t, m)
		for range 3 {
			wg.Go(func() {
				head, err := h.Claim(t.Context(), "r1")
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					epochs = append(epochs, head.Epoch)
				} else if !errors.Is(err, journal.ErrOwned) {
					t.Errorf("got error %v", err)
				}
			})
		}
	}
	wg.Wait()
	if len(epochs) != 1 || epochs[0] != 2 {
		t.Errorf("won in epochs %v, want one, 2", epochs)
	}
}

// testFencing checks that a former owner's write fails and is not in the new owner's journal (P18).
func testFencing(t *testing.T, m Medium) {
	a, b := handle(t, m), handle(t, m)
	mustAppend(t, a, create("r1", 0), next("r1", 2))
	if err := a.Release(t.Context(), "r1", 1); err != nil {
		t.Fatal(err)
	}
	checkRejected(t, "append after giving up", a.Append(t.Context(), next("r1", 3)), journal.ErrFenced)
	mustClaim(t, b, "r1")
	checkRejected(t, "append in a former epoch", a.Append(t.Context(), next("r1", 3)), journal.ErrFenced)
	checkRejected(t, "append in a former epoch by the owner", b.Append(t.Context(), next("r1", 3)), journal.ErrFenced)
	stolen := next("r1", 3)
	stolen.Epoch = 2
	checkRejected(t, "append in another's epoch", a.Append(t.Context(), stolen), journal.ErrFenced)
	mustAppend(t, b, stolen)
	if err := b.Release(t.Context(), "r1", 2); err != nil {
		t.Fatal(err)
	}
	if h := mustClaim(t, a, "r1"); h.Epoch != 3 || h.LastSeq != 3 {
		t.Errorf("claimed again: %+v", h)
	}
	four := next("r1", 4)
	four.Epoch = 3
	mustAppend(t, a, four)
	if got, err := dump(t.Context(), a, "r1", 2); err != nil || got != "[3-3 v2 events 3 to 3][4-4 v2 events 4 to 4]" {
		t.Errorf("got %s, %v", got, err)
	}
}

func testRelease(t *testing.T, m Medium) {
	a, b := handle(t, m), handle(t, m)
	mustAppend(t, a, create("r1", 0), create("r2", 0))
	checkRejected(t, "release of another's run", b.Release(t.Context(), "r1", 1), journal.ErrFenced)
	checkRejected(t, "release in another epoch", a.Release(t.Context(), "r1", 2), journal.ErrFenced)
	checkRejected(t, "release of no run", a.Release(t.Context(), "r9", 1), journal.ErrNotFound)
	if err := a.Release(t.Context(), "r1", 1); err != nil {
		t.Fatal(err)
	}
	checkRejected(t, "second release", a.Release(t.Context(), "r1", 1), journal.ErrFenced)

	pause := next("r2", 2)
	pause.Status, pause.Release = journal.StatusPaused, true
	mustAppend(t, a, pause)
	if h := head(t, b, "r2"); h.Owner != "" || h.Interrupted || h.Epoch != 1 {
		t.Errorf("paused and given up: %+v", h)
	}
	mustClaim(t, b, "r2")

	unowned := create("r3", 0)
	unowned.Status, unowned.Release = journal.StatusPending, true
	mustAppend(t, a, unowned)
	if h := head(t, b, "r3"); h.Owner != "" || h.Epoch != 1 {
		t.Errorf("made and given up: %+v", h)
	}
	if h := mustClaim(t, b, "r3"); h.Epoch != 2 {
		t.Errorf("claimed: %+v", h)
	}
}

// testInterrupted checks the detection of a run that should be executing but has no living owner
// (D15).
func testInterrupted(t *testing.T, m Medium) {
	dead, alive := handle(t, m), handle(t, m)
	for i, s := range []journal.Status{"pending", "running", "paused", "completed"} {
		run := "dead " + string(s)
		a := create(run, i)
		a.Status = s
		mustAppend(t, dead, a)
		a.Run = "alive " + string(s)
		mustAppend(t, alive, a)
	}
	given := create("given up", 9)
	given.Release = true
	given.Create.Kind = journal.KindServe
	mustAppend(t, alive, given)
	mustClose(t, dead)

	all, _, err := alive.List(t.Context(), journal.Query{})
	if err != nil {
		t.Fatal(err)
	}
	var marked []journal.Head
	for _, h := range all {
		if h.Interrupted {
			marked = append(marked, h)
		}
	}
	if got, want := ids(marked), "given up dead running dead pending"; got != want {
		t.Errorf("marked: %s, want %s", got, want)
	}
	for _, tt := range []struct {
		q    journal.Query
		want string
	}{
		{journal.Query{Interrupted: true}, "given up dead running dead pending"},
		{journal.Query{Interrupted: true, Kind: journal.KindServe}, "given up"},
		{journal.Query{Interrupted: true, Workflow: "flow", Statuses: []journal.Status{"pending", "paused"}},
			"dead pending"},
		{journal.Query{Interrupted: true, Statuses: []journal.Status{"completed"}}, ""},
	} {
		page, _, err := alive.List(t.Context(), tt.q)
		if got := ids(page); err != nil || got != tt.want {
			t.Errorf("%+v: got %s, %v, want %s", tt.q, got, err, tt.want)
		}
	}
}

func testClose(t *testing.T, m Medium) {
	h := m.Open(t)
	mustAppend(t, h, create("r1", 0))
	for range 2 {
		mustClose(t, h)
	}
	_, readErr := h.Read(t.Context(), "r1", 0)
	_, headErr := h.Head(t.Context(), "r1")
	_, _, listErr := h.List(t.Context(), journal.Query{})
	_, claimErr := h.Claim(t.Context(), "r1")
	_, postErr := h.Post(t.Context(), journal.Request{Run: "r1"})
	_, takeErr := h.Take(t.Context())
	_, aliveErr := h.Alive(t.Context(), h.Owner().ID)
	_, pruneErr := h.Prune(t.Context(), journal.PruneQuery{})
	for what, err := range map[string]error{
		"append": h.Append(t.Context(), next("r1", 2)), "create": h.Append(t.Context(), create("r2", 0)),
		"read": readErr, "head": headErr,
		"list": listErr, "claim": claimErr, "release": h.Release(t.Context(), "r1", 1), "post": postErr,
		"take":   takeErr,
		"settle": h.Settle(t.Context(), 1, nil), "alive": aliveErr, "prune": pruneErr,
	} {
		checkRejected(t, what, err, journal.ErrClosed)
	}
	if got, err := dump(t.Context(), handle(t, m), "r1", 0); err != nil || got != "[1-1 v2 events 1 to 1]" {
		t.Errorf("another handle reads %s, %v", got, err)
	}
}
