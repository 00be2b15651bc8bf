// Package program adapts the function table of a Go program to what the engine and the drivers
// call.
//
// It only translates between two sets of types: no wiring, no retries, no state.
//
// Flow: a driver finds the program of a workflow, [New] builds it from the program's table, the
// engine calls its pure functions and the driver calls its node functions.
//
// Invariants: a name that the table does not contain is an error or a failure that says so; a panic
// of a node function is a failure.
package program
