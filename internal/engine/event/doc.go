// Package event defines the events of runs: the content of each type and the meaning of its values.
// Of the other parts of the engine it imports only those whose values events hold: prompts and
// typed states.
//
// Facts that follow from one event alone are derived here and nowhere else: what it ends, what it
// counts as, where its output is (derived.go, status.go, result.go; ADR 72).
//
// It does not know the state of a run, and decides nothing. What a stored event requires and what
// it does to the state is in the tables of the packages that apply it (ADR 66).
//
// Invariants: the types and their JSON forms are the stored form of events; a value that is in an
// earlier event of the step is not repeated ([ToolReturned.Whole], [StepCompleted.Given]).
package event
