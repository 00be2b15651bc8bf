package service

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

// DefaultRetention is how long runs are kept after their end where the operator says nothing (D26).
const DefaultRetention = 30 * 24 * time.Hour

// pruneEvery is how often processes that stay delete what is too old.
const pruneEvery = time.Hour

// Tend is the work of a process that stays, until ctx is done: it recovers interrupted runs of this process's kind, fires deadlines and reminders (D15, D21), and deletes
// runs that are too old (P10).
func (s *Service) Tend(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { s.Housekeep(ctx) })
	s.driver.Tend(ctx)
	wg.Wait()
}

// Health tells whether the store takes what a process that tends writes, by its signs of life, which it writes every 5 s: nil, or why not.
func (s *Service) Health() error { return s.driver.Health() }

// Housekeep deletes the runs that the operator's retention does not keep, now and every hour, until ctx is done. It deletes in small steps, between which others write.
// Several processes may do it on one store. What goes wrong is logged and tried again.
func (s *Service) Housekeep(ctx context.Context) {
	for {
		res, err := s.Prune(ctx, s.outdated(time.Now()))
		switch {
		case err != nil && ctx.Err() == nil:
			s.cfg.Logger.Warn("old runs were not deleted", "err", err)
		case res.Runs > 0:
			s.cfg.Logger.Info("old runs deleted", "runs", res.Runs, "values", res.Blobs, "bytes", res.Freed)
		}
		if pause(ctx, pruneEvery) != nil {
			return
		}
	}
}

// outdated tells which runs are too old.
func (s *Service) outdated(now time.Time) journal.PruneQuery {
	keep := s.cfg.Operator.Retention
	q := journal.PruneQuery{EndedBefore: now.Add(-cmp.Or(time.Duration(keep.Ended), DefaultRetention))}
	if keep.Paused > 0 {
		q.PausedBefore = now.Add(-time.Duration(keep.Paused))
	}
	return q
}
