// Package program adapts the function table of a Go program to what the engine and the drivers call.
//
// It is a translation between two sets of types and refuses to do more: no wiring, no retries, no state.
//
// The flow: a driver finds the program of a workflow, [New] makes it from the program's table, the engine asks its pure functions and the driver
// calls its node functions.
//
// Invariants: a name that the table does not hold is an error or a failure that says so; a panic of a node function is a failure.
package program
