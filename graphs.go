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
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/program"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// graphName identifies a registered graph.
type graphName struct{ name, version string }

// bound is a graph that this engine can drive.
type bound struct {
	service.Graph
	table *program.Table
	plan  *engine.Plan
}

// Register makes a graph known to the engine, so that [Engine.Resume], [Engine.Answer] and
// [Engine.Recover] can continue its runs, which are matched by digest. [Run], [Stream] and [Resume]
// register the graph that is passed to them. Registering the same graph twice has no effect; of two
// graphs that differ only in their functions, the functions registered last apply to runs loaded
// from then on.
//
// schedules specify when runs of the graph start automatically, while [Engine.Work] is running.
// They replace those that a previous call registered for a graph of this name; passing none changes
// nothing. Scheduled runs use the graph as last registered with schedules.
//
// Graphs may name each other ([graph.SubgraphConfig]); if several have the same name, the one
// registered last is used. Register the graphs that are named first: the graphs that a run uses are
// fixed when it starts.
//
// Errors: *[VersionError] if another graph has the name and the version; a diag.List if a graph
// would contain itself; an invalid schedule. In these cases the graph is not registered.
func Register[S any](e *Engine, g *graph.Compiled[S], schedules ...Schedule[S]) error {
	if err := checkGraph(g); err != nil {
		return err
	}
	w := g.Workflow()
	plans, err := scheduled(e, g, schedules)
	if err != nil {
		return err
	}
	name := graphName{w.Name, w.Version}
	e.mu.Lock()
	was, exists := e.digests[name]
	if !exists {
		e.digests[name] = g.Digest()
	}
	e.mu.Unlock()
	if exists && was != g.Digest() {
		return &VersionError{Graph: w.Name, Have: g.Digest(), Want: was}
	}
	err = e.subgraphs.register(name, g, func() error {
		_, err := bind(e, g)
		return err
	})
	if err != nil && !exists {
		e.mu.Lock()
		delete(e.digests, name)
		e.mu.Unlock()
	}
	if err == nil && len(plans) > 0 {
		e.schedules.set(w.Name, plans)
	}
	return err
}

// checkGraph returns an error if g is nil.
func checkGraph[S any](g *graph.Compiled[S]) error {
	if g == nil || g.Workflow() == nil {
		return errors.New("the graph is nil; see the error of its Compile")
	}
	return nil
}

// bind builds the functions of a graph and of the graphs that it names, which are part of its
// digest.
func bind[S any](e *Engine, g *graph.Compiled[S]) (*bound, error) {
	if err := checkGraph(g); err != nil {
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
	plan, err := engine.Compile(w, nil, nil) // only for folding, which calls no function
	if err != nil {
		return nil, fmt.Errorf("graph %q: %w", w.Name, err)
	}
	b := &bound{Graph: service.Graph{Workflow: w, Digest: digest, Program: driverprogram.New(table)}, table: table,
		plan: plan}
	e.graphs[digest] = b
	e.service.Register(b.Graph)
	return b, nil
}

// functions holds the functions of one run: none starts once its followers have abandoned the run.
type functions struct {
	driver.Program
	engine *Engine
}

// functionsOf returns the functions of a run, with the services that the engine provides.
func (e *Engine) functionsOf(info driver.Info) driver.Program {
	if p, ok := info.Program.(*driverprogram.Program); ok {
		info.Program = p.With(&program.Services{Runtime: e.runtime(info),
			Uncounted: func(ctx context.Context, c program.Caller) error {
				return e.service.AllowUncounted(ctx, hostOf(c))
			}})
	}
	return functions{info.Program, e}
}

// callerOf returns the call whose function or tool, written in Go, calls the engine with ctx: such
// functions have only a context, while all other code is passed its Caller.
func callerOf(ctx context.Context) driver.Caller { return hostOf(program.CallerOf(ctx)) }

func hostOf(c program.Caller) driver.Caller {
	if c != nil {
		if by, ok := c.Host().(driver.Caller); ok {
			return by
		}
	}
	return driver.NoCaller{}
}

// runtime returns the services for the nodes of a run: the tools, the sessions and the agents of
// the engine, and a bridge to runs of agents.
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
		case <-wait: // or was before, and another process resumed it
		}
		if ctx.Err() != nil {
			return engine.FuncResult{Failure: &event.Failure{Code: event.CodeCancelled, Message: "cancelled"}}
		}
	}
	return f.Program.Call(ctx, run, c, by)
}

