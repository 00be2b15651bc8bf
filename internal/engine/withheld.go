package engine

import (
	"slices"

	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/workflow"
)

// callWithheld makes the calls that a budget, or the want of a slot, withheld.
func (r *Run) callWithheld() {
	for _, key := range r.s.Loop.Keys(func(c *loop.Call) bool { return c.State == loop.Failed }) {
		if c := r.s.Loop.Call(key); c != nil && c.State == loop.Failed && (r.budgets.maySlot(key, c) || r.budgets.hasSlot(c.Step)) {
			r.again(key, c, c.Model)
		}
	}
	for _, id := range slices.Clone(r.graph.Running) {
		if st := r.step(id); st.Status != stepRunning || st.Loop.Due || r.s.Loop.IsAsleep(id) || !r.budgets.hasSlot(id) {
			continue
		}
		switch n := r.stepNode(id); n.Kind {
		case workflow.KindTool:
			if r.step(id).Loop.Calls == 0 {
				r.starter.begin(id, n)
			}
		case workflow.KindExec:
			if r.step(id).Loop.Calls == 0 && r.step(id).Loop.Agent != nil {
				r.agents.execNext(id)
			}
		case workflow.KindAgent:
			r.agents.resume(id)
		}
	}
}
