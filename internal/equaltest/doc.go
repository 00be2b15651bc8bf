// Package equaltest opens services on each store and driver, for tests that play the same runs on
// all of them and compare their journals (sim.Diff).
//
// A test plays a run on a store in memory with the embedded driver, and then with the same replies
// on each [Driver]. The drivers of [Embedded] need PostgreSQL, which pgtest starts. The driver for
// Temporal is in the module temporal, whose tests start a server with package temporalserver.
//
// The package must only be used in tests.
package equaltest
