package scheduler

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/schedule"
	"github.com/hocket-run/hocket/workflow"
)

// entry is one schedule.
type entry struct {
	key Key
	// source is the schedule that sched and loc were parsed from.
	source workflow.Schedule
	sched  schedule.Schedule
	loc    *time.Location
	// reg is stored when it is dirty and no slot is being decided, so that no planned time is
	// marked before its run is durable.
	reg journal.Registration
	// policy determines what happens to its missed times.
	policy Policy
	dirty  bool
	// ctl is the control that people set, as last read.
	ctl journal.Control
	// due is the planned time after reg.Planned; zero means that it must be computed again.
	due time.Time
	// inert means that the workflow cannot be read.
	inert bool
	// deciding means that a worker is checking whether a run may start, and starts it.
	deciding bool
	// running is the run whose end is awaited, or "".
	running string
	// next is when a continuous branch starts its next run; zero means now. retry is when to try
	// again after an error.
	next, retry time.Time
	backoff     time.Duration
	// refusedAt is when a refusal was last reported; zero if the last start was not refused.
	refusedAt time.Time
}

// unread is a schedule that cannot be parsed. Its error is kept, because a suggestion in it takes
// far longer than a poll.
type unread struct {
	source workflow.Schedule
	err    error
}

// refresh compares the published schedules with the registered ones.
func (s *Scheduler) refresh(ctx context.Context) {
	list, err := s.cfg.Source.Branches(ctx)
	if s.failed(ctx, "source", "cannot read the published workflows", err) {
		return
	}
	controls, err := s.cfg.Book.Controls(ctx)
	if s.failed(ctx, "controls", "cannot read which schedules are paused", err) {
		return
	}
	now := s.now()
	seen, broken := map[Key]bool{}, map[string]bool{}
	for _, b := range list {
		sched, loc, err := s.read(b)
		about := "broken " + b.String()
		if err != nil {
			broken[b.Workflow] = true
			if s.logged[about] != err.Error() {
				s.logged[about] = err.Error()
				s.cfg.Report(Event{Kind: EventBroken, At: now, Key: b.Key, Err: err})
			}
			continue
		}
		delete(s.logged, about)
		if !sched.IsTimed() && sched.Kind != schedule.KindContinuous {
			continue
		}
		seen[b.Key] = true
		s.register(b, sched, loc, now)
	}
	for _, key := range slices.SortedFunc(maps.Keys(s.all), journal.CompareScheduleKeys) {
		e := s.all[key]
		if e.inert = broken[key.Workflow] && !seen[key]; seen[key] || e.inert {
			continue
		}
		if s.forget(ctx, key) {
			delete(s.all, key)
			s.cfg.Report(Event{Kind: EventRemoved, At: now, Key: key})
		} else {
			e.inert = true
		}
	}
	s.control(controls)
	if now.Sub(s.since) < s.cfg.Keep {
		return
	}
	// Schedules registered before this process started that no longer exist.
	for _, key := range slices.SortedFunc(maps.Keys(s.stored), journal.CompareScheduleKeys) {
		if !broken[key.Workflow] && s.all[key] == nil {
			s.forget(ctx, key)
		}
	}
}

func (s *Scheduler) read(b Branch) (schedule.Schedule, *time.Location, error) {
	if b.Err != nil {
		return schedule.Schedule{}, nil, b.Err
	}
	if e := s.all[b.Key]; e != nil && sameTimes(e.source, b.Schedule) {
		return e.sched, e.loc, nil
	}
	if u, ok := s.unread[b.Key]; ok && sameTimes(u.source, b.Schedule) {
		return schedule.Schedule{}, nil, u.err
	}
	delete(s.unread, b.Key)
	sched, err := schedule.Parse(b.Schedule.Mode, b.Schedule.Spec)
	var loc *time.Location
	if err == nil {
		loc, err = schedule.Zone(b.Schedule.TimeZone, s.cfg.Zone)
	}
	if err != nil {
		s.unread[b.Key] = unread{b.Schedule, err}
	}
	return sched, loc, err
}

// sameTimes reports whether two schedules have the same planned times; the inputs of their runs are
// read when the runs start.
func sameTimes(a, b workflow.Schedule) bool {
	return a.Mode == b.Mode && a.Spec == b.Spec && a.TimeZone == b.TimeZone
}

func (s *Scheduler) forget(ctx context.Context, key Key) bool {
	if s.failed(ctx, "forget "+key.String(), "cannot unregister a schedule", s.cfg.Book.Unregister(ctx, key),
		"schedule", key.String()) {
		return false
	}
	delete(s.stored, key)
	return true
}

