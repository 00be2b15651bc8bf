package hocket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/driver"
	driverprogram "github.com/hocket-run/hocket/internal/driver/program"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/program"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// graphName is what a graph is registered under.
type graphName struct{ name, version string }

// bound is a graph that this engine can drive.
type bound struct {
	service.Graph
	table *program.Table
	plan  *engine.Plan
}

// Register makes a graph known to the engine, so that [Engine.Resume], [Engine.Answer] and [Engine.Recover] can go on with its runs, by its digest (P9).
// [Run], [Stream] and [Resume] do that with the graph that they get. Registering the same graph twice does nothing; of two graphs that are equal but for
// their functions, those of the last count for runs that come into memory from then on.
//
// schedules say when runs of the graph begin by themselves, while [Engine.Work] works; they take the place of those that a former call gave for a graph of this name, and none changes nothing. A run is one of
// the graph as it was registered last with them.
//
// Graphs may name each other ([graph.SubgraphConfig]); of several with one name the last registered is found. Register those that are named first: what a
// graph is run with is settled when its run begins.
//
// Errors: *[VersionError] where another graph has the name and the version; a diag.List where a graph would contain itself; what is wrong with a schedule. Then the graph is not registered.
func Register[S any](e *Engine, g *graph.Compiled[S], schedules ...Schedule[S]) error {
	if err := given(g); err != nil {
		return err
	}
	w := g.Workflow()
	plans, err := scheduled(e, g, schedules)
	if err != nil {
		return err
	}
	name := graphName{w.Name, w.Version}
	e.mu.Lock()
	was, taken := e.digests[name]
	if !taken {
		e.digests[name] = g.Digest()
	}
	e.mu.Unlock()
	if taken && was != g.Digest() {
		return &VersionError{Graph: w.Name, Have: g.Digest(), Want: was}
	}
	err = e.subgraphs.register(name, g, func() error {
		_, err := bind(e, g)
		return err
	})
	if err != nil && !taken {
		e.mu.Lock()
		delete(e.digests, name)
		e.mu.Unlock()
	}
	if err == nil && len(plans) > 0 {
		e.schedules.set(w.Name, plans)
	}
	return err
}

// given tells whether there is a graph.
func given[S any](g *graph.Compiled[S]) error {
	if g == nil || g.Workflow() == nil {
		return errors.New("the graph is nil; see the error of its Compile")
	}
	return nil
}

// bind makes the functions of a graph, with those that it names, those of its digest.
func bind[S any](e *Engine, g *graph.Compiled[S]) (*bound, error) {
	if err := given(g); err != nil {
		return nil, err
	}
	g, err := g.Link(e.subgraphs.find)
	if err != nil {
		return nil, err
	}
	return e.bind(g.Workflow(), g.Digest(), g.Running().Program())
}

func (e *Engine) bind(w *workflow.Workflow, digest string, table *program.Table) (*bound, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if b := e.graphs[digest]; b != nil && b.table == table {
		return b, nil
	}
	plan, err := engine.Compile(w, nil, nil) // for folding alone: no function is asked then
	if err != nil {
		return nil, fmt.Errorf("graph %q: %w", w.Name, err)
	}
	b := &bound{Graph: service.Graph{Workflow: w, Digest: digest, Program: driverprogram.New(table)}, table: table, plan: plan}
	e.graphs[digest] = b
	e.service.Register(b.Graph)
	return b, nil
}

// functions are those of one run: none begins once its follower has given the run up (S2-36).
type functions struct {
	driver.Program
	engine *Engine
}

// functionsOf makes the functions of a run: they get what the engine offers.
func (e *Engine) functionsOf(info driver.Info) driver.Program {
	if p, ok := info.Program.(*driverprogram.Program); ok {
		info.Program = p.With(&program.Services{Runtime: e.runtime(info), Uncounted: func(ctx context.Context, c program.Caller) error {
			return e.service.AllowUncounted(ctx, hostOf(c))
		}})
	}
	return functions{info.Program, e}
}

// callerOf gives the call whose function or tool, written in Go, calls the engine with ctx: a function has a context alone (ADR 71). All else is given its Caller.
func callerOf(ctx context.Context) driver.Caller { return hostOf(program.CallerOf(ctx)) }

func hostOf(c program.Caller) driver.Caller {
	if c != nil {
		if by, ok := c.Host().(driver.Caller); ok {
			return by
		}
	}
	return driver.NoCaller{}
}

// runtime is what the nodes of a run are offered (S2-71): the tools, the sessions and the agents of the engine, and a bridge to runs of agents.
func (e *Engine) runtime(info driver.Info) graph.Runtime {
	return graph.Runtime{
		Tools: e.given.registry, Registry: agentRegistry{e}, Subagents: &bridge{e, info},
		ClientProvider: func(agentType string) graph.Client { return e.client(agentType, info.Run) },
	}
}

// Call implements driver.Program.
func (f functions) Call(ctx context.Context, run string, c *engine.CallFunc, by driver.Caller) engine.FuncResult {
	for wait := f.engine.followers.abandoned(run); wait != nil; wait = f.engine.followers.abandoned(run) {
		select {
		case <-ctx.Done(): // it was interrupted
		case <-wait: // it may have been before, and another process resumed it
		}
		if ctx.Err() != nil {
			return engine.FuncResult{Failure: &engine.Failure{Code: engine.CodeCancelled, Message: "cancelled"}}
		}
	}
	return f.Program.Call(ctx, run, c, by)
}

