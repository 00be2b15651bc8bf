package embedded

import (
	"cmp"
	"errors"
	"log/slog"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/workflow"
)

// Store is the part of a store that a driver needs.
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

// Config configures a Driver. Only Store must be set.
type Config struct {
	// Store holds the runs. It must be a handle used by this driver alone, since the driver drives
	// what the handle owns. The driver does not close it; the caller must close the driver before
	// the store.
	Store Store
	// Kind is the kind of the runs that are started here and that Recover resumes; "" means the
	// kind of the store's owner (D15).
	Kind journal.Kind
	// Open opens the models and tools of a run. If nil, every call fails.
	Open driver.OpenFunc
	// Program finds the Go program of a workflow; it returns nil for a document. If Program is nil,
	// there are only documents.
	Program func(w *workflow.Workflow) (driver.Program, error)
	// Foreign reports whether the functions of a workflow belong to another program: answers to its
	// runs are left in the store for that program. If nil, no workflow is foreign.
	Foreign func(w *workflow.Workflow) bool
	// Expressions compiles the expressions of documents; nil means that there are none.
	Expressions expr.Compiler
	// MaxCalls is the maximum number of calls in flight over all runs. Further calls wait for their
	// turn, oldest first; a sleeping retry and a paused run do not count (P14). 0 means 256.
	MaxCalls int
	// Slots limits the calls in flight of all drivers that share it; MaxCalls is then ignored. If
	// nil, the driver has its own.
	Slots *Slots
	// Place is the location of the process: a run that needs another place is left to a process
	// there. The store's owner has the same place if the process continues other processes' runs,
	// and no place otherwise.
	Place string
	// NoDrive keeps the driver from starting calls: the runs that it starts and the decisions that
	// it makes are stored, and the runs continue in another process.
	NoDrive bool
	// MaxDriven is the maximum number of runs in memory. A run that is started beyond it is left to
	// a process with capacity, unless another run started it; no more runs are claimed. Requests
	// for a run are processed regardless. 0 means no limit.
	MaxDriven int
	// ApproveAll answers approvals with approve, but never questions or unknown outcomes (D24).
	ApproveAll bool
	// TakeOverAfter is the time without a heartbeat after which Maintain takes over runs of this
	// driver's kind from an owner that is still alive; 0 means never.
	TakeOverAfter time.Duration
	// Hooks are called for all runs that are driven here.
	Hooks Hooks
	// Common is called with each run held in common to which this driver appended on request, so
	// that its calls are started and stopped. If nil, a request in the store notifies a process
	// that can do so.
	Common func(run string)
	// Now is the clock for the times of events; nil means time.Now. Timers use the process's own
	// clock.
	Now func() time.Time
	// Logger receives log messages; nil disables logging.
	Logger *slog.Logger
}

// Hooks are callbacks that block the run that they concern, so they must be fast. They are called
// concurrently for different runs. Nil hooks are not called.
type Hooks struct {
	// Events is called with events once they are durable, in order, one call per activation.
	Events func(run string, events []event.Event)
	// Delta is called with model output as it arrives; concurrent calls of one run call it
	// concurrently.
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
