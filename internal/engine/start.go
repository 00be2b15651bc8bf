package engine

import (
	"fmt"
	"strconv"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/graph"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/text"
	"github.com/hocket-run/hocket/workflow"
)

// limitRounds is the name of a limit that is not a failure code.
const limitRounds = "max_rounds"

// startReady starts every token that may start, in order: first the ready tokens, then the queue.
func (m *machine) startReady() {
	for i := 0; i < len(m.graph.Ready) && m.state.startable(); {
		t := m.graph.Ready[i]
		if !m.mayStart(t) {
			i++
			continue
		}
		m.startToken(t)
		if i < len(m.graph.Ready) && m.graph.Ready[i].ID == t.ID {
			return // a limit stopped it
		}
		if m.mustStop() {
			return
		}
	}
	for len(m.graph.Queued) > 0 && m.state.startable() && m.state.queueMayStart() && m.mayStart(m.graph.Queued[0]) {
		m.startToken(m.graph.Queued[0])
		if _, on := m.state.Waits.Turn(); on {
			return // the queue entry goes first
		}
		if m.mustStop() {
			return
		}
	}
}

// mayStart reports whether a token could start if it were its turn.
func (m *machine) mayStart(t graph.Token) bool {
	return (m.hasFreeSlot() || !loop.Calls(m.graph.FlowIn(t.Scope).Nodes[t.Node].Kind)) && m.graph.MayStart(t)
}

// startToken starts the step of a token, or reaches a limit and leaves the token in place.
func (m *machine) startToken(t graph.Token) {
	sc := m.graph.Scope(t.Scope)
	f := m.graph.FlowIn(t.Scope)
	n := &f.Nodes[t.Node]
	path := m.graph.PathOf(sc.Flow, n.ID)
	if m.state.Limits.MaxRounds > 0 && sc.Flow == 0 && m.graph.Seen[t.Node] {
		m.emit(0, path, &event.LimitReached{Limit: limitRounds, Max: int64(m.state.Limits.MaxRounds),
			Detail: strconv.Itoa(m.graph.Round + 1)})
		if m.graph.Round >= m.state.Limits.MaxRounds {
			m.completeRun()
			return
		}
	}
	// Checked after the rounds: a run whose last round has ended needs no further step. The
	// hand-off to a person is exempt; otherwise a run with no steps left would be handed over
	// forever.
	if most := m.maxSteps(); !n.Hidden && m.graph.Used >= most &&
		(sc.Flow != 0 || n.ID != m.state.plan.root.Workflow.Rules.Handoff) {
		m.limitAt(event.CodeMaxSteps, int64(most), path, t.From)
		return
	}
	if !m.state.roomFor(n, t) {
		// no room for a person to take over
		m.emit(0, path, &event.LimitReached{Limit: event.CodeMaxBytes, Max: m.state.Limits.MaxBytes})
		return
	}
	id := m.graph.Steps.Len() + 1
	d := m.mem.started.alloc(event.StepStarted{
		Tokens: m.mem.tokens.allocSlice(t.ID), Kind: n.Kind, Iteration: m.graph.Flows.Counts(sc.Flow).Of(t.Node) + 1,
		Scope: t.Scope, From: t.From,
	})
	if most := m.state.Limits.LoopIterations(); n.Header && sc.Loops.Of(t.Node) >= most {
		m.emit(id, path, d)
		m.emit(id, path, &event.LimitReached{Limit: event.CodeMaxLoopIterations, Max: int64(most)})
		m.failStep(id,
			event.Failure{Code: event.CodeMaxLoopIterations,
				Message: fmt.Sprintf("workflow: max loop iterations exceeded (step: %s, limit: %d)", plan.LocalID(n.ID),
					most)})
		return
	}
	on, failure, err := m.prepare(n, t, d)
	m.emit(id, path, d)
	if n.Node.If != nil && !m.recordCondition(id, n, on, err) {
		return
	}
	if failure != nil {
		m.failStart(id, *failure)
		return
	}
	m.startStep(id, n)
}

