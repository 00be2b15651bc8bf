// Package program is the table of a Go program's functions, by the names under which its workflow calls them, with raw JSON in and out.
//
// It is what package graph, which makes the functions, and the running side, which calls them, have in common, so that neither knows the other. It
// holds types only and refuses to call anything. Services of the running side reach the functions in the [Call].
//
// The flow: graph.Compile fills a [Table]; internal/driver/program adapts it to the engine's host and to the driver's program.
//
// Invariants: a table is not changed once it was handed out; its functions may be called by any goroutine, and all but Calls are pure (D4).
package program
