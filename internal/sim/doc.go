// Package sim is a seeded world for tests: a disk that fails, models and tools with latencies and
// failures, random workflows.
//
// Everything depends on a seed and on the content of requests, never on time: the same call,
// repeated after a crash, gets the same answer, so that a run with crashes can be compared with the
// same run without. Under testing/synctest, minutes in this world take no real time.
//
// The package must not be used outside of tests.
//
// The flow of a simulation:
//
//  1. A seed determines a workflow ([Generate]) and the behaviour of its models, tools and
//     functions ([World]).
//  2. The run is executed once on a disk without faults, for comparison.
//  3. It is executed again on a [Disk] whose faults follow from the seed: failed writes, writes
//     whose success is not reported, deaths of the process. After each death another process
//     recovers the run.
//  4. Both must end in the same way. No call may have been made whose result was in the journal,
//     and no sub-step run whose note was (D8).
//
// The seed is printed with every failure; `HOCKET_SEED=N go test ./internal/sim -run TestSeeds
// -sim.seeds 1` reproduces it.
package sim
