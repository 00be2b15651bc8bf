// Package temporaldriver executes runs with the help of a Temporal server, which dispatches calls
// to workers, detects dead workers, and keeps timers.
//
// The journal is the source of truth (ADR 88). Temporal stores only IDs, kinds and times: no
// prompt, reply, argument or secret. It decides nothing: the engine does, wherever it has loaded
// the run, and appends on condition that the journal is in the expected state. Runs that are not
// executed through Temporal are driven by the embedded driver, which is part of this driver.
//
//  1. A run is stored with the kind temporal, and the workflow hocket.run is started under its ID,
//     with the run and a number as its input (start.go).
//  2. The workflow queries the run with a local activity, and starts an activity for each open call
//     and a timer for each timer (workflow.go). It has no state that is not in the journal.
//  3. A worker accepts the call. It folds the run to its head. If the call is still open, it makes
//     the call, passes the result to the engine, appends what follows, and reports what is open now
//     (call.go).
//  4. A run that rests without a timer, or has ended, has no workflow. An answer is appended by the
//     process that receives it, and a signal starts the workflow again (request.go).
//  5. A run that waits for a slot is pending and has no workflow. The processes that know it ask
//     the store for the slot when other runs have ended, and let it begin (turns.go).
//  6. Lost messages are recovered: signals from the notices of the store, workflows by a sweep
//     (maintenance.go).
//
// Invariants: a result is in the journal before Temporal learns of it; a call that has a result is
// never repeated; a workflow that is lost, reset or terminated by hand is started again and finds
// the journal ahead.
package temporaldriver
