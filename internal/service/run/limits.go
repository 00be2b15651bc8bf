package run

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service/failure"
)

// admission counts the unfinished runs of a store: those that existed at the last count, and those
// started here since. It counts again once a second, and before it rejects a run. So this process
// never starts more than the limit; runs started by others are known within a second. The zero
// value is ready for use. It is safe for concurrent use.
type admission struct {
	mu      sync.Mutex
	counted time.Time
	n       int
	// pending is the number of runs that may or may not be stored yet; bell rings when this is
	// settled for one of them.
	pending int
	bell    broadcast
}

// Unended are the statuses of runs that have not ended.
var Unended = slices.DeleteFunc(journal.Statuses(), journal.Status.Ended)

const countEvery = time.Second

// counter counts runs; journal.Lists implements it.
type counter interface {
	Count(ctx context.Context, statuses ...journal.Status) (int, error)
}

// admit lets one more run start, unless the maximum is reached; the caller reports with done
// whether it started. It returns *LimitError, or an error of ctx or the store.
func (c *admission) admit(ctx context.Context, store counter, most int) (done func(begun bool), err error) {
	if most <= 0 {
		return func(bool) {}, nil
	}
	for {
		rung := c.bell.next()
		if ok, err := c.room(ctx, store, most); ok || err != nil {
			return c.done, err
		}
		select {
		case <-rung:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// room reserves a slot. It returns false if it is not yet known whether there is one.
func (c *admission) room(ctx context.Context, store counter, most int) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	full := c.n+c.pending >= most
	if full && c.pending > 0 && c.n < most {
		return false, nil
	}
	if now := time.Now(); full || now.Sub(c.counted) >= countEvery {
		n, err := store.Count(ctx, Unended...)
		if err != nil {
			return false, err
		}
		c.n, c.counted = n, now
	}
	switch {
	case c.n >= most:
		return false, &failure.LimitError{Limit: "runs that have not ended", Max: int64(most)}
	case c.n+c.pending >= most:
		return false, nil
	}
	c.pending++
	return true, nil
}

func (c *admission) done(begun bool) {
	c.mu.Lock()
	c.pending--
	if begun {
		c.n++
	}
	c.mu.Unlock()
	c.bell.ring()
}

// broadcast wakes all waiters. The zero value is ready for use. It is safe for concurrent use.
type broadcast struct {
	mu   sync.Mutex
	rung chan struct{}
}

// next returns a channel that is closed when the bell rings next.
func (b *broadcast) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rung == nil {
		b.rung = make(chan struct{})
	}
	return b.rung
}

func (b *broadcast) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rung != nil {
		close(b.rung)
		b.rung = nil
	}
}
