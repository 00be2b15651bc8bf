package scheduler

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/schedule"
)

const (
	retryFirst = time.Second
	retryMost  = time.Minute
)

// outcome is the outcome of a slot: a run, an active run that blocked it, or an error.
type outcome struct {
	slot   Slot
	run    string
	fresh  bool
	active string
	// ctl is the control of the schedule at the time of the decision.
	ctl journal.Control
	err error
}

// isHeld reports whether a person keeps the slot from starting. A run that a person requested
// starts even if the schedule is paused.
func (o outcome) isHeld() bool { return !o.slot.Asked && o.ctl.Holds(o.slot.Planned) }

// try has a worker start a run for a slot unless a run of the branch is active or a person paused
// or skipped it. Opening the models and tools of a run may take a while, which must not delay other
// schedules.
func (s *Scheduler) try(ctx context.Context, e *entry, slot Slot) {
	e.deciding = true
	s.wg.Go(func() {
		out := outcome{slot: slot}
		if out.ctl, out.err = s.cfg.Book.Control(ctx, slot.Key); out.err == nil && !out.isHeld() {
			out.active, out.err = s.cfg.Runs.Active(ctx, slot.Key)
			if out.err == nil && out.active == "" {
				out.run, out.fresh, out.err = s.cfg.Runs.Start(ctx, slot)
			}
		}
		s.send(ctx, func() { s.decided(ctx, e, out) })
	})
}

// decided processes the outcome of a slot.
func (s *Scheduler) decided(ctx context.Context, e *entry, out outcome) {
	now := s.now()
	e.deciding = false
	if busy, ok := errors.AsType[*BusyError](out.err); ok {
		s.handleBusy(ctx, e, out, busy.Run, now)
		return
	}
	switch {
	case errors.Is(out.err, ErrRefused):
		s.handleRefused(e, out, now)
	case out.err != nil:
		s.handleError(ctx, e, out, now)
		return
	case out.isHeld():
		s.handleHeld(ctx, e, out, now)
		return
	case out.active != "":
		e.backoff = 0
		s.handleOverlap(ctx, e, out, now)
		return
	default:
		e.backoff, e.refusedAt = 0, time.Time{}
		e.reg.Run, e.reg.Refused, e.reg.Refusal, e.dirty = out.run, time.Time{}, "", true
		if out.fresh {
			ev := Event{Kind: EventStarted, At: now, Key: e.key, Planned: out.slot.Planned, Run: out.run,
				Next: e.after(now)}
			if out.slot.CatchUp {
				ev.CatchUp = 1
			}
			s.cfg.Report(ev)
		}
		s.follow(ctx, e, out.run, out.fresh, now)
	}
	s.failed(ctx, "start "+e.key.String(), "", nil)
	switch {
	case out.slot.Asked:
		e.reg.Asked, e.dirty = out.slot.Planned, true
	case out.slot.CatchUp:
		e.caughtUp(out.slot.Planned)
	}
	s.save(ctx, e)
}

// maxRefusal is the maximum length of the stored reason of a refusal, in bytes.
const maxRefusal = 2000

// handleRefused handles a run that is not acceptable. A continuous branch retries with increasing
// delays. The same reason is reported again only after a while.
func (s *Scheduler) handleRefused(e *entry, out outcome, now time.Time) {
	e.dirty = true
	if e.sched.Kind == schedule.KindContinuous {
		e.backoff = min(max(2*e.backoff, e.sched.Every, retryFirst), max(retryMost, e.sched.Every))
		e.next = now.Add(e.backoff)
	}
	text := strings.TrimPrefix(out.err.Error(), ErrRefused.Error()+": ")
	if len(text) > maxRefusal {
		text = strings.ToValidUTF8(text[:maxRefusal], "") + "…"
	}
	isNew := text != e.reg.Refusal || e.reg.Refused.IsZero()
	if isNew {
		e.reg.Refused, e.reg.Refusal = now, text
	}
	if isNew || e.refusedAt.IsZero() || now.Sub(e.refusedAt).Abs() >= retryMost {
		e.refusedAt = now
		s.cfg.Report(Event{Kind: EventRefused, At: now, Key: e.key, Planned: out.slot.Planned, Err: out.err,
			Next: e.after(now)})
	}
}

