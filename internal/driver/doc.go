// Package driver is the contract between the service layer and whatever executes runs, and the part
// of that work which every driver shares: turning one command into one call of a model, a tool or a
// Go function ([RunResources]).
//
// It knows nothing of kinds of stores, leases, goroutines and clusters: those belong to package
// embedded and to the module temporal. It decides nothing about a run; that is the job of package
// engine.
//
// The flow of a run is the same in every driver:
//
//  1. Start compiles the workflow. Every error that can be detected before the first call is
//     returned here, and nothing is stored (D25).
//  2. Inputs are activated, the events of the decision are made durable, and only then do its
//     commands start (D7).
//  3. A call goes through [RunResources.CallModel], CallTool or CallFunc and returns as an
//     input, whatever happened to it. A running Go function can have its [Caller] take notes, which
//     are inputs too and are answered when they are durable. A tool call or function can likewise
//     report the runs that it starts and what they used (ADR 30). The Caller is a parameter (ADR
//     71).
//  4. A run that pauses or ends leaves memory. An answer, a cancellation or a deadline brings it
//     back from its journal.
//
// Invariants, checked by package drivertest: no result that was journaled is requested again (D8);
// a run has one owner at a time (P18); every call ends in finite time or is abandoned (P11); a
// failing or panicking adapter fails its call and nothing else.
package driver
