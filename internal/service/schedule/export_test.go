package schedule

import (
	"context"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/scheduler"
)

// StartSlot starts the run of a slot as a scheduler does.
func (s *Scheduler) StartSlot(ctx context.Context, slot scheduler.Slot) (string, bool, error) {
	return scheduledRuns{scheduler: s}.Start(ctx, slot)
}

// Looks returns a function that reads what a scheduler reads each second, and returns the numbers
// of schedules and of controls.
func (s *Scheduler) Looks() func(context.Context) (branches, controls int, err error) {
	source := &publishedBranches{scheduler: s}
	return func(ctx context.Context) (int, int, error) {
		list, err := source.Branches(ctx)
		if err != nil {
			return 0, 0, err
		}
		controls, err := s.store.Controls(ctx)
		return len(list), len(controls), err
	}
}

// WaitForRun waits for a run as a scheduler does.
func (s *Scheduler) WaitForRun(ctx context.Context, run string) (journal.Status, error) {
	return scheduledRuns{scheduler: s}.Wait(ctx, run)
}
