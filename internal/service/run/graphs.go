package run

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/stored"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service/definition"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/internal/service/resources"
	"github.com/hocket-run/hocket/workflow"
)

// Graph is a Go graph with its functions. Program must be comparable.
type Graph struct {
	Workflow *workflow.Workflow
	Digest   string
	Program  driver.Program
}

// graphs are the Go graphs of this program, by digest. The zero value is ready. Safe for concurrent use.
type graphs struct {
	mu sync.RWMutex
	m  map[string]driver.Program
}

// find gives the functions of a definition, nil where this program has none.
func (g *graphs) find(w *workflow.Workflow) (driver.Program, error) {
	if w.Format != definition.FormatGraph {
		return nil, nil
	}
	digest, err := w.Digest()
	if err != nil {
		return nil, err
	}
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.m[digest], nil
}

// isGraph tells whether a workflow is a Go graph, whose functions its program has.
func isGraph(w *workflow.Workflow) bool { return w.Format == definition.FormatGraph }

// Work takes up the runs of this program that others left when they died or hung, and those whose answers were left in the store, until ctx is done.
func (s *Runner) Work(ctx context.Context) { s.driver.Work(ctx, s.isOwn) }

// TakeAnswers takes up the runs of this program whose answers were left in the store, and waits for none.
func (s *Runner) TakeAnswers(ctx context.Context) error { return s.driver.TakeAnswers(ctx, s.isOwn) }

// isOwn tells whether a program of this name started a run.
func (s *Runner) isOwn(h journal.Head) bool { return h.Meta[resources.MetaProgram] == s.cfg.Program }

// Left tells whether an answer to a run of a Go graph is in the store that its program, whose name it gives, has not taken yet (D29).
func (s *Runner) Left(ctx context.Context, run string) (program string, left bool, err error) {
	h, err := s.store.Head(ctx, run)
	if err != nil || h.Meta[resources.MetaProgram] == "" {
		return "", false, err
	}
	left, err = s.driver.Left(ctx, run)
	return h.Meta[resources.MetaProgram], left, err
}

// Register lets runs of a graph go on here. Of several programs for one digest the last one counts, for runs that come into memory from then on.
func (s *Runner) Register(g Graph) {
	s.graphs.mu.Lock()
	defer s.graphs.mu.Unlock()
	if s.graphs.m == nil {
		s.graphs.m = map[string]driver.Program{}
	}
	s.graphs.m[g.Digest] = g.Program
	s.driver.Forget(g.Digest)
}

// GraphRequest says how to run a graph.
type GraphRequest struct {
	Graph
	// Input is the first state.
	Input engine.Value
	// RunID must be new; "" makes one. Made: it was made by NewRunID, and no run has it.
	RunID  string
	Made   bool
	Model  string
	Limits workflow.Limits
	// Labels are the run's.
	Labels workflow.Labels
	// Concurrency bounds how many runs of the graph run at once; its Key is that of the run, and no expression. Nil: nothing does.
	Concurrency *workflow.Concurrency
	// Planned is the time for which a schedule planned the run, zero: none did; Schedule the id of that schedule.
	Planned  time.Time
	Schedule string
	// Caller is the run whose function starts this one; "": none does. Above is what that run leaves for this one: see child.Work.
	Caller string
	Above  *workflow.Budget
	// Abandoned is that of StartRequest.
	Abandoned <-chan struct{}
	// Observe is driver.Spec.Observe.
	Observe func(*engine.Run, []engine.Event)
}

// StartGraph begins a run of a Go graph, which need not be registered. It returns once the run is stored. Errors: *InvalidError; journal.ErrExists; concurrency-busy.
func (s *Runner) StartGraph(ctx context.Context, q GraphRequest) (run string, err error) {
	spec, err := s.graphSpec(ctx, q)
	if err != nil {
		return "", err
	}
	if spec.Slot == nil {
		return s.startTraced(ctx, spec)
	}
	return s.launch(ctx, spec, IfBusyReject, q.Caller, q.Abandoned)
}

// Launched is a run that was told to begin.
type Launched = driver.Launched

// LaunchGraph is StartGraph that does not wait until the run is stored: Launched.Wait does. It is for runs without Concurrency.
func (s *Runner) LaunchGraph(ctx context.Context, q GraphRequest) (Launched, error) {
	spec, err := s.graphSpec(ctx, q)
	if err != nil {
		return nil, err
	}
	return s.driver.Launch(ctx, s.traced(ctx, spec))
}

func (s *Runner) graphSpec(ctx context.Context, q GraphRequest) (driver.Spec, error) {
	if !q.Made {
		if err := s.checkRunID(ctx, q.RunID); err != nil {
			return driver.Spec{}, err
		}
	}
	q.Limits = ceiling(s.cfg.Operator.Budgets, q.Limits, q.Workflow.Limits, q.Above)
	if err := workflow.CheckLimits(q.Limits); err != nil {
		return driver.Spec{}, failure.Refuse(errcode.InvalidLimits, nil, err)
	}
	spec := driver.Spec{
		Run: q.RunID, Workflow: q.Workflow, Program: q.Program, Input: q.Input, Limits: q.Limits, Model: q.Model, Above: q.Above, Observe: q.Observe,
	}
	spec.Meta, spec.Trigger = s.graphMeta, TriggerProgram
	if !q.Planned.IsZero() {
		spec.Meta, spec.Trigger = map[string]string{}, TriggerSchedule
		s.note(StartRequest{Planned: q.Planned, Schedule: q.Schedule}, spec.Meta)
	}
	if c := q.Concurrency; c != nil {
		if err := c.Check(); err != nil {
			return spec, refuseKey(err)
		}
		if err := boundBy(c, c.Key, &spec); err != nil {
			return spec, err
		}
	}
	return spec, s.label(ctx, &spec, q.Workflow.Labels.With(q.Labels))
}

// ForkRights tell whether the caller of Fork may have the new run inherit what other callers were allowed; each error is given back. Nil: they may.
type ForkRights struct {
	// Approve is asked where the past holds an answer that only a person gives (SEC12): it holds once more.
	Approve func() error
	// Raise is asked where the past holds limits above those of the workflow (SEC2): they hold once more.
	Raise func() error
}

// Fork stores a new run with the past of another one up to an event; Resume and Answer go on with it.
//
// Errors, with nothing stored: those of the rights; *InvalidError where there is no such place; those of reading.
func (s *Runner) Fork(ctx context.Context, run string, at uint64, rights ForkRights) (string, error) {
	head, w, err := s.RunDefinition(ctx, run)
	if err != nil {
		return "", err
	}
	d := stored.Derived{Past: stored.UpTo(run, at, func(past []engine.Event) error {
		if rights.Approve != nil && isDecided(past) {
			if err := rights.Approve(); err != nil {
				return err
			}
		}
		if rights.Raise != nil && isRaised(past, w) {
			return rights.Raise()
		}
		return nil
	})}
	slot, err := s.made(ctx, head, &d)
	if err != nil {
		return "", err
	}
	fork, err := s.runs.Derive(ctx, run, &d)
	slot(err)
	if errors.Is(err, stored.ErrForkPoint) {
		return "", failure.Refuse(errcode.InvalidForkPoint, nil, err)
	}
	return fork, err
}

// isDecided tells whether a person answered what only a person decides.
func isDecided(past []engine.Event) bool {
	asked := map[string]bool{}
	for _, e := range past {
		switch d := e.Data.(type) {
		case *engine.WaitOpened:
			asked[d.Wait] = NeedsPerson(d)
		case *engine.WaitAnswered:
			if asked[d.Wait] {
				return true
			}
		}
	}
	return false
}
