package embedded

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// callContext is the context of one call. Most functions never ask for its end, so what tells of that is made when it is asked for: the context costs no more than its
// own place. It is the driver.Caller of the call too. It is never used for another call, since functions may keep it.
type callContext struct {
	parent context.Context //nolint:containedctx // it is a context
	actor  *actor
	id     string // of the call's command
	call   *call  // not to be looked at once the context is over
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
		c.whole()
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

// whole makes the context that tells of the end. c.mu is held.
func (c *callContext) whole() context.Context {
	switch {
	case c.done != nil:
	case c.over: // before its parent
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
	return c.whole().Done()
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
		from = c.whole() // package context asks for the cause of the end by a key of its own
	}
	c.mu.Unlock()
	return from.Value(key)
}
