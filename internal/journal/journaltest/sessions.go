package journaltest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/journal"
)

// inSession returns an append that creates a run of a session.
func inSession(run, session string) journal.Append {
	a := create(run, 0)
	a.Create.Session = session
	return a
}

// busy checks that err names the run that blocks the session.
func busy(t *testing.T, what string, err error, session, run string) {
	t.Helper()
	b, ok := errors.AsType[*journal.BusyError](err)
	if !ok || !errors.Is(err, journal.ErrBusy) || b.Session != session || b.Run != run {
		t.Errorf("%s: got error %v, want that run %s keeps session %s busy", what, err, run, session)
	}
}

// testSessions checks that a session has at most one run that has not ended, whatever else ends,
// continues or is pruned (P19).
func testSessions(t *testing.T, m Medium) {
	h, other := handle(t, m), handle(t, m)
	ctx := t.Context()
	mustAppend(t, h, inSession("r1", "s"), inSession("r2", "it's \"another\""), create("r3", 0), create("r4", 0))
	busy(t, "a second run", h.Append(ctx, inSession("r5", "s")), "s", "r1")
	busy(t, "a second run of another handle", other.Append(ctx, inSession("r5", "s")), "s", "r1")
	checkRejected(t, "the run itself", h.Append(ctx, inSession("r1", "s")), journal.ErrExists)
	if _, err := h.Head(ctx, "r5"); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("a refused run is there: %v", err)
	}

	paused := next("r1", 2)
	paused.Status = journal.StatusPaused
	mustAppend(t, h, paused)
	busy(t, "beside a paused run", other.Append(ctx, inSession("r5", "s")), "s", "r1")

	end := next("r1", 3)
	end.Status = journal.StatusFailed
	mustAppend(t, h, end)
	mustAppend(t, other, inSession("r5", "s"))
	// The ended run cannot continue while another run is open (D20), but can once that run has
	// ended.
	busy(t, "a run that goes on after its end", h.Append(ctx, next("r1", 4)), "s", "r5")
	if got := head(t, h, "r1"); got.LastSeq != 3 || got.Status != journal.StatusFailed {
		t.Errorf("after a refused append: %+v", got)
	}
	end = next("r5", 2)
	end.Status = journal.StatusCompleted
	mustAppend(t, other, end)
	mustAppend(t, h, next("r1", 4))
	busy(t, "beside a run that goes on", other.Append(ctx, inSession("r6", "s")), "s", "r1")

	end = inSession("r6", "s")
	end.Status = journal.StatusCancelled
	mustAppend(t, other, end) // it was never open
	if got := head(t, other, "r6"); got.Session != "s" {
		t.Errorf("session %q, want s", got.Session)
	}
	page, _, err := h.List(ctx, journal.Query{Session: "s"})
	if err != nil || ids(page) != "r6 r5 r1" {
		t.Errorf("list of session s: %s, %v", ids(page), err)
	}
	page, _, err = h.List(ctx, journal.Query{Session: "s", Statuses: []journal.Status{journal.StatusCompleted},
		Parent: "r0"})
	if err != nil || len(page) != 0 {
		t.Errorf("list of session s below r0: %s, %v", ids(page), err)
	}

	if _, err := h.Prune(ctx, journal.PruneQuery{Runs: []string{"r6"}}); !errors.Is(err, journal.ErrOwned) {
		t.Errorf("prune of an owned run: %v", err)
	}
	gone := next("r1", 5)
	gone.Release = true
	mustAppend(t, h, gone)
	if _, err := h.Prune(ctx, journal.PruneQuery{Runs: []string{"r1"}}); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, h, inSession("r7", "s"))
}

// testSessionContended checks that if 100 runs of one session start simultaneously on two handles,
// one succeeds.
func testSessionContended(t *testing.T, m Medium) {
	two := []journal.Backend{handle(t, m), handle(t, m)}
	var wg sync.WaitGroup
	errs := make([]error, 100)
	for i := range errs {
		wg.Go(func() { errs[i] = two[i%2].Append(t.Context(), inSession(fmt.Sprintf("r%d", i), "s")) })
	}
	wg.Wait()
	winner := ""
	for i, err := range errs {
		if err == nil && winner != "" {
			t.Errorf("runs %s and r%d both began", winner, i)
		}
		if err == nil {
			winner = fmt.Sprintf("r%d", i)
		}
	}
	if winner == "" {
		t.Fatal("no run began")
	}
	for i, err := range errs {
		if err != nil {
			busy(t, fmt.Sprintf("run r%d", i), err, "s", winner)
		}
	}
}

