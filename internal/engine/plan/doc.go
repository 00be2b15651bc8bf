// Package plan compiles a workflow for execution: ids resolved to indexes in lists, templates,
// conditions and schemas parsed, and for each node the nodes reachable from it.
//
// [Compile] takes a workflow that [workflow.Validate] accepts. Its result is immutable, except
// through [Flow.FindCounters], which is called before the first run; after that it is safe for
// concurrent use by any number of runs.
//
// The package knows nothing of runs, steps and events, and does not call functions of a program.
package plan

// PreviousOutput is replaced by the step's input in prompts (S0-11).
const PreviousOutput = "{{PREVIOUS_OUTPUT}}"
