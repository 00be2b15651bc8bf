// Package randtest gives tests that draw at random their seed: always the same one, so that the same code has the same verdict, or the one in HOCKET_SEED, which `make test-all`
// draws anew and prints.
//
// It refuses to choose a seed of its own: a failure that nothing can play again is worth little.
//
// A test that uses rapid imports this package for its effect: the flag -rapid.seed has the seed as its default. All others ask for a source ([New]) or for a row of seeds
// ([Seeds]).
//
// Invariants: the flag -rapid.seed and RAPID_SEED win over HOCKET_SEED; a seed that cannot be read ends the process; a test of the module's root finds packages that draw
// in another way.
package randtest
