package schedule

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/scheduler"
	"github.com/hocket-run/hocket/internal/service/failure"
)

// Control is an action of a person on a schedule.
type Control string

const (
	// Pause stops all automatic starts until Resume.
	Pause Control = "pause"
	// Resume ends a pause, and clears pending skips. Planned times up to now are not caught up.
	Resume Control = "resume"
	// Skip makes the next planned time that is not already skipped start nothing.
	Skip Control = "skip"
	// RunNow makes the scheduler start a run, even of a paused schedule, once no other one is
	// active.
	RunNow Control = "run"
)

// Controls returns all controls.
func Controls() []Control { return []Control{Pause, Resume, Skip, RunNow} }

// ControlRequest is a request to control one schedule.
type ControlRequest struct {
	Workflow string
	// Program is the program whose graph Workflow names; "" means a stored workflow or, if there is
	// none with that id, a graph of the only program that schedules a graph with that name.
	Program string
	// Branch and Schedule identify the schedule; if both are empty, the only one of the workflow.
	Branch, Schedule string
	Do               Control
	// By is the person who makes the request.
	By string
	// Zone is the zone of calendars whose document specifies none; nil means the machine's.
	Zone *time.Location
}

// maxTries is the maximum number of attempts to write a control after conflicts with concurrent
// changes.
const maxTries = 20

// ControlSchedule pauses, resumes, skips or runs a schedule of a published workflow, and returns
// the resulting schedule. The control is durable when ControlSchedule returns, and every scheduler
// of the store applies it; repeating it changes nothing, except that Skip skips one more time.
//
// It returns catalog.ErrNotFound, wrapped, or *InvalidError, for example for a schedule that the
// workflow does not have. AwaitStart waits for the run that RunNow requests.
func (s *Scheduler) ControlSchedule(ctx context.Context, q ControlRequest) (Scheduled, error) {
	branches, err := s.branches(ctx, q)
	if err != nil {
		return Scheduled{}, err
	}
	return s.control(ctx, q, branches)
}

// control controls one of the schedules of a workflow or graph.
func (s *Scheduler) control(ctx context.Context, q ControlRequest, branches []scheduler.Branch) (Scheduled, error) {
	if !slices.Contains(Controls(), q.Do) {
		return Scheduled{}, failure.Refuse(errcode.ScheduleControl, errcode.Fields{"control": string(q.Do)}, nil)
	}
	b, err := pickBranch(q, branches)
	if err != nil {
		return Scheduled{}, err
	}
	for try := 1; ; try++ {
		sc, err := s.scheduled(ctx, b, q.Zone)
		if err != nil {
			return sc, err
		}
		changed := sc.control
		if err := sc.applyControl(&changed, q, time.Now().UTC().Truncate(time.Microsecond)); err != nil {
			return sc, err
		}
		if changed == sc.control {
			return sc, nil
		}
		err = s.store.SetControl(ctx, changed)
		switch {
		case err == nil:
			sc, err = s.scheduled(ctx, b, q.Zone)
			if q.Do == RunNow { // the scheduler may have started it since
				sc.Asked, sc.AskedBy, sc.AskedRun = changed.Asked, changed.AskedBy, runOf(b.Key, changed.Asked)
			}
			return sc, err
		case !errors.Is(err, journal.ErrChanged) || try == maxTries:
			return sc, err
		}
	}
}

// HasScheduler reports whether a process runs the schedules of a program; "" means those of stored
// workflows.
func (s *Scheduler) HasScheduler(ctx context.Context, program string) (bool, error) {
	_, alive, err := s.store.Leader(ctx, program)
	return alive, err
}

// branches returns the schedules to which a request may refer. It returns catalog.ErrNotFound,
// wrapped.
func (s *Scheduler) branches(ctx context.Context, q ControlRequest) ([]scheduler.Branch, error) {
	var e catalog.Entry
	var err error
	if q.Program == "" {
		if e, err = s.definitions.Entry(ctx, q.Workflow); err == nil {
			if e.Published == 0 || e.Format == catalog.FormatRoutes {
				return nil, nil
			}
			return s.scheduledBranches(ctx, e)
		}
		if !errors.Is(err, catalog.ErrNotFound) {
			return nil, err
		}
	}
	k, knownErr := s.known(ctx)
	if knownErr != nil {
		return nil, knownErr
	}
	found := programBranches(k, func(r journal.Registration) bool {
		return r.Workflow == q.Workflow && (q.Program == "" || r.Program == q.Program)
	})
	if len(found) > 0 {
		return found, nil
	}
	return nil, err
}

