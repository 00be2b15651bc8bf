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

// WaitForRun waits for a run as a scheduler does.
func (s *Scheduler) WaitForRun(ctx context.Context, run string) (journal.Status, error) {
	return scheduledRuns{scheduler: s}.Wait(ctx, run)
}
