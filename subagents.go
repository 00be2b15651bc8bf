package hocket

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine/event"
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
	var asked atomic.Int32 // calls that have asked for a share of the remaining budget
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
		// the other results are found when this is requested again
		if short := (program.Coded)(nil); errors.As(err, &short) {
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
	r, err := b.work(ctx, agentTask{SpawnOptions: o}, shares)
	if err != nil {
		return graph.SubagentResult{}, err
	}
	return subagentResult(o.AgentID, r), nil
}

// agentTask is a piece of work for an agent.
type agentTask struct {
	graph.SpawnOptions
	// output replaces the agent's own output; nil keeps it. limits are the limits of the run.
	output *workflow.Output
	limits workflow.Limits
}

// work lets an agent do a piece of work, and returns the run that did it.
func (b *bridge) work(ctx context.Context, o agentTask, shares int) (project.Run, error) {
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
	if r.Status == event.StatusFailed && r.Error != nil && r.Error.Code == event.CodeWorkflowBudget {
		callerOf(ctx).Short(event.CodeWorkflowBudget)
		return project.Run{}, &BudgetError{Code: event.CodeWorkflowBudget, Message: r.Error.Message}
	}
	return r, nil
}

// subagentResult returns the result of an agent's run.
func subagentResult(id string, o project.Run) graph.SubagentResult {
	r := graph.SubagentResult{AgentID: id, Success: o.Status == event.StatusCompleted, ToolUses: o.Usage.ToolCalls}
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

func (b *bridge) start(ctx context.Context, run string, o agentTask, above *workflow.Budget) error {
	a, ok := agentRegistry{b.e}.find(o.AgentName)
	if !ok {
		return fmt.Errorf("agent %q not found", o.AgentName)
	}
	if o.SystemPrompt != "" {
		a.System, a.Template, a.Tokens = o.SystemPrompt, false, false
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
	if err != nil || r.Status != event.StatusFailed || r.Error == nil || r.Error.Code != event.CodeWorkflowBudget {
		return err
	}
	return b.e.service.Reopen(ctx, run, workflow.Limits{}, event.LocalBy(event.ChannelProgram))
}

// SubagentOptions configures a call of [SubagentAs]. The zero value is valid.
type SubagentOptions struct {
	// Key distinguishes this piece of work from all others of the same execution of the node, or of
	// the same tool call: if it is requested again with the same key, after a crash or by a later
	// attempt, the answer is that of the first time. If empty, it is derived from agent, task and
	// these options; a task that contains the time, for example, needs a Key. Its maximum length is
	// 200 bytes.
	Key string
	// SystemPrompt and Model replace the agent's own unless they are empty, and Tools unless it is
	// nil.
	SystemPrompt, Model string
	Tools               []string
	// Limits is the budget of the child run, within what remains of the parent run's.
	Limits graph.Limits
}

// Subagent is the result of an agent called with [SubagentAs].
type Subagent[T any] struct {
	// Value is the answer, or its zero value if there is an error. Text is the answer as the agent
	// wrote it.
	Value T
	Text  string
	// Run is the run that did the work, a child run of the one that asked. Usage is its usage,
	// including everything that it started.
	Run      string
	Usage    RunUsage
	Duration time.Duration
}

// storedAnswer is the stored form of an answer; its value is decoded from its text.
type storedAnswer = Subagent[struct{}]

// maxSubagentKey is the maximum length of SubagentOptions.Key; the key under which the answer is
// stored adds a prefix.
const maxSubagentKey = 200

// SubagentAs asks an agent of the engine for a T, from a node function or a tool written in Go,
// with the context that the function received:
//
//	verdict, err := hocket.SubagentAs[Verdict](ctx, "critic", "Judge this: "+text)
//
// T is a struct, whose JSON Schema the answer must match, as with [StructuredOutput], or string,
// for an agent's text or whatever its own StructuredOutput is. The agent works in a child run,
// which is shown, paused and answered like any other, and counts toward the budgets of the run that
// asks. The answer is stored before SubagentAs returns: a crash repeats neither the agent's work
// nor its cost, and later attempts of the node get the same answer. If an agent failed, the next
// attempt asks it again. At most one SubagentOptions may be passed.
//
// It returns an error if the agent failed (a *[RunError]; [Subagent].Run and Usage are set as
// well), if no agent has that name, if ctx does not belong to a function of a run, or if T has no
// schema. It can also return a *[BudgetError] or the error of ctx.
func SubagentAs[T any](ctx context.Context, agent, task string, options ...SubagentOptions) (Subagent[T], error) {
	var out Subagent[T]
	o, err := atMostOne(options, "SubagentOptions")
	if err != nil {
		return out, err
	}
	if len(o.Key) > maxSubagentKey {
		return out, fmt.Errorf("SubagentOptions.Key has %d bytes; at most %d are allowed", len(o.Key), maxSubagentKey)
	}
	w, err := workOf(ctx)
	if err != nil {
		return out, err
	}
	p := agentTask{
		SpawnOptions: graph.SpawnOptions{AgentID: agent, AgentName: agent, Task: task, SystemPrompt: o.SystemPrompt,
			Model: o.Model, Tools: o.Tools},
		limits: budgetOf(o.Limits).workflowLimits(),
	}
	if err := workflow.CheckLimits(p.limits); err != nil {
		return out, err
	}
	if p.output, err = outputOf[T](); err != nil {
		return out, err
	}
	key := "agent/" + cmp.Or(o.Key, workKey(p))
	p.Key = w.key + "/" + key
	if w.attempt > 1 {
		p.Key += "-" + strconv.Itoa(w.attempt)
	}
	var failed error // with its usage
	kept, err := graph.Once(ctx, key, func(ctx context.Context) (storedAnswer, error) {
		r, err := w.bridge.work(ctx, p, 1)
		if err != nil {
			return storedAnswer{}, err
		}
		kept, err := subagentOf(r)
		if err != nil {
			out.Run, out.Usage, out.Duration, failed = kept.Run, kept.Usage, kept.Duration, err
		}
		return kept, err
	})
	if failed != nil {
		err = fmt.Errorf("sub-agent %q: %w", agent, failed)
	}
	if err != nil {
		return out, err
	}
	out = Subagent[T]{Text: kept.Text, Run: kept.Run, Usage: kept.Usage, Duration: kept.Duration}
	if text, ok := any(&out.Value).(*string); ok {
		*text = kept.Text
		return out, nil
	}
	if err := json.Unmarshal([]byte(kept.Text), &out.Value); err != nil {
		return out, fmt.Errorf("sub-agent %q: its answer is no %s: %w", agent, reflect.TypeFor[T](), err)
	}
	return out, nil
}

// agentCaller is a call of a run that asks an agent.
type agentCaller struct {
	bridge  *bridge
	key     string
	attempt int
}

// workOf returns the call that a context belongs to.
func workOf(ctx context.Context) (agentCaller, error) {
	by := program.CallerOf(ctx)
	if by == nil {
		return agentCaller{},
			errors.New("SubagentAs needs the context of a node function or of a tool that a run calls")
	}
	w := by.Work()
	if w.Services != nil {
		if r, ok := w.Services.Runtime.(graph.Runtime); ok {
			if b, ok := r.Subagents.(*bridge); ok {
				return agentCaller{b, w.Key, w.Attempt}, nil
			}
		}
	}
	return agentCaller{}, errors.New("SubagentAs needs an engine, which the call does not have")
}

// outputOf returns the output that an agent is asked for to produce a T; nil means the agent's own.
func outputOf[T any]() (*workflow.Output, error) {
	t := reflect.TypeFor[T]()
	if t == reflect.TypeFor[string]() {
		return nil, nil //nolint:nilnil // the agent's own
	}
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("SubagentAs gives a struct or a string, not %s", t)
	}
	schema, err := schemaText(graph.SchemaOf[T]())
	if err != nil {
		return nil, fmt.Errorf("the answer as %s: %w", t, err)
	}
	name := strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, t.Name())
	return &workflow.Output{Name: cmp.Or(name[:min(len(name), 64)], "answer"), Schema: schema}, nil
}

// workKey derives a key for a piece of work from its content.
func workKey(p agentTask) string {
	raw, err := json.Marshal([]any{p.AgentName, p.Task, p.SystemPrompt, p.Model, p.Tools, p.output, p.limits})
	if err != nil { // it holds only strings and numbers
		raw = []byte(p.AgentName + "\x00" + p.Task)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}

// subagentOf returns the result of an agent's run. The error is why it has no answer; the usage is
// set in any case.
func subagentOf(o project.Run) (storedAnswer, error) {
	info := runInfo(o)
	out := storedAnswer{Text: info.Text(), Run: info.ID, Usage: info.Usage}
	if o.StartedAt != nil && o.EndedAt != nil {
		out.Duration = o.EndedAt.Sub(*o.StartedAt)
	}
	switch {
	case o.Status == event.StatusCompleted:
		return out, nil
	case info.Err != nil:
		return out, info.Err
	}
	return out, fmt.Errorf("its run %s is %s", o.ID, o.Status)
}
