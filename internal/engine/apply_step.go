package engine

import (
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/workflow"
)

func (r *Run) applyStepStarted(ev *Event, d *StepStarted) {
	approval := 0
	for _, id := range d.Tokens {
		t, _ := r.graph.waiting(id)
		approval = r.s.Waits.Later(approval, r.approvalAt(t.From))
	}
	if turn := r.graph.start(ev.Step, d, r.s.Limits.MaxRounds > 0); turn > 0 {
		r.s.Waits.Take(turn)
	}
	st, n := r.step(ev.Step), r.stepNode(ev.Step)
	st.Approval = approval
	switch n.Kind {
	case workflow.KindAgent:
		r.openFrame(ev.Step, n.Agent.Agent, d.System, -1)
		if n.Agent.Prompt.Mode != workflow.PromptShared {
			r.conv(st.Agent.Frames[0].Conv, chat.Message{Role: chat.RoleUser, Text: r.graph.stepText(ev.Step)})
		}
	case workflow.KindExec:
		r.openExec(ev.Step, d.From)
	}
}

func (r *Run) applyEdgeTaken(ev *Event, d *EdgeTaken) {
	if key := r.trip(ev.Step, d.To); key != "" {
		if r.s.Trips == nil {
			r.s.Trips = map[string]int{}
		}
		r.s.Trips[key]++
	}
	r.graph.travel(ev.Step, d)
}

// checkLeft tells why a step can neither end nor begin anew.
func (r *Run) checkLeft(ev *Event) string {
	st := r.step(ev.Step)
	if st.Wait != "" {
		if w := r.s.Waits.Get(st.Wait); w != nil && w.IsOpen() {
			return "wait " + st.Wait + " is open"
		}
	}
	return r.graph.checkEnds(ev.Step)
}

func (r *Run) checkStepCompleted(ev *Event, d *StepCompleted) string {
	if why := r.checkLeft(ev); why != "" {
		return why
	}
	st := r.step(ev.Step)
	switch {
	case (d.Reply || d.JSON) && st.Agent == nil:
		return "the step runs no agent"
	case d.Given && st.given == nil:
		return "the step has no result"
	}
	if err := r.graph.stateAt(st.Scope).Check(d.Update, d.Edits); err != nil {
		return err.Error()
	}
	return ""
}

func (r *Run) applyStepCompleted(ev *Event, d *StepCompleted) {
	r.graph.complete(ev.Step, d, r.outputOf(ev.Step, d))
	if r.plan.root.w.Rules.KeepErrors && !d.Same {
		r.s.Updated = ev.At
	}
	r.approvalsBelow(ev.Step)
	r.endStep(ev.Step, stepCompleted)
}

func (r *Run) checkStepFailed(ev *Event, _ *StepFailed) string { return r.checkLeft(ev) }

func (r *Run) applyStepFailed(ev *Event, d *StepFailed) {
	f := d.Error
	if f.Node == ev.Node && !r.callOfFailed(ev.Step) { // neither a call's failure nor that of a step inside, which were noted
		r.failed(ev, f.Message, r.step(ev.Step).Retries+1)
	}
	if r.graph.fail(ev.Step, &f, d.Port != "") && r.s.Ending == nil {
		r.s.Ending = &ending{Status: StatusFailed, Failure: f}
	}
	r.endStep(ev.Step, stepFailed)
}

func (r *Run) checkStepCancelled(ev *Event, _ *StepCancelled) string { return r.checkLeft(ev) }

func (r *Run) applyStepCancelled(ev *Event, d *StepCancelled) {
	if d.Run != nil {
		r.s.Ending, r.s.Limit = &ending{Status: StatusCancelled, Reason: d.Run.Reason}, ""
	}
	r.endStep(ev.Step, stepCancelled)
}

func (r *Run) checkStepSkipped(ev *Event, _ *StepSkipped) string { return r.checkLeft(ev) }

func (r *Run) applyStepSkipped(ev *Event, _ *StepSkipped) {
	r.endStep(ev.Step, stepSkipped)
}

