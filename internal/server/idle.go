package server

import (
	"context"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
)

// wakeAhead is how long before a schedule is due its namespace is opened: the set looks every 30
// seconds.
const wakeAhead = 90 * time.Second

// idleUntil returns until when a namespace has no work, for namespace.Config.Idle: it has no run
// that is not over, no notification to send, and no schedule that is due before that. A namespace
// that other processes have open, too, is never idle: their heartbeats change its file, so it would
// be opened at once.
func (s *Server) idleUntil(ctx context.Context, name string, svc *service.Service) (until time.Time) {
	var busy time.Time
	heads, _, err := svc.List(ctx, journal.Query{Limit: 1, Statuses: []journal.Status{
		journal.StatusPending, journal.StatusRunning, journal.StatusPaused}})
	if err == nil && len(heads) > 0 {
		return busy
	}
	if err == nil {
		var all []service.ProcessReport
		if all, err = svc.Processes(ctx); err == nil && len(all) > 1 {
			return busy
		}
	}
	until = time.Now().Add(24 * time.Hour)
	if !s.cfg.OnlyWork && err == nil {
		var pending int
		if pending, err = s.hooks.Pending(ctx, name, svc); err == nil && pending > 0 {
			return busy
		}
	}
	if !s.cfg.OnlyWork && !s.cfg.NoSchedules && err == nil {
		var all []service.Scheduled
		all, _, _, err = svc.Schedules(ctx, s.cfg.Schedules.Zone)
		for _, sc := range all {
			due := sc.Next.Add(-wakeAhead)
			switch {
			case sc.AskedRun != "":
				return busy
			case sc.Program != "" || sc.Err != nil || !sc.Paused.IsZero(): // not started by this process
			case sc.Next.IsZero(): // a continuous branch
				return busy
			case due.Before(until):
				until = due
			}
		}
	}
	if err != nil {
		if ctx.Err() == nil {
			s.log.Warn("cannot tell whether a namespace is idle", "namespace", name, "err", err)
		}
		return busy
	}
	return until
}
