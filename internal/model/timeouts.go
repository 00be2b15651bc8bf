package model

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Default limits of a call (P11).
const (
	DefaultTotalTimeout = 10 * time.Minute
	DefaultIdleTimeout  = 2 * time.Minute
)

// errTimeLimit is the cause with which this file ends a call's context, to distinguish it from
// cancellation by the caller.
var errTimeLimit = errors.New("time limit of the model call")

// WithTimeouts limits every call of c: total is the time from start to end, idle the time between
// two signs of activity, including the first one. Zero means the default, a negative value no
// limit. A call that exceeds a limit fails with [KindTimeout]. Deltas without content are passed
// on: a caller that limits the call further up needs the signs of activity too.
//
// The client must respect its context; every adapter here does.
func WithTimeouts(c Client, total, idle time.Duration) Client {
	if total == 0 {
		total = DefaultTotalTimeout
	}
	if idle == 0 {
		idle = DefaultIdleTimeout
	}
	return &limited{client: c, total: total, idle: idle}
}

type limited struct {
	client      Client
	total, idle time.Duration
}

// Call implements Client.
func (l *limited) Call(ctx context.Context, req Request, onDelta func(Delta)) (Reply, error) {
	bounded := &boundedContext{Context: ctx}
	bounded.bound(l)
	defer bounded.end(context.Canceled)

	reply, err := l.client.Call(bounded, req, func(d Delta) {
		bounded.active.Store(int64(time.Since(bounded.began)))
		if onDelta != nil {
			onDelta(d)
		}
	})
	if err == nil {
		return reply, nil
	}
	// The caller's own context comes first: a cancellation must not be reported as a time limit.
	if ctx.Err() != nil {
		if errors.Is(err, ctx.Err()) {
			return Reply{}, err
		}
		return Reply{}, fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	if cause := bounded.ended(); cause != nil {
		return Reply{}, &Error{Kind: KindTimeout, Message: cause.Error(), Source: SourceOf(err), Usage: UsageOf(err)}
	}
	return Reply{}, err
}

// boundedContext is the context of one call. Its Done channel and cause are created on demand:
// clients that reply immediately never need them.
type boundedContext struct {
	context.Context // the caller's

	limits *limited
	began  time.Time
	active atomic.Int64 // last activity, in nanoseconds since began

	mu     sync.Mutex
	done   context.Context //nolint:containedctx // made of the caller's when it is asked for
	cancel context.CancelCauseFunc
	cause  error // cause of the end; nil before it
	timer  *time.Timer
}

// bound starts the time limits. One timer watches both.
func (c *boundedContext) bound(l *limited) {
	c.limits, c.began = l, time.Now()
	if l.total <= 0 && l.idle <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	rest, _ := c.untilLimit()
	c.timer = time.AfterFunc(rest, c.check)
}

// untilLimit returns the time until the limit that is reached first, and the cause if it has been
// reached.
func (c *boundedContext) untilLimit() (rest time.Duration, cause error) {
	l, now := c.limits, time.Since(c.began)
	total, idle := l.total-now, time.Duration(c.active.Load())+l.idle-now
	if l.idle <= 0 || l.total > 0 && total <= idle {
		if total <= 0 {
			cause = fmt.Errorf("%w: the answer took longer than %s", errTimeLimit, l.total)
		}
		return total, cause
	}
	if idle <= 0 {
		cause = fmt.Errorf("%w: no activity for %s", errTimeLimit, l.idle)
	}
	return idle, cause
}

// check ends the context if a limit is reached, and otherwise reschedules itself.
func (c *boundedContext) check() {
	rest, cause := c.untilLimit()
	if cause != nil {
		c.end(cause)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause == nil {
		c.timer.Reset(rest)
	}
}

// end ends the context, unless it has already ended.
func (c *boundedContext) end(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause != nil {
		return
	}
	c.cause = cause
	if c.timer != nil {
		c.timer.Stop()
	}
	if c.cancel != nil {
		c.cancel(cause)
	}
}

// ended returns the cause passed to the first call of end, or nil before it.
func (c *boundedContext) ended() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

// cancellable returns the cancellable context, creating it if necessary. The caller must hold c.mu.
func (c *boundedContext) cancellable() context.Context {
	if c.done == nil {
		c.done, c.cancel = context.WithCancelCause(c.Context)
		if c.cause != nil {
			c.cancel(c.cause)
		}
	}
	return c.done
}

// Done implements context.Context.
func (c *boundedContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cancellable().Done()
}

// Err implements context.Context.
func (c *boundedContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil && c.cause == nil {
		return c.Context.Err()
	}
	return c.cancellable().Err()
}

// Value implements context.Context.
func (c *boundedContext) Value(key any) any {
	c.mu.Lock()
	from := c.Context
	if c.done != nil || c.cause != nil {
		from = c.cancellable() // package context looks up the cause with a key of its own
	}
	c.mu.Unlock()
	return from.Value(key)
}