// endStep ends a step: its calls that are out are cancelled, its timers and conversations are gone.
func (r *Run) endStep(id int, status stepStatus) {
	st := r.step(id)
	if st.calls > 0 {
		r.dropCalls(func(c *call) bool { return c.Step == id })
	}
	if len(r.s.Timers) > 0 {
		delete(r.s.Timers, stepTimer(id))
	}
	if st.Due {
		st.Due = false
		r.due--
	}
	if st.Agent != nil {
		if r.stepNode(id).Kind == workflow.KindExec {
			r.joinTurn(&st.Agent.Frames[0]) // what was done before it was cut off
		}
		for i := range st.Agent.Frames {
			if c := st.Agent.Frames[i].Conv; c != sharedConv {
				delete(r.s.Convs, c)
			}
		}
	}
	r.graph.end(id, status)
}

func (r *Run) checkStepRetrying(ev *Event, d *StepRetrying) string {
	if c := r.s.Calls[d.Call]; d.Call != "" && (c == nil || c.Step != ev.Step || c.State != callFailed) {
		return "call " + d.Call + " has not failed"
	}
	return r.checkLeft(ev)
}

func (r *Run) applyStepRetrying(ev *Event, d *StepRetrying) {
	st := r.step(ev.Step)
	f := d.Error
	if d.Call == "" && f.Node == ev.Node && !r.callOfFailed(ev.Step) {
		r.failed(ev, f.Message, st.Retries+1)
	}
	st.Retries, st.Last = st.Retries+1, &f
	if r.s.Timers == nil {
		r.s.Timers = map[string]timer{}
	}
	if d.Call != "" {
		r.setCall(r.s.Calls[d.Call], callSleeping)
		r.s.Timers[callTimer(d.Call)] = timer{At: d.Until, Step: ev.Step, Seq: ev.Seq}
		return
	}
	r.dropCalls(func(c *call) bool { return c.Step == ev.Step })
	r.graph.reopen(ev.Step)
	r.s.Timers[stepTimer(ev.Step)] = timer{At: d.Until, Step: ev.Step, Seq: ev.Seq}
}

// failed notes a failed attempt of a run with typed state (S2-78).
func (r *Run) failed(ev *Event, message string, attempt int) {
	if r.plan.root.w.Rules.KeepErrors {
		r.s.Errors = append(r.s.Errors, FailedAttempt{Node: ev.Node, Message: message, At: ev.At, Attempt: attempt})
	}
}

// callOfFailed tells whether a call of the step has just failed.
func (r *Run) callOfFailed(id int) bool {
	if r.step(id).calls == 0 {
		return false
	}
	for _, c := range r.s.Calls {
		if c.Step == id && c.State == callFailed {
			return true
		}
	}
	return false
}

func (r *Run) checkTimerFired(ev *Event, d *TimerFired) string {
	if step, ok := r.timerStep(d.Timer); !ok || step != ev.Step {
		return "timer " + d.Timer + " is not running"
	}
	return ""
}

// timerStep gives the step of a timer that runs.
func (r *Run) timerStep(id string) (int, bool) {
	if t, ok := r.s.Timers[id]; ok {
		return t.Step, true
	}
	t, ok := r.s.Waits.Timer(id)
	return t.Step, ok
}

func (r *Run) applyTimerFired(ev *Event, d *TimerFired) {
	if _, ok := r.s.Timers[d.Timer]; !ok {
		r.s.Waits.Fire(d.Timer)
		return
	}
	delete(r.s.Timers, d.Timer)
	switch {
	case d.Timer == stepTimer(ev.Step):
		r.renew(ev.Step)
	default:
		if c := r.s.Calls[strings.TrimPrefix(d.Timer, "retry:")]; c != nil && c.State == callSleeping {
			r.setCall(c, callDue)
		}
	}
}

// renew makes a step ready to begin anew: an agent with a new conversation, the step's own, whoever it handed over to.
func (r *Run) renew(id int) {
	st, n := r.step(id), r.stepNode(id)
	if effect(n.Kind) && !st.Due {
		st.Due = true
		r.due++
	}
	if n.Kind != workflow.KindAgent || st.Agent == nil {
		return
	}
	old := st.Agent.Frames[st.Agent.Root]
	for i := range st.Agent.Frames {
		st.Agent.Frames[i].Done = true
	}
	st.Agent.Root = len(st.Agent.Frames)
	system := old.System
	if old.Spent != nil {
		system = old.First
	}
	r.openFrame(id, n.Agent.Agent, system, -1)
	if old.Conv != sharedConv {
		r.conv(st.Agent.Frames[st.Agent.Root].Conv, chat.Message{Role: chat.RoleUser, Text: r.graph.stepText(id)})
	}
}
