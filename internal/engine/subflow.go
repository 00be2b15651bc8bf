package engine

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hocket-run/hocket/internal/engine/typed"
)

// openFlow gives a subflow step a graph and a scope of its own, empty ones each time that it begins.
func (r *Run) openFlow(id int) {
	st, n := r.step(id), r.stepNode(id)
	st.Flow = len(r.s.Flows)
	st.Block.Scopes = []int{len(r.s.Scopes)}
	sub := r.flowOf(id).flows[n.Subflow.Flow]
	r.s.Flows = append(r.s.Flows, flowRun{Step: id, Like: r.sameFlow(id)})
	r.flows = append(r.flows, sub)
	sc := scope{Flow: st.Flow, Owner: id}
	if sub.w.Rules.InheritsState() && n.Subflow.Input == "" {
		sc.State = r.stateAt(st.Scope)
	}
	r.s.Scopes = append(r.s.Scopes, sc)
}

// sameFlow finds the first execution of a sub-flow at the place of step id, 0 where there is none before: iterations of the nodes in it count on (P15).
func (r *Run) sameFlow(id int) int {
	at, node := r.firstFlow(r.stepScope(id).Flow), r.step(id).Node
	for i, f := range slices.Backward(r.s.Flows) {
		if i > 0 && r.step(f.Step).Node == node && r.firstFlow(r.stepScope(f.Step).Flow) == at {
			return r.firstFlow(i)
		}
	}
	return 0
}

func (r *Run) firstFlow(i int) int {
	if like := r.s.Flows[i].Like; like > 0 {
		return like
	}
	return i
}

// counts gives the executions by node at the place of flow i.
func (r *Run) counts(i int) *counts { return &r.s.Flows[r.firstFlow(i)].Counts }

// beginFlow enters the graph of a sub-flow. The first state that the program gives is recorded with the edge (D4).
func (r *Run) beginFlow(id int, n *node) {
	st := r.step(id)
	d := &EdgeTaken{Edge: -1, To: r.flows[st.Flow].w.Entry, Token: r.s.Tokens + 1, Scope: st.Block.Scopes[0]}
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
	if r.flows[r.step(id).Flow].w.Rules.StateIsOutput() {
		last := stateObject(r.stateAt(r.step(id).Block.Scopes[0]))
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
func (r *Run) flowOutput(id int) output {
	st := r.step(id)
	if last := r.scope(st.Block.Scopes[0]).Last; last > 0 && !r.flows[st.Flow].w.Rules.StateIsOutput() {
		return r.step(last).Output
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
