package model

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Limits of a call where nothing else is said (P11).
const (
	DefaultTotalTimeout = 10 * time.Minute
	DefaultIdleTimeout  = 2 * time.Minute
)

// errTimeLimit is the cause with which a call's context is ended by this file, so that it is told from the caller's own cancelling.
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
	bounded, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	if l.total > 0 {
		t := time.AfterFunc(l.total, func() { cancel(fmt.Errorf("%w: the answer took longer than %s", errTimeLimit, l.total)) })
		defer t.Stop()
	}
	alive := func() {}
	if l.idle > 0 {
		t := time.AfterFunc(l.idle, func() { cancel(fmt.Errorf("%w: no activity for %s", errTimeLimit, l.idle)) })
		defer t.Stop()
		alive = func() { t.Reset(l.idle) }
	}

	reply, err := l.client.Call(bounded, req, func(d Delta) {
		alive()
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
	if cause := context.Cause(bounded); cause != nil {
		return Reply{}, &Error{Kind: KindTimeout, Message: cause.Error(), Source: SourceOf(err), Usage: UsageOf(err)}
	}
	return Reply{}, err
}
