// Package killtest kills processes that drive runs, by kill -9 at moments drawn at random, until each run has come to its end in spite of it.
//
// It refuses to know what the runs are: a test brings its child process and says after each life what became of the run.
//
// The flow: [Harness.Kill] starts the test's own binary as a child ([Child] tells it the run), first undisturbed, to learn how long a life takes; then run
// after run, each life ended at a moment drawn anew, until there were kills enough.
//
// Invariants: only processes that it started are killed, by their id; the moments follow from the seed of internal/randtest, which is logged, and from how long a life takes.
package killtest
