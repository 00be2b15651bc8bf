package embedded

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/held"
	"github.com/hocket-run/hocket/internal/journal"
)

const (
	// claimEvery is the interval at which the driver checks for runs to claim. Runs that processes
	// release are signalled, but not every store signals that a process has died.
	claimEvery = 750 * time.Millisecond
	// maxClaim is the maximum number of runs per claim, so that several processes share the waiting
	// runs.
	maxClaim = 16
)

// handsOff reports whether a run is not driven here: decisions about it are stored, and its calls
// are started by the process that claims it next.
func (d *Driver) handsOff(place string) bool {
	return d.cfg.NoDrive || d.draining.Load() || place != "" && place != d.cfg.Place
}

// isFull reports whether the process drives its maximum number of runs. d.mu must be held.
func (d *Driver) isFull() bool {
	return d.cfg.MaxDriven > 0 && len(d.runs)+d.reserved >= d.cfg.MaxDriven
}

// reserve starts a claim, which claimOnce ends. It reserves capacity and returns how many runs may
// be claimed now, at most maxClaim, and the runs to exclude. If there is no capacity, the first run
// that leaves memory is signalled on d.hasRoom.
func (d *Driver) reserve() (limit int, except []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.hasRoomNow() || d.claiming != nil { // a claim in progress finds all there is
		return 0, nil
	}
	d.claiming = make(chan struct{})
	d.reserved = maxClaim
	if d.cfg.MaxDriven > 0 {
		d.reserved = min(maxClaim, d.cfg.MaxDriven-len(d.runs))
	}
	return d.reserved, slices.Collect(maps.Keys(d.undrivable))
}

// hasRoomNow reports whether the driver can take another run. d.mu must be held.
func (d *Driver) hasRoomNow() bool {
	d.wasFull = d.wasFull || d.isFull()
	return !d.closed && !d.draining.Load() && !d.cfg.NoDrive && !d.isFull()
}

// signalRoom notifies the claiming goroutines that a run has left memory. d.mu must be held.
func (d *Driver) signalRoom() {
	if !d.wasFull || d.isFull() {
		return
	}
	d.wasFull = false
	select {
	case d.hasRoom <- struct{}{}:
	default:
	}
}

// mayClaim reports whether a run without a living owner may be resumed here. Nearly all such runs
// are claimed before a listing finds them; runs that were never driven, such as forks, are not.
func (d *Driver) mayClaim(h journal.Head) bool {
	return !d.cfg.NoDrive && (h.Place == "" || h.Place == d.cfg.Place)
}

// errNoRoom means that no more runs may be driven now.
var errNoRoom = errors.New("no room for another run")

// claimWaiting claims runs that can continue as long as there is capacity, and drives them. done
// returns the function that is called with the outcome of each.
//
// If the reply to a claim is lost, this process owns runs that it does not know of; they are looked
// up after an error.
func (d *Driver) claimWaiting(ctx context.Context, done func(run string) func(error)) error {
	if d.lostClaim.Swap(false) { // a claim lost from now on is handled next time
		if err := d.findOwn(ctx); err != nil {
			d.lostClaim.Store(true)
			return err
		}
	}
	for {
		limit, n, err := d.claimOnce(ctx, done)
		if err != nil {
			d.lostClaim.Store(true)
		}
		if err != nil || n < limit || limit == 0 {
			return err
		}
	}
}

