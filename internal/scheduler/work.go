package scheduler

import (
	"context"
	"errors"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/schedule"
)

const (
	retryFirst = time.Second
	retryMost  = time.Minute
)

// outcome is what became of a slot: a run, or a run that was in its way, or an error.
type outcome struct {
	slot   Slot
	run    string
	fresh  bool
	active string
	// ctl is what people said of the schedule when it was decided.
	ctl journal.Control
	err error
}

// isHeld tells of a slot that a person keeps from starting. What a person asked for starts though the schedule is paused.
func (o outcome) isHeld() bool { return !o.slot.Asked && o.ctl.Holds(o.slot.Planned) }

// try has a worker start a run for a slot unless one of the branch has not ended or a person said that it is not to start. Opening the models and tools of a run may take a while, which
// must not hold up other schedules.
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

// decided notes what became of a slot.
func (s *Scheduler) decided(ctx context.Context, e *entry, out outcome) {
	now := s.now()
	e.deciding = false
	if busy, ok := errors.AsType[*BusyError](out.err); ok {
		s.busy(ctx, e, out, busy.Run, now)
		return
	}
	switch {
	case errors.Is(out.err, ErrRefused):
		s.refuse(e, out, now)
	case out.err != nil:
		s.again(ctx, e, out, now)
		return
	case out.isHeld():
		s.held(ctx, e, out, now)
		return
	case out.active != "":
		e.backoff = 0
		s.occupied(ctx, e, out, now)
		return
	default:
		e.backoff, e.refused = 0, ""
		e.reg.Run, e.dirty = out.run, true
		if out.fresh {
			ev := Event{Kind: EventStarted, At: now, Key: e.key, Planned: out.slot.Planned, Run: out.run, Next: e.after(now)}
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

// refuse is for a run that is not acceptable. A continuous branch asks again, ever more seldom.
func (s *Scheduler) refuse(e *entry, out outcome, now time.Time) {
	e.dirty = true
	if e.sched.Kind == schedule.KindContinuous {
		e.backoff = min(max(2*e.backoff, e.sched.Every, retryFirst), max(retryMost, e.sched.Every))
		e.next = now.Add(e.backoff)
	}
	if text := out.err.Error(); text != e.refused || now.Sub(e.refusedAt).Abs() >= retryMost {
		e.refused, e.refusedAt = text, now
		s.cfg.Report(Event{Kind: EventRefused, At: now, Key: e.key, Planned: out.slot.Planned, Err: out.err, Next: e.after(now)})
	}
}

// again is for an error that may pass: it is unknown whether the run was started. The slot is asked for again, whatever the policy says, as its
// time was met, but no more than MaxCatchUp of them; a run that was started after all is found under the same id.
func (s *Scheduler) again(ctx context.Context, e *entry, out outcome, now time.Time) {
	s.failed(ctx, "start "+e.key.String(), "cannot start a scheduled run", out.err)
	e.backoff = min(max(2*e.backoff, retryFirst), retryMost)
	if e.sched.Kind == schedule.KindContinuous && !out.slot.Asked {
		e.next = now.Add(e.backoff)
		return
	}
	e.retry = now.Add(e.backoff)
	if !out.slot.CatchUp && !out.slot.Asked {
		e.makeUp(out.slot.Planned, out.slot.Planned)
	}
	s.save(ctx, e)
}

// occupied is for a slot that found a run of its branch. Who may wait waits for its end; a planned time that was met is skipped (S1-37).
func (s *Scheduler) occupied(ctx context.Context, e *entry, out outcome, now time.Time) {
	if out.slot.CatchUp || out.slot.Asked || e.sched.Kind == schedule.KindContinuous {
		s.follow(ctx, e, out.active, false, now)
		return
	}
	s.skip(e, out.slot, out.active, now)
	s.save(ctx, e)
}

// busy is for a slot whose run may not go on beside others. A planned time that was met is skipped; all else asks again, ever more seldom: the other run may be of another workflow, and have no process.
func (s *Scheduler) busy(ctx context.Context, e *entry, out outcome, run string, now time.Time) {
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
		s.send(ctx, func() { s.ended(e, run, status, err, report, began) })
	})
}

// wait asks until the run has ended, or is gone, or was left.
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

// ended is for a run that has ended, whatever its status (S1-23), or whose end is not awaited any more.
func (s *Scheduler) ended(e *entry, run string, status journal.Status, err error, report bool, began time.Time) {
	now := s.now()
	if e.running == run {
		e.running = ""
		e.next = now.Add(e.sched.Every)
	}
	if report && err == nil {
		s.cfg.Report(Event{Kind: EventEnded, At: now, Key: e.key, Run: run, Status: status, Took: now.Sub(began), Next: e.after(now)})
	}
}
