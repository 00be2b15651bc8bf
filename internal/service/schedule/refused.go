package schedule

import (
	"context"
	"errors"
	"time"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/scheduler"
	"github.com/hocket-run/hocket/internal/service/definition"
	"github.com/hocket-run/hocket/internal/service/failure"
)

// CodeRefused is the code of warnings about schedules whose runs will be refused.
const CodeRefused = "refused-schedule"

// ErrNoScheduler is returned when no process runs the schedule.
var ErrNoScheduler = errors.New("no process runs the schedule")

// decisionTime is how long AwaitDecision waits. Schedulers look for requests each second.
const decisionTime = 5 * time.Second

// AwaitDecision is AwaitStart for callers that must be answered soon: after a few seconds, or if no
// process runs the schedule, it returns nil, and the request stands.
func (s *Scheduler) AwaitDecision(ctx context.Context, sc Scheduled) error {
	wait, cancel := context.WithTimeout(ctx, decisionTime)
	defer cancel()
	err := s.AwaitStart(wait, sc)
	if errors.Is(err, ErrNoScheduler) || wait.Err() != nil {
		return ctx.Err()
	}
	return err
}

// awaitPoll is how often AwaitStart reads what the scheduler has decided.
const awaitPoll = 100 * time.Millisecond

// AwaitStart waits until the run that a person requested by RunNow is stored. sc is the result of
// ControlSchedule.
//
// It returns an *InvalidError with the reason if the scheduler refused the run, ErrNoScheduler, or
// the error of ctx. The last two leave the request as it is.
func (s *Scheduler) AwaitStart(ctx context.Context, sc Scheduled) error {
	changed := make(chan struct{}, 1)
	defer s.store.Subscribe(changed, journal.OfRun(sc.AskedRun))()
	poll := time.NewTicker(awaitPoll)
	defer poll.Stop()
	for {
		r, err := s.registration(ctx, sc.Key) // before the run: it is stored after it
		if err != nil {
			return err
		}
		_, err = s.store.Head(ctx, sc.AskedRun)
		if !errors.Is(err, journal.ErrNotFound) {
			return err
		}
		if !r.Asked.Before(sc.Asked) {
			return failure.Refuse(errcode.ScheduleRefused,
				errcode.Fields{"schedule": sc.String(), "reason": r.Refusal}, nil)
		}
		switch alive, err := s.HasScheduler(ctx, sc.Program); {
		case err != nil:
			return err
		case !alive:
			return ErrNoScheduler
		}
		select {
		case <-changed:
		case <-poll.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *Scheduler) registration(ctx context.Context, key scheduler.Key) (journal.Registration, error) {
	list, err := s.store.Registrations(ctx)
	for _, r := range list {
		if r.ScheduleKey == key {
			return r, err
		}
	}
	return journal.Registration{}, err
}

// Refused returns the schedules of stored workflows and of programs whose last start was refused.
func (s *Scheduler) Refused(ctx context.Context) ([]journal.Registration, error) {
	list, err := s.store.Registrations(ctx)
	if err != nil {
		return nil, err
	}
	var refused []journal.Registration
	for _, r := range list {
		if !r.Refused.IsZero() {
			refused = append(refused, r)
		}
	}
	return refused, nil
}

// CheckSchedules returns a warning for each schedule of a published workflow whose runs would be
// refused, with the name of its file. A process that runs schedules checks everything. Any other
// process checks permissions alone: the process that runs the schedules may have other models, keys
// and files. It returns errors of the store.
func (s *Scheduler) CheckSchedules(ctx context.Context, id, file string) (diag.List, error) {
	w, d, problems, err := s.definitions.LoadStored(ctx, id, definition.Which{}, definition.LoadOptions{})
	switch {
	case errors.Is(err, catalog.ErrNotFound), err != nil && failure.CodeOf(err) != failure.CodeInternal:
		return nil, nil // its schedules cannot be read, which lists of schedules say
	case err != nil:
		return nil, err
	case w == nil || problems.HasErrors():
		return nil, nil
	}
	q, decides := s.request.Load(), true
	if q == nil {
		q, decides = &Request{}, false
	}
	var list diag.List
	for _, b := range branchesOf(w, d.Entry) {
		slot := scheduler.Slot{Key: b.Key, Planned: time.Now()}
		err := s.runs.Check(ctx, q.start(w, d, slot, b.Schedule.Inputs))
		_, needs := errors.AsType[*failure.CommandsError](err)
		if err == nil || failure.CodeOf(err) == failure.CodeInternal || !needs && !decides {
			continue
		}
		one := list.Warnf(diag.Span{File: file}, "schedule", CodeRefused, "runs of the schedule %s will be refused: %v",
			b.Key, err)
		if needs {
			one.Hint = "allow the toolset in hocket.yaml, under toolsets or mcps, or in the file of tools"
		}
	}
	return list, nil
}
