// Package run implements the use cases of runs: start, resume, answer, cancel, reopen, retry, fork,
// watch, list, read and prune them, and the feed of notices about all of them.
//
// The flow of a start: [Runner.Start] checks models, commands and limits, so that nothing is stored
// for a run that could not execute (D25), and passes the definition with everything that a later
// process needs (tools file, reply script) to the driver; [Runner.Wait] and [Runner.Watch] follow
// it. Runs that runs start are in childhost.go: their budget and their usage go through the ledger
// of the parent run.
//
// A run of all branches together is a run of a generated workflow whose tool calls start the runs
// of the branches and wait for them (parallel_branches.go, ADR 8).
//
// Package service composes it with documents, schedules and resources; package service/schedule
// uses it to start runs. It knows no kind of driver and no kind of store.
package run