// check returns an error if a run does not belong to the graph.
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

// encode returns the initial state of a run, together with the run's model and initial outputs, if
// any.
func encode(state any, model string, outputs map[string]any) (event.Value, error) {
	raw, err := json.Marshal(state)
	if err != nil || model == "" && len(outputs) == 0 {
		return raw, encodeError(err)
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, encodeError(err)
	}
	if fields == nil { // the state is null
		fields = map[string]json.RawMessage{}
	}
	if model != "" {
		if fields[program.FieldModel], err = json.Marshal(model); err != nil {
			return nil, encodeError(err)
		}
	}
	if len(outputs) > 0 {
		if fields[program.FieldOutputs], err = json.Marshal(outputs); err != nil {
			return nil, encodeError(err)
		}
	}
	raw, err = json.Marshal(fields)
	return raw, encodeError(err)
}

// encodeError wraps err as an error encoding a state; nil stays nil.
func encodeError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("encode state: %w", err)
}

// subgraphs holds the registered graphs by the names that other graphs use. The zero value is ready
// to use. It is safe for concurrent use.
type subgraphs struct {
	// registering is held while a graph is added, mu only briefly.
	registering sync.Mutex
	binds       []binding // one per name and version

	mu     sync.Mutex
	byName map[string]graph.Subgraph
}

// binding is a registered graph and the function that binds it.
type binding struct {
	name graphName
	bind func() error
}

// find returns the graph that was registered last under a name.
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

// register adds a graph and binds all registered graphs again: those that name the new graph use it
// from then on, and their runs can be resumed. On an error nothing changes.
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

// A run that a node function or a tool starts with Run, Stream, Engine.Run or Engine.Start, using
// its own context, is a child run of that function's run: it gets part of the remaining budgets of
// the parent, and its usage counts toward them.

// callingRun returns the id of the run whose function makes a call, or "" if there is none.
func callingRun(ctx context.Context) string {
	if info := callerOf(ctx).Info(); info != nil {
		return info.Run
	}
	return ""
}

// reserveBudget requests part of the budgets of the run that by belongs to. It returns nil if there
// is no such run, or if it has no limits. Errors: *BudgetError; that of ctx.
func (e *Engine) reserveBudget(ctx context.Context, by driver.Caller, run string) (*workflow.Budget, error) {
	if by.Info() == nil {
		return nil, nil //nolint:nilnil // nothing bounds the run
	}
	by.Idle() // other calls may hold the rest, and need slots
	above, err := by.Begin(ctx, run, 1, nil)
	if short, ok := errors.AsType[*engine.BudgetError](err); ok {
		return nil, &BudgetError{Code: event.CodeBudget, Limit: limitNames[short.Detail],
			Message: short.Error() + " for another run"}
	}
	return above, known(err)
}

// cancelReservation reports that a run was not stored after all, which releases its budget.
func (e *Engine) cancelReservation(by driver.Ledger, run string) {
	if err := by.Use(engine.CallUse{Run: run, Ended: true}); err != nil && !errors.Is(err, engine.ErrCallLate) {
		e.log.Warn("cannot release the budget of a run that did not start", "run", run, "err", err)
	}
}

// reportUsage reports the usage of a run to the run that by belongs to. If the run ended because
// its part of the budget was used up, the function that started it has exceeded the budget of its
// own run.
func (e *Engine) reportUsage(ctx context.Context, by driver.Ledger, run string) {
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

// report reports, to the run that by belongs to, the usage of another run that the call started but
// does not wait for, so that the reservation for that run is released once it has ended. It ends
// with the call, whose context is ctx.
func (e *Engine) report(ctx context.Context, by driver.Ledger, run string) {
	// the usage known so far counts
	_, _ = e.service.WaitUntil(ctx, run, func(st driver.State) bool { return st.Interrupted })
	if ctx.Err() == nil {
		e.reportUsage(ctx, by, run)
	}
}
