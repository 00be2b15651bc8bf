// Package event has the events of runs: what each type of event holds, and what its values mean. It is a leaf, so that the parts of the engine and what stores and shows events need no more
// than this.
//
// It refuses to know the state of a run, and to decide. What a stored event needs and what it does to the state is in the tables of the packages that apply it (ADR 66).
//
// Invariants: the types and their JSON forms are the stored form of events; a value that an earlier event of the step has is not repeated ([ToolReturned.Whole], [StepCompleted.Given]).
package event
