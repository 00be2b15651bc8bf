// Package equaltest opens services on each store and driver, for tests that play the same runs on all of them and compare their journals (sim.Diff).
//
// A test plays a run on a store in memory with the embedded driver, and then with the same replies on each [Driver]. Those of [Embedded] need PostgreSQL, which pgtest starts; that of [Temporal] needs a
// server of Temporal, which the test starts by package temporalserver.
//
// The package refuses to be used outside of tests.
package equaltest
