// Package sim is a seeded world for tests: a disk that fails, models and tools with latencies and failures, random workflows.
//
// Everything follows from a seed and from what is asked, never from when it is asked: the same call, made again after a crash, gets the same
// answer, so that a run with crashes can be compared with the same run without. Under testing/synctest a world of minutes passes in no time.
//
// It refuses to be used outside of tests.
//
// The flow of a simulation:
//
//  1. A seed gives a workflow ([Generate]) and the behaviour of its models, tools and functions ([World]).
//  2. The run is driven once on a disk without faults, for comparison.
//  3. It is driven again on a [Disk] whose faults follow from the seed: writes that fail, writes whose success is not told, deaths of the process.
//     After each death another process recovers the run.
//  4. Both must end alike, and no call may have been made whose result was in the journal, no sub-step done whose note did (D8).
//
// The seed is printed with every failure; `HOCKET_SEED=N go test ./internal/sim -run TestSeeds -sim.seeds 1` plays it again.
package sim
