package schedule

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/schedule"
	"github.com/hocket-run/hocket/internal/scheduler"
)

// Scheduled is a schedule of a published workflow, or of a graph of a program, as it appears in a
// list.
type Scheduled struct {
	scheduler.Branch
	// Next is the next planned time in the schedule's zone; zero if there is none or it is unknown,
	// as for a continuous branch or an interval that no scheduler has registered.
	Next time.Time
	// Zone is the zone of the calendar.
	Zone string
	// LastRun is the last run that the schedule started, LastStatus its status; empty if there is
	// none. A run that was pruned has no status.
	LastRun    string
	LastStatus journal.Status
	// Paused is the time since which it is paused, and PausedBy the person who paused it; zero
	// means that it is not paused and starts at Next.
	Paused   time.Time
	PausedBy string
	// SkipUntil is the last planned time that is skipped, and SkippedBy the person who skipped it;
	// zero means that no future time is skipped.
	SkipUntil time.Time
	SkippedBy string
	// AskedRun is the id of the run that a person requested and that the scheduler has not started
	// yet, Asked the time of the request.
	AskedRun string
	Asked    time.Time
	AskedBy  string
	// Refused is since when its runs have been refused for the reason Refusal; zero means that the
	// last start was not refused.
	Refused time.Time
	Refusal string
	// IsRun means that a process currently starts its runs.
	IsRun bool
	// control is the stored control; done is the time up to which requested runs are completed;
	// planned is the next planned time, even while paused.
	control       journal.Control
	done, planned time.Time
}

// storedState is the store's data about schedules.
type storedState struct {
	registered map[scheduler.Key]journal.Registration
	controls   map[scheduler.Key]journal.Control
}

func (s *Scheduler) known(ctx context.Context) (storedState, error) {
	list, err := s.store.Registrations(ctx)
	if err != nil {
		return storedState{}, err
	}
	controls, err := s.store.Controls(ctx)
	if err != nil {
		return storedState{}, err
	}
	return knownOf(list, controls), nil
}

func knownOf(list []journal.Registration, controls []journal.Control) storedState {
	k := storedState{map[scheduler.Key]journal.Registration{}, map[scheduler.Key]journal.Control{}}
	for _, r := range list {
		k.registered[r.ScheduleKey] = r
	}
	for _, c := range controls {
		k.controls[c.ScheduleKey] = c
	}
	return k
}

// Schedules returns the schedules of all published workflows by workflow, branch and id, followed
// by those that programs have registered, by program; and the owner of the scheduler of the former,
// or false if there is none. zone is the zone of calendars whose document specifies none; nil means
// the machine's.
func (s *Scheduler) Schedules(ctx context.Context, zone *time.Location) ([]Scheduled, journal.Owner, bool, error) {
	zone = cmp.Or(zone, time.Local)
	leader, alive, err := s.store.Leader(ctx, "")
	if err != nil {
		return nil, leader, false, err
	}
	branches, err := (&publishedBranches{scheduler: s}).Branches(ctx)
	if err != nil {
		return nil, leader, alive, err
	}
	known, err := s.known(ctx)
	if err != nil {
		return nil, leader, alive, err
	}
	branches = append(branches, programBranches(known, func(journal.Registration) bool { return true })...)
	runs := map[string]bool{"": alive}
	now := time.Now()
	out := make([]Scheduled, len(branches))
	for i, b := range branches {
		if out[i], err = s.describeSchedule(ctx, b, known, zone, now); err != nil {
			return nil, leader, alive, err
		}
		if _, ok := runs[b.Program]; !ok {
			if runs[b.Program], err = s.HasScheduler(ctx, b.Program); err != nil {
				return nil, leader, alive, err
			}
		}
		out[i].IsRun = runs[b.Program]
	}
	slices.SortStableFunc(out, func(a, b Scheduled) int { return journal.CompareScheduleKeys(a.Key, b.Key) })
	return out, leader, alive, nil
}

// describeSchedule returns one schedule.
func (s *Scheduler) describeSchedule(ctx context.Context, b scheduler.Branch, k storedState, zone *time.Location,
	now time.Time) (
	Scheduled, error) {
	sc := Scheduled{Branch: b, control: journal.Control{ScheduleKey: b.Key}}
	if c, ok := k.controls[b.Key]; ok {
		sc.control = c
		sc.Paused, sc.PausedBy = c.Paused, c.PausedBy
		if c.SkipUntil.After(now) {
			sc.SkipUntil, sc.SkippedBy = c.SkipUntil, c.SkippedBy
		}
	}
	if r, ok := k.registered[b.Key]; ok {
		sc.Refused, sc.Refusal = r.Refused, r.Refusal
		if sc.LastRun, sc.done = r.Run, r.Asked; r.Run != "" {
			h, err := s.store.Head(ctx, r.Run)
			if err != nil && !errors.Is(err, journal.ErrNotFound) {
				return sc, err
			}
			sc.LastStatus = h.Status
		}
	}
	if c := sc.control; c.Asked.After(sc.done) && now.Sub(c.Asked) <= scheduler.AskLimit {
		sc.Asked, sc.AskedBy, sc.AskedRun = c.Asked, c.AskedBy, runOf(b.Key, c.Asked)
	}
	if b.Err == nil {
		sc.next(k.registered, zone, now)
	}
	return sc, nil
}

// next computes the zone and the next planned time.
func (sc *Scheduled) next(registered map[scheduler.Key]journal.Registration, zone *time.Location, now time.Time) {
	sched, err := schedule.Parse(sc.Schedule.Mode, sc.Schedule.Spec)
	loc, zerr := schedule.Zone(sc.Schedule.TimeZone, zone)
	if err = errors.Join(err, zerr); err != nil {
		sc.Err = err
		return
	}
	r, known := registered[sc.Key]
	known = known && r.Mode == sc.Schedule.Mode && r.Spec == sc.Schedule.Spec && r.TimeZone == sc.Schedule.TimeZone
	from := later(now, sc.SkipUntil)
	switch sched.Kind {
	case schedule.KindDaily, schedule.KindWeekly, schedule.KindCron:
		sc.Zone = loc.String()
		sc.planned = sched.Next(from, loc)
	case schedule.KindEvery:
		if known && r.Version == sc.Version {
			sc.planned = sched.NextFrom(r.Registered, from, loc)
		}
	default:
	}
	if sc.Paused.IsZero() {
		sc.Next = sc.planned
	}
}
