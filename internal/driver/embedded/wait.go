package embedded

import (
	"context"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/journal"
)

// Wait implements driver.Driver.
func (d *Driver) Wait(ctx context.Context, run string) (driver.State, error) {
	var changes *signals // nil while the run is driven here
	defer func() {
		if changes != nil {
			changes.stop()
		}
	}()
	for {
		d.mu.Lock()
		a, closed := d.runs[run], d.closed
		d.mu.Unlock()
		if a != nil {
			select {
			case <-a.gone:
				continue
			case <-ctx.Done():
				return driver.State{}, ctx.Err()
			}
		}
		head, err := d.cfg.Store.Head(ctx, run)
		if err != nil {
			return driver.State{}, err
		}
		state := driver.State{Status: head.Status, Interrupted: head.Interrupted}
		d.mu.Lock()
		bad, now := d.undrivable[run], d.runs[run]
		d.mu.Unlock()
		switch {
		case now != nil:
			continue
		case !head.Status.IsActive():
			return state, nil
		case bad != nil:
			return state, bad
		case closed && !head.Interrupted:
			return state, driver.ErrClosed
		case head.Interrupted:
			continues, err := d.willBeClaimed(ctx, head)
			if err != nil || !continues || closed {
				return state, err
			}
		}
		if changes == nil {
			changes = new(d.subscribe(journal.OfRun(run)))
			continue // events stored before are read again
		}
		if err := changes.wait(ctx, d.root); err != nil {
			return state, err
		}
	}
}

// sleep sleeps until the time has passed or either context is done. Errors: ctx's; the cause of
// root.
func sleep(ctx, root context.Context, wait time.Duration) error {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-root.Done():
		return context.Cause(root)
	}
}
