package hocket

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// Schedule specifies when runs of a graph start automatically: it is passed to [Register], and
// [Engine.Work] starts the runs. Its fields have the same meaning as the items of `schedules` in
// documents.
type Schedule[S any] struct {
	// ID identifies a schedule of a graph: letters, digits and, not at the ends, `.`, `_` and `-`,
	// at most 64. It may be empty if the graph has only one.
	ID string
	// Schedule is a cron expression with five or six fields, `@daily` and the like, `@every 90s`,
	// seconds as `60`, `daily@09:00` or `weekly@1,3,5`: docs/schedules.md.
	Schedule string
	// TimeZone is the name of the time zone, such as Europe/Berlin; empty means UTC, wherever the
	// program runs.
	TimeZone string
	// CatchUp determines what happens to times that were missed while no process of the program was
	// running: "last", which is the default, starts the last of them; "none" starts none; "all"
	// starts each, one after the other, at most the last 100.
	CatchUp string
	// Concurrency limits how many runs of the graph run concurrently with those of the schedule, as
	// in [RunOptions]. A time whose run is not started because of "skip" is skipped.
	Concurrency Concurrency
	// State is the initial state of its runs.
	State S
}

// ScheduleInfo is the current state of a schedule. Times that do not apply are zero.
type ScheduleInfo struct {
	// Graph is the name of the graph; the other fields are those of [Schedule].
	Graph, ID, Schedule, TimeZone string
	// Next is the next time at which a run starts. It is zero while the schedule is paused, and for
	// an interval that no process of the program has registered yet.
	Next time.Time
	// LastRun is the last run that the schedule started, and LastStatus its status; both are empty
	// if there is none, or if it is no longer stored.
	LastRun    string
	LastStatus Status
	// Paused is when the schedule was paused, and SkipUntil the last time that is skipped. PausedBy
	// and SkippedBy name who requested it.
	Paused, SkipUntil   time.Time
	PausedBy, SkippedBy string
	// AskedRun is the ID of a run that was requested and will start soon.
	AskedRun string
	// Refused is since when no run starts for the reason Refusal, such as a missing key. It is zero
	// if the last run was accepted.
	Refused time.Time
	Refusal string
}

// schedules holds the schedules of an engine. The zero value is ready to use. It is safe for
// concurrent use.
type schedules struct {
	mu   sync.Mutex
	list []service.GraphSchedule
	// nonEmpty is closed once there is a schedule.
	nonEmpty chan struct{}
}

// waitNonEmpty returns the channel that is closed once there is a schedule.
func (s *schedules) waitNonEmpty() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened()
}

func (s *schedules) opened() chan struct{} {
	if s.nonEmpty == nil {
		s.nonEmpty = make(chan struct{})
	}
	return s.nonEmpty
}

// set replaces the schedules of a graph.
func (s *schedules) set(name string, list []service.GraphSchedule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	had := len(s.list) > 0
	s.list = append(slices.DeleteFunc(slices.Clone(s.list), func(g service.GraphSchedule) bool {
		return g.Workflow == name
	}), list...)
	if !had && len(s.list) > 0 {
		close(s.opened())
	}
}

// all returns all schedules; the caller must not change them.
func (s *schedules) all() []service.GraphSchedule {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list
}

// scheduled checks and converts the schedules of a graph.
func scheduled[S any](e *Engine, g *graph.Compiled[S], list []Schedule[S]) ([]service.GraphSchedule, error) {
	out := make([]service.GraphSchedule, len(list))
	for i, s := range list {
		input, err := encode(s.State, "", nil)
		if err != nil {
			return nil, err
		}
		if err := s.Concurrency.check(); err != nil {
			return nil, fmt.Errorf("Schedule.Concurrency: %w", err)
		}
		zone := s.TimeZone
		if zone == "" {
			zone = time.UTC.String()
		}
		out[i] = service.GraphSchedule{
			Workflow: g.Workflow().Name, Schedule: workflow.Schedule{ID: s.ID, Mode: workflow.ModeInterval,
				Spec: s.Schedule, TimeZone: zone},
			CatchUp: s.CatchUp, Input: input, Concurrency: s.Concurrency.bound(),
			Graph: func() (service.Graph, error) {
				b, err := bind(e, g)
				if err != nil {
					return service.Graph{}, err
				}
				return b.Graph, nil
			},
		}
	}
	return out, known(service.CheckGraphSchedules(out))
}

// startScheduled starts the runs of the engine's schedules, from when it has any until ctx is done.
func (e *Engine) startScheduled(ctx context.Context) {
	select {
	case <-e.schedules.waitNonEmpty():
	case <-ctx.Done():
		return
	}
	drives := func(digest string) bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.graphs[digest] != nil
	}
	if err := e.service.ScheduleGraphs(ctx, service.GraphsRequest{Program: e.program, Schedules: e.schedules.all,
		Drives: drives}); err != nil {
		e.log.Error("cannot run the schedules", "err", err)
	}
}

// Schedules lists the schedules of this program: those of this engine, and those that another
// process of the program has registered in the store. They are sorted by graph and ID.
func (e *Engine) Schedules(ctx context.Context) ([]ScheduleInfo, error) {
	list, err := e.service.GraphSchedules(ctx, e.program, e.schedules.all())
	if err != nil {
		return nil, known(err)
	}
	out := make([]ScheduleInfo, len(list))
	for i, s := range list {
		out[i] = infoOfSchedule(s)
	}
	return out, nil
}

// ControlSchedule pauses, resumes, skips or runs a schedule of this program, according to do
// ("pause", "resume", "skip" or "run"), and returns its new state. The request is stored, applies
// to every process of the program and across restarts, and is carried out by the process that
// starts the runs: a paused schedule starts nothing automatically; a resumed schedule continues
// with its next time; skip leaves out the next time, and one more each time it is repeated; run
// starts a run soon, even of a paused schedule, under the ID AskedRun. id may be empty if the graph
// has only one schedule.
//
// It returns [ErrNotFound] if the program has no such schedule, [ErrClosed], or an error if do is
// any other word.
func (e *Engine) ControlSchedule(ctx context.Context, graph, id, do string) (ScheduleInfo, error) {
	q := service.ControlRequest{Program: e.program, Workflow: graph, Schedule: id, Do: service.ScheduleControl(do),
		By: e.program}
	s, err := e.service.ControlGraphSchedule(ctx, q, e.schedules.all())
	if err != nil {
		return ScheduleInfo{}, known(err)
	}
	return infoOfSchedule(s), nil
}

func infoOfSchedule(s service.Scheduled) ScheduleInfo {
	return ScheduleInfo{
		Graph: s.Workflow, ID: s.Key.Schedule, Schedule: s.Schedule.Spec, TimeZone: s.Schedule.TimeZone, Next: s.Next,
		LastRun: s.LastRun, LastStatus: Status(s.LastStatus),
		Paused: s.Paused, PausedBy: s.PausedBy, SkipUntil: s.SkipUntil, SkippedBy: s.SkippedBy, AskedRun: s.AskedRun,
		Refused: s.Refused, Refusal: s.Refusal,
	}
}
