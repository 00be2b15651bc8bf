package schedule

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

// defaultRetention is how long runs are kept after their end if the operator sets no retention
// (D26).
const defaultRetention = 30 * 24 * time.Hour

// pruneEvery is how often long-running processes delete old runs.
const pruneEvery = time.Hour

// Maintain performs the background work of a long-running process, until ctx is done: it recovers
// interrupted runs of this process's kind, fires deadlines and reminders (D15, D21), and deletes
// runs that are too old (P10).
func (s *Scheduler) Maintain(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { s.pruneHourly(ctx) })
	s.runs.Drive(ctx)
	wg.Wait()
}

// pruneHourly deletes the runs that the operator's retention does not keep, now and every hour,
// until ctx is done. It deletes in small steps, so that others can write in between. Several
// processes may do so on one store. Failures are logged and retried.
func (s *Scheduler) pruneHourly(ctx context.Context) {
	for {
		res, err := s.runs.Prune(ctx, s.outdated(time.Now()))
		switch {
		case err != nil && ctx.Err() == nil:
			s.cfg.Logger.Warn("old runs were not deleted", "err", err)
		case res.Runs > 0:
			s.cfg.Logger.Info("old runs deleted", "runs", res.Runs, "values", res.Blobs, "bytes", res.Freed)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pruneEvery):
		}
	}
}

// outdated returns the query for runs that are too old.
func (s *Scheduler) outdated(now time.Time) journal.PruneQuery {
	keep := s.cfg.Operator.Retention
	q := journal.PruneQuery{EndedBefore: now.Add(-cmp.Or(time.Duration(keep.Ended), defaultRetention))}
	if keep.Paused > 0 {
		q.PausedBefore = now.Add(-time.Duration(keep.Paused))
	}
	return q
}
