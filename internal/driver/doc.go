// Package driver is the contract between the service layer and whatever carries runs out, and the part of that work which every driver shares:
// how one command becomes one call of a model, a tool or a Go function ([Effects]).
//
// It refuses to know stores, leases, goroutines and clusters: those are the business of embedded/ and temporal/. It refuses to decide anything
// about a run; that is package engine.
//
// The flow of a run, the same in every driver:
//
//  1. Start compiles the workflow. What can be known before the first call is an error here and stores nothing (D25).
//  2. Inputs are activated, the events of the decision are made durable, and only then its commands begin (D7).
//  3. A call goes through [Effects.Model], [Effects.Tool] or [Effects.Func] and comes back as an input, whatever happened to it.
//     A Go function under way may have notes taken by its [Caller]: inputs too, which are answered when they are durable.
//     So may a tool call or function have taken what it starts and what that used (ADR 30). The Caller is a parameter (ADR 71).
//  4. A run that pauses or ends leaves memory. An answer, a cancellation or a deadline brings it back from its journal.
//
// Invariants, checked by package drivertest: no result that was journaled is asked for again (D8); a run has one owner at a time (P18); every
// call ends in finite time or is given up (P11); a failing or panicking adapter fails its call and nothing else.
package driver
