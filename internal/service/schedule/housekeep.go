package schedule

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

// defaultRetention is how long runs are kept after their end where the operator says nothing (D26).
const defaultRetention = 30 * 24 * time.Hour

// pruneEvery is how often processes that stay delete what is too old.
const pruneEvery = time.Hour

// Tend is the work of a process that stays, until ctx is done: it recovers interrupted runs of this process's kind, fires deadlines and reminders (D15, D21), and deletes
// runs that are too old (P10).
func (s *Scheduler) Tend(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { s.housekeep(ctx) })
	s.runs.Drive(ctx)
	wg.Wait()
}

// housekeep deletes the runs that the operator's retention does not keep, now and every hour, until ctx is done. It deletes in small steps, between which others write.
// Several processes may do it on one store. What goes wrong is logged and tried again.
func (s *Scheduler) housekeep(ctx context.Context) {
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

// outdated tells which runs are too old.
func (s *Scheduler) outdated(now time.Time) journal.PruneQuery {
	keep := s.cfg.Operator.Retention
	q := journal.PruneQuery{EndedBefore: now.Add(-cmp.Or(time.Duration(keep.Ended), defaultRetention))}
	if keep.Paused > 0 {
		q.PausedBefore = now.Add(-time.Duration(keep.Paused))
	}
	return q
}
