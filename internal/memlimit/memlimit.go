// Package memlimit determines how much memory a Hocket process may use, and sets the Go runtime's
// limit.
//
// The memory of the machine is what its cgroup allows, or all installed memory if that is less or
// the cgroup sets no limit. A process gets a soft limit of four fifths of it, unless GOMEMLIMIT is
// set: the garbage collector then works harder near the limit, so that the system does not kill the
// process. The rest is for the programs that it starts.
//
// The package sets nothing by itself: main calls [Set]. A Go program that embeds Hocket sets its
// own limit.
package memlimit

import (
	"fmt"
	"math"
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// Env is the environment variable with which users set the limit themselves, as read by the Go
// runtime.
const Env = "GOMEMLIMIT"

// numerator and denominator are the fraction of the machine's memory that a process gets.
const numerator, denominator = 4, 5

// fallback is the assumed memory of a machine that does not report its size.
const fallback = 2 << 30

// Limit is the memory limit of this process.
type Limit struct {
	// Bytes is the limit. Machine is the memory of the machine or of the cgroup.
	Bytes, Machine int64
	// FromEnv reports whether GOMEMLIMIT sets the limit.
	FromEnv bool
}

func (l Limit) String() string {
	source := fmt.Sprintf("four fifths of %d MiB", l.Machine>>20)
	if l.FromEnv {
		source = Env
	}
	return fmt.Sprintf("%d MiB (%s)", l.Bytes>>20, source)
}

// Current returns the limit in effect, or the one that Set would set. GOMEMLIMIT=off and values
// above the machine's memory count as the machine's memory. It changes nothing.
func Current() Limit {
	l := Limit{Machine: machine()}
	l.Bytes = l.Machine / denominator * numerator
	if os.Getenv(Env) != "" {
		l.FromEnv = true
		l.Bytes = min(debug.SetMemoryLimit(-1), l.Machine)
	}
	return l
}

// Set sets the limit of this process, unless GOMEMLIMIT is set, and returns it.
func Set() Limit {
	l := Current()
	if !l.FromEnv {
		debug.SetMemoryLimit(l.Bytes)
	}
	return l
}

// machine returns the number of bytes of memory available to this process and the processes that it
// starts.
func machine() int64 {
	least := int64(math.MaxInt64)
	for _, look := range []memlimit.Provider{memlimit.FromCgroup, memlimit.FromSystem} {
		if n, err := look(); err == nil && n > 0 && n < uint64(least) { // a cgroup without a limit is an error
			least = int64(n) // it is less than MaxInt64
		}
	}
	if least == math.MaxInt64 {
		return fallback
	}
	return least
}
