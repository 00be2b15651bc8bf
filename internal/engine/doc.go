// Package engine is the interpreter of workflows: a deterministic state machine without I/O.
//
// Inputs go in ([Input]: results, answers, timers, cancellations), events and commands come out ([Decision]). The same inputs give the same
// events and commands, byte for byte, on every driver. What was decided is in the events; recovery folds them with [Run.Apply] and never
// decides again (D1). The agent loop is part of the engine: every model call and every tool call is a command of its own, so each
// result is journaled once and never paid twice.
//
// It refuses to do I/O, to read a clock, to start goroutines, to log, to hold global state, and to know formats, providers or stores.
//
// The flow of one activation:
//
//  1. each input is checked against the commands and waits that are open; a bad one leaves the run unchanged;
//  2. it becomes events, and each event is applied to the state at once (apply.go);
//  3. decisions follow until nothing more can go on: replies continue agent loops (agents.go), finished steps fire ports (steps.go), settled
//     branches close their blocks (blocks.go), ready tokens start steps (start.go), and the run pauses or ends (lifecycle.go);
//  4. the new events and the commands that they opened are handed out.
//
// docs/engine.md shows the parts and a run, event by event; testdata/transcripts holds more runs; ADR 66 says why the parts are as they are.
//
// Words: a token is an output on its way along an edge; a step is one execution of a node; a scope is what one branch of a fork, one sub-flow, or the whole run may see; a frame is one agent loop inside a step, the step's own or a sub-agent's.
//
// After a crash the state is folded from the events: tokens, scopes, passes of loops and open waits are as they were, and only calls and timers are given again (recover.go).
// A person may answer before, between and after: answers find their wait in the state (package waits).
//
// A note is what a sub-step of a Go function gave; it is in the state until its step ends, and later attempts are given it (note.go, ADR 12).
// An allotment (`part` in events) is what is reserved of the budgets for a run that a call starts; the call reports what that run used (package ledger, ADR 30).
//
// A value is in one event: what repeats it says so (given.go), and a field of a typed state that changed in part is an edit of the value before it
// (package typed, ADR 62).
//
// Large outputs, and messages of a shared conversation, are stored texts: the driver lets them leave memory once the journal has them, and gives the function that loads them (keep.go, ADR 75).
//
// Invariants: Seq has no gaps; every open call, timer and wait is a function of the state; a step's output never changes; a scope is settled
// when no token and no step lives in it; state changes in apply only; events from disk are validated before they are used (kind.go).
package engine
