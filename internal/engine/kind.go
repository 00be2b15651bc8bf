package engine

import (
	"maps"
	"slices"
	"strconv"
)

// kind is all that the engine knows of an event type beside who makes it: what a stored event of it needs, and what one does to the state (ADR 66). Types without check and apply
// are still checked by fits and applied by applyData.
type kind struct {
	fresh func() Data
	needs needs
	// check tells why a stored event cannot follow the state; "" where it can. It reads only. That the event's step exists, where it has one, and is one of its node was checked
	// before, and so was needs.
	check func(r *Run, ev *Event) string
	// apply changes the state. It cannot fail: check accepts the event.
	apply func(r *Run, ev *Event)
}

// needs are preconditions that several types share.
type needs uint8

const (
	needsStep    needs = 1 << iota              // the event belongs to a step
	needsRunning needs = 1<<iota | needsStep    // the step is running
	needsAgent   needs = 1<<iota | needsRunning // the step runs an agent loop
)

// with gives the entry with preconditions.
func (k kind) with(n needs) kind {
	k.needs = n
	return k
}

// doubt tells why a stored event cannot follow the state; "" where it can.
func (k kind) doubt(r *Run, ev *Event) string {
	switch {
	case k.needs != 0 && ev.Step == 0:
		return "step 0 does not exist"
	case k.needs&^needsStep != 0 && r.step(ev.Step).Status != stepRunning:
		return "step " + strconv.Itoa(ev.Step) + " has ended"
	case k.needs == needsAgent && r.step(ev.Step).Agent == nil:
		return "the step runs no agent"
	}
	return k.check(r, ev)
}

// kindOf makes the entry of the event type with data D.
func kindOf[D any, P interface {
	*D
	Data
}](check func(*Run, *Event, P) string, apply func(*Run, *Event, P)) kind {
	return kind{
		fresh: func() Data { return P(new(D)) },
		check: func(r *Run, ev *Event) string { return check(r, ev, ev.Data.(P)) },
		apply: func(r *Run, ev *Event) { apply(r, ev, ev.Data.(P)) },
	}
}

// nothing is the apply of events that change nothing.
func nothing[P Data](*Run, *Event, P) {}

// kinds is never written after start. That no check and no apply makes events is proved by the compiler: emit reads this table, so the table would refer to itself.
var kinds = map[Type]kind{
	"run.created":        {fresh: func() Data { return new(RunCreated) }},
	"run.started":        {fresh: func() Data { return new(RunStarted) }},
	"run.paused":         {fresh: func() Data { return new(RunPaused) }},
	"run.resumed":        {fresh: func() Data { return new(RunResumed) }},
	"run.completed":      {fresh: func() Data { return new(RunCompleted) }},
	"run.failed":         {fresh: func() Data { return new(RunFailed) }},
	"run.cancelled":      {fresh: func() Data { return new(RunCancelled) }},
	"run.cancelling":     {fresh: func() Data { return new(RunCancelling) }},
	"step.started":       {fresh: func() Data { return new(StepStarted) }},
	"step.retrying":      {fresh: func() Data { return new(StepRetrying) }},
	"step.completed":     {fresh: func() Data { return new(StepCompleted) }},
	"step.failed":        {fresh: func() Data { return new(StepFailed) }},
	"step.cancelled":     {fresh: func() Data { return new(StepCancelled) }},
	"step.skipped":       {fresh: func() Data { return new(StepSkipped) }},
	"edge.taken":         {fresh: func() Data { return new(EdgeTaken) }},
	"model.called":       kindOf((*Run).checkModelCalled, (*Run).applyModelCalled).with(needsRunning),
	"model.replied":      kindOf((*Run).checkModelReplied, (*Run).applyModelReplied).with(needsStep),
	"model.failed":       kindOf((*Run).checkModelFailed, (*Run).applyModelFailed).with(needsStep),
	"tool.called":        kindOf((*Run).checkToolCalled, (*Run).applyToolCalled).with(needsRunning),
	"tool.returned":      kindOf((*Run).checkToolReturned, (*Run).applyToolReturned).with(needsStep),
	"tool.failed":        kindOf((*Run).checkToolFailed, (*Run).applyToolFailed).with(needsStep),
	"tools.pinned":       {fresh: func() Data { return new(ToolsPinned) }},
	"func.called":        kindOf((*Run).checkFuncCalled, (*Run).applyFuncCalled).with(needsRunning),
	"func.returned":      kindOf((*Run).checkFuncReturned, (*Run).applyFuncReturned).with(needsStep),
	"func.noted":         kindOf((*Run).checkFuncNoted, (*Run).applyFuncNoted),
	"subagent.started":   kindOf((*Run).checkSubagentStarted, (*Run).applySubagentStarted).with(needsAgent),
	"subagent.completed": kindOf((*Run).checkSubagentCompleted, (*Run).applySubagentCompleted).with(needsAgent),
	"subagent.failed":    kindOf((*Run).checkSubagentFailed, (*Run).applySubagentFailed).with(needsAgent),
	"agent.handed":       kindOf((*Run).checkAgentHanded, (*Run).applyAgentHanded).with(needsAgent),
	"condition.checked":  {fresh: func() Data { return new(ConditionChecked) }},
	"wait.opened":        kindOf((*Run).checkWaitOpened, (*Run).applyWaitOpened),
	"wait.answered":      kindOf((*Run).checkWaitAnswered, (*Run).applyWaitAnswered),
	"wait.reminded":      kindOf((*Run).checkWaitReminded, nothing[*WaitReminded]),
	"wait.closed":        kindOf((*Run).checkWaitClosed, (*Run).applyWaitClosed),
	"signal.raised":      {fresh: func() Data { return new(SignalRaised) }},
	"limit.reached":      {fresh: func() Data { return new(LimitReached) }},
	"timer.fired":        kindOf((*Run).checkTimerFired, (*Run).applyTimerFired),
	"child.started":      kindOf((*Run).checkChildStarted, (*Run).applyChildStarted),
	"call.used":          kindOf((*Run).checkCallUsed, (*Run).applyCallUsed),
	"call.reserved":      kindOf((*Run).checkCallReserved, (*Run).applyCallReserved),
}

// Types gives all event types that this version knows, sorted. The slice is the caller's.
func Types() []Type { return slices.Sorted(maps.Keys(kinds)) }

// NewData gives an empty value of the event type t, or false where this version does not know t.
func NewData(t Type) (Data, bool) {
	k, ok := kinds[t]
	if !ok {
		return nil, false
	}
	return k.fresh(), true
}
