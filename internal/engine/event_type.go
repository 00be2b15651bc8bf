package engine

import (
	"maps"
	"slices"
)

func (*RunCreated) Type() Type        { return "run.created" }
func (*RunStarted) Type() Type        { return "run.started" }
func (*RunPaused) Type() Type         { return "run.paused" }
func (*RunResumed) Type() Type        { return "run.resumed" }
func (*RunCompleted) Type() Type      { return "run.completed" }
func (*RunFailed) Type() Type         { return "run.failed" }
func (*RunCancelled) Type() Type      { return "run.cancelled" }
func (*RunCancelling) Type() Type     { return "run.cancelling" }
func (*StepStarted) Type() Type       { return "step.started" }
func (*StepRetrying) Type() Type      { return "step.retrying" }
func (*StepCompleted) Type() Type     { return "step.completed" }
func (*StepFailed) Type() Type        { return "step.failed" }
func (*StepCancelled) Type() Type     { return "step.cancelled" }
func (*StepSkipped) Type() Type       { return "step.skipped" }
func (*EdgeTaken) Type() Type         { return "edge.taken" }
func (*ModelCalled) Type() Type       { return "model.called" }
func (*ModelReplied) Type() Type      { return "model.replied" }
func (*ModelFailed) Type() Type       { return "model.failed" }
func (*ToolCalled) Type() Type        { return "tool.called" }
func (*ToolReturned) Type() Type      { return "tool.returned" }
func (*ToolFailed) Type() Type        { return "tool.failed" }
func (*ToolsPinned) Type() Type       { return "tools.pinned" }
func (*FuncCalled) Type() Type        { return "func.called" }
func (*FuncReturned) Type() Type      { return "func.returned" }
func (*FuncNoted) Type() Type         { return "func.noted" }
func (*SubagentStarted) Type() Type   { return "subagent.started" }
func (*SubagentCompleted) Type() Type { return "subagent.completed" }
func (*SubagentFailed) Type() Type    { return "subagent.failed" }
func (*AgentHanded) Type() Type       { return "agent.handed" }
func (*ConditionChecked) Type() Type  { return "condition.checked" }
func (*WaitOpened) Type() Type        { return "wait.opened" }
func (*WaitAnswered) Type() Type      { return "wait.answered" }
func (*WaitReminded) Type() Type      { return "wait.reminded" }
func (*WaitClosed) Type() Type        { return "wait.closed" }
func (*SignalRaised) Type() Type      { return "signal.raised" }
func (*LimitReached) Type() Type      { return "limit.reached" }
func (*TimerFired) Type() Type        { return "timer.fired" }
func (*ChildStarted) Type() Type      { return "child.started" }
func (*CallUsed) Type() Type          { return "call.used" }

func (*RunCreated) data()        {}
func (*RunStarted) data()        {}
func (*RunPaused) data()         {}
func (*RunResumed) data()        {}
func (*RunCompleted) data()      {}
func (*RunFailed) data()         {}
func (*RunCancelled) data()      {}
func (*RunCancelling) data()     {}
func (*StepStarted) data()       {}
func (*StepRetrying) data()      {}
func (*StepCompleted) data()     {}
func (*StepFailed) data()        {}
func (*StepCancelled) data()     {}
func (*StepSkipped) data()       {}
func (*EdgeTaken) data()         {}
func (*ModelCalled) data()       {}
func (*ModelReplied) data()      {}
func (*ModelFailed) data()       {}
func (*ToolCalled) data()        {}
func (*ToolReturned) data()      {}
func (*ToolFailed) data()        {}
func (*ToolsPinned) data()       {}
func (*FuncCalled) data()        {}
func (*FuncReturned) data()      {}
func (*FuncNoted) data()         {}
func (*SubagentStarted) data()   {}
func (*SubagentCompleted) data() {}
func (*SubagentFailed) data()    {}
func (*AgentHanded) data()       {}
func (*ConditionChecked) data()  {}
func (*WaitOpened) data()        {}
func (*WaitAnswered) data()      {}
func (*WaitReminded) data()      {}
func (*WaitClosed) data()        {}
func (*SignalRaised) data()      {}
func (*LimitReached) data()      {}
func (*TimerFired) data()        {}
func (*ChildStarted) data()      {}
func (*CallUsed) data()          {}

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
