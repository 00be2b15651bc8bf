package format

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/format/canvas"
	"github.com/hocket-run/hocket/internal/format/lost"
	"github.com/hocket-run/hocket/workflow"
)

// toCanvas gives each node an agent of its own, puts a start node in front and takes over what all canvas agents have.
func (a *adapter) toCanvas() {
	w := a.w
	a.plainRules(workflow.FailDrain, true)
	if w.Rules.DefaultInput == nil {
		w.Rules.DefaultInput = []byte(`""`)
	}
	if e := w.Node(w.Entry); e != nil && e.Kind != workflow.KindStart {
		id := a.fresh("start")
		a.changef("workflow", ChangeAdded, "every canvas has one; it does nothing", "the start node %q", id)
		w.Nodes = slices.Insert(w.Nodes, 0, workflow.Node{ID: id, Kind: workflow.KindStart})
		w.Edges = slices.Insert(w.Edges, 0, workflow.Edge{From: id, To: w.Entry})
		w.Entry = id
	}
	a.turnsToContext()
	a.replies(true, canvas.EmptyText)
	for i := range w.Agents {
		g := &w.Agents[i]
		if g.System == "" {
			g.System = canvas.DefaultSystem
			a.changef(lost.Agent(g.ID), ChangeAdded, "every canvas agent has one", "the system prompt %q", g.System)
		}
		g.MaxTurns = g.Turns()
	}
	a.ownAgents()
}

// ownAgents makes a copy of each agent for every node that runs it. Agents that others ask or hand over to stay as they are: their ids are in use.
func (a *adapter) ownAgents() {
	w := a.w
	for i := range w.Agents {
		if len(w.Agents[i].Subagents)+len(w.Agents[i].Handoffs) > 0 {
			return
		}
	}
	var own []workflow.Agent
	for i := range w.Nodes {
		n := &w.Nodes[i]
		if n.Agent == nil {
			continue
		}
		g := w.Agent(n.Agent.Agent)
		if g == nil {
			return
		}
		c := *g
		c.ID, c.Name = n.ID, g.Title()
		own = append(own, c)
		a.rename(n, c.Name)
	}
	for i := range w.Nodes {
		if n := &w.Nodes[i]; n.Agent != nil {
			n.Agent.Agent = n.ID
		}
	}
	w.Agents = own
}

// turnsToContext sends the outputs of all steps before where the recent turns were sent: that is no less where no step runs again.
func (a *adapter) turnsToContext() {
	if cyclic(a.w) {
		return
	}
	for i := range a.w.Nodes {
		n := &a.w.Nodes[i]
		if n.Agent == nil || n.Agent.Prompt.Mode != workflow.PromptTurns || strings.TrimSpace(n.Agent.Prompt.Text) != "" {
			continue
		}
		n.Agent.Prompt = workflow.Prompt{Mode: workflow.PromptContext, Text: proceed}
		a.changef(lost.Node(n.ID), ChangeReworded, a.to+" documents have no turns", "the message has the outputs of all steps before and the run's input, not the recent turns")
	}
}

// proceed is the message of a steps document's agent where the run has no input (S4-3).
const proceed = "Please proceed."

// toSteps removes what steps documents have no place for and writes conditions as expressions.
func (a *adapter) toSteps() {
	w := a.w
	if w.ID != "" {
		a.changef("workflow", ChangeLost, "steps documents have none", "the id %q", w.ID)
	}
	if w.Name != "" {
		a.changef("workflow", ChangeLost, "steps documents have none", "the name %q", w.Name)
	}
	w.ID, w.Name = "", ""
	a.dropStart()
	a.plainRules(workflow.FailFast, false)
	a.turnsToContext()
	a.replies(false, "")
	a.edgesPlain()
	for i := range w.Nodes {
		n := &w.Nodes[i]
		if n.Agent != nil && blank(n.Agent.Prompt) {
			n.Agent.Prompt.Text = previousOutput
		}
		if !strings.Contains(n.ID, "/") {
			a.rename(n, "")
		}
	}
	a.conditions()
	a.reorder()
}

