// Package plan makes a workflow ready to run: ids resolved to places in lists, templates, conditions and schemas parsed, and for each node the nodes that can be reached from it.
//
// [Compile] takes a workflow that [workflow.Validate] accepts. What it gives never changes, but for [Flow.FindCounters], which is called before the first run; after that it is safe for
// concurrent use by any number of runs.
//
// It refuses to know runs, steps and events, and to call functions of a program.
package plan

// PreviousOutput is replaced by the step's input in prompts (S0-11).
const PreviousOutput = "{{PREVIOUS_OUTPUT}}"
