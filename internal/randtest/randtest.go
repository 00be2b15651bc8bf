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
	// longFactor is how many times as many seeds a long test plays.
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

// Seed gives HOCKET_SEED, or 1. It panics where that is not a positive number: 0 would let rapid draw a seed.
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

// New gives a source of random numbers that the seed and the name of the test determine, and logs the seed. Like every [rand.Rand] it is not safe for concurrent use.
func New(t testing.TB) *rand.Rand {
	t.Helper()
	seed := Seed()
	t.Logf("%s=%d", envSeed, seed)
	h := fnv.New64a()
	_, _ = h.Write([]byte(t.Name()))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// Seeds gives n seeds that follow each other, the first of them [Seed]; ten times as many with [longtest.Enabled].
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

// Check is [rapid.Check] for properties whose cases cost much: at most n cases are played, or as many as rapid draws with [longtest.Enabled]. After one that failed all are
// played, since rapid repeats it and makes it smaller.
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
