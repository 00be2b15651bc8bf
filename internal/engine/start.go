package engine

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/graph"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/text"
	"github.com/hocket-run/hocket/workflow"
)

// limitRounds is the name of a limit that is not a failure code.
const limitRounds = "max_rounds"

// starter decides which tokens start steps, and what a step does first. Other types decide what
// follows from the end of a step.
type starter struct {
	*recorder
	end    starterEnd
	steps  starterSteps
	blocks starterBlocks
	agents starterAgents
	budget starterBudget
	people interface{ openWait(step int, n *plan.Node) }
	// calls applies the result of a counter call that has just been recorded.
	calls interface {
		applyCounter(step int, key string, c *Counter)
	}
}

// starterEnd ends the run.
type starterEnd interface {
	// limitAt ends the run because a step reached a limit, or hands it over to a person.
	limitAt(code string, most int64, path string, from int)
	complete() // completes the run with its output
}

// starterSteps ends steps.
type starterSteps interface {
	complete(step int, d *StepCompleted, ports ...string)
	failStep(step int, f Failure)
	// failStart fails a step whose condition or input could not be evaluated.
	failStart(step int, f Failure)
	// endAll cancels whatever else runs in the scope of a step.
	endAll(step int)
	failForGood(step int, f Failure)
	skip(step int)
}

// starterBlocks starts steps that contain others.
type starterBlocks interface {
	fork(step int, n *plan.Node)
	beginFlow(step int, n *plan.Node)
	beginItems(step int)
}

// starterAgents makes the first call of a step that runs an agent loop.
type starterAgents interface {
	ask(step, frame int, added ...chat.Message)
	exec(step int)
}

// starterBudget limits calls.
type starterBudget interface {
	// hasFreeSlot reports whether one more step may have calls in flight.
	hasFreeSlot() bool
	mayCallTool(step int, key string) bool
}

// startReady starts every token that may start, in order: first the ready tokens, then the queue.
func (s *starter) startReady() {
	for i := 0; i < len(s.graph.Ready) && s.state.startable(); {
		t := s.graph.Ready[i]
		if !s.mayStart(t) {
			i++
			continue
		}
		s.startToken(t)
		if i < len(s.graph.Ready) && s.graph.Ready[i].ID == t.ID {
			return // a limit stopped it
		}
		if s.mustStop() {
			return
		}
	}
	for len(s.graph.Queued) > 0 && s.state.startable() && s.state.queueMayStart() && s.mayStart(s.graph.Queued[0]) {
		s.startToken(s.graph.Queued[0])
		if _, on := s.state.Waits.Turn(); on {
			return // the queue entry goes first
		}
		if s.mustStop() {
			return
		}
	}
}

// mayStart reports whether a token could start if it were its turn.
func (s *starter) mayStart(t graph.Token) bool {
	return (s.budget.hasFreeSlot() || !loop.Calls(s.graph.FlowIn(t.Scope).Nodes[t.Node].Kind)) && s.graph.MayStart(t)
}

// Calls is an alias of [loop.Calls].
func Calls(k workflow.Kind) bool { return loop.Calls(k) }

// startToken starts the step of a token, or reaches a limit and leaves the token in place.
func (s *starter) startToken(t graph.Token) {
	sc := s.graph.Scope(t.Scope)
	f := s.graph.FlowIn(t.Scope)
	n := &f.Nodes[t.Node]
	path := s.graph.PathOf(sc.Flow, n.ID)
	if s.state.Limits.MaxRounds > 0 && sc.Flow == 0 && s.graph.Seen[t.Node] {
		s.emit(0, path, &LimitReached{Limit: limitRounds, Max: int64(s.state.Limits.MaxRounds),
			Detail: strconv.Itoa(s.graph.Round + 1)})
		if s.graph.Round >= s.state.Limits.MaxRounds {
			s.end.complete()
			return
		}
	}
	// Checked after the rounds: a run whose last round has ended needs no further step. The
	// hand-off to a person is exempt; otherwise a run with no steps left would be handed over
	// forever.
	if most := s.maxSteps(); !n.Hidden && s.graph.Used >= most &&
		(sc.Flow != 0 || n.ID != s.state.plan.root.Workflow.Rules.Handoff) {
		s.end.limitAt(CodeMaxSteps, int64(most), path, t.From)
		return
	}
	if !(viewer{&s.state}).roomFor(n, t) {
		// no room for a person to take over
		s.emit(0, path, &LimitReached{Limit: CodeMaxBytes, Max: s.state.Limits.MaxBytes})
		return
	}
	id := s.graph.Steps.Len() + 1
	d := s.mem.started.alloc(StepStarted{
		Tokens: s.mem.tokens.allocSlice(t.ID), Kind: n.Kind, Iteration: s.graph.Flows.Counts(sc.Flow).Of(t.Node) + 1,
		Scope: t.Scope, From: t.From,
	})
	if most := s.state.Limits.LoopIterations(); n.Header && sc.Loops.Of(t.Node) >= most {
		s.emit(id, path, d)
		s.emit(id, path, &LimitReached{Limit: CodeMaxLoopIterations, Max: int64(most)})
		s.steps.failStep(id,
			Failure{Code: CodeMaxLoopIterations,
				Message: fmt.Sprintf("workflow: max loop iterations exceeded (step: %s, limit: %d)", plan.LocalID(n.ID),
					most)})
		return
	}
	on, failure, err := s.prepare(n, t, d)
	s.emit(id, path, d)
	if n.Node.If != nil && !s.recordCondition(id, n, on, err) {
		return
	}
	if failure != nil {
		s.steps.failStart(id, *failure)
		return
	}
	s.startStep(id, n)
}

