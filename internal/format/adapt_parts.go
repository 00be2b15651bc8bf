package format

import (
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/format/lost"
	"github.com/hocket-run/hocket/internal/format/nodes"
	"github.com/hocket-run/hocket/workflow"
)

// turnsToContext sends the outputs of all previous steps instead of the recent turns, which is at
// least as much if no step runs again, and removes what is sent without any input.
func (a *adapter) turnsToContext() {
	for i := range a.w.Nodes {
		if n := &a.w.Nodes[i]; n.Agent != nil && n.Agent.Prompt.Default != "" {
			if strings.TrimSpace(n.Agent.Prompt.Text) == "" { // otherwise it is never sent
				a.changef(lost.Node(n.ID), ChangeLost, "start the run with an input",
					"what it is sent without any input, %q", short(n.Agent.Prompt.Default))
			}
			said := *n.Agent
			said.Prompt.Default = ""
			n.Agent = &said
		}
	}
	if cyclic(a.w) {
		return
	}
	for i := range a.w.Nodes {
		n := &a.w.Nodes[i]
		if n.Agent == nil || n.Agent.Prompt.Mode != workflow.PromptTurns ||
			strings.TrimSpace(n.Agent.Prompt.Text) != "" {
			continue
		}
		n.Agent.Prompt = workflow.Prompt{Mode: workflow.PromptContext, Text: proceed}
		a.changef(lost.Node(n.ID), ChangeReworded, a.to+" documents have no turns",
			"the message has the outputs of all steps before and the run's input, not the recent turns")
	}
}

// proceed is the message of an agent in a steps document if the run has no input (S4-3).
const proceed = "Please proceed."

// reorder sorts nodes and edges in the order in which reading a steps document creates them, if the
// order has no effect because nothing runs concurrently.
func (a *adapter) reorder() {
	if lost.Concurrent(a.w) {
		return
	}
	back, refused := reread(a.w, a.to)
	if refused {
		return
	}
	place := map[string]int{}
	for i, n := range back.Nodes {
		place[n.ID] = i
	}
	agent := map[string]int{}
	for i, g := range back.Agents {
		agent[g.ID] = i
	}
	edge := func(e workflow.Edge) int {
		return slices.IndexFunc(back.Edges, func(b workflow.Edge) bool {
			return b.From == e.From && b.To == e.To && b.PortName() == e.PortName()
		})
	}
	slices.SortStableFunc(a.w.Nodes, func(x, y workflow.Node) int { return place[x.ID] - place[y.ID] })
	slices.SortStableFunc(a.w.Agents, func(x, y workflow.Agent) int { return agent[x.ID] - agent[y.ID] })
	slices.SortStableFunc(a.w.Edges, func(x, y workflow.Edge) int { return edge(x) - edge(y) })
}

// reread writes a workflow and reads it back.
func reread(w *workflow.Workflow, name string) (*workflow.Workflow, bool) {
	f, ok := Of(name)
	if !ok {
		return nil, true
	}
	data, _ := f.Write(w)
	back, refused := readBack(f, data)
	return back, back == nil || len(refused) > 0
}

// plainPrompts makes prompts of agents that contain nothing but tokens plain, and such prompts of
// questions, and of approvals if waits is true, templates: the meaning is the same.
func (a *adapter) plainPrompts(waits bool) {
	for i := range a.w.Nodes {
		n := &a.w.Nodes[i]
		if n.Agent != nil && !nodes.HasExpressions(n.Agent.Prompt.Text) {
			n.Agent.Prompt.Expressions = false
		}
		if w := n.Wait; w != nil && w.Kind != workflow.WaitSignal && w.PromptFunc == "" &&
			!nodes.HasExpressions(w.Prompt) {
			w.Template = waits || w.Kind == workflow.WaitQuestion
		}
	}
}
