// Package engine is the interpreter of workflows: a deterministic state machine without I/O.
//
// Inputs go in ([Input]: results, answers, timers, cancellations); events and commands come out
// ([Decision]). The same inputs produce the same events and commands, byte for byte, on every
// driver. Decisions are recorded in the events; recovery folds them with [Run.Apply] and never
// decides again (D1). The agent loop is part of the engine: every model call and every tool call is
// a separate command, so each result is journaled once and never paid for twice.
//
// It does no I/O, reads no clock, starts no goroutines, logs nothing, holds no global state, and
// does not know formats, providers or stores.
//
// The flow of one activation:
//
//  1. each input is checked against the open commands and waits; an invalid one leaves the run
//     unchanged;
//  2. it becomes events, and each event is immediately applied to the state (apply_run.go);
//  3. decisions follow until nothing more can continue: replies continue agent loops (agents.go),
//     finished steps fire ports (steps.go), settled branches close their blocks (blocks.go), ready
//     tokens start steps (start.go), and the run pauses or ends (lifecycle.go);
//  4. the new events and the commands that they opened are returned.
//
// docs/engine.md shows the parts and a run, event by event; testdata/transcripts holds more runs;
// ADR 66 explains why the parts are as they are.
//
// Terms: a token is an output on its way along an edge; a step is one execution of a node; a scope
// is what one branch of a fork, one sub-flow, or the whole run may see; a frame is one agent loop
// inside a step, the step's own or a sub-agent's.
//
// After a crash the state is folded from the events: tokens, scopes, loop passes and open waits are
// as they were, and only calls and timers are issued again (recover.go). A person may answer
// before, during and after that: answers find their wait in the state (package waits).
//
// A note is the result of a sub-step of a Go function; it is in the state until its step ends, and
// later attempts receive it (note.go, ADR 12). An allotment (`part` in events) is the share of the
// budgets reserved for a run that a call starts; the call reports what that run used (package
// ledger, ADR 30).
//
// A value is stored in one event: events that repeat it refer to it (graph/step_result.go), and a
// partial change of a field of a typed state is an edit of the previous value (package typed, ADR
// 62).
//
// Large outputs, and messages of a shared conversation, are stored separately: the driver frees
// them once they are in the journal, and supplies the function that loads them (stored_texts.go,
// ADR 75).
//
// Invariants: Seq has no gaps; every open call, timer and wait is a function of the state; a step's
// output never changes; a scope is settled when no token and no step lives in it; only apply
// changes the state; events from disk are validated before they are used (kind.go).
package engine
