package held

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/text"
	"github.com/hocket-run/hocket/workflow"
)

// CommonConfig configures Commons.
type CommonConfig struct {
	Store interface {
		journal.Log
		journal.Lists
	}
	Plans *Plans
	// Program finds the program of a workflow, as in Plans.Compile; Open opens the resources that
	// calls need.
	Program func(w *workflow.Workflow) (driver.Program, error)
	Open    driver.OpenFunc
	// Settle returns inputs that follow from the state of a run after a decision, or nil for none;
	// it is called until it returns none. If Settle is nil, none follow.
	Settle func(run *engine.Run) []engine.InputData
	// Stored is called with the events of each durable append, in order for each run; it may be
	// nil.
	Stored func(run string, events []event.Event)
	Now    func() time.Time
	Logger *slog.Logger
}

// Commons holds the runs held in common (journal.Sharing) that a process has read, folded up to the
// last event it has seen. It is safe for concurrent use.
type Commons struct {
	cfg         CommonConfig
	keepsEvents bool

	mu   sync.Mutex
	runs map[string]*Common
	// idle holds the unused runs, most recently used last.
	idle []*Common
}

// maxIdle is the maximum number of unused runs that are kept: reading one again costs only time.
const maxIdle = 256

// NewCommons returns a Commons without runs.
func NewCommons(cfg CommonConfig) *Commons {
	_, keeps := cfg.Store.(journal.EventKeeper)
	return &Commons{cfg: cfg, keepsEvents: keeps, runs: map[string]*Common{}}
}

// Common is a run held in common, as this process knows it. Each use reads what other processes
// have appended meanwhile.
type Common struct {
	cs    *Commons
	id    string
	users int // guarded by cs.mu

	lock chan struct{} // holds a value while the fields below are in use
	head journal.Head  // as of the last check
	plan Compiled
	run  *engine.Run // nil if it must be read
	read time.Time   // when the journal was last read
	// decided is when the current decision began.
	decided time.Time
	info    driver.Info
	kit     *kit
	buf     []byte
	// releases free the large strings of the last append.
	releases []func()
}

// NotCommonError means that a run is not, or no longer, held in common.
type NotCommonError struct {
	Run  string
	Kind journal.Kind
}

func (e *NotCommonError) Error() string {
	return fmt.Sprintf("run %s is not on Temporal: it belongs to processes of kind %s", e.Run, e.Kind)
}

// Use returns a run, which may be used until done is called. It does not read anything yet.
func (cs *Commons) Use(run string) (c *Common, done func()) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c = cs.runs[run]
	if c == nil {
		c = &Common{cs: cs, id: run, lock: make(chan struct{}, 1)}
		cs.runs[run] = c
	}
	if c.users++; c.users == 1 {
		cs.idle = slices.DeleteFunc(cs.idle, func(o *Common) bool { return o == c })
	}
	return c, sync.OnceFunc(func() { cs.leave(c) })
}

func (cs *Commons) leave(c *Common) {
	cs.mu.Lock()
	var out []*Common
	if c.users--; c.users == 0 {
		cs.idle = append(cs.idle, c)
		if n := len(cs.idle) - maxIdle; n > 0 {
			out = append(out, cs.idle[:n]...)
			cs.idle = slices.Delete(cs.idle, 0, n)
		}
		if c.run != nil && c.run.Status().Ended() && c.run.EndedByLimit() == "" {
			out = append(out, c)
			cs.idle = slices.DeleteFunc(cs.idle, func(o *Common) bool { return o == c })
		}
		for _, o := range out {
			delete(cs.runs, o.id)
		}
	}
	cs.mu.Unlock()
	for _, o := range out {
		o.dropKit()
	}
}

// Close closes the resources that were opened for unused runs.
func (cs *Commons) Close() {
	cs.mu.Lock()
	out := cs.idle
	cs.idle = nil
	for _, c := range out {
		delete(cs.runs, c.id)
	}
	cs.mu.Unlock()
	for _, c := range out {
		c.dropKit()
	}
}

