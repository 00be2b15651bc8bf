package schedule

import (
	"context"

	"github.com/hocket-run/hocket/internal/journal"
)

// WaitForRun waits for a run as a scheduler does.
func (s *Scheduler) WaitForRun(ctx context.Context, run string) (journal.Status, error) {
	return scheduledRuns{scheduler: s}.Wait(ctx, run)
}