// testNotices checks that notices are stored with their record or not at all, and are deleted with
// their run.
func testNotices(t *testing.T, m Medium) {
	h, other := handle(t, m), handle(t, m)
	ctx := t.Context()
	if last, err := h.LastNotice(ctx); err != nil || last != 0 {
		t.Errorf("last notice of an empty store: %d, %v", last, err)
	}
	noticed := func(a journal.Append, types ...string) journal.Append {
		for _, typ := range types {
			a.Notices = append(a.Notices, journal.Notice{Seq: a.Record.Last, Type: typ, Run: "ignored", ID: 99})
		}
		return a
	}
	mustAppend(t, h, noticed(create("r1", 1), "wait.opened"))
	mustAppend(t, other, noticed(create("r2", 2), "wait.opened", "wait.opened"))
	mustAppend(t, h, noticed(next("r1", 2), "run.completed"), next("r1", 3))
	if err := h.Append(ctx, noticed(next("r1", 7), "wait.opened")); !errors.Is(err, journal.ErrConflict) {
		t.Fatal(err)
	}
	outside := next("r1", 4)
	outside.Notices = []journal.Notice{{Seq: 5, Type: "wait.opened"}}
	if err := h.Append(ctx, outside); err == nil {
		t.Error("a notice of an event that is not in the record was taken")
	}

	all, err := other.Notices(ctx, 0, 0)
	if err != nil || len(all) != 4 {
		t.Fatalf("notices %+v, %v", all, err)
	}
	want := []journal.Notice{
		{ID: all[0].ID, Run: "r1", Seq: 1, Type: "wait.opened", At: at(1)},
		{ID: all[1].ID, Run: "r2", Seq: 1, Type: "wait.opened", At: at(2)},
		{ID: all[2].ID, Run: "r2", Seq: 1, Type: "wait.opened", At: at(2)},
		{ID: all[3].ID, Run: "r1", Seq: 2, Type: "run.completed", At: at(2)},
	}
	if diff := cmp.Diff(all, want); diff != "" {
		t.Errorf("notices (-got +want):\n%s", diff)
	}
	if page, err := h.Notices(ctx, all[0].ID, 2); err != nil || !cmp.Equal(page, want[1:3]) {
		t.Errorf("two notices after the first: %+v, %v", page, err)
	}
	if last, err := h.LastNotice(ctx); err != nil || last != all[3].ID {
		t.Errorf("last notice %d, %v; want %d", last, err, all[3].ID)
	}

	gone := next("r1", 4)
	gone.Release = true
	mustAppend(t, h, gone)
	if _, err := h.Prune(ctx, journal.PruneQuery{Runs: []string{"r1"}}); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, other, noticed(next("r2", 2), "run.failed"))
	page, err := h.Notices(ctx, all[3].ID, 0)
	if err != nil || len(page) != 1 || page[0].Run != "r2" || page[0].ID <= all[3].ID {
		t.Errorf("after a prune: %+v, %v; want the one notice that is new, with a greater ID", page, err)
	}
}

func testCount(t *testing.T, m Medium) {
	h := handle(t, m)
	if n, err := h.Count(t.Context(), journal.Statuses()...); n != 0 || err != nil {
		t.Errorf("%d runs in an empty store, %v", n, err)
	}
	for i, s := range []journal.Status{journal.StatusRunning, journal.StatusPaused, journal.StatusRunning,
		journal.StatusFailed} {
		a := create(fmt.Sprintf("r%d", i), i)
		a.Status = s
		mustAppend(t, h, a)
	}
	for _, tt := range []struct {
		statuses []journal.Status
		want     int
	}{
		{nil, 0},
		{[]journal.Status{journal.StatusRunning}, 2},
		{[]journal.Status{journal.StatusRunning, journal.StatusPaused}, 3},
		{[]journal.Status{journal.StatusCompleted}, 0},
		{journal.Statuses(), 4},
	} {
		if n, err := h.Count(t.Context(), tt.statuses...); n != tt.want || err != nil {
			t.Errorf("runs that are %v: %d, %v; want %d", tt.statuses, n, err, tt.want)
		}
	}
}
