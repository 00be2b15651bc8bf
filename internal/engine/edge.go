package engine

import (
	"slices"
	"strconv"

	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/workflow"
)

func (r *Run) checkEdgeTaken(ev *Event, d *EdgeTaken) string {
	flow, arrives := 0, false
	if ev.Step == 0 {
		if d.Edge != -1 || d.Scope != 0 || d.Branch != 0 {
			return "the run starts at another node"
		}
	} else {
		if why := r.checkFollows(ev, d); why != "" {
			return why
		}
		sc := scope{Flow: r.stepScope(ev.Step).Flow, Owner: ev.Step}
		if d.Scope < len(r.s.Scopes) {
			sc = *r.scope(d.Scope)
		}
		to, ok := r.flows[sc.Flow].index[d.To]
		flow, arrives = sc.Flow, ok && r.closes(&sc, to)
	}
	switch _, ok := r.flows[flow].index[d.To]; {
	case !ok:
		return "node " + strconv.Quote(d.To) + " does not exist"
	case !arrives && d.Token != r.s.Tokens+1:
		return "expected token " + strconv.Itoa(r.s.Tokens+1)
	case d.State != nil && (ev.Step == 0 || r.step(ev.Step).Status != stepRunning || r.stepNode(ev.Step).Subflow == nil || r.stepNode(ev.Step).Subflow.Input == ""):
		return "the step does not start a sub-flow with a state"
	}
	return ""
}

// checkFollows tells why a step does not lead along an edge, or into a scope.
func (r *Run) checkFollows(ev *Event, d *EdgeTaken) string {
	handoff := r.plan.root.w.Rules.Handoff
	st, n, f := r.step(ev.Step), r.stepNode(ev.Step), r.flowOf(ev.Step)
	if d.Edge < -1 || d.Edge >= len(f.w.Edges) {
		return "edge does not exist"
	}
	if d.Edge >= 0 {
		e := &f.w.Edges[d.Edge]
		if e.To != d.To || e.From != n.ID && (n.join < 0 || e.From != f.nodes[n.join].ID) {
			return "the edge does not belong to the step"
		}
	}
	switch {
	case d.Branch != 0:
		known := d.Scope >= 0 && d.Scope < len(r.s.Scopes)
		if n.Kind != workflow.KindFork || st.Status != stepRunning || d.Branch < 1 || d.Branch > len(n.Fork.Branches) || d.Edge < 0 ||
			!known && d.Scope != len(r.s.Scopes) || known && (r.scope(d.Scope).Owner != ev.Step || r.scope(d.Scope).Branch != d.Branch || r.scope(d.Scope).Dead) {
			return "branch does not exist"
		}
	case d.Edge < 0 && d.Scope == 0 && handoff != "" && d.To == handoff:
	case n.Kind == workflow.KindSubflow && st.Status == stepRunning:
		if d.Edge != -1 || !slices.Contains(st.Block.Scopes, d.Scope) {
			return "the sub-flow starts at another node"
		}
	case d.Scope != st.Scope || st.Status != stepCompleted && st.Status != stepFailed || r.stepScope(ev.Step).Dead:
		return "the step does not lead to that node"
	}
	return ""
}

// closes tells whether node to is the join at which a branch ends.
func (r *Run) closes(sc *scope, to int) bool {
	fork := r.flows[sc.Flow].nodes[to].fork
	return fork >= 0 && sc.Owner > 0 && r.stepNode(sc.Owner).idx == fork
}

func (r *Run) applyEdgeTaken(ev *Event, d *EdgeTaken) {
	if d.Branch > 0 && d.Scope == len(r.s.Scopes) {
		b := r.step(ev.Step).Block
		r.s.Scopes = append(r.s.Scopes, scope{Flow: r.stepScope(ev.Step).Flow, Owner: ev.Step, Branch: d.Branch, Base: b.Base, State: b.View,
			context: r.stepScope(ev.Step).context})
		b.Scopes = append(b.Scopes, d.Scope)
	}
	sc := r.scope(d.Scope)
	f := r.flows[sc.Flow]
	idx := f.index[d.To]
	if key := r.trip(ev.Step, d.To); key != "" {
		if r.s.Trips == nil {
			r.s.Trips = map[string]int{}
		}
		r.s.Trips[key]++
	}
	if d.State != nil {
		sc.State = typed.StateOf(d.State, ev.Step)
	}
	if r.closes(sc, idx) {
		sc.Arrived = ev.Step
		r.idle(d.Scope)
		return
	}
	n := &f.nodes[idx]
	if n.header && (d.Edge < 0 || !f.w.Edges[d.Edge].Loop) && sc.Loops.of(idx) > 0 {
		sc.Loops.set(idx, 0, len(f.nodes))
	}
	t := token{ID: d.Token, Node: idx, Scope: d.Scope, From: ev.Step, Edge: d.Edge}
	if ev.Step > 0 {
		st := r.step(ev.Step)
		t.Group = st.Group
		if st.Block != nil && d.Scope != st.Scope {
			t.From = st.From // a branch or sub-flow begins with what its owner was given
		}
	}
	r.s.Tokens++
	sc.Live++
	switch {
	case d.Held:
		r.s.Held = append(r.s.Held, t)
		return
	case isFreeJoin(n):
		r.s.Parked++
	}
	r.s.Ready = append(r.s.Ready, t)
}
