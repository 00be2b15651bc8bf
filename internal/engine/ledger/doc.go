// Package ledger keeps what a run may use and what it has used: budgets, reservations, and the allotments of child runs (P20). It is the first of the engine's sub-machines (ADR 66).
//
// A budget holds because everything that uses something is reserved before it begins: a model call by an estimate of its input and by an output at which its provider is asked to
// stop, a child run by its allotment. What is reserved counts as used until the call has settled or the run has ended; then what was really used takes its place.
//
// The package decides nothing about the run: it answers what fits, and the engine decides what follows. It does no I/O, and knows no events and no steps; what it must know of them
// it asks a [World].
//
// The flow: the engine asks for the [Ledger.Balances] of a step; [FitModel], [FitCalls] or [Ledger.Allot] says how much they leave; the engine records an event; applying the event calls one
// of the methods that change the ledger: [Ledger.Reserve], [Ledger.Charge], [Ledger.StartChild], [Ledger.UseChild], [Ledger.StartSession], [Ledger.UseSession], [Ledger.CloseCall].
//
// Invariants: a Ledger follows from the events alone; methods that change it cannot fail; sums saturate and never wrap; only these methods write its fields.
package ledger
