package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/schedule"
	"github.com/hocket-run/hocket/internal/scheduler"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/internal/service/run"
	"github.com/hocket-run/hocket/workflow"
)

// ErrNone is returned when a program has no such schedule.
var ErrNone = errors.New("no such schedule")

// keepUndeclared is how long a schedule that the program does not have stays registered: a starting
// program declares its graphs one after another.
const keepUndeclared = time.Minute

// GraphSchedule is a schedule of a Go graph of this program.
type GraphSchedule struct {
	// Workflow is the name of the graph.
	Workflow string
	workflow.Schedule
	// CatchUp is the policy for its missed times; "" means that the last one is caught up.
	CatchUp string
	// Graph returns the graph in the form in which it is registered when a run starts.
	Graph func() (run.Graph, error)
	// Concurrency is the concurrency limit of its runs, as in run.GraphRequest.
	Concurrency *workflow.Concurrency
	// Input is the initial state of its runs.
	Input json.RawMessage
}

// branch returns the schedule in the scheduler's form. Calendars that specify no zone use UTC:
// several machines may run the program, and others list its schedules.
func (g *GraphSchedule) branch(program string) scheduler.Branch {
	return scheduler.Branch{Key: scheduler.Key{Program: program, Workflow: g.Workflow, Schedule: g.ID},
		Schedule: g.Schedule, CatchUp: scheduler.Policy(g.CatchUp)}
}

// CheckGraphSchedules returns an *InvalidError if the schedules of one graph are invalid.
func CheckGraphSchedules(list []GraphSchedule) error {
	seen := map[string]bool{}
	var errs []error
	wrong := func(g GraphSchedule, err error) {
		errs = append(errs, fmt.Errorf("schedule %q of graph %q: %w", g.ID, g.Workflow, err))
	}
	if len(list) > workflow.MaxSchedules {
		errs = append(errs, fmt.Errorf("graph %q has %d schedules; the limit is %d", list[0].Workflow, len(list),
			workflow.MaxSchedules))
	}
	for _, g := range list {
		switch {
		case g.ID == "" && len(list) > 1:
			wrong(g, errors.New("of several schedules each needs an ID"))
		case g.ID != "" && !workflow.IsScheduleID(g.ID):
			wrong(g, fmt.Errorf("an ID has letters, digits and inside of it . _ and -, at most %d",
				workflow.MaxScheduleID))
		case seen[g.ID]:
			wrong(g, errors.New("another one has this ID"))
		}
		seen[g.ID] = true
		if _, err := schedule.Parse(g.Mode, g.Spec); err != nil {
			wrong(g, err)
		}
		if _, err := schedule.Zone(g.TimeZone, time.UTC); err != nil {
			wrong(g, err)
		}
		if g.CatchUp != "" && !slices.Contains(scheduler.Policies(), scheduler.Policy(g.CatchUp)) {
			wrong(g, fmt.Errorf("CatchUp is %q; use last, none or all", g.CatchUp))
		}
	}
	if len(errs) > 0 {
		return failure.Refuse(errcode.InvalidSchedule, nil, errors.Join(errs...))
	}
	return nil
}

// GraphsRequest specifies the graphs that a program schedules.
type GraphsRequest struct {
	// Program is the name of the program.
	Program string
	// Schedules returns the current schedules, already checked. It must be safe for concurrent use.
	Schedules func() []GraphSchedule
	// Drives reports whether a run of the graph with this digest can continue here.
	Drives func(digest string) bool
}

// ScheduleGraphs starts the runs of the schedules of a program's graphs until ctx is done. Of
// several processes of the program one does so; the others wait until it ends. Schedulers of stored
// workflows, and of other programs, are not affected. Important events are logged.
func (s *Scheduler) ScheduleGraphs(ctx context.Context, q GraphsRequest) error {
	sc, err := scheduler.New(scheduler.Config{
		Source: graphSource{q}, Runs: graphRuns{scheduledRuns{scheduler: s}, q}, Book: s.store, Program: q.Program,
		Keep:   keepUndeclared,
		IsHung: s.runs.IsHung, Report: s.logEvent, Logger: s.cfg.Logger,
	})
	if err != nil {
		return err
	}
	sc.Run(ctx)
	return nil
}

// logEvent logs an event of a program's schedules: a start that failed for a reason that a person
// should know as a warning, a skipped one as information.
func (s *Scheduler) logEvent(e scheduler.Event) {
	level := slog.LevelDebug
	switch {
	case e.Kind.IsFailure():
		level = slog.LevelWarn
	case e.Kind == scheduler.EventSkipped, e.Kind == scheduler.EventHeld, e.Kind == scheduler.EventMissed,
		e.Kind == scheduler.EventClock:
		level = slog.LevelInfo
	}
	ctx := context.Background()
	if !s.cfg.Logger.Enabled(ctx, level) {
		return
	}
	var more []slog.Attr
	add := func(isThere bool, a slog.Attr) {
		if isThere {
			more = append(more, a)
		}
	}
	add(e.Workflow != "", slog.String("schedule", e.String()))
	add(!e.Planned.IsZero(), slog.Time("planned", e.Planned))
	add(e.Run != "", slog.String("run", e.Run))
	add(e.Count > 0, slog.Int("count", e.Count))
	add(e.Count > 0, slog.Int("catchUp", e.CatchUp))
	add(e.Detail != "", slog.String("reason", e.Detail))
	add(e.Err != nil, slog.Any("err", e.Err))
	s.cfg.Logger.LogAttrs(ctx, level, "schedule "+string(e.Kind), more...)
}

