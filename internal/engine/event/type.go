package event

// Type implements Data.
func (*RunCreated) Type() Type { return "run.created" }

// Type implements Data.
func (*RunStarted) Type() Type { return "run.started" }

// Type implements Data.
func (*RunPaused) Type() Type { return "run.paused" }

// Type implements Data.
func (*RunResumed) Type() Type { return "run.resumed" }

// Type implements Data.
func (*RunCompleted) Type() Type { return "run.completed" }

// Type implements Data.
func (*RunFailed) Type() Type { return "run.failed" }

// Type implements Data.
func (*RunCancelled) Type() Type { return "run.cancelled" }

// Type implements Data.
func (*RunCancelling) Type() Type { return "run.cancelling" }

// Type implements Data.
func (*StepStarted) Type() Type { return "step.started" }

// Type implements Data.
func (*StepRetrying) Type() Type { return "step.retrying" }

// Type implements Data.
func (*StepCompleted) Type() Type { return "step.completed" }

// Type implements Data.
func (*StepFailed) Type() Type { return "step.failed" }

// Type implements Data.
func (*StepCancelled) Type() Type { return "step.cancelled" }

// Type implements Data.
func (*StepSkipped) Type() Type { return "step.skipped" }

// Type implements Data.
func (*EdgeTaken) Type() Type { return "edge.taken" }

// Type implements Data.
func (*ModelCalled) Type() Type { return "model.called" }

// Type implements Data.
func (*ModelReplied) Type() Type { return "model.replied" }

// Type implements Data.
func (*ModelFailed) Type() Type { return "model.failed" }

// Type implements Data.
func (*ToolCalled) Type() Type { return "tool.called" }

// Type implements Data.
func (*ToolReturned) Type() Type { return "tool.returned" }

// Type implements Data.
func (*ToolFailed) Type() Type { return "tool.failed" }

// Type implements Data.
func (*ToolsPinned) Type() Type { return "tools.pinned" }

// Type implements Data.
func (*FuncCalled) Type() Type { return "func.called" }

// Type implements Data.
func (*FuncReturned) Type() Type { return "func.returned" }

// Type implements Data.
func (*FuncNoted) Type() Type { return "func.noted" }

// Type implements Data.
func (*SubagentStarted) Type() Type { return "subagent.started" }

// Type implements Data.
func (*SubagentCompleted) Type() Type { return "subagent.completed" }

// Type implements Data.
func (*SubagentFailed) Type() Type { return "subagent.failed" }

// Type implements Data.
func (*AgentHanded) Type() Type { return "agent.handed" }

// Type implements Data.
func (*AgentCompacted) Type() Type { return "agent.compacted" }

// Type implements Data.
func (*ConditionChecked) Type() Type { return "condition.checked" }

// Type implements Data.
func (*WaitOpened) Type() Type { return "wait.opened" }

// Type implements Data.
func (*WaitAnswered) Type() Type { return "wait.answered" }

// Type implements Data.
func (*WaitReminded) Type() Type { return "wait.reminded" }

// Type implements Data.
func (*WaitClosed) Type() Type { return "wait.closed" }

// Type implements Data.
func (*SignalReceived) Type() Type { return "signal.received" }

// Type implements Data.
func (*SignalRaised) Type() Type { return "signal.raised" }

// Type implements Data.
func (*LimitReached) Type() Type { return "limit.reached" }

// Type implements Data.
func (*TimerFired) Type() Type { return "timer.fired" }

// Type implements Data.
func (*ChildStarted) Type() Type { return "child.started" }

// Type implements Data.
func (*CallUsed) Type() Type { return "call.used" }

// Type implements Data.
func (*CallReserved) Type() Type { return "call.reserved" }
