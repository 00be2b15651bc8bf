package journaltest

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/journal"
)

// testControls checks: the controls of a schedule are durable, visible to all
// handles, and separate from its registration; of two changes based on the same revision, one is
// rejected.
func testControls(t *testing.T, m Medium) {
	a, b := handle(t, m), handle(t, m)
	ctx := t.Context()
	key, programs := journal.ScheduleKey{Workflow: "w"}, journal.ScheduleKey{Program: "p\x00", Workflow: "w"}
	full := journal.Control{
		ScheduleKey: journal.ScheduleKey{Workflow: "w'\x00", Branch: `b"`, Schedule: "s"}, Paused: at(1),
		PausedBy: "p\x00", Resumed: at(2), ResumedBy: "r", SkipAfter: at(3), SkipUntil: at(4), SkippedBy: "s",
		Asked: at(5), AskedBy: "a",
	}
	for _, c := range []journal.Control{full, {ScheduleKey: journal.ScheduleKey{Workflow: "w", Schedule: "b"}},
		{ScheduleKey: key}, {ScheduleKey: programs, PausedBy: "q"}} {
		if err := a.SetControl(ctx, c); err != nil {
			t.Fatal(err)
		}
	}
	full.Revision = 1
	want := []journal.Control{{ScheduleKey: key, Revision: 1},
		{ScheduleKey: journal.ScheduleKey{Workflow: "w", Schedule: "b"}, Revision: 1}, full,
		{ScheduleKey: programs, Revision: 1, PausedBy: "q"}}
	got, err := b.Controls(ctx)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if err := b.Unregister(ctx, full.ScheduleKey); err != nil {
		t.Fatal(err)
	}
	for _, c := range []journal.Control{full, {ScheduleKey: programs, Revision: 1, PausedBy: "q"},
		{ScheduleKey: journal.ScheduleKey{Workflow: "never", Branch: "b", Schedule: "s"}},
		{ScheduleKey: journal.ScheduleKey{Program: "other", Workflow: "w"}}} {
		got, err := b.Control(ctx, c.ScheduleKey)
		if diff := cmp.Diff(c, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	full.Paused, full.PausedBy = at(0).Truncate(0), ""
	if err := b.SetControl(ctx, full); err != nil {
		t.Error(err)
	}
	if err := a.SetControl(ctx, full); !errors.Is(err, journal.ErrChanged) {
		t.Errorf("a revision that was replaced is replaced again: %v", err)
	}
	if err := a.SetControl(ctx, journal.Control{ScheduleKey: journal.ScheduleKey{Branch: "b"}}); err == nil ||
		errors.Is(err, journal.ErrChanged) {
		t.Errorf("a schedule without a workflow is controlled: %v", err)
	}
	var (
		wg  sync.WaitGroup
		won atomic.Int32
	)
	for _, h := range []journal.Backend{a, b, a, b} {
		wg.Go(func() {
			switch err := h.SetControl(ctx, journal.Control{ScheduleKey: journal.ScheduleKey{Workflow: "w"},
				Revision: 1, PausedBy: "one"}); {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, journal.ErrChanged):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Errorf("%d changes of one revision are stored", won.Load())
	}
}