// prepare adds the input and the timeout of the step of a token to d, which records its start. It
// reports whether the condition of the node holds; err is why that is unknown.
func (s *starter) prepare(n *plan.Node, t graph.Token, d *StepStarted) (on bool, failure *Failure, err error) {
	on, err = viewer{&s.state}.holds(n, t)
	switch {
	case n.Kind == workflow.KindAgent:
		if d.Agent = n.Agent.Agent; on {
			failure = viewer{&s.state}.prompt(n, t, d)
		}
	case n.Kind == workflow.KindTool && on:
		failure = viewer{&s.state}.toolArguments(n, t, d)
	case n.Kind == workflow.KindMap && on:
		failure = viewer{&s.state}.mapList(n, t, d)
	case n.Kind == workflow.KindSleep && on:
		failure = viewer{&s.state}.sleepUntil(n, t, s.now, d)
	}
	if on && n.Timeout > 0 {
		d.Expires = new(s.now.Add(time.Duration(n.Timeout)))
	}
	return on, failure, err
}

// StartAgain returns the start of a step as this run would record it at a time, with the input and
// the timeout that its definition has for the step. The run must have folded exactly the events
// before d, which another definition of the workflow may have recorded. It returns a
// *[DivergenceError] if the step would not start.
func (r *Run) StartAgain(d *StepStarted, at time.Time) (again *StepStarted, err error) {
	defer text.Recover(&err)
	t, ok := r.graph.Waiting(d.Tokens[0])
	if !ok {
		return nil, &DivergenceError{Seq: r.state.Seq + 1, Reason: "the token of the step does not exist"}
	}
	r.now = microseconds(at)
	n := &r.graph.FlowIn(t.Scope).Nodes[t.Node]
	again = &StepStarted{Tokens: d.Tokens, Kind: n.Kind, Iteration: d.Iteration, Scope: d.Scope, From: d.From}
	switch on, failure, err := r.starter.prepare(n, t, again); {
	case err != nil:
		return nil, &DivergenceError{Seq: r.state.Seq + 1, Reason: err.Error()}
	case failure != nil:
		return nil, &DivergenceError{Seq: r.state.Seq + 1, Reason: failure.Message}
	case !on:
		return nil, &DivergenceError{Seq: r.state.Seq + 1, Reason: "the condition of the step does not hold"}
	}
	return again, nil
}

// maxSteps returns the maximum number of steps of the run. The default is raised where a loop needs
// more, which ends by a limit of its own (S4-9).
func (s *starter) maxSteps() int {
	if s.state.Limits.MaxSteps != nil {
		return *s.state.Limits.MaxSteps
	}
	most := workflow.DefaultMaxSteps
	if root := s.state.plan.root; root.Loops {
		passes := min(s.state.Limits.LoopIterations(), math.MaxInt32/len(root.Nodes)-1) + 1 // the last one fails
		most = max(most, passes*len(root.Nodes))
	}
	return most + workflow.DefaultItemSteps*int(s.graph.Started)
}

// recordCondition records the condition of a step that has started. It returns false if the step
// must not continue.
func (s *starter) recordCondition(id int, n *plan.Node, on bool, err error) bool {
	if err != nil {
		s.steps.failStart(id, Failure{Code: CodeCondition, Message: err.Error()})
		return false
	}
	s.emitStep(id, s.mem.checked.alloc(ConditionChecked{Index: -1, Op: n.Node.If.Op,
		Text: n.Node.If.Text + n.Node.If.Func, Result: on}))
	if !on {
		s.steps.skip(id)
	}
	return on
}

