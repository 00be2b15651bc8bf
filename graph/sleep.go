package graph

import (
	"time"

	"github.com/hocket-run/hocket/workflow"
)

// SleepConfig is a node that sleeps before the run continues. No call is open meanwhile, and the
// process may end: the remaining time is observed by whichever process drives the run. The node
// passes its input on.
type SleepConfig[S any] struct {
	ID string
	// For is the duration of the sleep. Until is the time at which it ends, immediately if that has
	// passed. Exactly one of them must be set.
	For     time.Duration
	Until   time.Time
	Options NodeOptions
}

// Sleep is like Then for a node that sleeps for d.
func (b *Builder[S]) Sleep(id string, d time.Duration) *Builder[S] {
	b.then(caller(), SleepConfig[S]{ID: id, For: d})
	return b
}

func (c SleepConfig[S]) define() *def[S] {
	d := &def[S]{id: c.ID, typ: TypeSleep, shape: shapeSleep, opts: c.Options, sleep: &workflow.SleepNode{}}
	switch {
	case c.For != 0 && !c.Until.IsZero():
		d.problem = problemf("Sleep node %q takes For or Until, not both", c.ID)
	case !c.Until.IsZero():
		d.sleep.Until = c.Until.UTC().Format(time.RFC3339Nano)
	case c.For == 0:
		d.problem = problemf("Sleep node %q has no time", c.ID)
	default:
		d.sleeps = c.For
		d.sleep.For = c.For.String()
	}
	return d
}
