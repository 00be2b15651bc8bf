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
	// claimEvery is how often it is looked whether there are runs to claim. What processes give up is signalled; that one has died is not by every store.
	claimEvery = 750 * time.Millisecond
	// maxClaim bounds the runs of one claim, so that several processes share what waits.
	maxClaim = 16
)

// handsOff tells whether a run is not driven here: what is decided about it is stored, and its calls are begun by the process that claims it next.
func (d *Driver) handsOff(place string) bool {
	return d.cfg.NoDrive || d.draining.Load() || place != "" && place != d.cfg.Place
}

// isFull tells whether the process drives as many runs as it may. d.mu is held.
func (d *Driver) isFull() bool {
	return d.cfg.MaxDriven > 0 && len(d.runs)+d.reserved >= d.cfg.MaxDriven
}

// reserve begins a claim, which claimOnce ends: it gives how many runs may be claimed now, maxClaim at most, and which are not, and keeps room for them. Where there is none, the first run that leaves memory is signalled on
// d.hasRoom.
func (d *Driver) reserve() (limit int, except []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.hasRoomNow() || d.claiming != nil { // a claim that is under way finds what there is
		return 0, nil
	}
	d.claiming = make(chan struct{})
	d.reserved = maxClaim
	if d.cfg.MaxDriven > 0 {
		d.reserved = min(maxClaim, d.cfg.MaxDriven-len(d.runs))
	}
	return d.reserved, slices.Collect(maps.Keys(d.bad))
}

// hasRoomNow tells whether a run may be taken up. d.mu is held.
func (d *Driver) hasRoomNow() bool {
	d.wasFull = d.wasFull || d.isFull()
	return !d.closed && !d.draining.Load() && !d.cfg.NoDrive && !d.isFull()
}

// left tells those who claim runs that one has left memory. d.mu is held.
func (d *Driver) left() {
	if !d.wasFull || d.isFull() {
		return
	}
	d.wasFull = false
	select {
	case d.hasRoom <- struct{}{}:
	default:
	}
}

// mayClaim tells whether a run without a living owner may be taken up here. Nearly all are claimed before they are found by a list; those that were never driven, as forks, are not.
func (d *Driver) mayClaim(h journal.Head) bool {
	return !d.cfg.NoDrive && (h.Place == "" || h.Place == d.cfg.Place)
}

// errNoRoom: no more runs may be driven now.
var errNoRoom = errors.New("no room for another run")

// claimWaiting claims runs that can go on as long as there is room, and drives them. done gives what is called with the outcome of each.
//
// A claim whose answer is lost leaves runs that this process owns and does not know of: after an error they are looked for.
func (d *Driver) claimWaiting(ctx context.Context, done func(run string) func(error)) error {
	if d.lostClaim.Swap(false) { // one that is lost from now on is looked for next time
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

// claimOnce claims up to limit runs, and gives how many it claimed.
func (d *Driver) claimOnce(ctx context.Context, done func(run string) func(error)) (limit, claimed int, err error) {
	limit, except := d.reserve()
	if limit == 0 {
		return 0, 0, nil
	}
	heads, err := d.cfg.Store.ClaimSome(ctx, journal.ClaimQuery{Kind: d.cfg.Kind, Place: d.cfg.Place, Except: except, Limit: limit})
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

// outcome gives what remembers why a run could not be taken up.
func (d *Driver) outcome(run string) func(error) { return func(err error) { d.gaveUp(run, err) } }

// takeClaimed drives a run that was claimed just now.
func (d *Driver) takeClaimed(head *journal.Head, done func(error)) {
	m := &message{resume: true, at: d.now(), done: done}
	d.mu.Lock()
	a := d.runs[head.Run]
	switch {
	case d.closed:
	case a != nil: // it was asked for meanwhile, and finds that the run is this process's; or it fails by what was so before, and the run is looked for
		d.given[head.Run] = head
		m.done = func(err error) {
			if err != nil {
				d.wg.Go(func() { d.lookAgain(head.Run) })
			}
			done(err)
		}
		a.put(m)
	default:
		a = d.newActor(head.Run)
		a.claimed = head
		a.mail = append(a.mail, m)
		d.launch(a)
	}
	d.mu.Unlock()
	if a == nil {
		giveUp := d.cfg.Store.Release
		if head.Unbegun {
			giveUp = d.cfg.Store.Return
		}
		if err := giveUp(d.root, head.Run, head.Epoch); err != nil {
			d.cfg.Logger.Warn("cannot release the run", "run", head.Run, "err", err)
		}
		done(driver.ErrClosed)
	}
}

// lookAgain has a run looked for that was claimed for an actor which failed, once that one has left memory: a run with an actor counts as driven.
func (d *Driver) lookAgain(run string) {
	d.mu.Lock()
	a := d.runs[run]
	d.mu.Unlock()
	if a != nil {
		<-a.gone
	}
	d.lostClaim.Store(true)
}

// findOwn goes on with the active runs that this process owns and does not drive.
func (d *Driver) findOwn(ctx context.Context) error {
	self := d.cfg.Store.Owner().ID
	active := []journal.Status{journal.StatusPending, journal.StatusRunning}
	return d.takeUp(ctx, journal.Query{Kind: d.cfg.Kind, Statuses: active, Limit: maxPage}, func(h journal.Head) bool {
		if h.Owner == self && !d.drives(h.Run) { // also without room: no other process may drive it
			if err := d.post(h.Run, &message{resume: true, done: d.outcome(h.Run)}); err != nil {
				d.cfg.Logger.Warn("cannot continue a claimed run", "run", h.Run, "err", err)
			}
		}
		return false
	}, d.outcome)
}

// keepClaiming claims runs that can go on until ctx is done: when some are given up, when there is room again, and every claimEvery.
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

// Recover takes up all runs of the driver's kind that have no living owner, as far as there is room, and returns when each goes on or has been given up on. A run that
// cannot be driven is logged once and left alone from then on (P18). While the store is temporarily unavailable it is asked again. Errors: ctx's,
// ErrClosed.
func (d *Driver) Recover(ctx context.Context) error {
	var wg sync.WaitGroup
	done := func(run string) func(error) {
		wg.Add(1)
		return func(err error) {
			defer wg.Done()
			d.gaveUp(run, err)
		}
	}
	var b backoff
	for {
		err := d.claimWaiting(ctx, done)
		if err == nil {
			err = d.takeUp(ctx, journal.Query{Kind: d.cfg.Kind, Interrupted: true, Limit: maxPage}, d.mayClaim, done)
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
		a.put(&message{at: d.now()}) // it looks whether calls are out
	}
	for _, a := range d.active() {
		select {
		case <-a.gone:
		case <-ctx.Done():
			return
		}
	}
}

// goesOn tells whether a run without a living owner is about to be claimed by this process or another one: servers and workers continue the runs of servers, at their places.
func (d *Driver) goesOn(ctx context.Context, head journal.Head) (bool, error) {
	if head.Kind != journal.KindServe {
		return false, nil
	}
	all, err := d.cfg.Store.Processes(ctx)
	return slices.ContainsFunc(all, func(o journal.Owner) bool { return o.Place != "" && (head.Place == "" || head.Place == o.Place) }), err
}
