package engine

import (
	"slices"

	"github.com/hocket-run/hocket/internal/engine/graph"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// fireJoins starts free joins at which nothing more can arrive (P2, P5, ADR 154).
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

// join starts and completes a free join with all tokens that arrived.
func (s *starter) join(nodeIdx, scopeID int) {
	f := s.graph.FlowIn(scopeID)
	n := &f.Nodes[nodeIdx]
	var ids []int
	var from []graph.Token
	for _, t := range s.graph.Ready {
		if t.Node == nodeIdx && t.Scope == scopeID {
			ids = append(ids, t.ID)
			from = append(from, t)
		}
	}
	slices.SortStableFunc(from, func(a, b graph.Token) int { return a.Edge - b.Edge })
	id := s.graph.Steps.Len() + 1
	s.emit(id, s.graph.PathOf(s.graph.Scope(scopeID).Flow, n.ID), &StepStarted{
		Tokens: ids, Kind: n.Kind, Iteration: s.graph.Flows.Counts(s.graph.Scope(scopeID).Flow).Of(nodeIdx) + 1,
		Scope: scopeID, From: from[0].From,
	})
	var out []expr.Member
	size, lists := int64(0), map[string][]Value{}
	for _, t := range from {
		source := "input"
		switch {
		case t.From > 0:
			source = s.graph.StepNode(t.From).ID
		case t.From < 0:
			source = workflow.DefaultItem
		}
		v := s.graph.Value(t.From)
		if lists[source] == nil {
			out = append(out, expr.Member{Name: source, Value: v})
		}
		lists[source] = append(lists[source], v)
		size += int64(len(v))
	}
	for i, m := range out { // several outputs of one node are a list, in the order in which they arrived
		if list := lists[m.Name]; len(list) > 1 {
			out[i].Value = expr.List(list)
		}
	}
	if f := s.state.checkSize(size); f != nil {
		s.steps.failStep(id, *f)
		return
	}
	s.steps.complete(id, &StepCompleted{Output: expr.Object(out)}, s.state.plan.out...)
}
