// Command peers runs the same work on Hocket, on other workflow engines for Go and without any
// engine, in one process and one run, and prints the cost of each, with the ratio of Hocket to it,
// next to the goals.
//
//	go run .           # the table
//	go run . -json     # the same as JSON
//	go run . -rounds 1 # once instead of five times
//
// It is a separate module, so that Hocket's module does not depend on its peers. Each is used as
// released, in the way that its documentation shows, with nodes that do nothing:
//
//   - langgraphgo: StateGraph with a state that is a struct, conditional edges, and a state merger
//     for the fan-out.
//   - Eino: Chain for the chain and the fan-out (Parallel), Graph with a branch and WithMaxRunSteps
//     for the loop; the state is a pointer.
//   - DBOS: a workflow whose steps are RunAsStep. On SQLite by its URL, which sets synchronous to
//     NORMAL: a commit does not wait for the disk. On PostgreSQL with the server's defaults: each
//     commit waits for the disk.
//   - Hocket: package graph and hocket.Run; in memory, and on SQLite, where each step waits for the
//     disk.
//
// The floors are a goroutine per node, each waiting for the previous one, and inserts into SQLite
// by one goroutine (package floor).
//
// work.go defines the work; hocket.go, langgraph.go, eino.go, dbos.go, postgres.go and baselines.go
// run it. main.go alternates between the engines, so that other load on the machine affects all of
// them alike, and table.go prints medians.
package main
