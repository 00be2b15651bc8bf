// Package program defines the table of a Go program's functions, by the names under which its
// workflow calls them, with raw JSON as input and output.
//
// It is shared by package graph, which creates the functions, and the execution side, which calls
// them, so that neither depends on the other. It contains only types and calls nothing. Services of
// the execution side reach the functions in the [Call].
//
// The flow: graph.Compile fills a [Table]; internal/driver/program adapts it to the engine's host
// and to the driver's program.
//
// Invariants: a table is not changed once it was handed out; its functions may be called by any
// goroutine, and all except Calls are pure (D4).
package program
