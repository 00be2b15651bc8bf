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

// Schedule says when runs of a graph begin by themselves: [Register] takes it, and [Engine.Work] starts the runs. Its words are those of the item of `schedules` in documents.
type Schedule[S any] struct {
	// ID tells the schedules of a graph apart: letters, digits and inside of it `.`, `_` and `-`, at most 64. It may be "" where the graph has one.
	ID string
	// Schedule is a cron expression with five or six fields, `@daily` and the like, `@every 90s`, seconds as `60`, `daily@09:00` or `weekly@1,3,5`: docs/schedules.md.
	Schedule string
	// TimeZone names the zone of the calendar, such as Europe/Berlin; "" is UTC, wherever the program runs.
	TimeZone string
	// CatchUp says what becomes of times that were missed while no process of the program worked: "last" starts the last of them, and so does ""; "none" starts none; "all" starts
	// each, one after the other, at most the last 100.
	CatchUp string
	// Concurrency bounds how many runs of the graph run at once with those of the schedule, as in [RunOptions]. A time whose run "skip" does not start is skipped.
	Concurrency Concurrency
	// State is the first state of its runs.
	State S
}

// ScheduleInfo is a schedule as it stands. Times that do not apply are zero.
type ScheduleInfo struct {
	// Graph is the name of the graph; the others are those of [Schedule].
	Graph, ID, Schedule, TimeZone string
	// Next is the next time at which a run begins: none while it is paused, nor for an interval that no process of the program has registered yet.
	Next time.Time
	// LastRun is the last run that it started, LastStatus how that stands; "": none, or it is not kept any more.
	LastRun    string
	LastStatus Status
	// Paused is since when it is paused, SkipUntil the last time that is skipped. PausedBy and SkippedBy tell who said so.
	Paused, SkipUntil   time.Time
	PausedBy, SkippedBy string
	// AskedRun is the id of a run that was asked for and begins soon.
	AskedRun string
}

// schedules are those of an engine. The zero value is ready. Safe for concurrent use.
type schedules struct {
	mu   sync.Mutex
	list []service.GraphSchedule
	// some is closed once there are any.
	some chan struct{}
}

// any gives the channel that is closed once there are any.
func (s *schedules) any() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened()
}

func (s *schedules) opened() chan struct{} {
	if s.some == nil {
		s.some = make(chan struct{})
	}
	return s.some
}

// set puts the schedules of a graph in the place of those that it had.
func (s *schedules) set(name string, list []service.GraphSchedule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	had := len(s.list) > 0
	s.list = append(slices.DeleteFunc(slices.Clone(s.list), func(g service.GraphSchedule) bool { return g.Workflow == name }), list...)
	if !had && len(s.list) > 0 {
		close(s.opened())
	}
}

// all gives them; the caller does not change them.
func (s *schedules) all() []service.GraphSchedule {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list
}

// scheduled checks the schedules of a graph.
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
			Workflow: g.Workflow().Name, Schedule: workflow.Schedule{ID: s.ID, Mode: workflow.ModeInterval, Spec: s.Schedule, TimeZone: zone},
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

// startScheduled starts the runs of the engine's schedules, from when it has some until ctx is done.
func (e *Engine) startScheduled(ctx context.Context) {
	select {
	case <-e.schedules.any():
	case <-ctx.Done():
		return
	}
	drives := func(digest string) bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.graphs[digest] != nil
	}
	if err := e.service.ScheduleGraphs(ctx, service.GraphsRequest{Program: e.program, Schedules: e.schedules.all, Drives: drives}); err != nil {
		e.log.Error("cannot run the schedules", "err", err)
	}
}

// Schedules lists the schedules of this program: those that the engine has, and those that another process of the program has registered in the store. They are in the order of graphs and ids.
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

// ControlSchedule pauses, resumes, skips or runs a schedule of this program, as do is "pause", "resume", "skip" or "run", and gives it as it is then. What is said is stored, holds for every process of the
// program and over restarts, and is followed by the process that starts the runs: a paused schedule starts nothing by itself; one that is resumed begins with its next time; skip leaves out the next time,
// said again one more; run starts a run soon, also of a paused schedule, under the id AskedRun. id may be "" where the graph has one schedule.
//
// Errors: [ErrNotFound] where the program has no such schedule; do is another word; [ErrClosed].
func (e *Engine) ControlSchedule(ctx context.Context, graph, id, do string) (ScheduleInfo, error) {
	q := service.ControlRequest{Program: e.program, Workflow: graph, Schedule: id, Do: service.ScheduleControl(do), By: e.program}
	s, err := e.service.ControlGraphSchedule(ctx, q, e.schedules.all())
	if err != nil {
		return ScheduleInfo{}, known(err)
	}
	return infoOfSchedule(s), nil
}

func infoOfSchedule(s service.Scheduled) ScheduleInfo {
	return ScheduleInfo{
		Graph: s.Workflow, ID: s.Key.Schedule, Schedule: s.Schedule.Spec, TimeZone: s.Schedule.TimeZone, Next: s.Next, LastRun: s.LastRun, LastStatus: Status(s.LastStatus),
		Paused: s.Paused, PausedBy: s.PausedBy, SkipUntil: s.SkipUntil, SkippedBy: s.SkippedBy, AskedRun: s.AskedRun,
	}
}