// handleError handles an error that may be transient: it is unknown whether the run was started.
// The slot's time was met, so the slot is retried under any policy, but at most MaxCatchUp slots
// are retried; a run that was started after all is found under the same id.
func (s *Scheduler) handleError(ctx context.Context, e *entry, out outcome, now time.Time) {
	s.failed(ctx, "start "+e.key.String(), "cannot start a scheduled run", out.err, "schedule",
		e.key.String())
	e.backoff = min(max(2*e.backoff, retryFirst), retryMost)
	if e.sched.Kind == schedule.KindContinuous && !out.slot.Asked {
		e.next = now.Add(e.backoff)
		return
	}
	e.retry = now.Add(e.backoff)
	if !out.slot.CatchUp && !out.slot.Asked {
		e.queueCatchUp(out.slot.Planned, out.slot.Planned)
	}
	s.save(ctx, e)
}

// handleOverlap handles a slot that found an active run of its branch. A slot that may wait waits
// for the end of that run; a planned time that was met is skipped (S1-37).
func (s *Scheduler) handleOverlap(ctx context.Context, e *entry, out outcome, now time.Time) {
	if out.slot.CatchUp || out.slot.Asked || e.sched.Kind == schedule.KindContinuous {
		s.follow(ctx, e, out.active, false, now)
		return
	}
	s.skip(e, out.slot, out.active, now)
	s.save(ctx, e)
}

// handleBusy handles a slot whose run may not run concurrently with others. A planned time that was
// met is skipped; all other slots retry with increasing delays, since the other run may belong to
// another workflow and have no process.
func (s *Scheduler) handleBusy(ctx context.Context, e *entry, out outcome, run string, now time.Time) {
	s.failed(ctx, "start "+e.key.String(), "", nil) // the store answered
	if out.slot.CatchUp || out.slot.Asked || e.sched.Kind == schedule.KindContinuous {
		e.backoff = min(max(2*e.backoff, retryFirst), retryMost)
		e.retry, e.next = now.Add(e.backoff), now.Add(e.backoff)
		return
	}
	e.backoff = 0
	s.skip(e, out.slot, run, now)
	s.save(ctx, e)
}

// follow has a worker wait for the end of a run.
func (s *Scheduler) follow(ctx context.Context, e *entry, run string, report bool, began time.Time) {
	e.running = run
	s.wg.Go(func() {
		status, err := s.wait(ctx, run)
		s.send(ctx, func() { s.handleEnded(e, run, status, err, report, began) })
	})
}

// wait polls until the run has ended, is gone, or has no process.
func (s *Scheduler) wait(ctx context.Context, run string) (journal.Status, error) {
	for {
		status, err := s.cfg.Runs.Wait(ctx, run)
		if err == nil || ctx.Err() != nil || errors.Is(err, journal.ErrNotFound) || errors.Is(err, ErrLeft) {
			return status, err
		}
		t := time.NewTimer(retryFirst)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return "", ctx.Err()
		}
	}
}

// handleEnded handles a run that has ended, with any status (S1-23), or whose end is no longer
// awaited.
func (s *Scheduler) handleEnded(e *entry, run string, status journal.Status, err error, report bool, began time.Time) {
	now := s.now()
	if e.running == run {
		e.running = ""
		e.next = now.Add(e.sched.Every)
	}
	if report && err == nil {
		s.cfg.Report(Event{Kind: EventEnded, At: now, Key: e.key, Run: run, Status: status, Took: now.Sub(began),
			Next: e.after(now)})
	}
}
