package embedded

import (
	"context"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

// signals notifies one goroutine of changes in the store.
type signals struct {
	d    *Driver
	c    chan struct{}
	stop func()
}

// subscribe returns signals for changes that are stored from now on. The caller must stop them.
func (d *Driver) subscribe(topics ...journal.Topic) signals {
	c := make(chan struct{}, 1)
	return signals{d, c, d.cfg.Store.Subscribe(c, topics...)}
}

// wait waits for a change, for the safety poll, or until a context is done. It returns ctx's error
// or the cause of root.
func (s signals) wait(ctx, root context.Context) error {
	return s.waitAtMost(ctx, root, journal.SafetyPoll)
}

func (s signals) waitAtMost(ctx, root context.Context, limit time.Duration) error {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-s.c:
		return nil
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-root.Done():
		return context.Cause(root)
	}
}
