package embedded

import (
	"cmp"
	"errors"
	"log/slog"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/workflow"
)

// Store is what a driver needs of a store.
type Store interface {
	journal.Log
	journal.Lists
	journal.Ownership
	journal.Sharing
	journal.Dispatch
	journal.Inbox
	journal.Notices
	journal.Changes
	journal.Deltas
	journal.Slots
}

// Config is what a Driver is made of. Only Store must be set.
type Config struct {
	// Store keeps the runs. It is a handle of this driver alone, since what the handle owns is what the driver drives. The driver does not close
	// it; its closer closes the driver first.
	Store Store
	// Kind is the kind of the runs that are started here, and of those that Recover takes up; "": that of the store's owner (D15).
	Kind journal.Kind
	// Open opens models and tools of a run. Nil: every call fails.
	Open driver.OpenFunc
	// Program finds the Go program of a workflow, nil for a document. Nil: there are only documents.
	Program func(w *workflow.Workflow) (driver.Program, error)
	// Foreign tells of a workflow whose functions another program has: answers to its runs are left in the store for that program. Nil: none is.
	Foreign func(w *workflow.Workflow) bool
	// Expressions compiles the expressions of documents; nil: there are none.
	Expressions expr.Compiler
	// MaxCalls bounds the calls in flight over all runs. Calls beyond it wait for their turn, oldest first; a retry that sleeps and a run that is
	// paused need none (P14). 0: 256.
	MaxCalls int
	// Slots bounds the calls in flight of all drivers that share it; MaxCalls is not used then. Nil: the driver's own.
	Slots *Slots
	// Place is where the process is: a run that needs another place is left to a process there. The store's owner has the same place where the process continues runs of others, else none.
	Place string
	// NoDrive makes a driver that begins no call: what it starts and what it decides is stored, and goes on in another process.
	NoDrive bool
	// MaxDriven bounds the runs in memory. A run that is started beyond it is left to a process that has room, unless another run started it; no more are claimed. What is asked of a
	// run is done without regard to it. 0: no bound.
	MaxDriven int
	// ApproveAll answers approvals with approve; never questions and unknown outcomes (D24).
	ApproveAll bool
	// TakeOverAfter is for how long the owner of runs of this driver's kind gives no sign of life before Tend takes them over although it lives; 0: never.
	TakeOverAfter time.Duration
	// Hooks get all runs that are driven here.
	Hooks Hooks
	// Common is called with each run held in common to which this driver appended on a request, so that its calls are begun and stopped. Nil: a request in the store tells a process that can do so.
	Common func(run string)
	// Now is the clock for the times of events. Nil: time.Now. Timers run on the process's own clock.
	Now func() time.Time
	// Logger; nil: none.
	Logger *slog.Logger
}

// Hooks block the run that they are about, so they must be quick. They are called concurrently for several runs. Nil ones are not called.
type Hooks struct {
	// Events gives events once they are durable, in order, as one activation made them.
	Events func(run string, events []engine.Event)
	// Delta gives what a model is saying; concurrent calls of one run call it concurrently.
	Delta func(run string, d driver.Delta)
}

func (c Config) withDefaults() (Config, error) {
	if c.Store == nil {
		return c, errors.New("driver has no store")
	}
	if c.MaxCalls < 0 {
		return c, errors.New("driver: MaxCalls is negative")
	}
	if c.MaxDriven < 0 {
		return c, errors.New("driver: MaxDriven is negative")
	}
	if c.TakeOverAfter < 0 {
		return c, errors.New("driver: TakeOverAfter is negative")
	}
	c.Kind = cmp.Or(c.Kind, c.Store.Owner().Kind)
	if c.Foreign == nil {
		c.Foreign = func(*workflow.Workflow) bool { return false }
	}
	if c.Slots == nil {
		c.Slots = NewSlots(c.MaxCalls)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}
