package engine

import (
	"slices"

	"github.com/hocket-run/hocket/internal/engine/plan"
)

// fireJoins starts free joins for which every inbound path has arrived or can no longer arrive (P2, P5).
func (r *Run) fireJoins() {
	if r.graph.Parked == 0 || !r.s.startable() {
		return
	}
	type group struct{ node, scope int }
	var groups []group
	for _, t := range r.graph.Ready {
		if g := (group{t.Node, t.Scope}); plan.IsFreeJoin(r.graph.nodeOf(t)) && !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
	}
	for _, g := range groups {
		if r.graph.joinReady(g.node, g.scope, false) {
			r.join(g.node, g.scope)
			return
		}
	}
	// Joins that only wait for each other: the first in declared order goes on.
	slices.SortStableFunc(groups, func(a, b group) int { return a.node - b.node })
	for _, g := range groups {
		if r.graph.joinReady(g.node, g.scope, true) {
			r.join(g.node, g.scope)
			return
		}
	}
}

// joinReady tells whether nothing can arrive at a free join any more. Tokens at other free joins count unless alone is set.
func (g *graph) joinReady(join, scopeID int, alone bool) bool {
	f := g.flows[g.scope(scopeID).Flow]
	arrived := map[int]bool{}
	for _, t := range g.Ready {
		if t.Node == join && t.Scope == scopeID {
			arrived[t.Edge] = true
		}
	}
	if len(arrived) >= f.Nodes[join].Inbound {
		return true
	}
	for _, list := range [2][]token{g.Ready, g.Held} {
		for _, t := range list {
			if t.Scope != scopeID || t.Node == join {
				continue
			}
			if plan.IsFreeJoin(&f.Nodes[t.Node]) {
				if !alone && f.Reach[t.Node].Has(join) {
					return false
				}
				continue
			}
			if f.Reach[t.Node].Has(join) {
				return false
			}
		}
	}
	for _, id := range g.Running {
		if st := g.step(id); st.Scope == scopeID && f.Reach[st.Node].Has(join) {
			return false
		}
	}
	return true
}

// join starts and completes a free join with one token for each arrived edge.
func (r *Run) join(nodeIdx, scopeID int) {
	f := r.graph.flows[r.scope(scopeID).Flow]
	n := &f.Nodes[nodeIdx]
	var ids []int
	edges := map[int]bool{}
	var from []token
	for _, t := range r.graph.Ready {
		if t.Node == nodeIdx && t.Scope == scopeID && !edges[t.Edge] {
			edges[t.Edge] = true
			ids = append(ids, t.ID)
			from = append(from, t)
		}
	}
	slices.SortFunc(from, func(a, b token) int { return a.Edge - b.Edge })
	id := r.graph.Steps.len() + 1
	r.emit(id, r.graph.pathOf(r.scope(scopeID).Flow, n.ID), &StepStarted{
		Tokens: ids, Kind: n.Kind, Iteration: r.graph.Flows.counts(r.scope(scopeID).Flow).of(nodeIdx) + 1, Scope: scopeID, From: from[0].From,
	})
	out, size := make([]field, len(from)), int64(0)
	for i, t := range from {
		source := "input"
		if t.From > 0 {
			source = r.stepNode(t.From).ID
		}
		out[i] = field{source, r.value(t.From)}
		size += int64(len(out[i].value))
	}
	if f := r.fitting(size); f != nil {
		r.failStep(id, *f)
		return
	}
	r.complete(id, &StepCompleted{Output: object(out)}, r.plan.out...)
}
