package engine

import (
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/timer"
	"github.com/hocket-run/hocket/workflow"
)

func applyStepStarted(s *state, ev *event.Event, d *event.StepStarted) {
	if turn := s.graph.Start(ev.Step, d, s.Limits.MaxRounds > 0); turn > 0 {
		s.Waits.Take(turn)
	}
	s.startTimer(ev, timer.Key{Kind: timer.Timeout, Step: ev.Step}, d.Expires)
	switch s.graph.StepNode(ev.Step).Kind {
	case workflow.KindAgent:
		s.Loop.Start(s, ev.Step, d.System)
	case workflow.KindSleep:
		s.startTimer(ev, timer.RetryOf(ev.Step, ""), d.Until) // such a step has no other retry timer
	case workflow.KindExec:
		if d.From > 0 && s.graph.StepScope(d.From).Flow == s.graph.StepScope(ev.Step).Flow {
			s.Loop.StartExec(s, ev.Step, d.From)
		}
	}
}

func applyEdgeTaken(s *state, ev *event.Event, d *event.EdgeTaken) {
	if key := s.transitionKey(ev.Step, d.To); key != "" {
		if s.Transitions == nil {
			s.Transitions = map[string]int{}
		}
		s.Transitions[key]++
	}
	s.graph.Travel(ev.Step, d)
}

// checkEnds returns the reason why a step can neither end nor start again.
func checkEnds[P event.Data](s *state, ev *event.Event, _ P) string {
	st := s.graph.Step(ev.Step)
	if st.Wait != "" {
		if w := s.Waits.Get(st.Wait); w != nil && w.IsOpen() {
			return "wait " + st.Wait + " is open"
		}
	}
	return s.graph.CheckEnds(ev.Step)
}

func checkStepCompleted(s *state, ev *event.Event, d *event.StepCompleted) string {
	if why := checkEnds(s, ev, d); why != "" {
		return why
	}
	st := s.graph.Step(ev.Step)
	switch {
	case (d.Reply || d.JSON) && st.Loop.Agent == nil:
		return "the step runs no agent"
	case d.Given && !st.HasResult():
		return "the step has no result"
	}
	if err := s.graph.Scope(st.Scope).State.Check(d.Update, d.Edits); err != nil {
		return err.Error()
	}
	return ""
}

func applyStepCompleted(s *state, ev *event.Event, d *event.StepCompleted) {
	s.graph.Complete(ev.Step, d, s.kept.output(s.outputOf(ev.Step, d)), s.speaker(ev.Step),
		s.stopOf(ev.Step))
	if s.plan.root.Workflow.Rules.KeepErrors && !d.Same {
		s.Updated = ev.At
	}
	if s.plan.root.Workflow.Rules.KeepErrors {
		for _, to := range d.Missing {
			s.Errors = append(s.Errors, FailedAttempt{Node: to, Message: event.NotFound(to), At: ev.At, Attempt: 1})
		}
	}
	s.endStep(ev)
}

func applyStepFailed(s *state, ev *event.Event, d *event.StepFailed) {
	f := d.Error
	if f.Node == ev.Node && !s.callOfFailed(ev.Step) { // failures of a call or an inner step were already noted
		s.recordFailure(ev, f.Message, s.graph.Step(ev.Step).Retries+1)
	}
	if s.graph.Fail(ev.Step, d) && s.Ending == nil {
		s.Ending = &ending{Status: event.StatusFailed, Failure: f}
	}
	s.endStep(ev)
}

func applyStepCancelled(s *state, ev *event.Event, d *event.StepCancelled) {
	if d.Run != nil {
		s.Ending, s.Limit = &ending{Status: event.StatusCancelled, Reason: d.Run.Reason}, ""
	}
	s.endStep(ev)
}

func applyStepSkipped(s *state, ev *event.Event, d *event.StepSkipped) {
	if len(d.Ports) > 0 {
		s.graph.Skip(ev.Step)
	}
	s.endStep(ev)
}

// endStep ends the step of an event: its calls in flight are cancelled, and its timers and
// conversations are removed.
func (s *state) endStep(ev *event.Event) {
	s.Loop.End(s, ev.Step, s.At)
	s.Timers.Stop(timer.RetryOf(ev.Step, ""))
	s.Timers.Stop(timer.Key{Kind: timer.Timeout, Step: ev.Step})
	calls := &s.graph.Step(ev.Step).Loop
	s.graph.End(ev.Step, event.StepEnd(ev.Data), calls.Numbered, calls.Calls > 0)
}

func checkStepRetrying(s *state, ev *event.Event, d *event.StepRetrying) string {
	if why := s.Loop.CheckRetrying(ev.Step, d); why != "" {
		return why
	}
	return checkEnds(s, ev, d)
}

func applyStepRetrying(s *state, ev *event.Event, d *event.StepRetrying) {
	s.startTimer(ev, timer.RetryOf(ev.Step, d.Call), &d.Until)
	if d.Model != "" { // a retry by the agent itself
		s.Loop.Sleep(s, ev, d)
		return
	}
	st := s.graph.Step(ev.Step)
	f := d.Error
	if d.Call == "" && f.Node == ev.Node && !s.callOfFailed(ev.Step) {
		s.recordFailure(ev, f.Message, st.Retries+1)
	}
	s.Loop.Sleep(s, ev, d)
	s.graph.Retry(ev.Step, &f, d.Call == "")
	if d.Attempt == 1 {
		st.Retries = 0
	}
}

// recordFailure records a failed attempt of a run with typed state (S2-78).
func (s *state) recordFailure(ev *event.Event, message string, attempt int) {
	if s.plan.root.Workflow.Rules.KeepErrors {
		s.Errors = append(s.Errors, FailedAttempt{Node: ev.Node, Message: message, At: ev.At, Attempt: attempt})
	}
}

// callOfFailed reports whether a call of the step has just failed.
func (s *state) callOfFailed(id int) bool {
	return s.graph.Step(id).Loop.Calls > 0 && s.Loop.Any(func(c *loop.Call) bool {
		return c.Step == id && c.State == loop.Failed
	})
}
