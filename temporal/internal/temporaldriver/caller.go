package temporaldriver

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/held"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/workflow"
)

// caller is a call in flight, as seen by the code that executes it.
type caller struct {
	ctx  context.Context //nolint:containedctx // of the call
	d    *Driver
	c    *held.Common
	run  string
	id   string
	info *driver.Info
	// short is the detail of the last *engine.BudgetError.
	short atomic.Pointer[string]

	mu   sync.Mutex
	slot func() // releases the slot that it holds; nil if it holds none
	// begun is the request that records that the call was begun; 0 means none.
	begun uint64
}

var _ driver.Caller = (*caller)(nil)

// admission returns the admission of a call that queues for its provider; nil means that it need
// not wait.
func admission(kit *driver.RunResources, info *driver.Info, cmd engine.Command) driver.Admission {
	if c, ok := cmd.(*engine.CallModel); ok && kit.Admit != nil {
		return kit.Admit(info, c)
	}
	return nil
}

// admit waits for the call's turn and then for a slot: a call that queues for its provider holds
// none (P14). It returns false if the call was cancelled first.
func (l *caller) admit(ctx context.Context, kit *driver.RunResources, turn driver.Admission, cmd engine.Command) bool {
	_, isTool := cmd.(*engine.CallTool)
	if turn == nil {
		return ctx.Err() == nil && (isTool && kit.Waits || l.acquire(ctx))
	}
	for {
		if turn.Ready(ctx) != nil || !l.acquire(ctx) {
			turn.Leave()
			return false
		}
		if turn.Start() {
			return true
		}
		l.Idle()
	}
}

func (l *caller) acquire(ctx context.Context) bool {
	release, ok := l.d.TakeSlot(ctx)
	if !ok {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slot = release
	return true
}

// Idle implements driver.Caller.
func (l *caller) Idle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.slot != nil {
		l.slot()
		l.slot = nil
	}
}

// Info implements driver.Ledger.
func (l *caller) Info() *driver.Info { return l.info }

// Short implements driver.Ledger.
func (l *caller) Short(detail string) { l.short.Store(&detail) }

// Record implements driver.Recorder. What was done when the run was interrupted is stored if there
// is time, so the call's own context does not limit it.
func (l *caller) Record(note engine.FuncNote) error {
	return l.apply(func(t *held.Turn) error { return t.Do(note) })
}

// Use implements driver.Ledger.
func (l *caller) Use(u engine.CallUse) error {
	u.ID = l.id
	return l.apply(func(t *held.Turn) error { return t.Do(u) })
}

// Begin implements driver.Ledger.
func (l *caller) Begin(ctx context.Context, run string, shares int, more *workflow.Budget) (
	above *workflow.Budget, err error) {
	err = l.room(ctx, func() {}, func(t *held.Turn) error {
		if err := t.Do(engine.ChildStart{ID: l.id, Run: run, Shares: shares, More: more}); err != nil {
			return err
		}
		above = t.Run.Allotment(run)
		return nil
	})
	return above, err
}

// Reserve implements driver.Ledger.
func (l *caller) Reserve(ctx context.Context, q engine.CallReserve) (g driver.Grant, err error) {
	q.ID = l.id
	if q.Key != "" {
		q.Key = l.id + "/" + q.Key
	}
	err = l.room(ctx, l.Idle, func(t *held.Turn) error {
		if err := t.Do(q); err != nil {
			return err
		}
		g.Output, g.Short, g.Reserved = t.Run.ReservedFor(q.Key)
		return nil
	})
	g.Key = q.Key
	return g, err
}

// room calls fn until there is room in a budget; it calls parked whenever there is none yet.
func (l *caller) room(ctx context.Context, parked func(), fn func(t *held.Turn) error) error {
	changes := make(chan struct{}, 1)
	defer l.d.cfg.Store.Subscribe(changes, journal.OfRun(l.run))()
	for {
		err := l.apply(fn)
		if short, ok := errors.AsType[*engine.BudgetError](err); ok {
			l.Short(short.Detail)
		}
		if !errors.Is(err, engine.ErrNoRoom) {
			return err
		}
		parked()
		if err := l.d.change(ctx, changes); err != nil {
			return err
		}
	}
}

// apply applies fn to the run. Further calls that this opens are dispatched immediately.
// While the store is unavailable, apply waits.
func (l *caller) apply(fn func(t *held.Turn) error) error {
	ctx, stop := l.d.storeContext(l.ctx)
	defer stop()
	return l.d.retryStore(l.ctx, func() error {
		dec, err := l.c.Decide(ctx, fn)
		if len(dec.Commands) > 0 {
			l.d.signal(l.run)
		}
		return err
	})
}

// mark records in the result of a failed call that a budget left nothing for what it was to start.
func (l *caller) mark(data engine.InputData) engine.InputData {
	short := l.short.Load()
	if short == nil {
		return data
	}
	switch d := data.(type) {
	case engine.ToolResult:
		if d.Failure != nil {
			d.Budget, d.Unknown = *short, ""
		}
		return d
	case engine.FuncResult:
		if d.Failure != nil {
			d.Budget = *short
		}
		return d
	}
	return data
}
