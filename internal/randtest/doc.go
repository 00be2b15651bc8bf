// Package randtest provides the seed for randomized tests: a fixed one, so that the same code
// always has the same verdict, or the one in HOCKET_SEED, which `make test-all` draws for each run
// and prints.
//
// It never chooses a seed itself: a failure that cannot be replayed is worth little.
//
// A test that uses rapid imports this package for its side effect: the seed becomes the default of
// the flag -rapid.seed. All other tests request a source ([New]) or a sequence of seeds ([Seeds]).
//
// Invariants: the flag -rapid.seed and RAPID_SEED take precedence over HOCKET_SEED; an invalid seed
// ends the process; a test of package lint finds tests that draw in another way.
package randtest
