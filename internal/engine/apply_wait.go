package engine

import (
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/ledger"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

func (r *Run) checkWaitOpened(ev *Event, d *WaitOpened) string {
	if r.wait(d.Wait) != nil {
		return "wait " + d.Wait + " already exists"
	}
	if d.Limit != nil {
		if d.Call != "" || d.Kind != workflow.WaitQuestion || !effect(r.stepNode(ev.Step).Kind) {
			return "the step has no budget"
		}
		return ""
	}
	if d.Call != "" {
		if c := r.s.Calls[d.Call]; c == nil || c.Step != ev.Step || c.Kind != callTool || c.State != callOpen && c.State != callFailed || d.Binding == "" && d.Kind != workflow.WaitQuestion {
			return "call " + d.Call + " is not open"
		}
		return ""
	}
	if n := r.stepNode(ev.Step); n.Kind != workflow.KindWait || n.Wait.Kind != d.Kind {
		return "the node does not open waits of this kind"
	}
	return ""
}

func (r *Run) applyWaitOpened(ev *Event, d *WaitOpened) {
	r.s.Waits = append(r.s.Waits, wait{ID: d.Wait, Step: ev.Step, Kind: d.Kind, Prompt: d.Prompt, Options: d.Options, Call: d.Call, Since: ev.At, Deadline: d.Deadline,
		Tool: d.Tool, Args: d.Arguments, Binding: d.Binding, Changed: d.Changed, Schema: d.Schema, Limit: d.Limit, Below: d.Below})
	r.s.Open++
	r.s.Drain = drain{}
	if d.Call == "" && d.Limit == nil {
		r.step(ev.Step).Wait = d.Wait
	} else if c := r.s.Calls[d.Call]; c != nil {
		r.setCall(c, callAsking)
		if d.Binding != "" && (d.Kind == workflow.WaitApproval || d.Below != nil) { // it was not made; it counts when it is
			r.charge(ev, ledger.Amount{Calls: -1})
		}
	}
	r.timeWait(ev, waitTimer(d.Wait), d.Deadline)
	r.timeWait(ev, remindTimer(d.Wait), d.Remind)
}

// timeWait starts a timer of a wait that was opened; a zero at starts none.
func (r *Run) timeWait(ev *Event, id string, at time.Time) {
	if at.IsZero() {
		return
	}
	if r.s.Timers == nil {
		r.s.Timers = map[string]timer{}
	}
	r.s.Timers[id] = timer{At: at, Deadline: true, Step: ev.Step, Seq: ev.Seq}
}

// checkOpen tells why nothing can be said of a wait of the step: it is not open.
func (r *Run) checkOpen(ev *Event, id string) string {
	if w := r.wait(id); w == nil || !w.open() || w.Step != ev.Step {
		return "wait " + id + " is not open"
	}
	return ""
}

func (r *Run) checkWaitAnswered(ev *Event, d *WaitAnswered) string {
	if why := r.checkOpen(ev, d.Wait); why != "" {
		return why
	}
	if d.Limits != nil && r.wait(d.Wait).Limit == nil {
		return "it is not an answer about a budget"
	}
	return ""
}

func (r *Run) applyWaitAnswered(ev *Event, d *WaitAnswered) {
	w := r.wait(d.Wait)
	w.Answer, w.Args, w.Ended = d, nil, ev.Seq
	r.setGiven(w.Step, d)
	if d.Limits != nil {
		r.setLimits(*d.Limits)
	}
	r.approved(w)
	if c := r.s.Calls[w.Call]; c != nil {
		switch {
		case w.Binding == "" && expr.Text(d.Answer) == "retry":
			r.setCall(c, callDue)
		case w.Binding != "" && (d.Decision == workflow.PortApprove || w.Below != nil):
			c.Approved = w.Binding
			r.setCall(c, callDue)
		}
	}
	if w.ofNode() && r.stepScope(w.Step).Flow == 0 && r.stepNode(w.Step).ID == r.plan.root.w.Rules.Handoff {
		r.s.Used, r.s.Active, r.s.Trips = 0, 0, nil // steps and clock start again (S3-15)
	}
	if r.plan.root.w.Rules.SharedConversation && w.ofNode() && w.Kind == workflow.WaitQuestion {
		r.conv(sharedConv, chat.Message{Role: chat.RoleUser, Text: chat.NewText(expr.Text(d.Answer))})
	}
	r.s.Open--
	delete(r.s.Timers, waitTimer(d.Wait))
	delete(r.s.Timers, remindTimer(d.Wait))
	if r.plan.root.w.Rules.HoldWhilePaused && (w.ofNode() || w.Binding != "") {
		st := r.step(w.Step)
		st.Group = -w.Step
		if !r.s.Drain.On {
			r.s.Drain = drain{On: true, Group: st.Group}
		}
	}
}

func (r *Run) checkWaitReminded(ev *Event, d *WaitReminded) string { return r.checkOpen(ev, d.Wait) }

func (r *Run) checkWaitClosed(ev *Event, d *WaitClosed) string { return r.checkOpen(ev, d.Wait) }

func (r *Run) applyWaitClosed(ev *Event, d *WaitClosed) {
	w := r.wait(d.Wait)
	w.Closed, w.Args, w.Ended = d.Reason, nil, ev.Seq
	r.s.Open--
	delete(r.s.Timers, waitTimer(d.Wait))
	delete(r.s.Timers, remindTimer(d.Wait))
}
