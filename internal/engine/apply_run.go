package engine

import (
	"fmt"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/expr"
)

// checkRunCreated tells why a run cannot begin with a stored event: it is one of another definition or of a newer engine.
func (r *Run) checkRunCreated(_ *Event, d *RunCreated) string {
	switch {
	case r.s.Created != nil:
		return "the run already exists"
	case d.Digest != r.plan.digest:
		return fmt.Sprintf("the run belongs to definition %.12s, not %.12s", d.Digest, r.plan.digest)
	case d.Version > Version:
		return fmt.Sprintf("the run needs engine version %d; this is %d", d.Version, Version)
	case r.plan.root.Workflow.Rules.InputIsState:
		if _, err := stateOf(d.Input); err != nil {
			return err.Error()
		}
	}
	return ""
}

func (r *Run) applyRunCreated(ev *Event, d *RunCreated) {
	r.s.Created, r.s.Limits, r.s.Status = d, d.Limits, StatusPending
	r.s.Waits = waits.New(r.plan.root.Workflow.Rules.HoldWhilePaused)
	r.s.openLedger(d)
	first := typed.State{}
	if r.plan.root.Workflow.Rules.InputIsState {
		fields, _ := stateOf(d.Input)
		first, r.s.Updated = typed.StateOf(fields, 0).WithNative(nil), ev.At
	}
	r.graph.Begin(r.plan.root, d.Input, first)
	if r.plan.root.Workflow.Rules.SharedConversation {
		r.s.Loop.Say(loop.Shared, chat.Message{Role: chat.RoleUser, Text: chat.NewText(expr.Text(d.Input))})
	}
}

func (s *state) checkRunStarted(*Event, *RunStarted) string {
	if s.Status != StatusPending {
		return "the run has already started"
	}
	return ""
}

func (s *state) applyRunStarted(*Event, *RunStarted) { s.Status = StatusRunning }

func (s *state) checkRunPaused(ev *Event, d *RunPaused) string {
	if s.Status != StatusRunning || s.Waits.CheckOpen(ev, d.Wait) != "" {
		return "no open wait"
	}
	return ""
}

func (s *state) applyRunPaused(*Event, *RunPaused) {
	s.Status = StatusPaused
	s.Waits.Pause()
}

func (s *state) checkRunResumed(_ *Event, d *RunResumed) string {
	ended := s.Status.Ended()
	if ended && (s.Status != StatusFailed || s.Limit == "") || ended != (d.Limits != nil) {
		return "the run is " + string(s.Status)
	}
	return ""
}

func (r *Run) applyRunResumed(_ *Event, d *RunResumed) {
	r.s.Status = StatusRunning
	if d.Reason == reasonRecovered || d.Reason == reasonReopened {
		r.s.Ledger.DropSessions()
	}
	if d.Above != nil {
		r.s.Ledger.SetParentBudget(d.Above)
	}
	if d.Limits == nil {
		return
	}
	r.s.setLimits(*d.Limits)
	r.s.Ending, r.s.Limit = nil, ""
	if f := r.scope(0).Failed; f != nil { // a step failed for good while the limit was ending the run
		r.s.Ending = &ending{Status: StatusFailed, Failure: *f}
	}
}

func (r *Run) checkRunCompleted(_ *Event, d *RunCompleted) string {
	if d.OutputStep != r.scope(0).Last || len(r.graph.Running) > 0 {
		return "steps have not ended"
	}
	return ""
}

func (s *state) applyRunCompleted(*Event, *RunCompleted) { s.Status = StatusCompleted }

// applyRunFailed has no check: drivers fail runs that cannot go on, whatever is at work in them.
func (s *state) applyRunFailed(*Event, *RunFailed) { s.Status = StatusFailed }

func (r *Run) checkRunCancelled(*Event, *RunCancelled) string {
	if len(r.graph.Running) > 0 {
		return "steps have not ended"
	}
	return ""
}

func (s *state) applyRunCancelled(*Event, *RunCancelled) { s.Status = StatusCancelled }

func (s *state) checkRunCancelling(*Event, *RunCancelling) string {
	if s.Status != StatusRunning || s.cancelled() {
		return "the run cannot be cancelled now"
	}
	return ""
}

func (s *state) applyRunCancelling(ev *Event, d *RunCancelling) {
	s.Ending, s.Limit = &ending{Status: StatusCancelled, Reason: d.Reason}, ""
	s.Loop.ApplyRunCancelling(ev)
}

func (r *Run) checkLimitReached(_ *Event, d *LimitReached) string {
	if d.IsHandoff() && (r.plan.root.Workflow.Rules.Handoff == "" || len(r.graph.Running) > 0) {
		return "no handoff is possible"
	}
	return ""
}

func (r *Run) applyLimitReached(ev *Event, d *LimitReached) {
	switch d.Limit {
	case CodeMaxSteps, CodeMaxBytes, CodeTimeout, CodeBudget, CodeParentBudget, CodeWorkflowBudget, CodeOscillation:
	case limitRounds:
		r.graph.NextRound()
		return
	default:
		return // the failure of a step follows
	}
	if d.IsHandoff() {
		r.s.Active, r.s.Trips = 0, nil
		r.graph.HandOver()
		return
	}
	r.s.Limit = d.Limit
	r.s.Ending = &ending{Status: StatusFailed, Limit: true, Failure: r.limitFailure(d, ev.Node)}
}
