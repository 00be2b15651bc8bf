package embedded

import (
	"context"
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
	id     string // id of the call's command
	call   *call  // must not be used once the context has ended
	// short is the detail of the last *engine.BudgetError.
	short atomic.Pointer[string]

	mu     sync.Mutex
	done   context.Context //nolint:containedctx // made of parent when it is asked for
	cancel context.CancelCauseFunc
	over   bool
}

var _ context.Context = (*callContext)(nil)

// end ends the context; a nil cause is context.Canceled.
func (c *callContext) end(cause error) {
	c.mu.Lock()
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
	c.mu.Lock()
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
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.materialize().Done()
}

// Err implements context.Context.
func (c *callContext) Err() error {
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
	c.mu.Lock()
	from := c.parent
	if c.over || c.done != nil {
		from = c.materialize() // package context looks up the cause with its own key
	}
	c.mu.Unlock()
	return from.Value(key)
}
