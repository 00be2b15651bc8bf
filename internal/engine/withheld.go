package engine

import (
	"slices"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/workflow"
)

// resumeWithheld makes the calls that waited for others to free what they had reserved, or a slot. It tells whether any went on.
func (r *Run) resumeWithheld() bool {
	if !r.withheld || r.s.Limits.MaxConcurrency <= 0 && !r.s.Ledger.Bounds() {
		return false
	}
	if r.s.Ending != nil || r.s.Status != StatusRunning || r.askedForBudget() {
		return false
	}
	before := r.s.Seq
	r.withheld = false // calls that still wait set it again
	r.callWithheld()
	return r.s.Seq != before
}

// callWithheld makes the calls that a budget, or the want of a slot, withheld.
func (r *Run) callWithheld() {
	for _, key := range r.sortedCalls(func(c *call) bool { return c.State == callFailed }) {
		if c := r.s.Calls[key]; c != nil && c.State == callFailed && (r.maySlot(key, c) || r.hasSlot(c.Step)) {
			r.again(key, c, c.Model)
		}
	}
	for _, id := range slices.Clone(r.graph.Running) {
		if st := r.step(id); st.Status != stepRunning || st.Due || r.asleep(id) || !r.hasSlot(id) {
			continue
		}
		switch n := r.stepNode(id); n.Kind {
		case workflow.KindTool:
			if r.step(id).calls == 0 {
				r.begin(id, n)
			}
		case workflow.KindExec:
			if r.step(id).calls == 0 && r.step(id).Agent != nil {
				r.execNext(id)
			}
		case workflow.KindAgent:
			for fr := 0; r.step(id).Agent != nil && fr < len(r.step(id).Agent.Frames); fr++ {
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
	if r.step(id).open > 0 || r.slot() {
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
	for _, c := range r.s.Calls {
		if c.Step == id && c.Frame == fr && len(f.Turn) == 0 {
			return
		}
	}
	if len(f.Turn) > 0 {
		r.callWithheldOfTurn(id, fr)
		return
	}
	if msgs := r.s.Convs[f.Conv]; f.Conv != sharedConv && len(msgs) > 0 && msgs[len(msgs)-1].Role == chat.RoleAssistant {
		r.replied(id, fr) // the request to mend that reply was withheld
		return
	}
	r.ask(id, fr)
}

// callWithheldOfTurn makes the tool calls of a turn that were not begun.
func (r *Run) callWithheldOfTurn(id, fr int) {
	for _, t := range slices.Clone(r.frame(id, fr).Turn) {
		if t.Done || r.atWork(id, fr, t.ID) {
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

// atWork tells whether a tool call of a frame's turn was begun.
func (r *Run) atWork(id, fr int, toolCall string) bool {
	for _, c := range r.s.Calls {
		if c.Step == id && c.Frame == fr && c.ToolID == toolCall {
			return true
		}
	}
	for i := range r.step(id).Agent.Frames {
		if sub := r.frame(id, i); sub.Parent == fr && sub.ToolCallID == toolCall && !sub.Done {
			return true
		}
	}
	return false
}

// asleep tells whether a step waits for its retry timer.
func (r *Run) asleep(id int) bool {
	_, asleep := r.s.Timers[stepTimer(id)]
	return asleep
}