// startStep performs the first action of a step.
func (s *starter) startStep(id int, n *plan.Node) {
	switch n.Kind {
	case workflow.KindStart:
		s.steps.complete(id, s.mem.completed.alloc(StepCompleted{Same: true}), s.state.plan.out...)
	case workflow.KindSet:
		v, f := viewer{&s.state}.evaluate("value", n.Value, viewer{&s.state}.envOf(id))
		if f != nil {
			s.steps.failStep(id, *f)
			return
		}
		s.steps.complete(id, s.mem.completed.alloc(StepCompleted{Output: v}), s.state.plan.out...)
	case workflow.KindSleep:
		if !s.state.Loop.IsAsleep(id) {
			s.steps.complete(id, s.mem.completed.alloc(StepCompleted{Same: true}), s.state.plan.out...)
		}
	case workflow.KindEnd:
		s.finishAt(id, n)
	case workflow.KindAgent:
		s.agents.ask(id, s.graph.Step(id).Loop.Agent.Root)
	case workflow.KindTool:
		if !s.budget.mayCallTool(id, "") {
			return
		}
		s.emitStep(id, &ToolCalled{Call: s.callID(id, 0, 1), Attempt: s.graph.Step(id).Loop.Tries + 1,
			Tool: n.Tool.Tool, Arguments: s.state.Loop.Edited(s.callID(id, 0, 1))})
	case workflow.KindFunc:
		call := s.mem.asked.alloc(FuncCalled{Call: s.callID(id, 0, 1), Attempt: s.graph.Step(id).Loop.Tries + 1,
			Func: n.Func.Func})
		s.emitStep(id, call)
		if n.Counter != nil {
			s.calls.applyCounter(id, call.Call, n.Counter)
		}
	case workflow.KindDecide:
		s.decide(id, n)
	case workflow.KindWait:
		s.people.openWait(id, n)
	case workflow.KindJoin:
		s.steps.failStep(id, Failure{Code: CodeNoRoute,
			Message: fmt.Sprintf("%q was reached from outside the branches that it joins", n.ID)})
	case workflow.KindFork:
		s.blocks.fork(id, n)
	case workflow.KindMap:
		s.blocks.beginItems(id)
	case workflow.KindExec:
		s.agents.exec(id)
	case workflow.KindSubflow:
		s.blocks.beginFlow(id, n)
	}
}

// finishAt ends the run at an end node, or the sub-flow or branch that contains it.
func (s *starter) finishAt(id int, n *plan.Node) {
	seen := viewer{&s.state}.envOf(id)
	if n.End != nil && n.End.Status == workflow.EndFailed {
		text, f := seen.expand("message", n.Text, seen)
		if f == nil {
			if text == "" {
				text = "the workflow ended as failed at " + n.Title()
			}
			f = &Failure{Code: CodeEnded, Message: text}
		}
		s.steps.failForGood(id, *f)
		return
	}
	done := &StepCompleted{Same: n.Value == nil}
	if n.Value != nil {
		var f *Failure
		if done.Output, f = seen.evaluate("output", n.Value, seen); f != nil {
			s.steps.failStep(id, *f)
			return
		}
	}
	s.steps.complete(id, done)
	s.steps.endAll(id)
}

// decide evaluates the cases of a decide node.
func (s *starter) decide(id int, n *plan.Node) {
	for i := range n.Decide.Cases {
		c := &n.Decide.Cases[i]
		ok, err := viewer{&s.state}.isTrue(id, &c.When, n.Conditions[i], nil)
		if err != nil {
			s.steps.failStep(id, Failure{Code: CodeCondition, Message: err.Error()})
			return
		}
		s.emitStep(id,
			s.mem.checked.alloc(ConditionChecked{Index: i, Op: c.When.Op, Text: c.When.Text + c.When.Func, Result: ok}))
		if ok {
			s.steps.complete(id, s.mem.completed.alloc(StepCompleted{Same: true}), n.CasePorts[i]...)
			return
		}
	}
	if n.Decide.Else == "" {
		s.steps.failStep(id, Failure{Code: CodeNoRoute, Message: fmt.Sprintf("no condition of %s holds for %s",
			n.Title(), loop.Brief(s.graph.StepInput(id)))})
		return
	}
	s.steps.complete(id, s.mem.completed.alloc(StepCompleted{Same: true}), n.ElsePort...)
}
