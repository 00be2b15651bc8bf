package hocket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/program"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// agentRegistry provides the agents of the engine: those of WithAgent, then those of the store's
// catalog.
type agentRegistry struct{ e *Engine }

var _ graph.SubagentRegistry = agentRegistry{}

// Get implements graph.SubagentRegistry.
func (r agentRegistry) Get(name string) (graph.SubagentInfo, bool) {
	a, ok := r.find(name)
	return graph.SubagentInfo{Name: name, Description: a.Description}, ok
}

// All implements graph.SubagentRegistry. The agents are sorted by name.
func (r agentRegistry) All() []graph.SubagentInfo {
	var out []graph.SubagentInfo
	for _, a := range r.all() {
		out = append(out, graph.SubagentInfo{Name: a.ID, Description: a.Description})
	}
	return out
}

func (r agentRegistry) find(name string) (workflow.Agent, bool) {
	all := r.all()
	i := slices.IndexFunc(all, func(a workflow.Agent) bool { return a.ID == name })
	if i < 0 {
		return workflow.Agent{}, false
	}
	return all[i], true
}

func (r agentRegistry) all() []workflow.Agent {
	list := slices.Clone(r.e.given.agents)
	stored, _, err := r.e.service.CatalogAgents(context.Background(), nil)
	if err != nil {
		r.e.log.Warn("read agents of the catalog", "err", err)
	}
	for i := range stored {
		if !slices.ContainsFunc(list, func(a workflow.Agent) bool { return a.ID == stored[i].ID }) {
			list = append(list, stored[i])
		}
	}
	slices.SortFunc(list, func(a, b workflow.Agent) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// bridge runs each agent in a child run of its own, with a workflow that contains only this agent,
// under an ID derived from the parent run and the key of the work: when the work is requested again
// after a crash, the existing run is found and resumed. Such a run pauses, is answered and is shown
// like any other; a call that waits for it holds no slot. Cancelling or interrupting the parent run
// cancels or interrupts the child run.
type bridge struct {
	e    *Engine
	info driver.Info
}

var (
	_ graph.SubagentBridge = (*bridge)(nil)
	_ program.Counted      = (*bridge)(nil)
)

// Counted implements program.Counted.
func (b *bridge) Counted() {}

// SpawnParallel implements graph.SubagentBridge.
func (b *bridge) SpawnParallel(ctx context.Context, o []graph.SpawnOptions) ([]graph.SubagentResult, error) {
	out, errs := make([]graph.SubagentResult, len(o)), make([]error, len(o))
	var wg sync.WaitGroup
	var asked atomic.Int32 // calls that asked for a share of the rest
	for i := range o {
		wg.Go(func() {
			if out[i], errs[i] = b.spawn(ctx, o[i], len(o)+1-int(asked.Add(1))); errs[i] != nil {
				out[i] = graph.SubagentResult{AgentID: o[i].AgentID, Error: errs[i].Error()}
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for _, err := range errs {
		if short := (program.Coded)(nil); errors.As(err, &short) { // the others are found on the next request
			return nil, err
		}
	}
	return out, nil
}

// Spawn implements graph.SubagentBridge.
func (b *bridge) Spawn(ctx context.Context, o graph.SpawnOptions) (graph.SubagentResult, error) {
	return b.spawn(ctx, o, 1)
}

// spawn runs an agent as one of the given number of agents that start together.
func (b *bridge) spawn(ctx context.Context, o graph.SpawnOptions, shares int) (graph.SubagentResult, error) {
	r, err := b.work(ctx, piece{SpawnOptions: o}, shares)
	if err != nil {
		return graph.SubagentResult{}, err
	}
	return subagentResult(o.AgentID, r), nil
}

// piece is a piece of work for an agent.
type piece struct {
	graph.SpawnOptions
	// output replaces the agent's own output; nil keeps it. limits are the limits of the run.
	output *workflow.Output
	limits workflow.Limits
}

// work lets an agent do a piece of work, and returns the run that did it.
func (b *bridge) work(ctx context.Context, o piece, shares int) (project.Run, error) {
	run := agentRun(b.info.Run, cmp.Or(o.Key, o.AgentID))
	err := b.e.service.Children().Drive(ctx, service.ChildWork{
		Parent: b.info.Run, Run: run, Caller: callerOf(ctx), Shares: shares, WaitsForPerson: true,
		Start: func(ctx context.Context, parent *workflow.Budget) error { return b.start(ctx, run, o, parent) },
		Ended: func(ctx context.Context) error { return b.reopen(ctx, run) },
	})
	if err != nil {
		return project.Run{}, err
	}
	r, err := b.e.service.Show(ctx, run)
	if err != nil {
		return project.Run{}, err
	}
	// it continues with the parent run
	if r.Status == engine.StatusFailed && r.Error != nil && r.Error.Code == engine.CodeWorkflowBudget {
		callerOf(ctx).Short(engine.CodeWorkflowBudget)
		return project.Run{}, &BudgetError{Code: engine.CodeWorkflowBudget, Message: r.Error.Message}
	}
	return r, nil
}

// subagentResult returns the result of an agent's run.
func subagentResult(id string, o project.Run) graph.SubagentResult {
	r := graph.SubagentResult{AgentID: id, Success: o.Status == engine.StatusCompleted, ToolUses: o.Usage.ToolCalls}
	if o.StartedAt != nil && o.EndedAt != nil {
		r.DurationMS = o.EndedAt.Sub(*o.StartedAt).Milliseconds()
	}
	info := runInfo(o)
	switch {
	case r.Success:
		r.Output = info.Text()
	case info.Err != nil:
		r.Error = info.Err.Error()
	default:
		r.Error = fmt.Sprintf("its run %s is %s", o.ID, o.Status)
	}
	return r
}

// agentRun returns the ID of the run that does a piece of work.
func agentRun(parent, key string) string {
	name := strings.ReplaceAll(strings.TrimPrefix(key, parent+"/"), "/", "-")
	return driver.ChildRunID(parent, name, parent+"\x00"+key)
}

func (b *bridge) start(ctx context.Context, run string, o piece, above *workflow.Budget) error {
	a, ok := agentRegistry{b.e}.find(o.AgentName)
	if !ok {
		return fmt.Errorf("agent %q not found", o.AgentName)
	}
	if o.SystemPrompt != "" {
		a.System, a.Template = o.SystemPrompt, false
	}
	if o.Model != "" {
		a.Model = o.Model
	}
	if o.Tools != nil {
		a.Tools, a.Toolsets = o.Tools, nil
	}
	if o.output != nil {
		a.Output = o.output
	}
	w, own, err := b.e.service.AgentFlow(ctx, a)
	if err != nil {
		return fmt.Errorf("agent %q: %w", o.AgentName, err)
	}
	q := service.StartRequest{Workflow: w, Graph: b.info.Workflow.Name, Input: o.Task, RunID: run,
		ParentRun: b.info.Run, Above: above, Limits: o.limits, Trust: own}
	if own {
		q.Dir = "." // where the program looks for its own agents' files
	}
	_, err = b.e.service.Start(ctx, q)
	return err
}

// reopen lets a run that ended because of its workflow's budget continue, because the parent run
// was resumed.
func (b *bridge) reopen(ctx context.Context, run string) error {
	r, err := b.e.service.Show(ctx, run)
	if err != nil || r.Status != engine.StatusFailed || r.Error == nil || r.Error.Code != engine.CodeWorkflowBudget {
		return err
	}
	return b.e.service.Reopen(ctx, run, workflow.Limits{}, engine.LocalBy(engine.ChannelProgram))
}
