package embedded

import (
	"context"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine/event"
)

// Follow implements driver.Driver.
func (d *Driver) Follow(ctx context.Context, run string, take func(*event.Event) error) (driver.State, error) {
	sub := d.hubs.subscribe(run, followBatch)
	defer d.hubs.unsubscribe(run, sub)
	var failed error
	w := watcher{d: d, run: run, yield: func(u driver.Update, _ error) bool {
		if u.Event != nil {
			failed = take(u.Event)
		}
		return failed == nil
	}}
	if err := w.catchUp(ctx); err != nil {
		return driver.State{}, err
	}
	for failed == nil {
		d.mu.Lock()
		a := d.runs[run]
		d.mu.Unlock()
		if a == nil {
			break
		}
		select {
		case <-sub.notify:
			if err := w.drain(ctx, sub); err != nil {
				return driver.State{}, err
			}
		case <-a.gone:
		case <-ctx.Done():
			return driver.State{}, ctx.Err()
		}
	}
	if failed != nil {
		return driver.State{}, failed
	}
	state, err := d.Wait(ctx, run)
	if err == nil {
		err = w.drain(ctx, sub)
	}
	if err == nil && failed == nil {
		err = w.catchUp(ctx) // no notice of events stored elsewhere reached us
	}
	if failed != nil {
		err = failed
	}
	return state, err
}
