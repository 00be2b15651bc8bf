package engine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
)

// eventKind is all that the engine knows about an event type, except who creates it: what a stored
// event of that type requires, and how it changes the state (ADR 66).
type eventKind struct {
	fresh func() event.Data
	needs needs
	// check returns why a stored event cannot follow the state, or "" if it can. It only reads.
	// Before it is called, needs was checked, and so was that the event's step, if any, exists and
	// belongs to the event's node.
	check func(s *state, ev *event.Event) string
	// apply changes the state. It cannot fail: check has accepted the event.
	apply func(s *state, ev *event.Event)
}

// needs are preconditions that several types share.
type needs uint8

const (
	needsStep    needs = 1 << iota              // the event belongs to a step
	needsRunning needs = 1<<iota | needsStep    // the step is running
	needsAgent   needs = 1<<iota | needsRunning // the step runs an agent loop
	needsNewStep needs = 1 << iota              // the event starts the next step
	beforeStart  needs = 1 << iota              // the event may precede run.started
	afterEnd     needs = 1 << iota              // the event may follow the end of the run
)

func (n needs) has(of needs) bool { return n&of == of }

// with returns the entry with preconditions n.
func (k eventKind) with(n needs) eventKind {
	k.needs = n
	return k
}

// validateEvent checks a stored event. It returns a *DivergenceError if the event cannot follow the
// state.
func (s *state) validateEvent(ev *event.Event) error {
	if ev.Data == nil {
		return &DivergenceError{Seq: ev.Seq, Reason: "an event without data"}
	}
	if why := s.validate(ev); why != "" {
		return &DivergenceError{Seq: ev.Seq, Reason: string(ev.Data.Type()) + ": " + why}
	}
	return nil
}

// validate returns why a stored event cannot follow the state, or "" if it can. Journals come from
// disk, and a valid checksum does not make a journal sane: assumptions that apply makes about
// events the engine has just created are checked here.
func (s *state) validate(ev *event.Event) string {
	k, known := kinds[ev.Data.Type()]
	_, first := ev.Data.(*event.RunCreated)
	switch {
	case !known:
		return "unknown event"
	case ev.Seq != s.Seq+1:
		return fmt.Sprintf("expected event %d", s.Seq+1)
	case s.Created == nil && !first:
		return "the first event is " + string(ev.Data.Type())
	case s.Status.Ended() && !k.needs.has(afterEnd):
		return "the run has ended"
	case s.Status == event.StatusPending && !k.needs.has(beforeStart):
		return "the run has not started"
	}
	if why := s.validateStep(ev, k.needs); why != "" || k.check == nil {
		return why
	}
	return k.check(s, ev)
}

// validateStep checks the step of an event.
func (s *state) validateStep(ev *event.Event, n needs) string {
	switch last := s.graph.Steps.Len(); {
	case n.has(needsNewStep):
		if ev.Step != last+1 {
			return fmt.Sprintf("expected step %d", last+1)
		}
		return ""
	case ev.Step == 0 && !n.has(needsStep):
		return ""
	case ev.Step < 1 || ev.Step > last:
		return fmt.Sprintf("step %d does not exist", ev.Step)
	}
	switch node := s.graph.NodeID(ev.Step); {
	case ev.Node != node:
		return fmt.Sprintf("step %d is one of node %q, not %q", ev.Step, node, ev.Node)
	case n.has(needsRunning) && s.graph.Step(ev.Step).Status != stepRunning:
		return fmt.Sprintf("step %d has ended", ev.Step)
	case n.has(needsAgent) && s.graph.Step(ev.Step).Loop.Agent == nil:
		return "the step runs no agent"
	}
	return ""
}

// kindOf returns the entry of the event type with data D. check is nil if the preconditions
// suffice.
func kindOf[D any, P interface {
	*D
	event.Data
}](check func(*state, *event.Event, P) string, apply func(*state, *event.Event, P)) eventKind {
	k := eventKind{
		fresh: func() event.Data { return P(new(D)) },
		apply: func(s *state, ev *event.Event) { apply(s, ev, ev.Data.(P)) },
	}
	if check != nil {
		k.check = func(s *state, ev *event.Event) string { return check(s, ev, ev.Data.(P)) }
	}
	return k
}

// ofGraph adapts a check that only needs the graph.
func ofGraph[P event.Data](check func(*runGraph, *event.Event, P) string) func(*state, *event.Event, P) string {
	return func(s *state, ev *event.Event, d P) string { return check(&s.graph, ev, d) }
}

// applyNothing is the apply function of events that change nothing.
func applyNothing[P event.Data](*state, *event.Event, P) {}