// prepare adds the input and the timeout of the step of a token to d, which records its start. It
// reports whether the condition of the node holds; err is why that is unknown.
func (m *machine) prepare(n *plan.Node, t graph.Token, d *event.StepStarted) (on bool, failure *event.Failure,
	err error) {
	on, err = m.state.holds(n, t)
	switch {
	case n.Kind == workflow.KindAgent:
		if d.Agent = n.Agent.Agent; on {
			failure = m.state.prompt(n, t, d)
		}
	case n.Kind == workflow.KindTool && on:
		failure = m.state.toolArguments(n, t, d)
	case n.Kind == workflow.KindMap && on:
		failure = m.state.mapList(n, t, d)
	case n.Kind == workflow.KindSleep && on:
		failure = m.state.sleepUntil(n, t, m.now, d)
	}
	if on && n.Timeout > 0 {
		d.Expires = new(m.now.Add(time.Duration(n.Timeout)))
	}
	return on, failure, err
}

// StartAgain returns the start of a step as this run would record it at a time, with the input and
// the timeout that its definition has for the step. The run must have folded exactly the events
// before d, which another definition of the workflow may have recorded. It returns a
// *[DivergenceError] if the step would not start.
func (r *Run) StartAgain(d *event.StepStarted, at time.Time) (again *event.StepStarted, err error) {
	defer text.Recover(&err)
	t, ok := r.graph.Waiting(d.Tokens[0])
	if !ok {
		return nil, &DivergenceError{Seq: r.state.Seq + 1, Reason: "the token of the step does not exist"}
	}
	r.now = microseconds(at)
	n := &r.graph.FlowIn(t.Scope).Nodes[t.Node]
	again = &event.StepStarted{Tokens: d.Tokens, Kind: n.Kind, Iteration: d.Iteration, Scope: d.Scope, From: d.From}
	switch on, failure, err := r.prepare(n, t, again); {
	case err != nil:
		return nil, &DivergenceError{Seq: r.state.Seq + 1, Reason: err.Error()}
	case failure != nil:
		return nil, &DivergenceError{Seq: r.state.Seq + 1, Reason: failure.Message}
	case !on:
		return nil, &DivergenceError{Seq: r.state.Seq + 1, Reason: "the condition of the step does not hold"}
	}
	return again, nil
}

// maxSteps returns the maximum number of steps of the run.
func (m *machine) maxSteps() int { return maxSteps(m.state.plan, m.state.Limits, int(m.graph.Started)) }

// maxSteps returns the maximum number of steps of a run of p in which items items of maps have
// started.
func maxSteps(p *Plan, limits *workflow.Limits, items int) int {
	if limits.MaxSteps != nil {
		return *limits.MaxSteps
	}
	most := workflow.DefaultMaxSteps
	if p.root.Loops {
		most = limits.LoopSteps(len(p.root.Nodes))
	}
	return most + workflow.DefaultItemSteps*items
}

// recordCondition records the condition of a step that has started. It returns false if the step
// must not continue.
func (m *machine) recordCondition(id int, n *plan.Node, on bool, err error) bool {
	if err != nil {
		m.failStart(id, event.Failure{Code: event.CodeCondition, Message: err.Error()})
		return false
	}
	m.emitStep(id, m.mem.checked.alloc(event.ConditionChecked{Index: -1, Op: n.Node.If.Op,
		Text: n.Node.If.Text + n.Node.If.Func, Result: on}))
	if !on {
		m.skip(id)
	}
	return on
}

