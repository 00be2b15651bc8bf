package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/program"
)

// SubagentConfig is a node that assigns a task to an agent of [Runtime.Registry], through
// [Runtime.Subagents]. From the second attempt on, the task says why the previous attempt failed.
// After a crash the bridge is called again with the same [SpawnOptions.Key].
type SubagentConfig[S any] struct {
	ID string
	// Agent is the agent's name in the registry. Required.
	Agent string
	// Task is the agent's task; TaskFunc derives it from the state and takes precedence. One of
	// them is required. TaskFunc must be pure.
	Task     string
	TaskFunc func(View[S]) string
	// SystemPrompt replaces the agent's own unless empty; SystemPromptFunc takes precedence. It
	// must be pure.
	SystemPrompt     string
	SystemPromptFunc func(View[S]) string
	// Model defaults to [Context.Model] if empty or "inherit".
	Model string
	// Tools lists the tools that the agent may use instead of its own; nil means its own.
	Tools []string
	// Output writes the result into the state. If nil, the agent's output, a string, is stored in
	// the outputs under ID.
	Output func(s *S, r SubagentResult) error
	// Options.Name defaults to Agent.
	Options NodeOptions
}

func (c SubagentConfig[S]) define() *def[S] {
	c.Tools = slices.Clone(c.Tools)
	if c.Options.Name == "" {
		c.Options.Name = c.Agent
	}
	c.Options.Model = firstModel(c.Model, c.Options.Model) // so that it is shown as the node's model
	d := &def[S]{id: c.ID, typ: TypeAgent, opts: c.Options, run: c.call}
	if text := c.agent().lacks(); text != "" {
		d.problem = problemf("Sub-agent node %q requires %s", c.ID, text)
	}
	return d
}

func (c SubagentConfig[S]) agent() ParallelAgent[S] {
	return ParallelAgent[S]{c.Agent, c.Task, c.TaskFunc, c.SystemPrompt, c.SystemPromptFunc, c.Model, c.Tools}
}

func (c SubagentConfig[S]) call(ctx context.Context, n *Context[S]) (Result[S], error) {
	bridge, registry := n.Runtime.Subagents, n.Runtime.Registry
	switch {
	case bridge == nil:
		return Result[S]{}, fmt.Errorf("sub-agent node %q needs a sub-agent bridge: Runtime.Subagents is not set", c.ID)
	case registry == nil:
		return Result[S]{}, fmt.Errorf("sub-agent node %q needs a sub-agent registry: Runtime.Registry is not set",
			c.ID)
	}
	if _, ok := registry.Get(c.Agent); !ok {
		var names []string
		for _, a := range registry.All() {
			names = append(names, a.Name)
		}
		//nolint:staticcheck // S2-54
		return Result[S]{}, fmt.Errorf("Sub-agent %q not found in registry. Available agents: %s", c.Agent,
			listed(names))
	}
	if err := n.mayUse(ctx, bridge); err != nil {
		return Result[S]{}, fmt.Errorf("Sub-agent %q: %w", c.Agent, err) //nolint:staticcheck // as S2-54
	}
	r, err := bridge.Spawn(ctx, c.agent().spawn(n, c.ID, ""))
	if err == nil && !r.Success {
		err = errors.New(cmp.Or(r.Error, "unknown error"))
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return Result[S]{}, context.Cause(ctx)
	case err != nil:
		return Result[S]{}, fmt.Errorf("Sub-agent %q failed: %w", c.Agent, err) //nolint:staticcheck // S2-54
	case c.Output == nil:
		return Result[S]{Output: r.Output}, nil
	}
	err = c.Output(&n.State, r)
	return Result[S]{Update: &n.State}, err
}

// mayUse returns an error if the node may not use a client or bridge: one defined by the program
// does not report its usage.
func (c *Context[S]) mayUse(ctx context.Context, by any) error {
	if _, counted := by.(program.Counted); counted || c.services == nil || c.services.Uncounted == nil {
		return nil
	}
	return c.services.Uncounted(ctx, c.within.Caller)
}

// listed formats the names that are available instead.
func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// ParallelAgent is an agent of a [ParallelSubagentConfig]; its fields are those of a
// [SubagentConfig].
type ParallelAgent[S any] struct {
	Agent            string
	Task             string
	TaskFunc         func(View[S]) string
	SystemPrompt     string
	SystemPromptFunc func(View[S]) string
	Model            string
	Tools            []string
}

