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

// Scheduled is a schedule of a published workflow as a list shows it.
type Scheduled struct {
	scheduler.Branch
	// Next is the next planned time in the schedule's zone; zero where there is none or it is unknown: a continuous branch, an interval that no scheduler
	// has registered.
	Next time.Time
	// Zone is the zone of the calendar.
	Zone string
	// LastRun is the last run that was started by the schedule, LastStatus where it stands; empty where there is none. A run that was pruned has no
	// status.
	LastRun    string
	LastStatus journal.Status
}

// Schedules lists the schedules of all published workflows by workflow and branch, and the owner of their scheduler; false: none. zone is that of calendars whose
// document names none; nil: the machine's.
func (s *Scheduler) Schedules(ctx context.Context, zone *time.Location) ([]Scheduled, journal.Owner, bool, error) {
	zone = cmp.Or(zone, time.Local)
	leader, alive, err := s.store.Leader(ctx)
	if err != nil {
		return nil, leader, false, err
	}
	branches, err := (&publishedBranches{scheduler: s}).Branches(ctx)
	if err != nil {
		return nil, leader, alive, err
	}
	list, err := s.store.Registrations(ctx)
	if err != nil {
		return nil, leader, alive, err
	}
	registered := map[scheduler.Key]journal.Registration{}
	for _, r := range list {
		registered[scheduler.Key{Workflow: r.Workflow, Branch: r.Branch}] = r
	}
	now := time.Now()
	out := make([]Scheduled, len(branches))
	for i, b := range branches {
		sc := Scheduled{Branch: b}
		if r, ok := registered[b.Key]; ok {
			if sc.LastRun = r.Run; r.Run != "" {
				h, err := s.store.Head(ctx, r.Run)
				if err != nil && !errors.Is(err, journal.ErrNotFound) {
					return nil, leader, alive, err
				}
				sc.LastStatus = h.Status
			}
		}
		if b.Err == nil {
			sc.next(registered, zone, now)
		}
		out[i] = sc
	}
	slices.SortStableFunc(out, func(a, b Scheduled) int {
		return cmp.Or(cmp.Compare(a.Workflow, b.Workflow), cmp.Compare(a.Branch.Branch, b.Branch.Branch))
	})
	return out, leader, alive, nil
}

// next works out the zone and the next planned time.
func (sc *Scheduled) next(registered map[scheduler.Key]journal.Registration, zone *time.Location, now time.Time) {
	sched, err := schedule.Parse(sc.Schedule.Mode, sc.Schedule.Spec)
	loc, zerr := schedule.Zone(sc.Schedule.TimeZone, zone)
	if err = errors.Join(err, zerr); err != nil {
		sc.Err = err
		return
	}
	r, known := registered[sc.Key]
	known = known && r.Mode == sc.Schedule.Mode && r.Spec == sc.Schedule.Spec && r.TimeZone == sc.Schedule.TimeZone
	switch sched.Kind {
	case schedule.KindDaily, schedule.KindWeekly, schedule.KindCron:
		sc.Zone = loc.String()
		sc.Next = sched.Next(now, loc)
	case schedule.KindEvery:
		if known && r.Version == sc.Version {
			sc.Next = sched.NextFrom(r.Registered, now, loc)
		}
	default:
	}
}
