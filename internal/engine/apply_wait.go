package engine

import (
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/ledger"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

func (r *Run) checkWaitOpened(ev *Event, d *WaitOpened) string {
	if why := r.s.Waits.CheckOpened(d); why != "" {
		return why
	}
	if d.Limit != nil {
		if d.Call != "" || d.Kind != workflow.WaitQuestion || !loop.Calls(r.stepNode(ev.Step).Kind) {
			return "the step has no budget"
		}
		return ""
	}
	if d.Call != "" {
		if c := r.s.Loop.Call(d.Call); c == nil || c.Step != ev.Step || c.Kind != loop.Tool || c.State != loop.Open && c.State != loop.Failed || d.Binding == "" && d.Kind != workflow.WaitQuestion {
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
	r.s.Waits.ApplyOpened(ev, d)
	if d.Call == "" && d.Limit == nil {
		r.step(ev.Step).Await(d.Wait)
	} else if r.s.Loop.Call(d.Call) != nil {
		r.s.Loop.Ask(&r.s, d.Call)
		if d.Binding != "" && (d.Kind == workflow.WaitApproval || d.Below != nil) { // it was not made; it counts when it is
			r.charge(ev, ledger.Amount{Calls: -1})
		}
	}
}

func (s *state) checkWaitAnswered(ev *Event, d *WaitAnswered) string {
	return s.Waits.CheckAnswered(ev, d)
}

func (r *Run) applyWaitAnswered(ev *Event, d *WaitAnswered) {
	w, group, ok := r.s.Waits.ApplyAnswered(ev, d)
	st := r.step(w.Step)
	if ok {
		st.Join(group)
	}
	r.graph.SetGiven(w.Step, d)
	if d.Limits != nil {
		r.s.setLimits(*d.Limits)
	}
	if r.s.Loop.Call(w.Call) != nil {
		switch {
		case w.Binding == "" && expr.Text(d.Answer) == "retry":
			r.s.Loop.MakeDue(&r.s, w.Call, "")
		case w.Binding != "" && (d.Decision == workflow.PortApprove || w.Below != nil):
			r.s.Loop.MakeDue(&r.s, w.Call, w.Binding)
		}
	}
	if !w.OfNode() {
		return
	}
	if w.Kind == workflow.WaitApproval {
		st.Approve(w.Number)
	}
	rules := &r.plan.root.Workflow.Rules
	if r.stepScope(w.Step).Flow == 0 && r.stepNode(w.Step).ID == rules.Handoff {
		r.graph.ResetUsed() // steps and clock start again (S3-15)
		r.s.Active, r.s.Trips = 0, nil
	}
	if rules.SharedConversation && w.Kind == workflow.WaitQuestion {
		r.s.Loop.Say(loop.Shared, chat.Message{Role: chat.RoleUser, Text: chat.NewText(expr.Text(d.Answer))})
	}
}

func (s *state) checkWaitReminded(ev *Event, d *WaitReminded) string {
	return s.Waits.CheckOpen(ev, d.Wait)
}

func (s *state) checkWaitClosed(ev *Event, d *WaitClosed) string {
	return s.Waits.CheckOpen(ev, d.Wait)
}

func (s *state) applyWaitClosed(ev *Event, d *WaitClosed) { s.Waits.ApplyClosed(ev, d) }