// graphSource lists the scheduled graphs of a program.
type graphSource struct{ q GraphsRequest }

// Branches implements scheduler.Source.
func (s graphSource) Branches(context.Context) ([]scheduler.Branch, error) {
	list := s.q.Schedules()
	out := make([]scheduler.Branch, len(list))
	for i := range list {
		out[i] = list[i].branch(s.q.Program)
	}
	return out, nil
}

// graphRuns starts and watches the runs of a program's schedules.
type graphRuns struct {
	scheduledRuns
	q GraphsRequest
}

// Start implements scheduler.Runs.
func (r graphRuns) Start(ctx context.Context, slot scheduler.Slot) (string, bool, error) {
	id := runOf(slot.Key, slot.Planned)
	return startResult(ctx, id, r.start(ctx, slot, id))
}

func (r graphRuns) start(ctx context.Context, slot scheduler.Slot, id string) error {
	list := r.q.Schedules()
	i := slices.IndexFunc(list, func(g GraphSchedule) bool {
		return g.Workflow == slot.Workflow && g.ID == slot.Schedule
	})
	if i < 0 {
		return failure.Refuse(errcode.ScheduleNotFound, errcode.Fields{"id": slot.Workflow,
			"schedule": nameOf(slot.Key), "schedules": []string{}, "meant": ""}, nil)
	}
	g, err := list[i].Graph()
	if err != nil {
		return err
	}
	_, err = r.scheduler.runs.StartGraph(ctx, run.GraphRequest{Graph: g, Input: list[i].Input,
		Concurrency: list[i].Concurrency, RunID: id, Planned: slot.Planned, Schedule: slot.Schedule})
	return err
}

// Active implements scheduler.Runs. A run that waits for a version of the graph that the program
// does not have may never end, and does not count.
func (r graphRuns) Active(ctx context.Context, key scheduler.Key) (string, error) {
	return r.scheduler.active(ctx, key, r.isLeft)
}

// Wait implements scheduler.Runs.
func (r graphRuns) Wait(ctx context.Context, run string) (journal.Status, error) {
	return r.scheduler.wait(ctx, run, r.isLeft)
}

func (r graphRuns) isLeft(h journal.Head) bool {
	return r.scheduler.isLeft(h) || h.Interrupted && !r.q.Drives(h.Definition)
}

// GraphSchedules returns the schedules of a program: those of list, and those that another process
// of it has registered.
func (s *Scheduler) GraphSchedules(ctx context.Context, program string, list []GraphSchedule) ([]Scheduled, error) {
	branches, known, err := s.graphBranches(ctx, program, list)
	if err != nil {
		return nil, err
	}
	out := make([]Scheduled, len(branches))
	for i, b := range branches {
		if out[i], err = s.describeSchedule(ctx, b, known, time.UTC, time.Now()); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ControlGraphSchedule is ControlSchedule for a schedule of a program, which need not be registered
// yet. It returns ErrNone, wrapped, for a schedule that the program does not have.
func (s *Scheduler) ControlGraphSchedule(ctx context.Context, q ControlRequest, list []GraphSchedule) (
	Scheduled, error) {
	branches, _, err := s.graphBranches(ctx, q.Program, list)
	if err != nil {
		return Scheduled{}, err
	}
	q.Zone = time.UTC
	sc, err := s.control(ctx, q, slices.DeleteFunc(branches, func(b scheduler.Branch) bool {
		return b.Workflow != q.Workflow
	}))
	if code, _ := errcode.Of(err); code == errcode.ScheduleMissing || code == errcode.ScheduleNotFound {
		err = fmt.Errorf("%w: %w", ErrNone, err)
	}
	return sc, err
}

// graphBranches returns the schedules of a program in order, and the store's data about all
// schedules.
func (s *Scheduler) graphBranches(ctx context.Context, program string, list []GraphSchedule) (
	[]scheduler.Branch, storedState, error) {
	k, err := s.known(ctx)
	if err != nil {
		return nil, k, err
	}
	out := programBranches(k, func(r journal.Registration) bool { return r.Program == program })
	for i := range list {
		b := list[i].branch(program)
		out = append(slices.DeleteFunc(out, func(o scheduler.Branch) bool { return o.Key == b.Key }), b)
	}
	slices.SortStableFunc(out, func(a, b scheduler.Branch) int { return journal.CompareScheduleKeys(a.Key, b.Key) })
	return out, k, nil
}

// programBranches returns the registered schedules of programs for which isMeant returns true, in
// any order.
func programBranches(k storedState, isMeant func(journal.Registration) bool) []scheduler.Branch {
	var out []scheduler.Branch
	for key, r := range k.registered {
		if key.Program != "" && isMeant(r) {
			out = append(out, scheduler.Branch{Key: key, Version: r.Version,
				Schedule: workflow.Schedule{ID: key.Schedule, Mode: r.Mode, Spec: r.Spec, TimeZone: r.TimeZone}})
		}
	}
	return out
}