// check tells whether a run belongs to the graph.
func (e *Engine) check(ctx context.Context, b *bound, run string) (last uint64, err error) {
	h, err := e.service.Head(ctx, run)
	if err != nil {
		return 0, known(err)
	}
	if h.Definition != b.Digest {
		return 0, &VersionError{Run: run, Graph: b.Workflow.Name, Have: b.Digest, Want: h.Definition}
	}
	return h.LastSeq, nil
}

// encode makes the first state of a run, with the run's model and first outputs beside it where there are any.
func encode(state any, model string, outputs map[string]any) (engine.Value, error) {
	raw, err := json.Marshal(state)
	if err != nil || model == "" && len(outputs) == 0 {
		return raw, unencoded(err)
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, unencoded(err)
	}
	if fields == nil { // the state is null
		fields = map[string]json.RawMessage{}
	}
	if model != "" {
		if fields[program.FieldModel], err = json.Marshal(model); err != nil {
			return nil, unencoded(err)
		}
	}
	if len(outputs) > 0 {
		if fields[program.FieldOutputs], err = json.Marshal(outputs); err != nil {
			return nil, unencoded(err)
		}
	}
	raw, err = json.Marshal(fields)
	return raw, unencoded(err)
}

// unencoded says that a state is not encoded; nil stays nil.
func unencoded(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("encode state: %w", err)
}

// subgraphs are the registered graphs as others name them (S2-66). The zero value is ready. Safe for concurrent use.
type subgraphs struct {
	// registering is held while a graph is added, mu for a moment.
	registering sync.Mutex
	binds       []binding // one a name and version

	mu     sync.Mutex
	byName map[string]graph.Subgraph
}

// binding binds a registered graph.
type binding struct {
	name graphName
	bind func() error
}

// find gives the graph that was registered last under a name.
func (s *subgraphs) find(name string) (graph.Subgraph, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ok := s.byName[name]
	return g, ok
}

func (s *subgraphs) set(name string, g graph.Subgraph) (was graph.Subgraph) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was = s.byName[name]
	switch {
	case g == nil:
		delete(s.byName, name)
	case s.byName == nil:
		s.byName = map[string]graph.Subgraph{name: g}
	default:
		s.byName[name] = g
	}
	return was
}

// register adds a graph and binds all that are registered anew: those that name it are run with it from now on, and their runs can be taken up. On an
// error all is as before.
func (s *subgraphs) register(name graphName, g graph.Subgraph, bind func() error) error {
	s.registering.Lock()
	defer s.registering.Unlock()
	was := s.set(name.name, g)
	binds := slices.DeleteFunc(slices.Clone(s.binds), func(b binding) bool { return b.name == name })
	binds = append(binds, binding{name, bind})
	for _, b := range binds {
		if err := b.bind(); err != nil {
			s.set(name.name, was)
			return err
		}
	}
	s.binds = binds
	return nil
}

// A run that a node function or a tool starts by Run, Stream, Engine.Run or Engine.Start, with the context that it was given, is a run below that of the function: it gets a part of what
// that one's budgets leave, and what it uses counts there (P20, ADR 35).

// callingRun names the run whose function makes a call, "" where none does.
func callingRun(ctx context.Context) string {
	if info := callerOf(ctx).Info(); info != nil {
		return info.Run
	}
	return ""
}

// begin asks the run of the call by for a part of its budgets. Nil: there is no such run, or nothing bounds it. Errors: *BudgetError; that of ctx.
func (e *Engine) begin(ctx context.Context, by driver.Caller, run string) (*workflow.Budget, error) {
	if by.Info() == nil {
		return nil, nil //nolint:nilnil // nothing bounds the run
	}
	by.Idle() // others may hold what is left, and need slots
	above, err := by.Begin(ctx, run, 1, nil)
	if short, ok := errors.AsType[*engine.BudgetError](err); ok {
		return nil, &BudgetError{Code: engine.CodeBudget, Limit: limitNames[short.Detail], Message: short.Error() + " for another run"}
	}
	return above, known(err)
}

// unbegun says that a run was not stored after all.
func (e *Engine) unbegun(by driver.Ledger, run string) {
	if err := by.Use(engine.CallUse{Run: run, Ended: true}); err != nil && !errors.Is(err, engine.ErrCallLate) {
		e.log.Warn("cannot release the budget of a run that did not start", "run", run, "err", err)
	}
}

// tell reports what a run used to that of the call by. Where it ended because it had used its part, the function that started it has met the budget of its own run.
func (e *Engine) tell(ctx context.Context, by driver.Ledger, run string) {
	if by.Info() == nil {
		return
	}
	short, err := e.service.Children().Report(context.WithoutCancel(ctx), by, run)
	switch {
	case errors.Is(err, engine.ErrCallLate):
	case err != nil:
		e.log.Warn("cannot report the usage of a run to its parent run", "run", run, "err", err)
	case short != "":
		by.Short(short)
	}
}

// report tells the run of the call by what another one used that it started and does not wait for, so that what is kept for that one is free once it has ended. It ends with the call,
// whose context ctx is.
func (e *Engine) report(ctx context.Context, by driver.Ledger, run string) {
	_, _ = e.service.WaitUntil(ctx, run, func(st driver.State) bool { return st.Interrupted }) // what is known of it counts
	if ctx.Err() == nil {
		e.tell(ctx, by, run)
	}
}
