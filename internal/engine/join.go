package engine

import (
	"slices"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/graph"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// fireJoins starts free joins at which nothing more can arrive (P2, P5, ADR 154).
func (m *machine) fireJoins() {
	if m.graph.Parked == 0 || !m.state.startable() {
		return
	}
	type group struct{ node, scope int }
	var groups []group
	for _, t := range m.graph.Ready {
		if g := (group{t.Node, t.Scope}); plan.IsFreeJoin(&m.graph.FlowIn(t.Scope).Nodes[t.Node]) &&
			!slices.Contains(groups, g) {
			groups = append(groups, g)
		}
	}
	for _, g := range groups {
		if m.graph.JoinReady(g.node, g.scope, false) {
			m.join(g.node, g.scope)
			return
		}
	}
	// Joins that only wait for each other: the first in declared order continues.
	slices.SortStableFunc(groups, func(a, b group) int { return a.node - b.node })
	for _, g := range groups {
		if m.graph.JoinReady(g.node, g.scope, true) {
			m.join(g.node, g.scope)
			return
		}
	}
}

// join starts and completes a free join with all tokens that arrived.
func (m *machine) join(nodeIdx, scopeID int) {
	f := m.graph.FlowIn(scopeID)
	n := &f.Nodes[nodeIdx]
	var ids []int
	var from []graph.Token
	for _, t := range m.graph.Ready {
		if t.Node == nodeIdx && t.Scope == scopeID {
			ids = append(ids, t.ID)
			from = append(from, t)
		}
	}
	slices.SortStableFunc(from, func(a, b graph.Token) int { return a.Edge - b.Edge })
	id := m.graph.Steps.Len() + 1
	m.emit(id, m.graph.PathOf(m.graph.Scope(scopeID).Flow, n.ID), &event.StepStarted{
		Tokens: ids, Kind: n.Kind, Iteration: m.graph.Flows.Counts(m.graph.Scope(scopeID).Flow).Of(nodeIdx) + 1,
		Scope: scopeID, From: from[0].From,
	})
	var out []expr.Member
	size, lists := int64(0), map[string][]event.Value{}
	for _, t := range from {
		source := "input"
		switch {
		case t.From > 0:
			source = m.graph.StepNode(t.From).ID
		case t.From < 0:
			source = workflow.DefaultItem
		}
		v := m.graph.Value(t.From)
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
	if f := m.state.checkSize(size); f != nil {
		m.failStep(id, *f)
		return
	}
	m.completeStep(id, &event.StepCompleted{Output: expr.Object(out)}, m.state.plan.out...)
}
