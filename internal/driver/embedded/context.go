package embedded

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// callContext is the context of one call. Most functions never ask whether it has ended, so the
// underlying context is created on demand and a callContext costs only its own allocation. It is
// also the driver.Caller of the call. It is never reused for another call, since functions may keep
// it.
type callContext struct {
	parent context.Context //nolint:containedctx // it is a context
	actor  *actor
	name   string // id of the call's command; "" for the first call of step
	step   int
	call   *call // must not be used once the context has ended
	// short is the detail of the last *engine.BudgetError.
	short atomic.Pointer[string]
	// use is inUse if anything below is in use: most contexts end without.
	use atomic.Uint32

	mu     sync.Mutex
	done   context.Context //nolint:containedctx // made of parent when it is asked for
	cancel context.CancelCauseFunc
	over   bool
}

var _ context.Context = (*callContext)(nil)

// Values of callContext.use.
const (
	unused   uint32 = iota // nothing was asked for, and the context has not ended
	overSoon               // it ended before anything was asked for
	inUse                  // the fields guarded by mu hold everything
)

// id returns the id of the call's command.
func (c *callContext) id() string {
	if c.name != "" {
		return c.name
	}
	return strconv.Itoa(c.step) + ".0.1#1"
}

// lock locks mu and makes the fields that it guards hold everything.
func (c *callContext) lock() {
	c.mu.Lock()
	if !c.use.CompareAndSwap(unused, inUse) && c.use.CompareAndSwap(overSoon, inUse) {
		c.over = true
	}
}

// end ends the context; a nil cause is context.Canceled.
func (c *callContext) end(cause error) {
	if cause == nil && c.parent.Err() == nil && (c.use.CompareAndSwap(unused, overSoon) || c.use.Load() == overSoon) {
		return
	}
	c.lock()
	defer c.mu.Unlock()
	if c.over && c.done == nil {
		return
	}
	if cause != nil || c.parent.Err() != nil { // the cause is kept
		c.materialize()
	}
	c.over = true
	if c.cancel != nil {
		c.cancel(cause)
	}
}

// Idle implements driver.Caller.
func (c *callContext) Idle() {
	c.lock()
	defer c.mu.Unlock()
	if !c.over {
		c.call.release()
	}
}

// materialize creates the underlying context that reports the end. c.mu must be held.
func (c *callContext) materialize() context.Context {
	switch {
	case c.done != nil:
	case c.over: // ended before its parent
		c.done, c.cancel = context.WithCancelCause(context.WithoutCancel(c.parent))
		c.cancel(nil)
	default:
		c.done, c.cancel = context.WithCancelCause(c.parent)
	}
	return c.done
}

// Deadline implements context.Context.
func (c *callContext) Deadline() (time.Time, bool) { return c.parent.Deadline() }

// Done implements context.Context.
func (c *callContext) Done() <-chan struct{} {
	c.lock()
	defer c.mu.Unlock()
	return c.materialize().Done()
}

// Err implements context.Context.
func (c *callContext) Err() error {
	switch c.use.Load() {
	case unused:
		return c.parent.Err()
	case overSoon:
		return context.Canceled
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.done != nil:
		return c.done.Err()
	case c.over:
		return context.Canceled
	}
	return c.parent.Err()
}

// Value implements context.Context.
func (c *callContext) Value(key any) any {
	if c.use.Load() == unused {
		return c.parent.Value(key)
	}
	c.lock()
	from := c.parent
	if c.over || c.done != nil {
		from = c.materialize() // package context looks up the cause with its own key
	}
	c.mu.Unlock()
	return from.Value(key)
}
