// Package ledger keeps what a run may use and what it has used: budgets, reservations, and the
// allotments of child runs (P20). It is the first of the engine's sub-machines (ADR 66).
//
// A budget holds because everything that uses it is reserved in advance: a model call with an
// estimate of its input and with an output limit at which its provider is asked to stop, a child
// run with its allotment. A reservation counts as used until the call has settled or the run has
// ended; then the actual usage replaces it.
//
// The package decides nothing about the run: it answers what fits, and the engine decides what
// follows. It does no I/O and knows nothing of events or steps; it obtains what it needs from a
// [World].
//
// The flow: the engine asks for the [Ledger.Balances] of a step; [FitModel], [FitCalls] or
// [Ledger.Allot] returns how much they leave; the engine records an event; applying the event calls
// one of the methods that change the ledger: [Ledger.Reserve], [Ledger.Charge],
// [Ledger.StartChild], [Ledger.UseChild], [Ledger.StartSession], [Ledger.UseSession],
// [Ledger.CloseCall].
//
// Invariants: a Ledger follows from the events alone; methods that change it cannot fail; sums
// saturate and never wrap; only these methods write its fields.
package ledger