// register registers a published schedule. A changed schedule starts over; so does an interval
// whose workflow has a new version (S1-38). A calendar does not depend on its registration time, so
// a planned time that passed while its workflow changed is not lost.
func (s *Scheduler) register(b Branch, sched schedule.Schedule, loc *time.Location, now time.Time) {
	e := s.all[b.Key]
	fresh := false
	if e == nil {
		e = &entry{key: b.Key}
		s.all[b.Key] = e
		var known bool
		if e.reg, known = s.stored[b.Key]; !known {
			fresh = true
		}
		delete(s.stored, b.Key)
	}
	e.source, e.sched, e.loc, e.policy = b.Schedule, sched, loc, cmp.Or(b.CatchUp, s.cfg.CatchUp)
	reg := journal.Registration{
		ScheduleKey: b.Key, Version: b.Version, Mode: b.Schedule.Mode, Spec: b.Schedule.Spec,
		TimeZone:   b.Schedule.TimeZone,
		Registered: now, Planned: now, Run: e.reg.Run, Asked: e.reg.Asked,
	}
	same := e.reg.Mode == reg.Mode && e.reg.Spec == reg.Spec && e.reg.TimeZone == reg.TimeZone
	switch {
	case fresh, !same, e.reg.Version != reg.Version && sched.Kind == schedule.KindEvery:
		e.reg, e.dirty, e.due, e.next, e.retry = reg, true, time.Time{}, time.Time{}, time.Time{}
		s.cfg.Report(Event{Kind: EventRegistered, At: now, Key: e.key, Next: e.after(now), Detail: sched.String()})
	case e.reg.Version != reg.Version:
		e.reg.Version, e.dirty = reg.Version, true
	}
}

// after returns the next planned time, or zero if there is none.
func (e *entry) after(now time.Time) time.Time {
	if !e.sched.IsTimed() || !e.ctl.Paused.IsZero() {
		return time.Time{}
	}
	from := e.reg.Planned
	if now.After(from) {
		from = now
	}
	if from.Before(e.ctl.SkipUntil) && !from.Before(e.ctl.SkipAfter) {
		from = e.ctl.SkipUntil
	}
	return e.sched.NextFrom(e.reg.Registered, from, e.loc)
}

// save stores changes once no slot is being decided.
func (s *Scheduler) save(ctx context.Context, e *entry) {
	if e.dirty && !e.deciding && s.all[e.key] == e && !s.failed(ctx, "save "+e.key.String(),
		"cannot store the position of a schedule", s.cfg.Book.Register(ctx, e.reg), "schedule", e.key.String()) {
		e.dirty = false
	}
}

// step performs the due work of one schedule and returns when to look again; zero means that no
// time is awaited.
func (s *Scheduler) step(ctx context.Context, e *entry, now time.Time) time.Time {
	switch {
	case e.inert:
		return time.Time{}
	case s.startRequested(ctx, e, now):
		return time.Time{}
	case e.sched.Kind == schedule.KindContinuous:
		return s.stepContinuous(ctx, e, now)
	}
	s.checkClock(e, now)
	wake := e.nextDue()
	if !wake.IsZero() && !wake.After(now) {
		if due := e.sched.Missed(e.reg.Registered, e.reg.Planned, now, e.loc, 1); len(due) > 0 {
			s.handleDue(ctx, e, due[0].UTC(), now)
		}
		wake = e.nextDue()
	}
	if e.deciding || e.running != "" || e.reg.CatchUpTo.IsZero() || !e.ctl.Paused.IsZero() {
		return wake
	}
	if e.retry.After(now) {
		return earlier(wake, e.retry)
	}
	slot := e.sched.NextFrom(e.reg.Registered, e.reg.CatchUpAfter, e.loc).UTC()
	if slot.After(e.reg.CatchUpTo) {
		e.caughtUp(e.reg.CatchUpTo)
		return wake
	}
	if e.ctl.Holds(slot) {
		e.caughtUp(slot)
		return now
	}
	s.try(ctx, e, Slot{Key: e.key, Planned: slot, CatchUp: true})
	return wake
}

