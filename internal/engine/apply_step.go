package engine

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/prompt"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/workflow"
)

// checkLeft tells why a step can neither end nor begin anew.
func (r *Run) checkLeft(ev *Event) string {
	st := r.step(ev.Step)
	if st.Wait != "" {
		if w := r.s.Waits.Get(st.Wait); w != nil && w.IsOpen() {
			return "wait " + st.Wait + " is open"
		}
	}
	if st.Block != nil {
		inside := func(id int) bool { return slices.Contains(st.Block.Scopes, r.step(id).Scope) }
		if i := slices.IndexFunc(r.s.Running, inside); i >= 0 {
			return "step " + strconv.Itoa(r.s.Running[i]) + " inside of it has not ended"
		}
	}
	return ""
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
	if err := r.stateAt(st.Scope).Check(d.Update, d.Edits); err != nil {
		return err.Error()
	}
	return ""
}

func (r *Run) applyStepCompleted(ev *Event, d *StepCompleted) {
	st, sc, n := r.step(ev.Step), r.stepScope(ev.Step), r.stepNode(ev.Step)
	if n.Agent != nil && r.speaker(ev.Step) != n.Agent.Agent {
		st.By = r.speaker(ev.Step)
	}
	changes := r.changesOf(ev.Step, d)
	st.Output, st.Goto = r.outputOf(ev.Step, d), r.gotoOf(ev.Step, d)
	st.Status, sc.Last = stepCompleted, ev.Step
	if r.plan.root.w.Rules.RecordsAttempts() && !d.Same {
		r.s.Updated = ev.At
	}
	r.approvalsBelow(ev.Step)
	if n.Kind == workflow.KindEnd {
		r.dropTokens([]int{st.Scope})
	}
	if hasOutput(n.Kind) {
		sc.record(n.idx, ev.Step, r.counts(sc.Flow).of(n.idx) == 1)
	}
	sc.State = sc.State.With(changes)
	for _, c := range changes {
		if sc.Writes == nil {
			sc.Writes = map[string]write{}
		}
		sc.Writes[c.Field] = write{Value: c.Value, Node: r.writer(ev.Step, c.Field)}
	}
	r.endStep(ev.Step)
}

func (r *Run) checkStepFailed(ev *Event, _ *StepFailed) string { return r.checkLeft(ev) }

func (r *Run) applyStepFailed(ev *Event, d *StepFailed) {
	st, sc, f := r.step(ev.Step), r.stepScope(ev.Step), d.Error
	st.Status = stepFailed
	if f.Node == ev.Node && !r.callOfFailed(ev.Step) { // neither a call's failure nor that of a step inside, which were noted
		r.failed(ev, f.Message, st.Retries+1)
	}
	switch {
	case d.Port != "":
		st.Output = outputFrom(f.Value())
	case sc.Failed == nil:
		sc.Failed = &f
		if sc.Owner > 0 {
			r.dropTokens([]int{st.Scope}) // nothing new starts in a branch that failed
		} else if r.s.Ending == nil {
			r.s.Ending = &ending{Status: StatusFailed, Failure: f}
		}
	}
	r.endStep(ev.Step)
}

func (r *Run) checkStepCancelled(ev *Event, _ *StepCancelled) string { return r.checkLeft(ev) }

func (r *Run) applyStepCancelled(ev *Event, d *StepCancelled) {
	r.step(ev.Step).Status = stepCancelled
	if d.Run != nil {
		r.s.Ending, r.s.Limit = &ending{Status: StatusCancelled, Reason: d.Run.Reason}, ""
	}
	r.endStep(ev.Step)
}

func (r *Run) checkStepSkipped(ev *Event, _ *StepSkipped) string { return r.checkLeft(ev) }

func (r *Run) applyStepSkipped(ev *Event, _ *StepSkipped) {
	r.step(ev.Step).Status = stepSkipped
	r.endStep(ev.Step)
}

// endStep takes a step out of what is alive: its calls that are still out are cancelled, its timers are gone, its branches are dead.
func (r *Run) endStep(id int) {
	st := r.step(id)
	if i := slices.Index(r.s.Running, id); i >= 0 {
		r.s.Running = slices.Delete(r.s.Running, i, i+1)
	}
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
	st.Seen, st.View, st.Notes, st.given, st.changed = nil, typed.State{}, nil, nil, nil
	if st.Block != nil {
		r.killScopes(st.Block.Scopes)
		st.Block.Base, st.Block.View = nil, typed.State{}
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
		st.Agent = nil
	}
	r.scope(st.Scope).Live--
	r.idle(st.Scope)
}

// killScopes drops the tokens of scopes in which nothing may happen any more, and what they saw: a loop around them would keep the state once for each of
// its passes (P6).
func (r *Run) killScopes(ids []int) {
	r.dropTokens(ids)
	for _, id := range ids {
		sc := r.scope(id)
		sc.Dead, sc.Live = true, 0
		sc.Base, sc.Writes, sc.State, sc.context = nil, nil, typed.State{}, prompt.Context{}
	}
}

func (r *Run) dropTokens(scopes []int) {
	dead := func(t token) bool {
		if !slices.Contains(scopes, t.Scope) {
			return false
		}
		sc := r.scope(t.Scope)
		sc.Live--
		if isFreeJoin(&r.flows[sc.Flow].nodes[t.Node]) {
			r.s.Parked--
		}
		return true
	}
	r.s.Ready = slices.DeleteFunc(r.s.Ready, dead)
	r.s.Held = slices.DeleteFunc(r.s.Held, dead)
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
	if st.Block != nil {
		r.killScopes(st.Block.Scopes)
		st.Block.Scopes, st.Block.settled = nil, 0
		if r.stepNode(ev.Step).Kind == workflow.KindSubflow {
			r.openFlow(ev.Step)
		}
	}
	r.s.Timers[stepTimer(ev.Step)] = timer{At: d.Until, Step: ev.Step, Seq: ev.Seq}
}

// failed notes a failed attempt of a run with typed state (S2-78).
func (r *Run) failed(ev *Event, message string, attempt int) {
	if r.plan.root.w.Rules.RecordsAttempts() {
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
		r.conv(st.Agent.Frames[st.Agent.Root].Conv, chat.Message{Role: chat.RoleUser, Text: r.stepText(id)})
	}
}
