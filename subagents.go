package hocket

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/program"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// agentRegistry knows the agents of the engine: those of WithAgent, then those of the store's catalog.
type agentRegistry struct{ e *Engine }

var _ graph.SubagentRegistry = agentRegistry{}

// Get implements graph.SubagentRegistry.
func (r agentRegistry) Get(name string) (graph.SubagentInfo, bool) {
	a, ok := r.find(name)
	return graph.SubagentInfo{Name: name, Description: a.Description}, ok
}

// All implements graph.SubagentRegistry: by name.
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
	list := r.e.given.definitions()
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

// bridge runs agents as runs of their own, each of a workflow with this agent alone, under an id that follows from the run above and the key of the
// work: asked again after a crash, it finds the run that is there and takes it up (ADR 8). Such a run pauses, is answered and shown like any other; a call
// that waits for it holds no slot. Cancelling the run above cancels it, interrupting that run interrupts it.
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
	var asked atomic.Int32 // those that asked for their share of what is left
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
		if short := (program.Coded)(nil); errors.As(err, &short) { // the others are found when they are asked for again
			return nil, err
		}
	}
	return out, nil
}

// Spawn implements graph.SubagentBridge.
func (b *bridge) Spawn(ctx context.Context, o graph.SpawnOptions) (graph.SubagentResult, error) {
	return b.spawn(ctx, o, 1)
}

// spawn runs an agent as one of so many that begin together.
func (b *bridge) spawn(ctx context.Context, o graph.SpawnOptions, shares int) (graph.SubagentResult, error) {
	run := childRun(b.info.Run, cmp.Or(o.Key, o.AgentID))
	err := b.begin(ctx, run, o, shares)
	if err == nil {
		err = b.follow(ctx, run)
	}
	if err != nil {
		b.stopped(ctx, run) // also while it begins: it may have been stored
		return graph.SubagentResult{}, err
	}
	r, err := b.e.service.Show(ctx, run)
	if err != nil {
		return graph.SubagentResult{}, err
	}
	if r.Status == engine.StatusFailed && r.Error != nil && r.Error.Code == engine.CodeWorkflowBudget { // it goes on with the run above
		driver.LedgerOf(ctx).Short(engine.CodeWorkflowBudget)
		return graph.SubagentResult{}, &BudgetError{Code: engine.CodeWorkflowBudget, Message: r.Error.Message}
	}
	return subagentResult(o.AgentID, r), nil
}

// subagentResult is what the run of an agent came to.
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

// plainKey matches keys that the id of a run can hold as they are.
var plainKey = regexp.MustCompile(`^[A-Za-z0-9._#-]{1,40}$`)

// maxParent bounds the ids under which the id of another run is put.
const maxParent = 150

// childRun gives the id of the run that does a piece of work.
func childRun(parent, key string) string {
	part := strings.ReplaceAll(strings.TrimPrefix(key, parent+"/"), "/", "-")
	if plainKey.MatchString(part) && len(parent) <= maxParent {
		return parent + "." + part
	}
	sum := sha256.Sum256([]byte(parent + "\x00" + key))
	return parent[:min(len(parent), maxParent)] + "." + hex.EncodeToString(sum[:10])
}

// begin starts the run of an agent, or takes it up where it was started before.
func (b *bridge) begin(ctx context.Context, run string, o graph.SpawnOptions, shares int) error {
	driver.Idle(ctx) // others may hold what is left of a budget
	above, isNew, err := b.e.service.BeginChild(ctx, driver.LedgerOf(ctx), run, shares)
	switch {
	case err != nil:
		return err
	case !isNew:
		return b.takeUp(ctx, run)
	}
	err = b.start(ctx, run, o, above)
	if errors.Is(err, journal.ErrExists) {
		return b.takeUp(ctx, run)
	}
	if err != nil && ctx.Err() == nil {
		b.e.service.LeaveChild(ctx, driver.LedgerOf(ctx), run)
	}
	return err
}

func (b *bridge) start(ctx context.Context, run string, o graph.SpawnOptions, above *workflow.Budget) error {
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
	node := workflow.Node{ID: "agent", Name: a.Title(), Kind: workflow.KindAgent, Agent: &workflow.AgentNode{Agent: a.ID, Prompt: workflow.Prompt{Mode: workflow.PromptTemplate}}}
	w := &workflow.Workflow{Name: a.Title(), Format: service.FormatAgent, Entry: node.ID, Nodes: []workflow.Node{node}, Agents: []workflow.Agent{a}}
	if l := workflow.Validate(w); l.HasErrors() {
		return fmt.Errorf("agent %q: %w", o.AgentName, l.Err())
	}
	_, err := b.e.service.Start(ctx, service.StartRequest{Workflow: w, Graph: b.info.Workflow.Name, Input: o.Task, RunID: run, ParentRun: b.info.Run, Above: above})
	return err
}

// takeUp resumes an interrupted run.
func (b *bridge) takeUp(ctx context.Context, run string) error {
	err := b.e.service.Resume(ctx, run)
	switch {
	case errors.Is(err, journal.ErrOwned):
		return nil
	case errors.Is(err, engine.ErrEnded):
		return b.reopen(ctx, run)
	}
	return err
}

// reopen lets a run go on that ended by the budget of its workflow: the run above was resumed.
func (b *bridge) reopen(ctx context.Context, run string) error {
	r, err := b.e.service.Show(ctx, run)
	if err != nil || r.Status != engine.StatusFailed || r.Error == nil || r.Error.Code != engine.CodeWorkflowBudget {
		return err
	}
	return b.e.service.Reopen(ctx, run, workflow.Limits{}, engine.LocalBy(engine.ChannelProgram))
}

// follow waits until the run has ended. One that waits for a person is waited for.
func (b *bridge) follow(ctx context.Context, run string) error {
	for {
		st, err := b.e.service.Wait(ctx, run)
		switch {
		case err != nil:
			return err
		case st.Status.Ended():
			if goesOn, err := b.e.service.SettleChild(ctx, driver.LedgerOf(ctx), run); err != nil || !goesOn {
				return err
			}
		case st.Interrupted: // its owner died
			if err := b.takeUp(ctx, run); err != nil {
				return err
			}
		case st.Status == engine.StatusPaused:
			if err := b.answered(ctx, run); err != nil {
				return err
			}
		}
	}
}

// answered waits until something happens in a paused run.
func (b *bridge) answered(ctx context.Context, run string) error {
	h, err := b.e.service.Head(ctx, run)
	if err != nil || h.Status != journal.StatusPaused {
		return err
	}
	for u, err := range b.e.service.Watch(ctx, run, h.LastSeq) {
		if err != nil {
			return err
		}
		if u.Event != nil {
			break
		}
	}
	return nil
}

// stopTime bounds how long is waited for the run of an agent to stop.
const stopTime = time.Second

// stopped cancels the run of an agent whose call was given up. Where the run above is interrupted it is interrupted too, and is taken up with it.
func (b *bridge) stopped(ctx context.Context, run string) {
	if ctx.Err() == nil {
		return
	}
	isInterrupted := errors.Is(context.Cause(ctx), driver.ErrInterrupted)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	if isInterrupted {
		_ = b.e.service.Interrupt(ctx, run) // the engine waits for longer
		return
	}
	err := b.e.service.Cancel(ctx, run, "")
	if err != nil && !errors.Is(err, engine.ErrEnded) && !errors.Is(err, journal.ErrNotFound) {
		b.e.log.Warn("cannot cancel the run of an agent with its parent run", "run", run, "err", err)
	}
	b.e.service.LeaveChild(ctx, driver.LedgerOf(ctx), run)
}
