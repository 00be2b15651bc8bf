package engine

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/engine/typed"
)

// openFlow gives a subflow step a graph and a scope of its own, empty ones each time that it begins.
func (g *graph) openFlow(id int) {
	st, n := g.step(id), g.stepNode(id)
	st.Flow = len(g.Flows)
	st.Block.Scopes = []int{len(g.Scopes)}
	sub := g.flowOf(id).Flows[n.Subflow.Flow]
	g.Flows = append(g.Flows, flowRun{Step: id, Like: g.sameFlow(id)})
	g.flows = append(g.flows, sub)
	sc := scope{Flow: st.Flow, Owner: id}
	if sub.Workflow.Rules.StateFlows && n.Subflow.Input == "" {
		sc.State = g.stateAt(st.Scope)
	}
	g.Scopes = append(g.Scopes, sc)
}

// sameFlow finds the first execution of a sub-flow at the place of step id, 0 where there is none before: iterations of the nodes in it count on (P15).
func (g *graph) sameFlow(id int) int {
	at, node := g.Flows.first(g.stepScope(id).Flow), g.step(id).Node
	for i, f := range slices.Backward(g.Flows) {
		if i > 0 && g.step(f.Step).Node == node && g.Flows.first(g.stepScope(f.Step).Flow) == at {
			return g.Flows.first(i)
		}
	}
	return 0
}

// first gives the first execution of the same sub-flow at the place of flow i.
func (l flowList) first(i int) int {
	if like := l[i].Like; like > 0 {
		return like
	}
	return i
}

// counts gives the executions by node at the place of flow i.
func (l flowList) counts(i int) *counts { return &l[l.first(i)].Counts }

// beginFlow enters the graph of a sub-flow. The first state that the program gives is recorded with the edge (D4).
func (r *Run) beginFlow(id int, n *plan.Node) {
	st := r.step(id)
	d := &EdgeTaken{Edge: -1, To: r.graph.flows[st.Flow].Workflow.Entry, Token: r.graph.Tokens + 1, Scope: st.Block.Scopes[0]}
	if name := n.Subflow.Input; name != "" {
		v, err := r.plan.askValue(name, func(h Host) (Value, error) { return h.Value(name, r.view(id, nil)) })
		if err == nil {
			if err = json.Unmarshal(v, &d.State); err != nil {
				err = fmt.Errorf("function %q returned no state: %w", name, err)
			}
		}
		if err != nil {
			r.failStep(id, Failure{Code: CodeFunc, Message: err.Error()})
			return
		}
	}
	r.emitStep(id, d)
}

// endFlow completes a sub-flow in which nothing lives any more.
func (r *Run) endFlow(id int) {
	n, d := r.stepNode(id), &StepCompleted{}
	if r.graph.flows[r.step(id).Flow].Workflow.Rules.StateFlows {
		last := stateObject(r.graph.stateAt(r.step(id).Block.Scopes[0]))
		if name := n.Subflow.Mapper; name == "" {
			d.Output = last
		} else {
			update, err := r.plan.askUpdate(name, func(h Host) (map[string]Value, error) {
				return h.Merge(name, map[string]Value{n.ID: last}, r.view(id, nil))
			})
			if err != nil {
				r.failStep(id, Failure{Code: CodeFunc, Message: err.Error()})
				return
			}
			d.Update = update
		}
	}
	r.complete(id, d, r.plan.out...)
}

// flowOutput is the output of a sub-flow that does not say one: what its last step gave, nothing where the state is what it gives.
func (g *graph) flowOutput(id int) output {
	st := g.step(id)
	if last := g.scope(st.Block.Scopes[0]).Last; last > 0 && !g.flows[st.Flow].Workflow.Rules.StateFlows {
		return g.step(last).Output
	}
	return output{}
}

// stateObject writes a typed state as one value.
func stateObject(state typed.State) Value {
	fields := make([]field, 0, state.Len())
	for name, v := range state.All() {
		fields = append(fields, field{name, v.JSON()})
	}
	return object(fields)
}
