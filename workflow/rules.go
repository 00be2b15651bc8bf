package workflow

import "fmt"

// What follows from TypedState has a name for each rule, so that a reader of the engine knows which is meant. A format that needs some of them alone makes fields of them.

// InputIsState: the run's input, an object, has the fields of the state that the first step sees.
func (r Rules) InputIsState() bool { return r.TypedState }

// InheritsState: a sub-flow that is given no state of its own begins with that of the flow around it.
func (r Rules) InheritsState() bool { return r.TypedState }

// StateIsOutput: what a sub-flow gives is its last state, and not the output of its last step.
func (r Rules) StateIsOutput() bool { return r.TypedState }

// RecordsAttempts: functions are told of all failed attempts of the run, and of when a step had completed last (S2-75, S2-78).
func (r Rules) RecordsAttempts() bool { return r.TypedState }

// ReportsFailure: the program may make a signal of the failure with which a run ends (S2-59).
func (r Rules) ReportsFailure() bool { return r.TypedState }

// FinishesFunctions: functions at work when a run is cancelled may finish, and what they give counts (S2-36).
func (r Rules) FinishesFunctions() bool { return r.TypedState }

// FailsUnknownCalls: a tool call whose outcome is not known fails its node; nothing is asked and nothing repeated (S2-46).
func (r Rules) FailsUnknownCalls() bool { return r.TypedState }

// HidesLosers: outputs of branches that lost their block are not seen behind it (S2-57).
func (r Rules) HidesLosers() bool { return r.TypedState }

// StepLimitText is what a run says that took as many steps as it may.
func (r Rules) StepLimitText(most int64) string {
	if r.SharedConversation {
		return fmt.Sprintf("step limit of %d reached", most) // S3-13
	}
	return fmt.Sprintf("Exceeded maximum steps (%d)", most)
}

// TimeoutText is what a run says that took as many milliseconds as it may.
func (r Rules) TimeoutText(ms int64) string {
	if r.TypedState {
		return fmt.Sprintf("Graph execution timed out after %dms", ms) // S2-62
	}
	return fmt.Sprintf("run timed out after %dms", ms)
}
