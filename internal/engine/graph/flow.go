package graph

import (
	"slices"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
)

// openFlow creates a graph and a scope for a subflow step, empty each time that it starts.
func (g *Graph[L]) openFlow(id int) {
	st, n := g.Step(id), g.StepNode(id)
	st.Flow = len(g.Flows)
	st.Block.Scopes = []int{len(g.Scopes)}
	sub := g.FlowOf(id).Flows[n.Subflow.Flow]
	g.Flows = append(g.Flows, FlowRun{Step: id, Like: g.sameFlow(id)})
	g.flows = append(g.flows, sub)
	sc := Scope{Flow: st.Flow, Owner: id}
	if sub.Workflow.Rules.StateFlows && n.Subflow.Input == "" {
		sc.State = g.Scope(st.Scope).State
	}
	g.Scopes = append(g.Scopes, sc)
}

// sameFlow returns the first execution of a sub-flow at the position of step id, or 0 if there was
// none before; iterations of its nodes continue to count from there (P15).
func (g *Graph[L]) sameFlow(id int) int {
	at, node := g.Flows.firstLike(g.StepScope(id).Flow), g.Step(id).Node
	for i, f := range slices.Backward(g.Flows) {
		if i > 0 && g.Step(f.Step).Node == node && g.Flows.firstLike(g.StepScope(f.Step).Flow) == at {
			return g.Flows.firstLike(i)
		}
	}
	return 0
}

// firstLike returns the first execution of the same sub-flow at the position of flow i.
func (l Flows) firstLike(i int) int {
	if like := l[i].Like; like > 0 {
		return like
	}
	return i
}

// Counts returns the executions by node at the position of flow i.
func (l Flows) Counts(i int) *Counts { return &l[l.firstLike(i)].Counts }

// FlowOutput returns the output of a sub-flow that does not define one: the output of its last
// step, or nothing if its state is its result.
func (g *Graph[L]) FlowOutput(id int) Output {
	st := g.Step(id)
	if last := g.Scope(st.Block.Scopes[0]).Last; last > 0 && !g.flows[st.Flow].Workflow.Rules.StateFlows {
		return g.Step(last).Output
	}
	return Output{}
}

// FlowState returns the typed state of the sub-flow that step id runs, as one value.
func (g *Graph[L]) FlowState(id int) event.Value {
	state := g.Scope(g.Step(id).Block.Scopes[0]).State
	fields := make([]expr.Member, 0, state.Len())
	for name, v := range state.All() {
		fields = append(fields, expr.Member{Name: name, Value: v.JSON()})
	}
	return expr.Object(fields)
}
