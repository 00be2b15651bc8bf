// Package embedded drives runs inside one process: goroutines, timers and a journal in a store.
//
// It refuses to decide anything about a run (package engine), to know formats and providers, to open or close stores, and to recover runs that
// another kind of process started (D15).
//
// One actor owns one active run. Its flow:
//
//  1. It claims the run, folds its records, and finds out what its former owner left open (load.go). A new run has nothing to fold.
//  2. It takes everything that waits in its mailbox (results, timers, answers, cancellations) and activates it (actor.go).
//  3. It appends the events of all that in one transaction, together with the status and the release of a run that
//     pauses or ends (commit.go). Watchers and callers are notified only now.
//  4. It carries out the commands: calls on other goroutines (call.go, crew.go), bounded over all runs; timers; cancellations (carry.go). A function or a model that is the only call is called
//     by the actor's own goroutine; what comes for the run meanwhile makes another goroutine the actor (actor.next, call.makeHere).
//     A function under way may have notes taken: they are inputs like results, and answered when they are durable (record.go).
//     So is what a call tells of runs that it starts; one that must wait for room in a budget is asked again with each batch (ledger.go).
//  5. A run that paused or ended leaves memory. Whatever comes for it later makes a new actor.
//
// A process that stays claims runs that others gave up or left by dying (dispatch.go). A run that is not driven here, because the process drives none, drains, is full or is at another place, takes what is asked of it as
// in steps 1 to 3; then it is returned to the store, and the process that claims it next carries out the commands.
//
// Invariants: a command begins only after the events before it are durable (D7); after an append of unknown outcome the run in memory is thrown
// away and read again, and the inputs are given again only if they are not in the journal; a fenced actor drops its run and writes nothing;
// no lock is held across a call or a commit (P40); a defect met in one run stops that run alone.
package embedded
