package engine

import (
	"slices"

	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/workflow"
)

// callWithheld makes the calls that a budget, or the want of a slot, withheld.
func (r *Run) callWithheld() {
	for _, key := range r.s.Loop.Keys(func(c *loop.Call) bool { return c.State == loop.Failed }) {
		if c := r.s.Loop.Call(key); c != nil && c.State == loop.Failed && (r.maySlot(key, c) || r.hasSlot(c.Step)) {
			r.again(key, c, c.Model)
		}
	}
	for _, id := range slices.Clone(r.graph.Running) {
		if st := r.step(id); st.Status != stepRunning || st.Loop.Due || r.s.Loop.IsAsleep(id) || !r.hasSlot(id) {
			continue
		}
		switch n := r.stepNode(id); n.Kind {
		case workflow.KindTool:
			if r.step(id).Loop.Calls == 0 {
				r.begin(id, n)
			}
		case workflow.KindExec:
			if r.step(id).Loop.Calls == 0 && r.step(id).Loop.Agent != nil {
				r.execNext(id)
			}
		case workflow.KindAgent:
			for fr := 0; r.step(id).Loop.Agent != nil && fr < len(r.step(id).Loop.Agent.Frames); fr++ {
				if r.step(id).Status != stepRunning {
					break
				}
				r.callWithheldOfFrame(id, fr)
			}
		}
	}
}

// hasSlot tells whether a step may have a call out; one that may not is looked at again.
func (r *Run) hasSlot(id int) bool {
	if r.step(id).Loop.Out > 0 || r.slot() {
		return true
	}
	r.withheld = true
	return false
}

// callWithheldOfFrame makes the call that an agent loop would have made next.
func (r *Run) callWithheldOfFrame(id, fr int) {
	f := r.frame(id, fr)
	if f.Done {
		return
	}
	if len(f.Turn) == 0 && r.s.Loop.Any(func(c *loop.Call) bool { return c.Step == id && c.Frame == fr }) {
		return
	}
	if len(f.Turn) > 0 {
		r.callWithheldOfTurn(id, fr)
		return
	}
	if f.Conv != loop.Shared && r.s.Loop.EndsWithReply(f.Conv) {
		r.replied(id, fr) // the request to mend that reply was withheld
		return
	}
	r.ask(id, fr)
}

// callWithheldOfTurn makes the tool calls of a turn that were not begun.
func (r *Run) callWithheldOfTurn(id, fr int) {
	for _, t := range slices.Clone(r.frame(id, fr).Turn) {
		if t.Done || r.s.Loop.IsAtWork(world{r}, id, fr, t.ID) {
			continue
		}
		for _, tc := range r.lastReply(id, fr).ToolCalls {
			if tc.ID == t.ID && r.step(id).Status == stepRunning {
				r.callTool(id, fr, tc)
			}
		}
	}
	r.turnAnswered(id, fr)
}
