// Package child drives the runs that calls of other runs start: workflows that are tools, branches that run together, agents of Go graphs. All have one
// lifecycle (ADR 80), which [Runs.Drive] carries out:
//
//	id of parent and work ─▶ share of the parent's budgets ─▶ start, or take up what is there ─▶ wait ─▶ report what it used
//
// A call that is cancelled cancels its run with all runs below it; one that is interrupted interrupts it, and takes it up when it is made again.
//
// The package refuses to know how runs are started, stored or shown: [Host] and [Driver] do that, and what a call makes of the run that has ended is its own matter. It imports no
// other package of the use cases.
package child
