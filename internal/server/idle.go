package server

import (
	"context"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
)

// openAhead is how long before a schedule is due its namespace is opened: the set looks every 30
// seconds.
const openAhead = 90 * time.Second

// idleUntil returns until when a namespace has no work, for namespace.Config.Idle; the zero time if
// it has work now or that is unknown.
func (s *Server) idleUntil(ctx context.Context, name string, svc *service.Service) time.Time {
	until, err := s.nextWork(ctx, name, svc)
	if err == nil {
		return until
	}
	if ctx.Err() == nil {
		s.log.Warn("cannot tell whether a namespace is idle", "namespace", name, "err", err)
	}
	return time.Time{}
}

// nextWork returns when a namespace must be open for a schedule, at most a day from now. It returns
// the zero time if the namespace has work now: a run that has not ended, a notification to send or
// a continuous schedule. A namespace that other processes have open, too, always has: their
// heartbeats change its file, so it would be opened at once.
func (s *Server) nextWork(ctx context.Context, name string, svc *service.Service) (next time.Time, err error) {
	heads, _, err := svc.List(ctx, journal.Query{Limit: 1, Statuses: []journal.Status{
		journal.StatusPending, journal.StatusRunning, journal.StatusPaused}})
	if err != nil || len(heads) > 0 {
		return time.Time{}, err
	}
	processes, err := svc.Processes(ctx)
	if err != nil || len(processes) > 1 {
		return time.Time{}, err
	}
	next = time.Now().Add(24 * time.Hour)
	if s.cfg.OnlyWork {
		return next, nil
	}
	if pending, err := s.hooks.Pending(ctx, name, svc); err != nil || pending > 0 {
		return time.Time{}, err
	}
	if s.cfg.NoSchedules {
		return next, nil
	}
	all, _, _, err := svc.Schedules(ctx, s.cfg.Schedules.Zone)
	if err != nil {
		return time.Time{}, err
	}
	for _, sc := range all {
		due := sc.Next.Add(-openAhead)
		switch {
		case sc.AskedRun != "":
			return time.Time{}, nil
		case sc.Program != "" || sc.Err != nil || !sc.Paused.IsZero(): // not started by this process
		case sc.Next.IsZero(): // a continuous branch
			return time.Time{}, nil
		case due.Before(next):
			next = due
		}
	}
	return next, nil
}