// pickBranch returns the schedule to which a request refers.
func pickBranch(q ControlRequest, branches []scheduler.Branch) (scheduler.Branch, error) {
	if q.Branch == "" && q.Schedule == "" && len(branches) == 1 {
		return branches[0], nil
	}
	var programs []string
	for _, b := range branches {
		programs = append(programs, b.Program)
	}
	slices.Sort(programs)
	if programs = slices.Compact(programs); len(programs) > 1 {
		return scheduler.Branch{},
			failure.Refuse(errcode.ScheduleProgram, errcode.Fields{"id": q.Workflow, "programs": programs}, nil)
	}
	var names []string
	for _, b := range branches {
		if b.Branch == q.Branch && b.Key.Schedule == q.Schedule {
			return b, nil
		}
		names = append(names, nameOf(b.Key))
	}
	slices.Sort(names)
	switch {
	case len(names) == 0:
		return scheduler.Branch{}, failure.Refuse(errcode.ScheduleMissing, errcode.Fields{"id": q.Workflow}, nil)
	case q.Branch == "" && q.Schedule == "":
		return scheduler.Branch{},
			failure.Refuse(errcode.ScheduleNeeded, errcode.Fields{"id": q.Workflow, "schedules": names}, nil)
	}
	name := nameOf(scheduler.Key{Branch: q.Branch, Schedule: q.Schedule})
	return scheduler.Branch{}, failure.Refuse(errcode.ScheduleNotFound, errcode.Fields{
		"id": q.Workflow, "schedule": name, "schedules": names, "meant": diag.DidYouMean(name, names),
	}, nil)
}

// nameOf returns the name of a schedule within its workflow.
func nameOf(k scheduler.Key) string {
	return strings.Trim(k.Branch+"/"+k.Schedule, "/")
}

// applyControl changes a control according to the request.
func (sc *Scheduled) applyControl(c *journal.Control, q ControlRequest, now time.Time) error {
	switch q.Do {
	case Pause:
		if c.Paused.IsZero() {
			c.Paused, c.PausedBy = now, q.By
		}
	case Resume:
		if !c.Paused.IsZero() {
			c.Paused, c.PausedBy, c.Resumed, c.ResumedBy = time.Time{}, "", now, q.By
		}
		if c.SkipUntil.After(now) {
			c.SkipAfter, c.SkipUntil, c.SkippedBy = time.Time{}, time.Time{}, ""
		}
	case Skip:
		next := sc.planned
		switch {
		case sc.Err != nil:
			return failure.Refuse(errcode.InvalidSchedule, nil, sc.Err)
		case next.IsZero():
			return failure.Refuse(errcode.ScheduleUntimed, errcode.Fields{"id": q.Workflow}, nil)
		}
		if !c.SkipUntil.After(now) {
			c.SkipAfter = now
		}
		c.SkipUntil, c.SkippedBy = next.UTC(), q.By
	case RunNow:
		if sc.Err != nil {
			return failure.Refuse(errcode.InvalidSchedule, nil, sc.Err)
		}
		if sc.AskedRun == "" {
			// A clock that is behind another machine's must not make this look like a completed
			// request.
			c.Asked, c.AskedBy = later(now, later(sc.done, c.Asked).Add(time.Microsecond)), q.By
		}
	}
	return nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// runOf returns the id of the run of a schedule for a planned time, or for the time at which a
// person requested it.
func runOf(k scheduler.Key, planned time.Time) string {
	parts := []string{k.Workflow, k.Branch}
	switch {
	case k.Program != "":
		parts = append(parts, k.Schedule, k.Program)
	case k.Schedule != "":
		parts = append(parts, k.Schedule)
	}
	return driver.DerivedRunID(planned, parts...)
}

// scheduled returns one schedule as it appears in a list, without reading the controls of all
// others.
func (s *Scheduler) scheduled(ctx context.Context, b scheduler.Branch, zone *time.Location) (Scheduled, error) {
	list, err := s.store.Registrations(ctx)
	if err != nil {
		return Scheduled{}, err
	}
	c, err := s.store.Control(ctx, b.Key)
	if err != nil {
		return Scheduled{}, err
	}
	return s.describeSchedule(ctx, b, knownOf(list, []journal.Control{c}), cmp.Or(zone, time.Local), time.Now())
}
