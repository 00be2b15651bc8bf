package randtest

import (
	"flag"
	"fmt"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"os"
	"strconv"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/longtest"
)

const (
	envSeed = "HOCKET_SEED"
	// longFactor is the factor by which a long test increases the number of seeds.
	longFactor = 10
)

func init() { //nolint:gochecknoinits // a flag has its default before a test runs
	if _, chosen := os.LookupEnv("RAPID_SEED"); chosen {
		return
	}
	if err := flag.Set("rapid.seed", strconv.FormatUint(Seed(), 10)); err != nil {
		panic(err)
	}
}

// Seed returns HOCKET_SEED, or 1 if it is not set. It panics if HOCKET_SEED is not a positive
// number: 0 would make rapid draw a seed.
func Seed() uint64 {
	v, ok := os.LookupEnv(envSeed)
	if !ok {
		return 1
	}
	seed, err := strconv.ParseUint(v, 10, 64)
	if err != nil || seed == 0 {
		panic(fmt.Sprintf("%s is %q, not a positive number", envSeed, v))
	}
	return seed
}

// New returns a source of random numbers determined by the seed and the name of the test, and logs
// the seed. Like every [rand.Rand] it is not safe for concurrent use.
func New(t testing.TB) *rand.Rand {
	t.Helper()
	seed := Seed()
	t.Logf("%s=%d", envSeed, seed)
	h := fnv.New64a()
	_, _ = h.Write([]byte(t.Name()))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// Seeds returns n consecutive seeds, starting with [Seed]; ten times as many with
// [longtest.Enabled].
func Seeds(n int) iter.Seq[uint64] {
	first := Seed()
	if longtest.Enabled() {
		n *= longFactor
	}
	return func(yield func(uint64) bool) {
		for i := range uint64(n) {
			if !yield(first + i) {
				return
			}
		}
	}
}

// Check is [rapid.Check] for properties with expensive cases: it runs at most n cases, or as many
// as rapid draws with [longtest.Enabled]. After a failed case there is no limit, since rapid
// repeats and shrinks it.
func Check(t *testing.T, n int, property func(*rapid.T)) {
	t.Helper()
	var played atomic.Int64
	var failed atomic.Bool
	rapid.Check(t, func(rt *rapid.T) {
		if !longtest.Enabled() && !failed.Load() && played.Add(1) > int64(n) {
			return
		}
		done := false
		defer func() {
			if !done || rt.Failed() {
				failed.Store(true)
			}
		}()
		property(rt)
		done = true
	})
}
