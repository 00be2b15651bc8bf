package run

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service/failure"
)

// admission counts the runs of a store that have not ended: those that were there when it counted, and those that began here since. It counts anew once a second, and before
// it turns a run away. So this process never lets one too many begin; what others begin is known within a second. The zero value is ready; safe for concurrent
// use.
type admission struct {
	mu      sync.Mutex
	counted time.Time
	n       int
	// coming are those that may or may not be stored by now; bell rings when one is known to be, or not to be.
	coming int
	bell   bell
}

// Unended are the statuses of runs that have not ended.
var Unended = slices.DeleteFunc(journal.Statuses(), journal.Status.Ended)

const countEvery = time.Second

// counter counts runs; a journal.Lists does.
type counter interface {
	Count(ctx context.Context, statuses ...journal.Status) (int, error)
}

// enter lets one more run begin, unless there are most already; the caller tells by done whether it began. Errors: *LimitError; ctx's; the store's.
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

// room takes a place. False: it is not known yet whether there is one.
func (c *admission) room(ctx context.Context, store counter, most int) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	full := c.n+c.coming >= most
	if full && c.coming > 0 && c.n < most {
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
	case c.n+c.coming >= most:
		return false, nil
	}
	c.coming++
	return true, nil
}

func (c *admission) done(begun bool) {
	c.mu.Lock()
	c.coming--
	if begun {
		c.n++
	}
	c.mu.Unlock()
	c.bell.ring()
}

// bell wakes all who wait. The zero value is ready; safe for concurrent use.
type bell struct {
	mu   sync.Mutex
	rung chan struct{}
}

// next gives what is closed when the bell rings the next time.
func (b *bell) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rung == nil {
		b.rung = make(chan struct{})
	}
	return b.rung
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rung != nil {
		close(b.rung)
		b.rung = nil
	}
}
