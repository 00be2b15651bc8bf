package engine

import (
	"fmt"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/expr"
)

// checkRunCreated returns the reason why a run cannot start with a stored event, namely that the
// event belongs to another definition or was written by a newer engine.
func checkRunCreated(s *state, _ *event.Event, d *event.RunCreated) string {
	switch {
	case s.Created != nil:
		return "the run already exists"
	case d.Digest != s.plan.digest:
		return fmt.Sprintf("the run belongs to definition %.12s, not %.12s", d.Digest, s.plan.digest)
	case d.Version > Version:
		return fmt.Sprintf("the run needs engine version %d; this is %d", d.Version, Version)
	case s.plan.root.Workflow.Rules.InputIsState:
		if _, err := initialState(d.Input); err != nil {
			return err.Error()
		}
	}
	return ""
}

// applyStatus sets the run's status to that of the event.
func (s *state) applyStatus(ev *event.Event) { s.Status = event.StatusOf(ev.Data) }

// applyStatusOnly applies events that change only the status. There is no check for the failure of
// a run: drivers fail runs that cannot continue, whatever is active in them.
func applyStatusOnly[P event.Data](s *state, ev *event.Event, _ P) { s.applyStatus(ev) }

func applyRunCreated(s *state, ev *event.Event, d *event.RunCreated) {
	s.applyStatus(ev)
	s.Created, s.Limits = d, &d.Limits
	s.Waits = waits.New(s.plan.root.Workflow.Rules.HoldWhilePaused)
	s.openLedger(d)
	first := typed.State{}
	if s.plan.root.Workflow.Rules.InputIsState {
		state, _ := initialState(d.Input)
		first, s.Updated = state.WithNative(nil), ev.At
	}
	s.graph.Begin(s.plan.root, d.Input, first)
	if s.plan.root.Workflow.Rules.SharedConversation {
		s.Loop.Say(loop.Shared, chat.Message{Role: chat.RoleUser, Text: chat.NewText(expr.Text(d.Input))})
	}
}

func checkRunStarted(s *state, _ *event.Event, _ *event.RunStarted) string {
	if s.Status != event.StatusPending {
		return "the run has already started"
	}
	return ""
}

func checkRunPaused(s *state, ev *event.Event, d *event.RunPaused) string {
	if s.Status != event.StatusRunning || s.Waits.CheckOpen(ev, d.Wait) != "" {
		return "no open wait"
	}
	return ""
}

func applyRunPaused(s *state, ev *event.Event, _ *event.RunPaused) {
	s.applyStatus(ev)
	s.Waits.Pause()
}

func checkRunResumed(s *state, _ *event.Event, d *event.RunResumed) string {
	ended := s.Status.Ended()
	if ended && (s.Status != event.StatusFailed || s.Limit == "") || ended != (d.Limits != nil) {
		return "the run is " + string(s.Status)
	}
	return ""
}

func applyRunResumed(s *state, ev *event.Event, d *event.RunResumed) {
	s.applyStatus(ev)
	if d.Reason == reasonRecovered || d.Reason == reasonReopened {
		s.Ledger.DropSessions()
	}
	if d.Above != nil {
		s.Ledger.SetParentBudget(d.Above)
	}
	if d.Limits == nil {
		return
	}
	s.setLimits(d.Limits)
	s.Ending, s.Limit = nil, ""
	if f := s.graph.Scope(0).Failed; f != nil { // a step failed permanently while the limit ended the run
		s.Ending = &ending{Status: event.StatusFailed, Failure: *f}
	}
}

func checkRunCompleted(s *state, _ *event.Event, d *event.RunCompleted) string {
	if d.OutputStep != s.graph.Scope(0).Last || len(s.graph.Running) > 0 {
		return "steps have not ended"
	}
	return ""
}

func checkRunCancelled(s *state, _ *event.Event, _ *event.RunCancelled) string {
	if len(s.graph.Running) > 0 {
		return "steps have not ended"
	}
	return ""
}

func checkRunCancelling(s *state, _ *event.Event, _ *event.RunCancelling) string {
	if s.Status != event.StatusRunning || s.cancelled() {
		return "the run cannot be cancelled now"
	}
	return ""
}

func applyRunCancelling(s *state, ev *event.Event, d *event.RunCancelling) {
	s.Ending, s.Limit = &ending{Status: event.StatusCancelled, Reason: d.Reason}, ""
	s.Loop.ApplyRunCancelling(ev)
}

func checkLimitReached(s *state, _ *event.Event, d *event.LimitReached) string {
	if d.IsHandoff() && (s.plan.root.Workflow.Rules.Handoff == "" || len(s.graph.Running) > 0) {
		return "no handoff is possible"
	}
	return ""
}

func applyLimitReached(s *state, ev *event.Event, d *event.LimitReached) {
	switch d.Limit {
	case event.CodeMaxSteps, event.CodeMaxBytes, event.CodeTimeout, event.CodeBudget, event.CodeParentBudget,
		event.CodeWorkflowBudget, event.CodeOscillation:
	case limitRounds:
		s.graph.NextRound()
		return
	default:
		return // a step failure follows
	}
	if d.IsHandoff() {
		s.Active, s.Transitions = 0, nil
		s.graph.HandOver()
		return
	}
	s.Limit = d.Limit
	s.Ending = &ending{Status: event.StatusFailed, Limit: true, Failure: s.limitFailure(d, ev.Node)}
}

// SettleTime is how long an ending run waits for the calls that it cancelled (D10).
const SettleTime = 5 * time.Second

// DrainTime is how long an ending run waits if only functions are left that cannot report any more
// usage: functions that respect their contexts have returned by then; others continue after the run
// and no longer count.
const DrainTime = 100 * time.Millisecond

// apply folds one event into the state. It decides nothing: its effect follows from the event and
// the state alone. It cannot fail, because the engine created the event from the state, or
// validated it.
func (s *state) apply(ev *event.Event) {
	if _, resumed := ev.Data.(*event.RunResumed); s.Status == event.StatusRunning && !resumed {
		s.Active += max(0, ev.At.Sub(s.At))
	}
	s.Seq, s.At = ev.Seq, ev.At
	last := s.lastApproval(ev)
	kinds[ev.Data.Type()].apply(s, ev)
	if last > 0 {
		st := s.graph.Step(ev.Step)
		st.Approve(s.Waits.Later(st.Approval, last))
	}
	if s.Limits.MaxBytes > 0 {
		s.Bytes = chat.AddTokens(s.Bytes, s.eventSize(ev))
	}
}
