package graph

import (
	"slices"
	"strconv"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/workflow"
)

// CheckEdgeTaken returns the reason why an edge cannot be taken, or "" if it can.
func (g *Graph[L]) CheckEdgeTaken(ev *event.Event, d *event.EdgeTaken) string {
	flow, arrives := 0, false
	if ev.Step == 0 {
		if d.Edge != -1 || d.Scope != 0 || d.Branch != 0 {
			return "the run starts at another node"
		}
	} else {
		if why := g.checkFollows(ev, d); why != "" {
			return why
		}
		sc := Scope{Flow: g.StepScope(ev.Step).Flow, Owner: ev.Step}
		if d.Scope < len(g.Scopes) {
			sc = *g.Scope(d.Scope)
		}
		to, ok := g.flows[sc.Flow].Index[d.To]
		flow, arrives = sc.Flow, ok && (g.closes(&sc, to) || g.endsItem(ev.Step, d))
	}
	switch _, ok := g.flows[flow].Index[d.To]; {
	case !ok:
		return "node " + strconv.Quote(d.To) + " does not exist"
	case !arrives && d.Token != g.Tokens+1:
		return "expected token " + strconv.Itoa(g.Tokens+1)
	case d.State != nil && (ev.Step == 0 || g.Step(ev.Step).Status != event.Running ||
		g.StepNode(ev.Step).Subflow == nil || g.StepNode(ev.Step).Subflow.Input == ""):
		return "the step does not start a sub-flow with a state"
	}
	return ""
}

// checkFollows returns the reason why a step does not lead along an edge, or into a scope.
func (g *Graph[L]) checkFollows(ev *event.Event, d *event.EdgeTaken) string {
	handoff := g.flows[0].Workflow.Rules.Handoff
	st, n, f := g.Step(ev.Step), g.StepNode(ev.Step), g.FlowOf(ev.Step)
	if d.Edge < -1 || d.Edge >= len(f.Workflow.Edges) {
		return "edge does not exist"
	}
	if d.Edge >= 0 {
		e := &f.Workflow.Edges[d.Edge]
		if e.To != d.To || e.From != n.ID && (n.JoinIndex < 0 || e.From != f.Nodes[n.JoinIndex].ID) {
			return "the edge does not belong to the step"
		}
	}
	switch {
	case n.Kind == workflow.KindMap && d.Branch > 0:
		if st.Status != event.Running {
			return "the map has ended"
		}
		return g.checkItem(ev.Step, d)
	case d.Branch != 0:
		known := d.Scope >= 0 && d.Scope < len(g.Scopes)
		if n.Kind != workflow.KindFork || st.Status != event.Running || d.Branch < 1 ||
			d.Branch > len(n.Fork.Branches) || d.Edge < 0 ||
			!known && d.Scope != len(g.Scopes) || known &&
			(g.Scope(d.Scope).Owner != ev.Step || g.Scope(d.Scope).Branch != d.Branch || g.Scope(d.Scope).Dead) {
			return "branch does not exist"
		}
	case d.Edge < 0 && d.Scope == 0 && handoff != "" && d.To == handoff:
	case n.Kind == workflow.KindSubflow && st.Status == event.Running:
		if d.Edge != -1 || !slices.Contains(st.Block.Scopes, d.Scope) {
			return "the sub-flow starts at another node"
		}
	case d.Scope != st.Scope || st.Status != event.Completed && st.Status != event.Failed &&
		st.Status != event.Skipped || g.StepScope(ev.Step).Dead:
		return "the step does not lead to that node"
	}
	return ""
}

// closes reports whether node to is the join at which a branch ends.
func (g *Graph[L]) closes(sc *Scope, to int) bool {
	fork := g.flows[sc.Flow].Nodes[to].ForkIndex
	return fork >= 0 && sc.Owner > 0 && g.StepNode(sc.Owner).Index == fork
}

// endsItem reports whether an edge marks the end of an item of a map.
func (g *Graph[L]) endsItem(id int, d *event.EdgeTaken) bool {
	n := g.StepNode(id)
	return n.Kind == workflow.KindMap && d.Branch > 0 && d.To == n.ID
}

// Travel places a token at the end of an edge that step id takes; at the join of its own fork, the
// branch has arrived instead. A fork opens a scope for each of its branches, and a map opens one
// for each item, which ends with an edge to the map itself.
func (g *Graph[L]) Travel(id int, d *event.EdgeTaken) {
	switch {
	case id > 0 && g.endsItem(id, d):
		g.endItem(id, d)
		return
	case d.Branch > 0 && g.StepNode(id).Kind == workflow.KindMap:
		g.beginItem(id, d)
	case d.Branch > 0 && d.Scope == len(g.Scopes):
		b := g.Step(id).Block
		if len(b.Scopes) == 0 {
			g.Scopes = slices.Grow(g.Scopes, len(g.StepNode(id).Fork.Branches))
		}
		around := g.StepScope(id)
		g.Scopes = append(g.Scopes, Scope{Flow: around.Flow, Owner: id, Branch: d.Branch, Base: b.Base, State: b.View,
			context: around.context})
		b.Scopes = append(b.Scopes, d.Scope)
	}
	sc := g.Scope(d.Scope)
	f := g.flows[sc.Flow]
	idx := f.Index[d.To]
	if d.State != nil {
		sc.State = typed.StateOf(d.State, id).WithNative(nil)
	}
	if g.closes(sc, idx) {
		sc.Arrived = id
		g.wake = append(g.wake, d.Scope)
		return
	}
	n := &f.Nodes[idx]
	if n.Header && (d.Edge < 0 || !f.Workflow.Edges[d.Edge].Loop) && sc.Loops.Of(idx) > 0 {
		sc.Loops.set(idx, 0, len(f.Nodes))
	}
	t := Token{ID: d.Token, Node: idx, Scope: d.Scope, From: id, Edge: d.Edge}
	if id > 0 {
		st := g.Step(id)
		t.Group = st.Group
		if st.Block != nil && d.Scope != st.Scope {
			t.From = st.From // a branch or sub-flow starts with its owner's input
			if st.Block.Items != nil {
				t.From = -d.Scope
			}
		}
	}
	g.Tokens++
	sc.Live++
	switch {
	case d.Queued:
		g.Queued = append(g.Queued, t)
		return
	case plan.IsFreeJoin(n):
		g.Parked++
	}
	g.Ready = append(g.Ready, t)
}
