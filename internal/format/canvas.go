package format

import (
	"fmt"
	"slices"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/canvas"
	"github.com/hocket-run/hocket/internal/format/lost"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// Canvas is the name of the format of documents with nodes and connections.
const Canvas = canvas.Format

func canvasFormat() Format {
	return Format{
		Name: Canvas, Title: "A workflow as a canvas: nodes and connections", Page: "canvas.md",
		Form: "`nodes` and `connections`", Choose: "a graph drawn in an editor; branches, joins, approvals",
		Scheduled: true,
		Detect:    canvas.Detect, Write: canvas.Write, Schema: canvas.Schema,
		Read: func(root *source.Node, o Options) (*workflow.Workflow, diag.List) {
			return canvas.Read(root, canvas.Options{Missing: o.MissingTools})
		},
		adapt: (*adapter).toCanvas, defaultInput: true,
	}
}

// toCanvas assigns each node an agent of its own, adds a start node in front and adopts the
// settings of all canvas agents.
func (a *adapter) toCanvas() {
	w := a.w
	a.plainRules(workflow.FailDrain, true)
	if w.Rules.DefaultInput == nil {
		w.Rules.DefaultInput = []byte(`""`)
	}
	if e := w.Node(w.Entry); e != nil && e.Kind != workflow.KindStart {
		id := a.unusedID("start")
		a.changef("workflow", ChangeAdded, "every canvas has one; it does nothing", "the start node %q", id)
		w.Nodes = slices.Insert(w.Nodes, 0, workflow.Node{ID: id, Kind: workflow.KindStart})
		w.Edges = slices.Insert(w.Edges, 0, workflow.Edge{From: id, To: w.Entry})
		w.Entry = id
	}
	a.turnsToContext()
	a.plainPrompts(false)
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
	a.handles()
}

// handles names the ports of choices as the handles of if nodes are called.
func (a *adapter) handles() {
	for i := range a.w.Nodes {
		n := &a.w.Nodes[i]
		if chooses(*n) {
			a.namePorts(n, func(j int) string { return fmt.Sprint("condition-", j) }, workflow.PortFalse)
		}
	}
	a.settlePorts()
}

// ownAgents copies each agent for every node that runs it. Agents that other agents call or hand
// over to stay as they are, since their ids are in use.
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