// startStep performs the first action of a step.
func (m *machine) startStep(id int, n *plan.Node) {
	switch n.Kind {
	case workflow.KindStart:
		m.completeStep(id, m.mem.completed.alloc(event.StepCompleted{Same: true}), m.state.plan.out...)
	case workflow.KindSet:
		v, f := m.state.evaluate("value", n.Value, m.state.envOf(id))
		if f != nil {
			m.failStep(id, *f)
			return
		}
		m.completeStep(id, m.mem.completed.alloc(event.StepCompleted{Output: v}), m.state.plan.out...)
	case workflow.KindSleep:
		if !m.state.isAsleep(id) {
			m.completeStep(id, m.mem.completed.alloc(event.StepCompleted{Same: true}), m.state.plan.out...)
		}
	case workflow.KindEnd:
		m.finishAt(id, n)
	case workflow.KindAgent:
		m.ask(id, m.graph.Step(id).Loop.Agent.Root)
	case workflow.KindTool:
		if !m.mayCallTool(id, "") {
			return
		}
		m.emitStep(id, &event.ToolCalled{Call: m.callID(id, 0, 1), Attempt: m.graph.Step(id).Loop.Tries + 1,
			Tool: n.Tool.Tool, Arguments: m.state.Loop.Edited(m.callID(id, 0, 1))})
	case workflow.KindFunc:
		call := m.mem.asked.alloc(event.FuncCalled{Call: m.callID(id, 0, 1), Attempt: m.graph.Step(id).Loop.Tries + 1,
			Func: n.Func.Func})
		m.emitStep(id, call)
		if n.Counter != nil {
			m.applyCounter(id, call.Call, n.Counter)
		}
	case workflow.KindDecide:
		m.decide(id, n)
	case workflow.KindWait:
		m.openWait(id, n)
	case workflow.KindJoin:
		m.failStep(id, event.Failure{Code: event.CodeNoRoute,
			Message: fmt.Sprintf("%q was reached from outside the branches that it joins", n.ID)})
	case workflow.KindFork:
		m.fork(id, n)
	case workflow.KindMap:
		m.beginItems(id)
	case workflow.KindExec:
		m.exec(id)
	case workflow.KindSubflow:
		m.beginFlow(id, n)
	}
}

// finishAt ends the run at an end node, or the sub-flow or branch that contains it.
func (m *machine) finishAt(id int, n *plan.Node) {
	seen := m.state.envOf(id)
	if n.End != nil && n.End.Status == workflow.EndFailed {
		text, f := seen.expand("message", n.Text, seen)
		if f == nil {
			if text == "" {
				text = "the workflow ended as failed at " + n.Title()
			}
			f = &event.Failure{Code: event.CodeEnded, Message: text}
		}
		m.failForGood(id, *f)
		return
	}
	done := &event.StepCompleted{Same: n.Value == nil}
	if n.Value != nil {
		var f *event.Failure
		if done.Output, f = seen.evaluate("output", n.Value, seen); f != nil {
			m.failStep(id, *f)
			return
		}
	}
	m.completeStep(id, done)
	m.endAll(id)
}

// decide evaluates the cases of a decide node.
func (m *machine) decide(id int, n *plan.Node) {
	for i := range n.Decide.Cases {
		c := &n.Decide.Cases[i]
		ok, err := m.state.isTrue(id, &c.When, n.Conditions[i], nil)
		if err != nil {
			m.failStep(id, event.Failure{Code: event.CodeCondition, Message: err.Error()})
			return
		}
		m.emitStep(id,
			m.mem.checked.alloc(event.ConditionChecked{Index: i, Op: c.When.Op, Text: c.When.Text + c.When.Func,
				Result: ok}))
		if ok {
			m.completeStep(id, m.mem.completed.alloc(event.StepCompleted{Same: true}), n.CasePorts[i]...)
			return
		}
	}
	if n.Decide.Else == "" {
		m.failStep(id, event.Failure{Code: event.CodeNoRoute, Message: fmt.Sprintf("no condition of %s holds for %s",
			n.Title(), loop.Brief(m.graph.StepInput(id)))})
		return
	}
	m.completeStep(id, m.mem.completed.alloc(event.StepCompleted{Same: true}), n.ElsePort...)
}