// kinds is read-only after initialization. A check or an apply cannot create events, since it
// receives only the state.
var kinds = map[event.Type]eventKind{
	"run.created":        kindOf(checkRunCreated, applyRunCreated).with(beforeStart),
	"run.started":        kindOf(checkRunStarted, applyStatusOnly[*event.RunStarted]).with(beforeStart),
	"run.paused":         kindOf(checkRunPaused, applyRunPaused),
	"run.resumed":        kindOf(checkRunResumed, applyRunResumed).with(afterEnd),
	"run.completed":      kindOf(checkRunCompleted, applyStatusOnly[*event.RunCompleted]),
	"run.failed":         kindOf(nil, applyStatusOnly[*event.RunFailed]).with(beforeStart),
	"run.cancelled":      kindOf(checkRunCancelled, applyStatusOnly[*event.RunCancelled]).with(beforeStart),
	"run.cancelling":     kindOf(checkRunCancelling, applyRunCancelling),
	"step.started":       kindOf(ofGraph((*runGraph).CheckStepStarted), applyStepStarted).with(needsNewStep),
	"step.retrying":      kindOf(checkStepRetrying, applyStepRetrying).with(needsRunning),
	"step.completed":     kindOf(checkStepCompleted, applyStepCompleted).with(needsRunning),
	"step.failed":        kindOf(checkEnds[*event.StepFailed], applyStepFailed).with(needsRunning),
	"step.cancelled":     kindOf(checkEnds[*event.StepCancelled], applyStepCancelled).with(needsRunning),
	"step.skipped":       kindOf(checkEnds[*event.StepSkipped], applyStepSkipped).with(needsRunning),
	"edge.taken":         kindOf(ofGraph((*runGraph).CheckEdgeTaken), applyEdgeTaken),
	"model.called":       kindOf(checkLoop(loop.CheckModelCalled), applyModelCalled).with(needsRunning),
	"model.replied":      kindOf(checkLoop(loop.CheckModelReplied), applyModelReplied).with(needsStep),
	"model.failed":       kindOf(checkLoop(loop.CheckModelFailed), applyModelFailed).with(needsStep),
	"tool.called":        kindOf(checkLoop(loop.CheckToolCalled), applyToolCalled).with(needsRunning),
	"tool.returned":      kindOf(checkLoop(loop.CheckToolReturned), applyToolReturned).with(needsStep),
	"tool.failed":        loopKind(loop.CheckToolFailed, loop.ApplyToolFailed).with(needsStep),
	"tools.pinned":       kindOf(nil, applyNothing[*event.ToolsPinned]),
	"func.called":        kindOf(checkLoop(loop.CheckFuncCalled), applyFuncCalled).with(needsRunning),
	"func.returned":      kindOf(checkFuncReturned, applyFuncReturned).with(needsStep),
	"func.noted":         loopKind(loop.CheckFuncNoted, loop.ApplyFuncNoted),
	"subagent.started":   loopKind(loop.CheckSubagentStarted, loop.ApplySubagentStarted).with(needsAgent),
	"subagent.completed": loopKind(loop.CheckSubagentCompleted, loop.ApplySubagentCompleted).with(needsAgent),
	"subagent.failed":    loopKind(loop.CheckSubagentFailed, loop.ApplySubagentFailed).with(needsAgent),
	"agent.handed":       loopKind(loop.CheckAgentHanded, loop.ApplyAgentHanded).with(needsAgent),
	"agent.compacted":    loopKind(loop.CheckCompacted, loop.ApplyCompacted).with(needsAgent),
	"condition.checked":  kindOf(nil, applyNothing[*event.ConditionChecked]).with(needsRunning),
	"wait.opened":        kindOf(checkWaitOpened, applyWaitOpened).with(needsRunning),
	"wait.answered":      kindOf(checkWaitAnswered, applyWaitAnswered),
	"wait.reminded":      kindOf(checkWaitReminded, applyNothing[*event.WaitReminded]),
	"wait.closed":        kindOf(checkWaitClosed, applyWaitClosed),
	"signal.received":    kindOf(nil, applySignalReceived),
	"signal.raised":      kindOf(nil, applyNothing[*event.SignalRaised]),
	"limit.reached":      kindOf(checkLimitReached, applyLimitReached),
	"timer.fired":        kindOf(checkTimerFired, applyTimerFired),
	"child.started":      kindOf(checkChildStarted, applyChildStarted),
	"call.used":          kindOf(checkCallUsed, applyCallUsed),
	"call.reserved":      kindOf(checkCallReserved, applyCallReserved),
}

// Types returns all event types that this version knows, sorted. The caller owns the slice.
func Types() []event.Type { return slices.Sorted(maps.Keys(kinds)) }

// NewData returns an empty value of the event type t, or false if this version does not know t.
func NewData(t event.Type) (event.Data, bool) {
	k, ok := kinds[t]
	if !ok {
		return nil, false
	}
	return k.fresh(), true
}
