package engine

import (
	"slices"
	"strconv"

	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/workflow"
)

func (g *graph) checkEdgeTaken(ev *Event, d *EdgeTaken) string {
	flow, arrives := 0, false
	if ev.Step == 0 {
		if d.Edge != -1 || d.Scope != 0 || d.Branch != 0 {
			return "the run starts at another node"
		}
	} else {
		if why := g.checkFollows(ev, d); why != "" {
			return why
		}
		sc := scope{Flow: g.stepScope(ev.Step).Flow, Owner: ev.Step}
		if d.Scope < len(g.Scopes) {
			sc = *g.scope(d.Scope)
		}
		to, ok := g.flows[sc.Flow].Index[d.To]
		flow, arrives = sc.Flow, ok && g.closes(&sc, to)
	}
	switch _, ok := g.flows[flow].Index[d.To]; {
	case !ok:
		return "node " + strconv.Quote(d.To) + " does not exist"
	case !arrives && d.Token != g.Tokens+1:
		return "expected token " + strconv.Itoa(g.Tokens+1)
	case d.State != nil && (ev.Step == 0 || g.step(ev.Step).Status != stepRunning || g.stepNode(ev.Step).Subflow == nil || g.stepNode(ev.Step).Subflow.Input == ""):
		return "the step does not start a sub-flow with a state"
	}
	return ""
}

// checkFollows tells why a step does not lead along an edge, or into a scope.
func (g *graph) checkFollows(ev *Event, d *EdgeTaken) string {
	handoff := g.flows[0].Workflow.Rules.Handoff
	st, n, f := g.step(ev.Step), g.stepNode(ev.Step), g.flowOf(ev.Step)
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
	case d.Branch != 0:
		known := d.Scope >= 0 && d.Scope < len(g.Scopes)
		if n.Kind != workflow.KindFork || st.Status != stepRunning || d.Branch < 1 || d.Branch > len(n.Fork.Branches) || d.Edge < 0 ||
			!known && d.Scope != len(g.Scopes) || known && (g.scope(d.Scope).Owner != ev.Step || g.scope(d.Scope).Branch != d.Branch || g.scope(d.Scope).Dead) {
			return "branch does not exist"
		}
	case d.Edge < 0 && d.Scope == 0 && handoff != "" && d.To == handoff:
	case n.Kind == workflow.KindSubflow && st.Status == stepRunning:
		if d.Edge != -1 || !slices.Contains(st.Block.Scopes, d.Scope) {
			return "the sub-flow starts at another node"
		}
	case d.Scope != st.Scope || st.Status != stepCompleted && st.Status != stepFailed || g.stepScope(ev.Step).Dead:
		return "the step does not lead to that node"
	}
	return ""
}

// closes tells whether node to is the join at which a branch ends.
func (g *graph) closes(sc *scope, to int) bool {
	fork := g.flows[sc.Flow].Nodes[to].ForkIndex
	return fork >= 0 && sc.Owner > 0 && g.stepNode(sc.Owner).Index == fork
}

// travel puts a token at the end of an edge that step id takes; at the join of its own fork the branch has arrived instead. A fork opens a scope for each of its branches.
func (g *graph) travel(id int, d *EdgeTaken) {
	if d.Branch > 0 && d.Scope == len(g.Scopes) {
		b, around := g.step(id).Block, g.stepScope(id)
		g.Scopes = append(g.Scopes, scope{Flow: around.Flow, Owner: id, Branch: d.Branch, Base: b.Base, State: b.View, context: around.context})
		b.Scopes = append(b.Scopes, d.Scope)
	}
	sc := g.scope(d.Scope)
	f := g.flows[sc.Flow]
	idx := f.Index[d.To]
	if d.State != nil {
		sc.State = typed.StateOf(d.State, id).WithNative(nil)
	}
	if g.closes(sc, idx) {
		sc.Arrived = id
		g.idle(d.Scope)
		return
	}
	n := &f.Nodes[idx]
	if n.Header && (d.Edge < 0 || !f.Workflow.Edges[d.Edge].Loop) && sc.Loops.of(idx) > 0 {
		sc.Loops.set(idx, 0, len(f.Nodes))
	}
	t := token{ID: d.Token, Node: idx, Scope: d.Scope, From: id, Edge: d.Edge}
	if id > 0 {
		st := g.step(id)
		t.Group = st.Group
		if st.Block != nil && d.Scope != st.Scope {
			t.From = st.From // a branch or sub-flow begins with what its owner was given
		}
	}
	g.Tokens++
	sc.Live++
	switch {
	case d.Held:
		g.Held = append(g.Held, t)
		return
	case plan.IsFreeJoin(n):
		g.Parked++
	}
	g.Ready = append(g.Ready, t)
}
