package engine

import (
	"encoding/json"
	"fmt"

	"github.com/hocket-run/hocket/internal/engine/plan"
)

// beginFlow enters the graph of a sub-flow. The first state that the program gives is recorded with the edge (D4).
func (r *Run) beginFlow(id int, n *plan.Node) {
	st := r.step(id)
	d := &EdgeTaken{Edge: -1, To: r.graph.FlowIn(st.Block.Scopes[0]).Workflow.Entry, Token: r.graph.Tokens + 1, Scope: st.Block.Scopes[0]}
	if name := n.Subflow.Input; name != "" {
		v, err := r.plan.askValue(name, func(h Host) (Value, error) { return h.Value(name, viewer{&r.s}.view(id, nil)) })
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
	if r.graph.FlowIn(r.step(id).Block.Scopes[0]).Workflow.Rules.StateFlows {
		last := r.graph.FlowState(id)
		if name := n.Subflow.Mapper; name == "" {
			d.Output = last
		} else {
			update, err := r.plan.askUpdate(name, func(h Host) (map[string]Value, error) {
				return h.Merge(name, map[string]Value{n.ID: last}, viewer{&r.s}.view(id, nil))
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
