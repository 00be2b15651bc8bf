package hocket

import (
	"context"
	"errors"
	"time"
)

// errAbandoned is why a run is left that another process drove.
var errAbandoned = errors.New("no process drives it any longer")

// leftBy tells why a run is interrupted that nobody here has left.
func (e *Engine) leftBy() error {
	if e.closing.Load() {
		return ErrClosed
	}
	return errAbandoned
}

// abandonedEvery is how often it is looked whether somebody still drives a run that is streamed. The lease of a process that died lapses in its own time.
const abandonedEvery = time.Second

// guarded gives a context that is done with errAbandoned when nobody drives the run any more (P18): of itself a stream would wait for the next one who does. stop
// ends the looking and waits for it.
func (f *following) guarded(ctx context.Context) (guarded context.Context, stop func()) {
	if !f.e.durable {
		return ctx, func() {} // nobody else can drive it
	}
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		look := time.NewTicker(abandonedEvery)
		defer look.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-look.C:
			}
			if h, err := f.e.service.Head(ctx, f.run); err == nil && h.Interrupted && !f.e.closing.Load() {
				cancel(errAbandoned)
				return
			}
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-done
	}
}
