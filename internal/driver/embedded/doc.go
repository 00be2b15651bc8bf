// Package embedded drives runs inside one process: goroutines, timers and a journal in a store.
//
// It decides nothing about a run (package engine does), does not know formats or providers, does
// not open or close stores, and does not recover runs that another kind of process started (D15).
//
// One actor owns one active run. Its flow:
//
//  1. It claims the run, folds its records, and finds out what its former owner left open
//     (load.go). A new run has nothing to fold.
//  2. It takes everything in its mailbox (results, timers, answers, cancellations) and activates it
//     (actor.go).
//  3. It appends the resulting events in one transaction, together with the status and the release
//     of a run that pauses or ends (commit.go). Only now are watchers and callers notified.
//  4. It executes the commands: calls on other goroutines (call.go, worker_pool.go), limited over
//     all runs; timers; cancellations (execute.go). A function or model call that is the only one
//     in flight is made by the actor's own goroutine; if anything arrives for the run meanwhile,
//     another goroutine becomes the actor (actor.next, call.callInline). A running function can
//     record notes: they are inputs like results, and are answered when they are durable
//     (record.go). The same holds for a call's reports of runs that it starts; a report that must
//     wait for budget is tried again with each batch (ledger.go).
//     Plain functions of a Go graph, which only change its state, may be run without steps 2 and 3 if
//     the store keeps their trail (burst.go, trail.go).
//  5. A run that paused or ended leaves memory. Anything that arrives for it later creates a new
//     actor. Decisions without calls that take long are stored part by part: between the parts the
//     run takes mail and can be interrupted (decide.go).
//
// A long-lived process claims runs that other processes released, or left by dying (dispatch.go). A
// run that is not driven here, because the process drives none, drains, is full or is at another
// place, still processes requests as in steps 1 to 3; then it is returned to the store, and the
// process that claims it next executes the commands.
//
// Invariants: a command starts only after the events before it are durable (D7); after an append of
// unknown outcome the run in memory is discarded and reloaded, and the inputs are passed again only
// if they are not in the journal; a fenced actor drops its run and writes nothing; no lock is held
// across a call or a commit (P40); an internal error in one run stops that run alone.
package embedded
