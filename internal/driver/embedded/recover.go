package embedded

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/held"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
)

// parked is a paused run with a deadline. Nothing else of the run is kept in memory.
type parked struct {
	timer *time.Timer
	at    time.Time
}

const (
	recoverEvery = 5 * time.Second
	sweepEvery   = time.Minute
)

// Maintain implements driver.Driver.
func (d *Driver) Maintain(ctx context.Context) {
	stop, ok := d.stay()
	if !ok {
		return
	}
	defer stop()
	if d.cfg.NoDrive {
		select {
		case <-ctx.Done():
		case <-d.work.Done():
		}
		return
	}
	var claiming sync.WaitGroup
	defer claiming.Wait()
	claiming.Go(func() { d.keepClaiming(ctx) })
	all := func(journal.Head) bool { return true }
	changes := d.subscribe(journal.OfNotices())
	defer changes.stop()
	deadlines := newDeadlines(d, all, changes.c)
	defer deadlines.close()
	var recovered time.Time
	log := func(what string, err error) {
		if ctx.Err() == nil && d.work.Err() == nil {
			d.cfg.Logger.Warn(what, "err", err)
		}
	}
	for {
		now := time.Now()
		if now.Sub(recovered) >= recoverEvery {
			if err := d.evictHung(ctx, all); err != nil {
				log("cannot take over runs", err)
			}
			if err := d.resumeRuns(ctx, journal.Query{Kind: d.cfg.Kind, Interrupted: true, Limit: maxPage}, d.mayClaim,
				d.outcome); err != nil {
				log("cannot recover runs", err)
			}
			recovered = now
		}
		if err := deadlines.poll(ctx); err != nil {
			log("cannot check deadlines", err)
		}
		if changes.waitAtMost(ctx, d.work, min(journal.SafetyPoll, recoverEvery-time.Since(recovered))) != nil {
			return
		}
	}
}

// recordUnrecoverable records a run that cannot be recovered for a permanent reason.
func (d *Driver) recordUnrecoverable(run string, err error) {
	// claimed again, perhaps by this process after its session was lost with the server: look it up
	if errors.Is(err, journal.ErrFenced) {
		d.lostClaim.Store(true)
		return
	}
	if err == nil || held.IsPermanent(err) || errors.Is(err, errElsewhere) || d.work.Err() != nil {
		return
	}
	d.mu.Lock()
	known := d.undrivable[run] != nil
	if !known {
		d.undrivable[run] = &driver.QuarantineError{Run: run, Err: err}
	}
	d.mu.Unlock()
	if !known {
		d.cfg.Logger.Error("cannot recover run", "run", run, "err", err)
	}
}

// list reads a page, retrying until the store responds (P18).
func (d *Driver) list(ctx context.Context, q journal.Query) (heads []journal.Head, next string, err error) {
	var b backoff
	for {
		heads, next, err = d.cfg.Store.List(ctx, q)
		if err == nil || held.IsPermanent(err) || ctx.Err() != nil {
			return heads, next, err
		}
		d.cfg.Logger.Warn("list runs", "err", err)
		if err := b.wait(ctx); err != nil {
			return nil, "", err
		}
		if d.work.Err() != nil {
			return nil, "", driver.ErrClosed
		}
	}
}

// sweep finds the deadlines of paused runs that other processes left.
func (h *deadlines) sweep(ctx context.Context) error {
	d, seen := h.d, h.seen
	q := journal.Query{Statuses: []journal.Status{journal.StatusPaused}, Limit: 1000}
	present := map[string]bool{}
	for {
		heads, next, err := d.list(ctx, q)
		if err != nil {
			return err
		}
		for _, head := range heads {
			present[head.Run] = true
			if seen[head.Run].Equal(head.Updated) || !h.mine(head) {
				continue
			}
			if err := d.parkHead(ctx, head); err != nil {
				d.cfg.Logger.Warn("cannot read paused run", "run", head.Run, "err", err)
			}
			seen[head.Run] = head.Updated
		}
		if next == "" {
			break
		}
		q.Cursor = next
	}
	for run := range seen {
		if !present[run] {
			delete(seen, run)
		}
	}
	return nil
}

// parkHead reads a paused run, without claiming it, and parks it if it has a deadline. Definitions
// without deadlines are not read twice. The deadlines of runs whose functions belong to another
// program are left to that program: the runs could not continue here.
func (d *Driver) parkHead(ctx context.Context, h journal.Head) error {
	if h.Kind == journal.KindTemporal {
		return nil // its timers are kept elsewhere
	}
	c, err := d.definition(ctx, h.Definition)
	if err != nil || !c.Deadlines && h.Meta[driver.MetaRemind] == "" || c.Program == nil &&
		d.cfg.Foreign(c.Plan.Workflow()) {
		return err
	}
	run, err := held.Fold(ctx, d.cfg.Store, h.Run, c, nil)
	if err != nil || run.Status() != event.StatusPaused {
		return err
	}
	if at := held.Earliest(run.Open()); !at.IsZero() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.runs[h.Run] == nil && !d.closed {
			d.park(h.Run, at)
		}
	}
	return nil
}

// park schedules a touch of a paused run. d.mu must be held.
func (d *Driver) park(run string, at time.Time) {
	if old := d.parked[run]; old != nil {
		old.timer.Stop()
	}
	p := &parked{at: at}
	p.timer = time.AfterFunc(at.Sub(d.now()), func() { d.touch(run, p) })
	d.parked[run] = p
}

// touch fires the deadlines of a run that is still paused. If another process drives it by now,
// that process fires them itself.
func (d *Driver) touch(run string, p *parked) {
	d.mu.Lock()
	mine := d.parked[run] == p && !d.closed
	if mine {
		delete(d.parked, run)
		d.wg.Add(1)
	}
	d.mu.Unlock()
	if !mine {
		return
	}
	defer d.wg.Done()
	head, err := d.cfg.Store.Head(d.root, run)
	if err != nil || head.Status != journal.StatusPaused {
		if err != nil && !held.IsPermanent(err) {
			d.parkForRetry(run)
		}
		return
	}
	done := func(err error) {
		if err != nil && !held.IsPermanent(err) {
			d.cfg.Logger.Warn("fire deadline", "run", run, "err", err)
		}
	}
	// The process's clock and the clock of events may differ slightly: the message must not be
	// early.
	m := &message{at: d.now(), done: done}
	if m.at.Before(p.at) {
		m.at = p.at
	}
	if err := d.post(run, m); err != nil {
		done(err)
	}
}

// parkForRetry parks a run so that it is tried again later, because the store did not respond.
func (d *Driver) parkForRetry(run string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed && d.runs[run] == nil {
		d.park(run, d.now().Add(recoverEvery))
	}
}