// lacks returns the name of a missing required field, or "" if there is none.
func (a ParallelAgent[S]) lacks() string {
	switch {
	case a.Agent == "":
		return "the name of an agent"
	case a.Task == "" && a.TaskFunc == nil:
		return "a task"
	}
	return ""
}

// spawn returns the options for running the agent. part distinguishes the agents of one node; it
// starts with a dash or is empty.
func (a ParallelAgent[S]) spawn(n *Context[S], id, part string) SpawnOptions {
	o := SpawnOptions{
		AgentID: attemptKey(id+part+"-"+n.ExecutionID, n.Attempt), Key: attemptKey(n.Key+part, n.Attempt),
		AgentName: a.Agent,
		Task:      a.Task, SystemPrompt: a.SystemPrompt, Model: firstModel(a.Model, n.Model),
		Tools: slices.Clone(a.Tools),
	}
	if a.TaskFunc != nil {
		o.Task = a.TaskFunc(n.View())
	}
	if a.SystemPromptFunc != nil {
		o.SystemPrompt = a.SystemPromptFunc(n.View())
	}
	o.Task = withFailure(o.Task, n)
	return o
}

// ParallelSubagentConfig is a node that has several agents work concurrently, through
// [Runtime.Subagents]. All of them settle: a failed agent does not stop the others and does not
// fail the node.
type ParallelSubagentConfig[S any] struct {
	ID string
	// Agents must have at least one element. The same agent may occur several times.
	Agents []ParallelAgent[S]
	// Output writes the results, one per agent in order, into the state. Required.
	Output  func(s *S, results []AgentResult) error
	Options NodeOptions
}

// AgentResult is the result of an agent of a [ParallelSubagentConfig]. Key is `<agent>-<index>`,
// counting from 0.
type AgentResult struct {
	Key string
	SubagentResult
}

func (c ParallelSubagentConfig[S]) define() *def[S] {
	c.Agents = slices.Clone(c.Agents)
	d := &def[S]{id: c.ID, typ: TypeParallel, opts: c.Options, run: c.call}
	for i, a := range c.Agents {
		c.Agents[i].Tools = slices.Clone(a.Tools)
		if text := a.lacks(); text != "" && d.problem == "" {
			d.problem = problemf("Parallel sub-agent node %q: agent %d requires %s", c.ID, i+1, text)
		}
	}
	switch {
	case c.Output == nil:
		d.problem = problemf("Parallel sub-agent node %q requires an Output function", c.ID)
	case len(c.Agents) == 0:
		d.problem = problemf("Parallel sub-agent node %q requires at least one agent", c.ID)
	}
	return d
}

func (c ParallelSubagentConfig[S]) call(ctx context.Context, n *Context[S]) (Result[S], error) {
	bridge := n.Runtime.Subagents
	if bridge == nil {
		return Result[S]{},
			fmt.Errorf("parallel sub-agent node %q needs a sub-agent bridge: Runtime.Subagents is not set", c.ID)
	}
	work := make([]SpawnOptions, len(c.Agents))
	for i, a := range c.Agents {
		work[i] = a.spawn(n, c.ID, fmt.Sprintf("-%d", i))
	}
	if err := n.mayUse(ctx, bridge); err != nil {
		return Result[S]{}, fmt.Errorf("spawn parallel sub-agents: %w", err)
	}
	results, err := bridge.SpawnParallel(ctx, work)
	switch {
	case ctx.Err() != nil:
		return Result[S]{}, context.Cause(ctx)
	case err != nil:
		return Result[S]{}, fmt.Errorf("spawn parallel sub-agents: %w", err)
	case len(results) != len(work):
		return Result[S]{}, fmt.Errorf("spawn parallel sub-agents: the bridge gave %d results for %d agents",
			len(results), len(work))
	}
	out := make([]AgentResult, len(results))
	for i, r := range results {
		out[i] = AgentResult{Key: fmt.Sprintf("%s-%d", c.Agents[i].Agent, i), SubagentResult: r}
	}
	err = c.Output(&n.State, out)
	return Result[S]{Update: &n.State}, err
}
