package engine

import (
	"slices"

	"github.com/hocket-run/hocket/internal/engine/graph"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// fireJoins starts free joins for which every inbound path has arrived or can no longer arrive (P2,
// P5).
func (s *starter) fireJoins() {
	if s.graph.Parked == 0 || !s.state.startable() {
		return
	}
	type group struct{ node, scope int }
	var groups []group
	for _, t := range s.graph.Ready {
		if g := (group{t.Node, t.Scope}); plan.IsFreeJoin(&s.graph.FlowIn(t.Scope).Nodes[t.Node]) &&
			!slices.Contains(groups, g) {
			groups = append(groups, g)
		}
	}
	for _, g := range groups {
		if s.graph.JoinReady(g.node, g.scope, false) {
			s.join(g.node, g.scope)
			return
		}
	}
	// Joins that only wait for each other: the first in declared order continues.
	slices.SortStableFunc(groups, func(a, b group) int { return a.node - b.node })
	for _, g := range groups {
		if s.graph.JoinReady(g.node, g.scope, true) {
			s.join(g.node, g.scope)
			return
		}
	}
}

// join starts and completes a free join with one token for each edge that arrived.
func (s *starter) join(nodeIdx, scopeID int) {
	f := s.graph.FlowIn(scopeID)
	n := &f.Nodes[nodeIdx]
	var ids []int
	edges := map[int]bool{}
	var from []graph.Token
	for _, t := range s.graph.Ready {
		if t.Node == nodeIdx && t.Scope == scopeID && !edges[t.Edge] {
			edges[t.Edge] = true
			ids = append(ids, t.ID)
			from = append(from, t)
		}
	}
	slices.SortFunc(from, func(a, b graph.Token) int { return a.Edge - b.Edge })
	id := s.graph.Steps.Len() + 1
	s.emit(id, s.graph.PathOf(s.graph.Scope(scopeID).Flow, n.ID), &StepStarted{
		Tokens: ids, Kind: n.Kind, Iteration: s.graph.Flows.Counts(s.graph.Scope(scopeID).Flow).Of(nodeIdx) + 1,
		Scope: scopeID, From: from[0].From,
	})
	out, size := make([]expr.Member, len(from)), int64(0)
	for i, t := range from {
		source := "input"
		switch {
		case t.From > 0:
			source = s.graph.StepNode(t.From).ID
		case t.From < 0:
			source = workflow.DefaultItem
		}
		out[i] = expr.Member{Name: source, Value: s.graph.Value(t.From)}
		size += int64(len(out[i].Value))
	}
	if f := s.state.checkSize(size); f != nil {
		s.steps.failStep(id, *f)
		return
	}
	s.steps.complete(id, &StepCompleted{Output: expr.Object(out)}, s.state.plan.out...)
}
