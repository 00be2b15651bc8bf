package graph

import (
	"time"

	"github.com/hocket-run/hocket/workflow"
)

// SleepConfig is a node that rests before the run goes on. No call is open meanwhile, and the process may end: what is left of the time is kept by whichever process
// drives the run. It hands on what it was given.
type SleepConfig[S any] struct {
	ID string
	// For is how long, Until is when it ends, at once where that has passed. One of them is needed, not both.
	For     time.Duration
	Until   time.Time
	Options NodeOptions
}

// Sleep is Then for a node that rests for a time.
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
