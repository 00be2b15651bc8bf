package model

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Limits of a call where nothing else is said (P11).
const (
	DefaultTotalTimeout = 10 * time.Minute
	DefaultIdleTimeout  = 2 * time.Minute
)

// errTimeLimit is the cause with which a call's context is ended by this file, so that it can be distinguished from the caller's own cancelling.
var errTimeLimit = errors.New("time limit of the model call")

// WithTimeouts bounds every call of c: total from beginning to end, idle between two signs of life (the first one included). Zero means the
// default, a negative value no limit. A call that runs into a limit fails with [KindTimeout]. Deltas without content are passed on: a caller that bounds
// the call further up needs the signs of life too.
//
// The client must heed its context; every adapter here does.
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
	// The caller's own end comes first: a cancellation must not be reported as a time limit.
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

// boundedContext is the context of one call. What tells of its end is made when it is asked for: clients that answer at once never ask.
type boundedContext struct {
	context.Context // the caller's

	limits *limited
	began  time.Time
	active atomic.Int64 // the last sign of life: nanoseconds since began

	mu     sync.Mutex
	done   context.Context //nolint:containedctx // made of the caller's when it is asked for
	cancel context.CancelCauseFunc
	cause  error // of the end; nil before it
	timer  *time.Timer
}

// bound begins the time limits. One timer watches both.
func (c *boundedContext) bound(l *limited) {
	c.limits, c.began = l, time.Now()
	if l.total <= 0 && l.idle <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	rest, _ := c.rest()
	c.timer = time.AfterFunc(rest, c.check)
}

// rest gives the time until the limit that is reached first, and the cause of the end by it.
func (c *boundedContext) rest() (rest time.Duration, cause error) {
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

// check ends the context where a limit is reached, and otherwise comes again.
func (c *boundedContext) check() {
	rest, cause := c.rest()
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

// end ends the context, unless it has ended.
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

// ended gives what end was called with first; nil before.
func (c *boundedContext) ended() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

// whole gives the context that tells of the end. c.mu is held.
func (c *boundedContext) whole() context.Context {
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
	return c.whole().Done()
}

// Err implements context.Context.
func (c *boundedContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil && c.cause == nil {
		return c.Context.Err()
	}
	return c.whole().Err()
}

// Value implements context.Context.
func (c *boundedContext) Value(key any) any {
	c.mu.Lock()
	from := c.Context
	if c.done != nil || c.cause != nil {
		from = c.whole() // package context asks for the cause of the end by a key of its own
	}
	c.mu.Unlock()
	return from.Value(key)
}
