// Package run is the use cases of runs: start, resume, answer, cancel, reopen, retry and fork them, watch, list, read and prune them, and the feed of what happens in all of
// them.
//
// The flow of a start: [Runner.Start] checks models, commands and limits, so that nothing is stored of what could not run (D25), and hands the definition with everything that a
// later process needs (tools file, reply script) to the driver; [Runner.Wait] and [Runner.Watch] follow it. Runs that runs start are in children.go: what they may use and
// what they used goes through the ledger of the run above.
//
// A run of all branches at once is a run of a generated workflow whose tool calls start the runs of the branches and wait for them (together.go, ADR 8).
//
// Package service composes it with documents, schedules and resources; package service/schedule starts runs by it. It knows no kind of driver and no kind of store.
package run
