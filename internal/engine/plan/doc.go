// Package plan compiles a workflow for execution: ids are resolved to list indexes, templates,
// conditions and schemas are parsed, and the nodes reachable from each node are determined.
//
// [Compile] takes a workflow that [workflow.Validate] accepts. Its result is immutable, except
// through [Flow.FindCounters], which is called before the first run; after that it is safe for
// concurrent use by any number of runs.
//
// The package knows nothing of runs, steps and events, and does not call the program's functions.
package plan

// Tokens of prompts: the step's input (S0-11), and the note of the last approval on the path to the
// step.
const (
	PreviousOutput = "{{PREVIOUS_OUTPUT}}"
	ApprovalNote   = "{{APPROVAL_NOTE}}"
)
