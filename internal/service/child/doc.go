// Package child drives the runs that calls of other runs start: workflows that are tools, branches
// that run together, agents of Go graphs. They all have the same lifecycle (ADR 80), which
// [Runs.Drive] implements:
//
//	id of parent and work ─▶ share of the parent's budgets ─▶ start, or take up what is there ─▶
//	wait ─▶ report what it used
//
// A cancelled call cancels its run with all its child runs; an interrupted call interrupts it, and
// resumes it when the call is repeated.
//
// The package does not know how runs are started, stored or shown: [Host] and [Driver] do that, and
// what a call does with a run that has ended is up to the call. It imports no other package of the
// use cases.
package child