// nextDue returns the first planned time that is not done; zero means never.
func (e *entry) nextDue() time.Time {
	if e.due.IsZero() {
		e.due = e.sched.NextFrom(e.reg.Registered, e.reg.Planned, e.loc)
	}
	return e.due
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// checkClock handles a clock that was far ahead and has been corrected: times that were planned and
// done by the wrong clock do not keep the branch silent until they come. No planned time runs twice
// because of this, as its run has the same id.
func (s *Scheduler) checkClock(e *entry, now time.Time) {
	limit := now.Add(backLimit)
	if !e.reg.Planned.After(limit) && !e.reg.Registered.After(limit) {
		return
	}
	s.cfg.Report(Event{Kind: EventClock, At: now, Key: e.key, Planned: e.reg.Planned})
	e.due, e.dirty = time.Time{}, true
	e.reg.Planned, e.reg.CatchUpAfter, e.reg.CatchUpTo = now, time.Time{}, time.Time{}
	if e.reg.Registered.After(now) {
		e.reg.Registered = now
	}
}

// handleDue handles the planned times that have come, up to last. The last one counts as met if it
// came while this process was leading, no more than Grace ago; all others were missed.
func (s *Scheduler) handleDue(ctx context.Context, e *entry, last, now time.Time) {
	met := last.After(s.since) && now.Sub(last) <= s.cfg.Grace
	until := last
	if met {
		until = last.Add(-time.Microsecond)
	}
	missed := slices.DeleteFunc(e.sched.Missed(e.reg.Registered, e.reg.Planned, until, e.loc, MaxCatchUp), e.ctl.Holds)
	if len(missed) > 0 {
		s.recordMissed(e, missed, met, now)
	}
	e.due, e.reg.Planned, e.dirty = time.Time{}, last, true
	if e.ctl.Holds(last) {
		s.reportHeld(e, last, now)
		return
	}
	if !met {
		return
	}
	if slot := (Slot{Key: e.key, Planned: last}); e.deciding {
		s.skip(e, slot, "", now)
	} else {
		s.try(ctx, e, slot)
	}
}

// recordMissed records which of the missed planned times are to be caught up.
func (s *Scheduler) recordMissed(e *entry, missed []time.Time, met bool, now time.Time) {
	ev := Event{Kind: EventMissed, At: now, Key: e.key, Planned: missed[len(missed)-1].UTC(), Count: len(missed),
		Next: e.after(now)}
	switch {
	case e.policy == CatchUpAll:
		ev.CatchUp = e.queueCatchUp(missed[0], ev.Planned)
	case e.policy == CatchUpLast && !met:
		e.reg.CatchUpAfter, e.reg.CatchUpTo = ev.Planned.Add(-time.Microsecond), ev.Planned
		ev.CatchUp = 1
	}
	s.cfg.Report(ev)
}

// queueCatchUp queues the planned times from first to last for catching up, after those already
// waiting, and returns the total number waiting. If there are more than MaxCatchUp, only the last
// ones are kept.
func (e *entry) queueCatchUp(first, last time.Time) int {
	from := first.Add(-time.Microsecond)
	if !e.reg.CatchUpTo.IsZero() {
		from = e.reg.CatchUpAfter
	}
	waiting := e.sched.Missed(e.reg.Registered, from, last, e.loc, MaxCatchUp)
	if len(waiting) > 0 { // none if the schedule has changed
		e.reg.CatchUpAfter, e.reg.CatchUpTo, e.dirty = waiting[0].UTC().Add(-time.Microsecond), last, true
	}
	return len(waiting)
}

// caughtUp records that planned times up to at need no more catching up.
func (e *entry) caughtUp(at time.Time) {
	e.dirty = true
	if e.reg.CatchUpAfter = at; !at.Before(e.reg.CatchUpTo) {
		e.reg.CatchUpAfter, e.reg.CatchUpTo = time.Time{}, time.Time{}
	}
}

func (s *Scheduler) skip(e *entry, slot Slot, run string, now time.Time) {
	s.cfg.Report(Event{Kind: EventSkipped, At: now, Key: e.key, Planned: slot.Planned, Run: run, Next: e.after(now)})
}

// stepContinuous starts the next run if none is active and the delay has passed. Setting the clock
// back does not lengthen a delay.
func (s *Scheduler) stepContinuous(ctx context.Context, e *entry, now time.Time) time.Time {
	if e.deciding || e.running != "" || !e.ctl.Paused.IsZero() {
		return time.Time{}
	}
	if most := now.Add(max(e.backoff, e.sched.Every)); e.next.After(most) {
		e.next = most
	}
	if e.next.After(now) {
		return e.next
	}
	s.try(ctx, e, Slot{Key: e.key, Planned: now})
	return time.Time{}
}