// claimOnce claims up to limit runs, and returns how many it claimed.
func (d *Driver) claimOnce(ctx context.Context, done func(run string) func(error)) (limit, claimed int, err error) {
	limit, except := d.reserve()
	if limit == 0 {
		return 0, 0, nil
	}
	heads, err := d.cfg.Store.ClaimSome(ctx, journal.ClaimQuery{Kind: d.cfg.Kind, Place: d.cfg.Place, Except: except,
		Limit: limit})
	for i := range heads {
		d.takeClaimed(&heads[i], done(heads[i].Run))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reserved = 0
	close(d.claiming)
	d.claiming = nil
	return limit, len(heads), err
}

// outcome returns a function that records why a run could not be resumed.
func (d *Driver) outcome(run string) func(error) {
	return func(err error) { d.recordUnrecoverable(run, err) }
}

// takeClaimed drives a run that was just claimed.
func (d *Driver) takeClaimed(head *journal.Head, done func(error)) {
	m := &message{resume: true, at: d.now(), done: done}
	d.mu.Lock()
	a := d.runs[head.Run]
	switch {
	case d.closed:
	case a != nil:
		// requested meanwhile: the actor finds the claim, or fails on old state and the run is
		// looked up again
		d.claimedForActor[head.Run] = head
		m.done = func(err error) {
			if err != nil {
				d.wg.Go(func() { d.retryLostClaim(head.Run) })
			}
			done(err)
		}
		a.deliver(m)
	default:
		a = d.newActor(head.Run)
		a.claimed = head
		a.mail = append(a.mail, m)
		d.launch(a)
	}
	d.mu.Unlock()
	if a == nil {
		giveUp := d.cfg.Store.Release
		if head.NotStarted {
			giveUp = d.cfg.Store.Return
		}
		if err := giveUp(d.root, head.Run, head.Epoch); err != nil {
			d.cfg.Logger.Warn("cannot release the run", "run", head.Run, "err", err)
		}
		done(driver.ErrClosed)
	}
}

// retryLostClaim triggers another lookup of a run that was claimed for an actor that failed, once
// that actor has left memory: a run with an actor counts as driven.
func (d *Driver) retryLostClaim(run string) {
	d.mu.Lock()
	a := d.runs[run]
	d.mu.Unlock()
	if a != nil {
		<-a.gone
	}
	d.lostClaim.Store(true)
}

// findOwn resumes the active runs that this process owns but does not drive.
func (d *Driver) findOwn(ctx context.Context) error {
	self := d.cfg.Store.Owner().ID
	active := []journal.Status{journal.StatusPending, journal.StatusRunning}
	return d.resumeRuns(ctx, journal.Query{Kind: d.cfg.Kind, Statuses: active, Limit: maxPage},
		func(h journal.Head) bool {
			if h.Owner == self && !d.drives(h.Run) { // even without capacity: no other process may drive it
				if err := d.post(h.Run, &message{resume: true, done: d.outcome(h.Run)}); err != nil {
					d.cfg.Logger.Warn("cannot continue a claimed run", "run", h.Run, "err", err)
				}
			}
			return false
		}, d.outcome)
}

// keepClaiming claims runs that can continue until ctx is done: when runs are released, when there
// is capacity again, and every claimEvery.
func (d *Driver) keepClaiming(ctx context.Context) {
	changes := d.subscribe(journal.OfRequests())
	defer changes.stop()
	for {
		err := d.claimWaiting(ctx, d.outcome)
		if err != nil && ctx.Err() == nil && d.work.Err() == nil {
			d.cfg.Logger.Warn("cannot claim runs", "err", err)
		}
		t := time.NewTimer(claimEvery)
		select {
		case <-changes.c:
		case <-d.hasRoom:
		case <-t.C:
		case <-ctx.Done():
		case <-d.work.Done():
		}
		t.Stop()
		if ctx.Err() != nil || d.work.Err() != nil {
			return
		}
	}
}

// Recover resumes all runs of the driver's kind that have no living owner, as far as capacity
// allows, and returns when each continues or has been abandoned. A run that cannot be driven is
// logged once and left alone from then on (P18). While the store is temporarily unavailable,
// Recover retries. Errors: ctx's, ErrClosed.
func (d *Driver) Recover(ctx context.Context) error {
	var wg sync.WaitGroup
	done := func(run string) func(error) {
		wg.Add(1)
		return func(err error) {
			defer wg.Done()
			d.recordUnrecoverable(run, err)
		}
	}
	var b backoff
	for {
		err := d.claimWaiting(ctx, done)
		if err == nil {
			err = d.resumeRuns(ctx, journal.Query{Kind: d.cfg.Kind, Interrupted: true, Limit: maxPage}, d.mayClaim,
				done)
		}
		switch {
		case d.work.Err() != nil:
			return driver.ErrClosed
		case err == nil:
		case held.IsPermanent(err) || ctx.Err() != nil:
			return err
		default:
			d.cfg.Logger.Warn("claim runs", "err", err)
			if err := b.wait(ctx); err != nil {
				return err
			}
			continue
		}
		break
	}
	all := make(chan struct{})
	go func() {
		wg.Wait()
		close(all)
	}()
	select {
	case <-all:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Drain implements driver.Driver.
func (d *Driver) Drain(ctx context.Context) {
	d.draining.Store(true)
	for _, a := range d.active() {
		a.deliver(&message{at: d.now()}) // wakes it to check for calls in flight
	}
	for _, a := range d.active() {
		select {
		case <-a.gone:
		case <-ctx.Done():
			return
		}
	}
}

// willBeClaimed reports whether a run without a living owner is about to be claimed by this process
// or another: servers and workers continue the runs of servers, at their places.
func (d *Driver) willBeClaimed(ctx context.Context, head journal.Head) (bool, error) {
	if head.Kind != journal.KindServe {
		return false, nil
	}
	all, err := d.cfg.Store.Processes(ctx)
	return slices.ContainsFunc(all, func(o journal.Owner) bool {
		return o.Place != "" && (head.Place == "" || head.Place == o.Place)
	}), err
}
