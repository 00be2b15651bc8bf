// Package event has the events of runs: the content of each type and the meaning of its values. It is a leaf: packages that store and show events import no other part of the engine.
//
// What follows from one event alone is derived here and nowhere else: what it ends, what it counts as, where its output is (fact.go, status.go, result.go; ADR 72).
//
// It refuses to know the state of a run, and to decide. What a stored event needs and what it does to the state is in the tables of the packages that apply it (ADR 66).
//
// Invariants: the types and their JSON forms are the stored form of events; a value that an earlier event of the step has is not repeated ([ToolReturned.Whole], [StepCompleted.Given]).
package event