// conditions writes each choice by the text of the previous output as one of true and false, by an expression over the step that made that output.
// A choice among more ways becomes a chain of choices.
func (a *adapter) conditions() {
	var nodes []workflow.Node
	for _, n := range a.w.Nodes {
		input := a.maker(n)
		if input == "" || !matches(n) {
			nodes = append(nodes, n)
			continue
		}
		cases, otherwise := n.Decide.Cases, n.Decide.Else
		if len(cases) > 1 {
			a.changef(lost.Node(n.ID), ChangeAdded, "a condition has two branches, true and false", "one condition for each further branch")
		}
		a.changef(lost.Node(n.ID), ChangeReworded, "conditions of steps documents are expressions", "the comparison with the previous output reads the output of %q", input)
		at := n.ID
		for i, c := range cases {
			next := ""
			if i < len(cases)-1 {
				next = a.fresh(n.ID + "_else")
				for slices.ContainsFunc(nodes, func(m workflow.Node) bool { return m.ID == next }) {
					next += "_else"
				}
			}
			nodes = append(nodes, workflow.Node{ID: at, Kind: workflow.KindDecide, Reads: []string{input}, Decide: &workflow.Decide{
				Cases: []workflow.Case{{Port: workflow.PortTrue, When: comparison(c.When, input)}}, Else: workflow.PortFalse,
			}})
			a.moveEdges(n.ID, c.Port, at, workflow.PortTrue)
			if next == "" {
				a.moveEdges(n.ID, otherwise, at, workflow.PortFalse)
			} else {
				a.w.Edges = append(a.w.Edges, workflow.Edge{From: at, Port: moved + workflow.PortFalse, To: next})
			}
			at = next
		}
	}
	a.w.Nodes = nodes
	for i := range a.w.Edges {
		a.w.Edges[i].Port = strings.TrimPrefix(a.w.Edges[i].Port, moved)
	}
}

// moved marks a port that an edge has got, until all edges of its node have theirs.
const moved = "\x00"

func (a *adapter) moveEdges(from, port, to, as string) {
	for i := range a.w.Edges {
		if e := &a.w.Edges[i]; e.From == from && e.PortName() == port {
			e.From, e.Port = to, moved+as
		}
	}
}

// maker gives the one step whose output a node gets, "" where it is not certain.
func (a *adapter) maker(n workflow.Node) string {
	in := a.entering(n.ID)
	if len(in) != 1 || cyclic(a.w) {
		return ""
	}
	from := a.w.Node(in[0].From)
	if from == nil || from.Agent == nil {
		return ""
	}
	return from.ID
}

// matches tells whether a node only compares its input with texts that an expression compares in the same way: letters of ASCII.
func matches(n workflow.Node) bool {
	if n.Decide == nil || len(n.Decide.Cases) == 0 || n.Decide.Else == "" {
		return false
	}
	seen := map[string]bool{n.Decide.Else: true}
	for _, c := range n.Decide.Cases {
		if c.When.Language != workflow.LangMatch || seen[c.Port] || strings.TrimSpace(c.When.Text) == "" {
			return false
		}
		if strings.ContainsFunc(c.When.Text, func(r rune) bool { return r > unicode.MaxASCII }) {
			return false
		}
		seen[c.Port] = true
	}
	return true
}

// comparison gives a comparison with the previous output as an expression over the output of a step.
func comparison(c workflow.Condition, step string) workflow.Condition {
	operand := quoted(strings.ToLower(strings.TrimSpace(c.Text)))
	text := fmt.Sprintf("string({{ $steps.%s.output }}).trim().lowerAscii()", step)
	if c.Op == expr.OpContains {
		text += ".contains(" + operand + ")"
	} else {
		text += " == " + operand
	}
	return workflow.Condition{Language: workflow.LangExpr, Text: text}
}

// reorder puts nodes and edges in the order in which reading a steps document makes them, where that says nothing: nothing runs at the same time.
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
		return slices.IndexFunc(back.Edges, func(b workflow.Edge) bool { return b.From == e.From && b.To == e.To && b.PortName() == e.PortName() })
	}
	slices.SortStableFunc(a.w.Nodes, func(x, y workflow.Node) int { return place[x.ID] - place[y.ID] })
	slices.SortStableFunc(a.w.Agents, func(x, y workflow.Agent) int { return agent[x.ID] - agent[y.ID] })
	slices.SortStableFunc(a.w.Edges, func(x, y workflow.Edge) int { return edge(x) - edge(y) })
}

// reread writes a workflow and reads it again.
func reread(w *workflow.Workflow, name string) (*workflow.Workflow, bool) {
	l, ok := find(name)
	if !ok {
		return nil, true
	}
	data, _ := l.write(w)
	back, refused := again(l, data)
	return back, back == nil || len(refused) > 0
}

// toRounds removes what rounds documents have no place for, and sends recent turns where they hold what was sent before.
func (a *adapter) toRounds() {
	w := a.w
	a.dropStart()
	a.plainRules("", false)
	a.replies(false, "")
	for i := range w.Nodes {
		n := &w.Nodes[i]
		if n.Agent == nil {
			continue
		}
		first := n.ID == w.Entry && len(a.entering(n.ID)) == 0
		p := n.Agent.Prompt
		switch {
		case blank(p), first && p.Mode == workflow.PromptContext:
			n.Agent.Prompt = workflow.Prompt{Mode: workflow.PromptTurns}
			if !first {
				a.changef(lost.Node(n.ID), ChangeReworded, "as in all rounds documents", "the message has the recent turns before the previous output")
			}
		}
		if g := w.Agent(n.Agent.Agent); g != nil && n.Name == "" {
			n.Name = g.Title()
		}
	}
	a.reorder()
}
