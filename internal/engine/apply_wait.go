package engine

import (
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/timer"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

func checkWaitOpened(s *state, ev *event.Event, d *event.WaitOpened) string {
	if why := s.Waits.CheckOpened(d); why != "" {
		return why
	}
	if d.Limit != nil {
		if d.Call != "" || d.Kind != workflow.WaitQuestion || !loop.Calls(s.graph.StepNode(ev.Step).Kind) {
			return "the step has no budget"
		}
		return ""
	}
	if d.Call != "" {
		if c := s.Loop.Call(d.Call); c == nil || c.Step != ev.Step || c.Kind != loop.Tool || c.State != loop.Open &&
			c.State != loop.Failed || d.Binding == "" && d.Kind != workflow.WaitQuestion {
			return "call " + d.Call + " is not open"
		}
		return ""
	}
	switch n, st := s.graph.StepNode(ev.Step), s.graph.Step(ev.Step); {
	case n.Kind == workflow.KindFunc && d.Kind == workflow.WaitQuestion:
		if !st.HasResult() || st.Wait != "" && s.Waits.Get(st.Wait).IsOpen() {
			return "the function does not ask"
		}
		if err := s.graph.Scope(st.Scope).State.Check(d.Update, d.Edits); err != nil {
			return err.Error()
		}
	case n.Kind != workflow.KindWait || n.Wait.Kind != d.Kind:
		return "the node does not open waits of this kind"
	}
	return ""
}

func applyWaitOpened(s *state, ev *event.Event, d *event.WaitOpened) {
	s.Waits.ApplyOpened(ev, d)
	if !d.Deadline.IsZero() {
		s.startTimer(ev, timer.Key{Kind: timer.Deadline, Wait: d.Wait}, &d.Deadline)
	}
	if !d.Remind.IsZero() {
		s.startTimer(ev, timer.Key{Kind: timer.Remind, Wait: d.Wait}, &d.Remind)
	}
	if d.Call == "" && d.Limit == nil {
		s.graph.Step(ev.Step).Await(d.Wait)
		if s.graph.StepNode(ev.Step).Kind == workflow.KindFunc {
			s.graph.Change(ev.Step, &event.StepCompleted{Given: true, Update: d.Update, Edits: d.Edits})
			if s.plan.root.Workflow.Rules.KeepErrors {
				s.Updated = ev.At
			}
		}
	} else if s.Loop.Call(d.Call) != nil {
		s.Loop.Ask(s, d.Call)
		s.countCalls(ev)
	}
}

func checkWaitAnswered(s *state, ev *event.Event, d *event.WaitAnswered) string {
	return s.Waits.CheckAnswered(ev, d)
}

func applyWaitAnswered(s *state, ev *event.Event, d *event.WaitAnswered) {
	w, group, ok := s.Waits.ApplyAnswered(ev, d)
	s.stopTimers(d.Wait)
	st := s.graph.Step(w.Step)
	if ok {
		st.Join(group)
	}
	s.graph.SetGiven(w.Step, d)
	if d.Limits != nil {
		s.setLimits(d.Limits)
	}
	if s.Loop.Call(w.Call) != nil {
		switch {
		case w.Binding == "" && expr.Text(d.Answer) == "retry":
			s.Loop.MakeDue(s, w.Call, "")
		case w.Binding != "" && (d.Decision == workflow.PortApprove || w.Below != nil):
			if d.Arguments != nil && w.Below == nil {
				s.Loop.Edit(w.Call, w.Arguments, d.Arguments)
			}
			s.Loop.MakeDue(s, w.Call, w.Binding)
		}
	}
	if !w.OfNode() {
		return
	}
	rules := &s.plan.root.Workflow.Rules
	if s.graph.StepScope(w.Step).Flow == 0 && s.graph.StepNode(w.Step).ID == rules.Handoff {
		s.graph.ResetUsed() // steps and clock restart (S3-15)
		s.Active, s.Transitions = 0, nil
	}
	if rules.SharedConversation && w.Kind == workflow.WaitQuestion {
		s.Loop.Say(loop.Shared, chat.Message{Role: chat.RoleUser, Text: chat.NewText(expr.Text(d.Answer))})
	}
}

func applySignalReceived(s *state, ev *event.Event, d *event.SignalReceived) {
	s.Waits.ApplySignal(ev, d)
}

func checkWaitReminded(s *state, ev *event.Event, d *event.WaitReminded) string {
	return s.Waits.CheckOpen(ev, d.Wait)
}

func checkWaitClosed(s *state, ev *event.Event, d *event.WaitClosed) string {
	return s.Waits.CheckOpen(ev, d.Wait)
}

func applyWaitClosed(s *state, ev *event.Event, d *event.WaitClosed) {
	s.Waits.ApplyClosed(ev, d)
	s.stopTimers(d.Wait)
}

// stopTimers stops the timers of a wait that has ended.
func (s *state) stopTimers(wait string) {
	s.Timers.Stop(timer.Key{Kind: timer.Deadline, Wait: wait})
	s.Timers.Stop(timer.Key{Kind: timer.Remind, Wait: wait})
}