// enter waits for exclusive use of the run; leave ends it.
func (c *Common) enter(ctx context.Context) error {
	select {
	case c.lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Common) leave() { <-c.lock }

// Look calls fn with the current state of the run; fn must neither keep the run nor block.
//
// Errors: *NotCommonError; journal.ErrNotFound; *driver.QuarantineError for a journal that cannot
// be read or lacks events; those of the store.
func (c *Common) Look(ctx context.Context, fn func(run *engine.Run, head journal.Head)) error {
	return c.LookSince(ctx, time.Time{}, fn)
}

// LookSince is like Look but does not read the journal again if it was read after since; the zero
// time always reads it.
func (c *Common) LookSince(ctx context.Context, since time.Time, fn func(run *engine.Run, head journal.Head)) error {
	if err := c.enter(ctx); err != nil {
		return err
	}
	defer c.leave()
	if since.IsZero() || c.run == nil || !c.read.After(since) {
		if err := c.current(ctx); err != nil {
			return err
		}
	}
	return func() (err error) {
		defer Recovered(&err)
		fn(c.run, c.head)
		return nil
	}()
}

// current is like catchUp, but also ends a run whose store has lost events: no journal contains
// what its calls did since then (ADR 91).
func (c *Common) current(ctx context.Context) error {
	err := c.catchUp(ctx)
	if lost, ok := errors.AsType[*LostError](err); ok {
		return c.quarantine(ctx, lost)
	}
	return err
}

// catchUp brings the run in memory up to date with the journal. It returns a *LostError if the run
// was ahead of the journal; the run is then reloaded.
func (c *Common) catchUp(ctx context.Context) (err error) {
	defer func() {
		var diverge *engine.DivergenceError
		if err == nil {
			return
		}
		c.run = nil
		if IsDamage(err) || IsDefect(err) || errors.As(err, &diverge) {
			err = &driver.QuarantineError{Run: c.id, Err: err}
		}
	}()
	defer Recovered(&err)
	c.read = time.Now()
	var each func(event.Event)
	if c.kit != nil {
		each = c.folded
	}
	head, err := c.cs.cfg.Store.Head(ctx, c.id)
	switch {
	case errors.Is(err, journal.ErrNotFound) && c.run != nil && !c.run.Status().Ended():
		c.cs.cfg.Logger.Error("run cannot continue", "run", c.id, "err",
			&LostError{Run: c.id, From: 1, To: c.run.Seq()})
		return err
	case err != nil:
		return err
	case head.Kind != journal.KindTemporal:
		return &NotCommonError{Run: c.id, Kind: head.Kind}
	case head.Epoch != c.head.Epoch: // it was transferred away and back
		c.run = nil
	}
	c.head = head
	if c.run != nil && c.run.Seq() == head.LastSeq {
		return nil
	}
	if c.run != nil && c.run.Seq() > head.LastSeq {
		return &LostError{Run: c.id, From: head.LastSeq + 1, To: c.run.Seq()}
	}
	if c.run != nil {
		return FoldInto(ctx, c.cs.cfg.Store, c.run, c.id, c.load, each)
	}
	if c.plan, err = c.cs.cfg.Plans.Load(ctx, c.cs.cfg.Store, c.head.Definition, c.cs.cfg.Program); err != nil {
		return journal.InRun(c.id, err)
	}
	// Calls read these while catchUp replaces c.head and c.plan.
	meta, plan := head.Meta, c.plan
	c.info = Info(c.id, plan.Plan.Workflow(), head.NewRun, func(ctx context.Context, name string) ([]byte, error) {
		return c.file(ctx, meta, name)
	})
	c.info.History = func(ctx context.Context) (*driver.History, error) { return c.history(ctx, plan) }
	run := NewRun(c.plan, c.id)
	if err := FoldInto(ctx, c.cs.cfg.Store, run, c.id, c.load, each); err != nil {
		return err
	}
	run.StopWhen(func() bool { return time.Since(c.decided) >= MaxDecision })
	c.run = run
	return nil
}

// load returns a string of the run. The engine calls it during a decision, so no caller's context
// limits it.
func (c *Common) load(hash string) (string, error) {
	return LoadText(context.Background(), c.cs.cfg.Store, c.id, hash)
}

func (c *Common) file(ctx context.Context, meta map[string]string, name string) ([]byte, error) {
	hash, ok := meta[driver.MetaFile+name]
	if !ok {
		return nil, fmt.Errorf("file %q of run %s: %w", name, c.id, journal.ErrNotFound)
	}
	data, err := c.cs.cfg.Store.Blob(ctx, hash)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, &journal.CorruptError{Run: c.id, Reason: fmt.Sprintf("its file %q is missing", name)}
	}
	return data, err
}

func (c *Common) history(ctx context.Context, plan Compiled) (h *driver.History, err error) {
	fold := NewRun(plan, c.id)
	h = driver.NewHistory(c.id, fold)
	defer text.Recover(&err)
	return h, FoldInto(ctx, c.cs.cfg.Store, fold, c.id, c.load, h.Add)
}
