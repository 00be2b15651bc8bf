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
	// signalTime is the timeout of one signal.
	signalTime = 5 * time.Second
	// signalAgain is the delay before signals that could not be sent are retried.
	signalAgain = time.Second
	// signalsAtOnce is the maximum number of signals in flight.
	signalsAtOnce = 16
)

// signal makes the workflow of a run query the run, and starts the workflow if there is none; the
// workflow of a pending run is started when it begins. It returns immediately; if Temporal does not
// respond, the signal is retried until it does.
func (d *Driver) signal(run string) {
	if d.takesCalls() {
		d.startMaintenance()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return // another process's feed, or the sweep, finds the run
	}
	d.unsent[run] = true
	if !d.sending {
		d.sending = true
		d.wg.Go(d.send)
	}
}

// send sends the pending signals.
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

// sendAll signals runs concurrently, and returns those that could not be signalled.
func (d *Driver) sendAll(runs []string) (failed []string) {
	errs := make(chan string, len(runs))
	for _, run := range runs {
		go func() {
			if err := d.signalNow(d.root, run); err != nil {
				d.logSignalFailure(run, err)
				errs <- run
				return
			}
			d.logSignalFailure(run, nil)
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

// logSignalFailure logs the first of a series of failing signals, and that signals succeed again.
func (d *Driver) logSignalFailure(run string, err error) {
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

// signalNow signals the workflow of a run, and starts it if there is none. A run that was deleted,
// or does not belong to Temporal, needs no signal.
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
	case head.Status == journal.StatusPending:
		d.awaitTurn(head)
		return nil
	}
	o := d.options(head)
	_, err = d.cfg.Client.SignalWithStartWorkflow(ctx, o.ID, signalName, nil, o, workflowName,
		Input{Run: run, Protocol: protocol})
	if _, ok := errors.AsType[*serviceerror.InvalidArgument](err); ok && o.TypedSearchAttributes.Size() > 0 &&
		!d.noAttributes.Swap(true) {
		d.cfg.Logger.Warn("Temporal refuses the search attributes HocketWorkflow and HocketStatus; runs go on "+
			"without them", "err", err)
		return d.signalNow(ctx, run)
	}
	return err
}

// wait waits for the duration d or until ctx is done.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
