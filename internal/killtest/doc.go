// Package killtest kills processes that execute runs, with kill -9 at random moments, until each
// run has reached its end regardless.
//
// It knows nothing about the runs: a test provides its child process and reports after each life
// what became of the run.
//
// The flow: [Harness.Kill] starts the test's own binary as a child (which gets the run from
// [Child]), first undisturbed, to learn how long a life takes; then run after run, ending each life
// at a newly drawn moment, until there were enough kills.
//
// Invariants: only processes that it started are killed, by their id; the moments are determined by
// the seed of internal/randtest, which is logged, and by how long a life takes.
package killtest
