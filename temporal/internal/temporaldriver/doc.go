// Package temporaldriver carries runs by way of a Temporal server: it gives calls to workers, sees which workers died, and keeps timers.
//
// The journal is the truth (ADR 88). Temporal holds ids, kinds and times alone: no prompt, reply, argument or secret. It refuses to decide anything: the engine does, wherever it has the run, and
// appends on condition that the journal is as it believes. What it does not carry is driven by the embedded driver, which is part of it.
//
//  1. A run is stored with the kind temporal, and the workflow hocket.run is started under its id, with the run and a number as its input (start.go).
//  2. The workflow looks at the run by a local activity, and begins an activity for each open call and a timer for each timer (workflow.go). It has no state that the journal lacks.
//  3. A worker takes the call. It folds the run to its head. If the call is still open it carries it out, gives the result to the engine, appends what follows, and reports what is open now (call.go).
//  4. A run that rests without a timer, or has ended, has no workflow. An answer is appended by the process that has it, and a signal starts the workflow anew (request.go).
//  5. What was lost on the way is found again: signals by the notices of the store, workflows by a sweep (upkeep.go).
//
// Invariants: a result is in the journal before Temporal hears of it; a call that has a result is never made again; a workflow that is lost, wound back or ended by hand is started anew and finds the
// journal ahead.
package temporaldriver
