package temporaldriver

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"go.temporal.io/api/serviceerror"

	"github.com/hocket-run/hocket/internal/journal"
)

const (
	// signalTime bounds one signal.
	signalTime = 5 * time.Second
	// signalAgain is how long signals wait that could not be sent.
	signalAgain = time.Second
	// signalsAtOnce bounds the signals under way.
	signalsAtOnce = 16
)

// signal has the workflow of a run look at it, and starts the workflow where there is none. It returns at once; where Temporal does not answer, it is tried until it does.
func (d *Driver) signal(run string) {
	if d.takesCalls() {
		d.keepUp()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return // the feed of another process, or the sweep, finds the run
	}
	d.unsent[run] = true
	if !d.sending {
		d.sending = true
		d.wg.Go(d.send)
	}
}

// send sends the signals that are to be sent.
func (d *Driver) send() {
	for {
		d.mu.Lock()
		runs := slices.Collect(maps.Keys(d.unsent))
		if len(runs) == 0 || d.work.Err() != nil && d.closed && d.failing {
			d.sending = false
			d.mu.Unlock()
			return
		}
		runs = runs[:min(len(runs), signalsAtOnce)]
		for _, run := range runs {
			delete(d.unsent, run)
		}
		d.mu.Unlock()
		failed := d.sendAll(runs)
		if len(failed) == 0 {
			continue
		}
		d.mu.Lock()
		for _, run := range failed {
			d.unsent[run] = true
		}
		d.mu.Unlock()
		wait(d.work, signalAgain)
		if d.work.Err() != nil {
			d.mu.Lock()
			d.sending = false
			d.mu.Unlock()
			return
		}
	}
}

// sendAll signals runs at once, and gives those that could not be.
func (d *Driver) sendAll(runs []string) (failed []string) {
	errs := make(chan string, len(runs))
	for _, run := range runs {
		go func() {
			if err := d.signalNow(d.root, run); err != nil {
				d.told(run, err)
				errs <- run
				return
			}
			d.told(run, nil)
			errs <- ""
		}()
	}
	for range runs {
		if run := <-errs; run != "" {
			failed = append(failed, run)
		}
	}
	return failed
}

// told logs the first of signals that fail, and that they do not any more.
func (d *Driver) told(run string, err error) {
	d.mu.Lock()
	was := d.failing
	d.failing = err != nil
	d.mu.Unlock()
	switch {
	case err != nil && !was && d.work.Err() == nil:
		d.cfg.Logger.Warn("Temporal does not take signals; runs wait until it does", "run", run, "err", err)
	case err == nil && was:
		d.cfg.Logger.Info("Temporal takes signals again")
	}
}

// signalNow signals the workflow of a run, and starts it where there is none. A run that is gone, or is not Temporal's, needs none.
func (d *Driver) signalNow(ctx context.Context, run string) error {
	ctx, cancel := context.WithTimeout(ctx, signalTime)
	defer cancel()
	head, err := d.cfg.Store.Head(ctx, run)
	switch {
	case errors.Is(err, journal.ErrNotFound), errors.Is(err, journal.ErrClosed):
		return nil
	case err != nil:
		return err
	case head.Kind != journal.KindTemporal:
		return nil
	}
	o := d.options(head)
	_, err = d.cfg.Client.SignalWithStartWorkflow(ctx, o.ID, signalName, nil, o, workflowName, Input{Run: run, Protocol: protocol})
	if _, ok := errors.AsType[*serviceerror.InvalidArgument](err); ok && o.TypedSearchAttributes.Size() > 0 && !d.noAttributes.Swap(true) {
		d.cfg.Logger.Warn("Temporal refuses the search attributes HocketWorkflow and HocketStatus; runs go on without them", "err", err)
		return d.signalNow(ctx, run)
	}
	return err
}

// wait waits for a while, or for ctx.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
