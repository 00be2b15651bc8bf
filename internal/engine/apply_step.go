package engine

import (
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/prompt"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/workflow"
)

func (r *Run) applyStepStarted(ev *Event, d *StepStarted) error {
	if ev.Step != r.s.Steps.len()+1 {
		return r.diverge(ev, "expected step %d", r.s.Steps.len()+1)
	}
	if d.Scope < 0 || d.Scope >= len(r.s.Scopes) {
		return r.diverge(ev, "scope %d does not exist", d.Scope)
	}
	sc := r.scope(d.Scope)
	f := r.flows[sc.Flow]
	st := step{Node: -1, Scope: d.Scope, Iter: d.Iteration, From: d.From, Input: d.Input}
	for _, id := range d.Tokens {
		t, ok := r.take(id)
		if !ok || t.Scope != d.Scope {
			return r.diverge(ev, "token %d does not exist", id)
		}
		st.Node, st.Group = t.Node, t.Group
		st.Approval = r.laterApproval(st.Approval, r.approvalAt(t.From))
	}
	if st.Node < 0 || st.Node >= len(f.nodes) || f.nodes[st.Node].Kind != d.Kind {
		return r.diverge(ev, "node %q does not match", ev.Node)
	}
	n := &f.nodes[st.Node]
	sc.Live += 1 - len(d.Tokens)
	sc.Started = true
	ran := r.counts(sc.Flow)
	ran.set(st.Node, ran.of(st.Node)+1, len(f.nodes))
	if n.header {
		sc.Loops.set(st.Node, sc.Loops.of(st.Node)+1, len(f.nodes))
	}
	if !n.Hidden {
		r.s.Used++
	}
	if r.s.Limits.MaxRounds > 0 && sc.Flow == 0 {
		if r.s.Seen == nil {
			r.s.Seen = map[int]bool{}
		}
		r.s.Seen[st.Node] = true
	}
	if err := r.applyPrompt(ev.Step, n, d); err != nil {
		return r.diverge(ev, "%v", err)
	}
	r.s.Steps.add(st)
	r.s.Running = append(r.s.Running, ev.Step)
	p := r.step(ev.Step)
	switch n.Kind {
	case workflow.KindAgent:
		r.openFrame(ev.Step, n.Agent.Agent, d.System, -1)
		if n.Agent.Prompt.Mode != workflow.PromptShared {
			r.conv(p.Agent.Frames[0].Conv, chat.Message{Role: chat.RoleUser, Text: r.stepText(ev.Step)})
		}
	case workflow.KindExec:
		r.openExec(ev.Step, d.From)
	case workflow.KindFunc:
		p.Seen, p.View = r.seen(d.Scope), r.stateAt(d.Scope)
	case workflow.KindFork:
		p.Block = &block{Base: r.seen(d.Scope), View: r.stateAt(d.Scope)}
	case workflow.KindSubflow:
		p.Block = &block{}
		r.openFlow(ev.Step)
	}
	return nil
}

// take removes a token from where it waits. The first token taken from the queue of a draining run begins that entry's turn (D18).
func (r *Run) take(id int) (token, bool) {
	for i, t := range r.s.Ready {
		if t.ID == id {
			if isFreeJoin(&r.flows[r.scope(t.Scope).Flow].nodes[t.Node]) {
				r.s.Parked--
			}
			switch {
			case len(r.s.Ready) == 1:
				r.s.Ready = r.s.Ready[:0]
			case i == 0:
				r.s.Ready = r.s.Ready[1:]
			default:
				r.s.Ready = slices.Delete(r.s.Ready, i, i+1)
			}
			return t, true
		}
	}
	for i, t := range r.s.Held {
		if t.ID == id {
			r.s.Held = slices.Delete(r.s.Held, i, i+1)
			t.Group = t.ID
			r.s.Drain.Group = t.ID
			return t, true
		}
	}
	return token{}, false
}

func (r *Run) applyStep(ev *Event) error {
	st, sc := r.step(ev.Step), r.stepScope(ev.Step)
	n := r.stepNode(ev.Step)
	if st.Status != stepRunning {
		return r.diverge(ev, "step %d has ended", ev.Step)
	}
	switch d := ev.Data.(type) {
	case *StepRetrying:
		return r.applyRetrying(ev, d)
	case *StepCompleted:
		if n.Agent != nil && r.speaker(ev.Step) != n.Agent.Agent {
			st.By = r.speaker(ev.Step)
		}
		changes, err := r.changesOf(ev.Step, d)
		if err != nil {
			return r.diverge(ev, "%v", err)
		}
		out := r.outputOf(ev.Step, d)
		st.Status, st.Goto = stepCompleted, r.gotoOf(ev.Step, d)
		if r.plan.root.w.Rules.RecordsAttempts() && !d.Same {
			r.s.Updated = ev.At
		}
		st.Output = out
		sc.Last = ev.Step
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
	case *StepFailed:
		st.Status = stepFailed
		if d.Error.Node == ev.Node && !r.callOfFailed(ev.Step) { // neither a call's failure nor that of a step inside, which were noted
			r.failed(ev, d.Error.Message, st.Retries+1)
		}
		f := d.Error
		if d.Port != "" {
			st.Output = outputFrom(f.Value())
		} else if sc.Failed == nil {
			sc.Failed = &f
			switch {
			case sc.Owner > 0:
				r.dropTokens([]int{st.Scope}) // nothing new starts in a branch that failed
			case r.s.Ending == nil:
				r.s.Ending = &ending{Status: StatusFailed, Failure: f}
			}
		}
	case *StepCancelled:
		st.Status = stepCancelled
		if d.Run != nil {
			r.s.Ending, r.s.Limit = &ending{Status: StatusCancelled, Reason: d.Run.Reason}, ""
		}
	case *StepSkipped:
		st.Status = stepSkipped
	}
	r.endStep(ev.Step)
	return nil
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

func (r *Run) applyRetrying(ev *Event, d *StepRetrying) error {
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
		c := r.s.Calls[d.Call]
		if c == nil {
			return r.diverge(ev, "call %s does not exist", d.Call)
		}
		r.setCall(c, callSleeping)
		r.s.Timers[callTimer(d.Call)] = timer{At: d.Until, Step: ev.Step, Seq: ev.Seq}
		return nil
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
	return nil
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
	if t, ok := r.s.Timers[d.Timer]; !ok || t.Step != ev.Step {
		return "timer " + d.Timer + " is not running"
	}
	return ""
}

func (r *Run) applyTimerFired(ev *Event, d *TimerFired) {
	t := r.s.Timers[d.Timer]
	delete(r.s.Timers, d.Timer)
	switch {
	case t.Deadline:
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
