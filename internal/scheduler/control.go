package scheduler

import (
	"context"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

// control applies the controls that people set on schedules.
func (s *Scheduler) control(list []journal.Control) {
	for _, c := range list {
		if e := s.all[c.ScheduleKey]; e != nil {
			s.apply(e, c)
		}
	}
}

// apply applies a control to its schedule. A resumed schedule begins with the first planned time
// after it was resumed; earlier times are not caught up.
func (s *Scheduler) apply(e *entry, c journal.Control) {
	if c.Revision < e.ctl.Revision {
		return // a worker read a newer one
	}
	former := e.ctl
	e.ctl = c
	switch isPaused := !c.Paused.IsZero(); {
	case isPaused && former.Paused.IsZero():
		s.cfg.Report(Event{Kind: EventPaused, At: s.now(), Key: e.key, Detail: c.PausedBy})
	case !isPaused && !former.Paused.IsZero():
		s.cfg.Report(Event{Kind: EventResumed, At: s.now(), Key: e.key, Detail: c.ResumedBy, Next: e.after(s.now())})
	}
	if c.Resumed.IsZero() {
		return
	}
	if e.reg.Planned.Before(c.Resumed) {
		e.reg.Planned, e.due, e.dirty = c.Resumed, time.Time{}, true
	}
	if !e.reg.CatchUpTo.IsZero() && e.reg.CatchUpAfter.Before(c.Resumed) {
		e.caughtUp(c.Resumed)
	}
}

// startRequested starts the run that a person requested, if none is active and the request is less
// than a day old. It reports whether the run is being decided.
func (s *Scheduler) startRequested(ctx context.Context, e *entry, now time.Time) bool {
	asked := e.ctl.Asked
	if asked.IsZero() || !asked.After(e.reg.Asked) || now.Sub(asked) > AskLimit || e.deciding || e.running != "" ||
		e.retry.After(now) {
		return false
	}
	s.try(ctx, e, Slot{Key: e.key, Planned: asked, Asked: true})
	return true
}

// reportHeld reports a planned time that starts nothing because of a person's control.
func (s *Scheduler) reportHeld(e *entry, planned, now time.Time) {
	why := "paused"
	if e.ctl.Skips(planned) {
		why = "skipped"
	}
	s.cfg.Report(Event{Kind: EventHeld, At: now, Key: e.key, Planned: planned, Detail: why, Next: e.after(now)})
}

// handleHeld handles a slot that a person has paused or skipped since the control was last read.
func (s *Scheduler) handleHeld(ctx context.Context, e *entry, out outcome, now time.Time) {
	s.apply(e, out.ctl)
	e.backoff = 0
	switch {
	case out.slot.CatchUp && !e.ctl.Paused.IsZero(): // it waits
	case out.slot.CatchUp:
		e.caughtUp(out.slot.Planned)
	case e.sched.IsTimed():
		s.reportHeld(e, out.slot.Planned, now)
	}
	s.save(ctx, e)
}
