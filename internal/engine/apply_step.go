package engine

import (
	"github.com/hocket-run/hocket/internal/engine/graph"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/workflow"
)

func (r *Run) applyStepStarted(ev *Event, d *StepStarted) {
	approval := 0
	for _, id := range d.Tokens {
		t, _ := r.graph.Waiting(id)
		approval = r.s.Waits.Later(approval, r.approvalAt(t.From))
	}
	if turn := r.graph.Start(ev.Step, d, r.s.Limits.MaxRounds > 0); turn > 0 {
		r.s.Waits.Take(turn)
	}
	st, n := r.step(ev.Step), r.stepNode(ev.Step)
	st.Approve(approval)
	switch n.Kind {
	case workflow.KindAgent:
		r.s.Loop.Start(&r.s, ev.Step, d.System)
	case workflow.KindExec:
		if d.From > 0 && r.stepScope(d.From).Flow == r.stepScope(ev.Step).Flow {
			r.s.Loop.StartExec(&r.s, ev.Step, d.From)
		}
	}
}

func (r *Run) applyEdgeTaken(ev *Event, d *EdgeTaken) {
	if key := r.trip(ev.Step, d.To); key != "" {
		if r.s.Trips == nil {
			r.s.Trips = map[string]int{}
		}
		r.s.Trips[key]++
	}
	r.graph.Travel(ev.Step, d)
}

// checkLeft tells why a step can neither end nor begin anew.
func (r *Run) checkLeft(ev *Event) string {
	st := r.step(ev.Step)
	if st.Wait != "" {
		if w := r.s.Waits.Get(st.Wait); w != nil && w.IsOpen() {
			return "wait " + st.Wait + " is open"
		}
	}
	return r.graph.CheckEnds(ev.Step)
}

func (r *Run) checkStepCompleted(ev *Event, d *StepCompleted) string {
	if why := r.checkLeft(ev); why != "" {
		return why
	}
	st := r.step(ev.Step)
	switch {
	case (d.Reply || d.JSON) && st.Loop.Agent == nil:
		return "the step runs no agent"
	case d.Given && !st.HasResult():
		return "the step has no result"
	}
	if err := r.scope(st.Scope).State.Check(d.Update, d.Edits); err != nil {
		return err.Error()
	}
	return ""
}

func (r *Run) applyStepCompleted(ev *Event, d *StepCompleted) {
	r.graph.Complete(ev.Step, d, r.outputOf(ev.Step, d), r.speaker(ev.Step))
	if r.plan.root.Workflow.Rules.KeepErrors && !d.Same {
		r.s.Updated = ev.At
	}
	r.approvalsBelow(ev.Step)
	r.endStep(ev.Step, graph.Completed)
}

func (r *Run) checkStepFailed(ev *Event, _ *StepFailed) string { return r.checkLeft(ev) }

func (r *Run) applyStepFailed(ev *Event, d *StepFailed) {
	f := d.Error
	if f.Node == ev.Node && !r.callOfFailed(ev.Step) { // neither a call's failure nor that of a step inside, which were noted
		r.failed(ev, f.Message, r.step(ev.Step).Retries+1)
	}
	if r.graph.Fail(ev.Step, &f, d.Port != "") && r.s.Ending == nil {
		r.s.Ending = &ending{Status: StatusFailed, Failure: f}
	}
	r.endStep(ev.Step, graph.Failed)
}

func (r *Run) checkStepCancelled(ev *Event, _ *StepCancelled) string { return r.checkLeft(ev) }

func (r *Run) applyStepCancelled(ev *Event, d *StepCancelled) {
	if d.Run != nil {
		r.s.Ending, r.s.Limit = &ending{Status: StatusCancelled, Reason: d.Run.Reason}, ""
	}
	r.endStep(ev.Step, graph.Cancelled)
}

func (r *Run) checkStepSkipped(ev *Event, _ *StepSkipped) string { return r.checkLeft(ev) }

func (r *Run) applyStepSkipped(ev *Event, _ *StepSkipped) {
	r.endStep(ev.Step, graph.Skipped)
}

// endStep ends a step: its calls that are out are cancelled, its timers and conversations are gone.
func (r *Run) endStep(id int, status graph.Status) {
	r.s.Loop.End(&r.s, id, r.s.At)
	calls := &r.step(id).Loop
	r.graph.End(id, status, calls.Numbered, calls.Calls > 0)
}

func (r *Run) checkStepRetrying(ev *Event, d *StepRetrying) string {
	if d.Call != "" {
		if why := r.s.Loop.CheckRetrying(ev.Step, d.Call); why != "" {
			return why
		}
	}
	return r.checkLeft(ev)
}

func (r *Run) applyStepRetrying(ev *Event, d *StepRetrying) {
	st := r.step(ev.Step)
	f := d.Error
	if d.Call == "" && f.Node == ev.Node && !r.callOfFailed(ev.Step) {
		r.failed(ev, f.Message, st.Retries+1)
	}
	r.s.Loop.Sleep(&r.s, ev, d)
	r.graph.Retry(ev.Step, &f, d.Call == "")
}

// failed notes a failed attempt of a run with typed state (S2-78).
func (r *Run) failed(ev *Event, message string, attempt int) {
	if r.plan.root.Workflow.Rules.KeepErrors {
		r.s.Errors = append(r.s.Errors, FailedAttempt{Node: ev.Node, Message: message, At: ev.At, Attempt: attempt})
	}
}

// callOfFailed tells whether a call of the step has just failed.
func (r *Run) callOfFailed(id int) bool {
	return r.step(id).Loop.Calls > 0 && r.s.Loop.Any(func(c *loop.Call) bool { return c.Step == id && c.State == loop.Failed })
}

func (r *Run) checkTimerFired(ev *Event, d *TimerFired) string {
	if step, ok := r.timerStep(d.Timer); !ok || step != ev.Step {
		return "timer " + d.Timer + " is not running"
	}
	return ""
}

// timerStep gives the step of a timer that runs.
func (r *Run) timerStep(id string) (int, bool) {
	if t, ok := r.s.Loop.Timer(id); ok {
		return t.Step, true
	}
	t, ok := r.s.Waits.Timer(id)
	return t.Step, ok
}

func (r *Run) applyTimerFired(_ *Event, d *TimerFired) {
	if _, ok := r.s.Loop.Timer(d.Timer); ok {
		r.s.Loop.Fire(&r.s, d.Timer)
	} else {
		r.s.Waits.Fire(d.Timer)
	}
}
