// Package memlimit says how much memory a process of Hocket may use, and tells the runtime of Go.
//
// The memory of the machine is what its cgroup allows, or all that is installed if that is less or the cgroup sets no bound. A process gets a soft limit of four
// fifths of it, unless GOMEMLIMIT is set: the garbage collector then works harder near the limit, so that the system does not kill the process. The rest is for the
// programs that it starts.
//
// The package sets nothing by itself: main calls [Set]. A Go program that embeds Hocket sets its own limit.
package memlimit

import (
	"fmt"
	"math"
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// Env is the variable by which people set the limit themselves, as the runtime of Go reads it.
const Env = "GOMEMLIMIT"

// numerator and denominator are the part of the machine's memory that a process gets.
const numerator, denominator = 4, 5

// fallback is taken as the memory of a machine that does not say how much it has.
const fallback = 2 << 30

// Limit is the memory limit of this process.
type Limit struct {
	// Bytes is the limit. Machine is the memory of the machine or of the cgroup.
	Bytes, Machine int64
	// FromEnv tells whether GOMEMLIMIT says it.
	FromEnv bool
}

func (l Limit) String() string {
	source := fmt.Sprintf("four fifths of %d MiB", l.Machine>>20)
	if l.FromEnv {
		source = Env
	}
	return fmt.Sprintf("%d MiB (%s)", l.Bytes>>20, source)
}

// Current gives the limit that holds, or that Set would set. GOMEMLIMIT=off and values above the machine's memory count as the machine's memory. It changes nothing.
func Current() Limit {
	l := Limit{Machine: machine()}
	l.Bytes = l.Machine / denominator * numerator
	if os.Getenv(Env) != "" {
		l.FromEnv = true
		l.Bytes = min(debug.SetMemoryLimit(-1), l.Machine)
	}
	return l
}

// Set sets the limit of this process, unless GOMEMLIMIT is set, and gives it.
func Set() Limit {
	l := Current()
	if !l.FromEnv {
		debug.SetMemoryLimit(l.Bytes)
	}
	return l
}

// machine gives the bytes of memory that there are for this process and those that it starts.
func machine() int64 {
	least := int64(math.MaxInt64)
	for _, look := range []memlimit.Provider{memlimit.FromCgroup, memlimit.FromSystem} {
		if n, err := look(); err == nil && n > 0 && n < uint64(least) { // a cgroup without a bound is an error
			least = int64(n) // it is below MaxInt64
		}
	}
	if least == math.MaxInt64 {
		return fallback
	}
	return least
}
