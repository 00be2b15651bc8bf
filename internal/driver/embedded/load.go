package embedded

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/held"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/text"
)

// backoff spaces out retries while a store does not respond. The zero value is ready for use.
type backoff struct{ last time.Duration }

const (
	backoffFirst = 20 * time.Millisecond
	backoffMost  = 5 * time.Second
)

// wait waits, longer each time. The error is the reason why ctx ended.
func (b *backoff) wait(ctx context.Context) error {
	b.last = min(max(backoffFirst, 2*b.last), backoffMost)
	return sleep(ctx, ctx, b.last)
}

// load claims the run and reads it. If the store does not respond, load retries until it does (P18)
// or the driver is closed.
func (a *actor) load() error {
	select {
	case a.d.loads <- struct{}{}:
		defer func() { <-a.d.loads }()
	case <-a.ctx.Done():
		return driver.ErrClosed
	}
	var head journal.Head
	err := a.persist("claim run", func() (err error) {
		if a.claimed != nil {
			head = *a.claimed
			return nil
		}
		head, err = a.claim()
		return err
	})
	if err != nil {
		return err
	}
	a.owned, a.epoch, a.notStarted = true, head.Epoch, head.NotStarted
	a.handsOff = a.d.handsOff(head.Place)
	err = a.persist("read run", func() error { return a.prepare(a.d.root, head) })
	if err == nil {
		err = a.reread()
	}
	if err != nil {
		return err
	}
	a.takeover = !a.notStarted && (head.Status.IsActive() || a.run.InFlight() > 0)
	a.fresh = true
	a.d.mu.Lock()
	delete(a.d.undrivable, a.id)
	a.d.mu.Unlock()
	a.d.takeRequests() // requests that arrived while the run had no owner
	if a.run.Status().Ended() && a.run.EndedByLimit() == "" || a.handsOff && (!a.takeover || head.Status.IsActive()) {
		a.kit = &driver.RunResources{}
		return nil
	}
	kit, err := held.Equip(a.ctx, a.d.cfg.Open, a.info, a.plan.Program)
	a.kitErr = err
	a.kit = kit
	return nil
}

// claim makes this process the run's owner. If it already is, an earlier claim succeeded, though
// its reply may have been lost: no other process drives a run with this handle.
func (a *actor) claim() (journal.Head, error) {
	d := a.d
	head, err := d.cfg.Store.Claim(d.root, a.id)
	var owned *journal.OwnedError
	if !errors.As(err, &owned) || owned.Owner.ID != d.cfg.Store.Owner().ID {
		return head, err
	}
	d.mu.Lock()
	over := d.claiming
	d.mu.Unlock()
	if over != nil { // it may be one of the runs being claimed
		select {
		case <-over:
		case <-a.ctx.Done():
			return head, a.ctx.Err()
		}
	}
	if head, err = d.cfg.Store.Head(d.root, a.id); err != nil {
		return head, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	given := d.claimedForActor[a.id]
	delete(d.claimedForActor, a.id)
	head.NotStarted = given != nil && given.Epoch == head.Epoch && given.NotStarted
	return head, nil
}

// persist retries until fn succeeds, fails permanently, or the run is to be interrupted. A
// permanent failure due to damage quarantines the run.
func (a *actor) persist(what string, fn func() error) error {
	var b backoff
	for {
		err := fn()
		var (
			defect  *held.DefectError
			diverge *engine.DivergenceError
		)
		switch {
		case err == nil:
			return nil
		case held.IsDamage(err), errors.As(err, &defect), errors.As(err, &diverge):
			q := &driver.QuarantineError{Run: a.id, Err: err}
			a.d.mu.Lock()
			known := a.d.undrivable[a.id] != nil
			a.d.undrivable[a.id] = q
			a.d.mu.Unlock()
			if !known {
				a.log().Error("cannot read run", "err", err)
			}
			return q
		case held.IsPermanent(err):
			return err
		}
		if a.ctx.Err() != nil {
			return driver.ErrClosed
		}
		if b.last == 0 {
			a.log().Warn("the store is temporarily unavailable; retrying", "doing", what, "err", err)
		}
		if b.wait(a.ctx) != nil {
			return driver.ErrClosed
		}
	}
}

// prepare compiles the run's definition and determines what was stored with it.
func (a *actor) prepare(ctx context.Context, head journal.Head) error {
	c, err := a.d.definition(ctx, head.Definition)
	if err != nil {
		return journal.InRun(a.id, err)
	}
	a.plan = c
	a.slot, _ = driver.SlotOf(a.id, head.Meta)
	a.info = held.Info(a.id, c.Plan.Workflow(), head.NewRun, func(ctx context.Context, name string) ([]byte, error) {
		hash, ok := head.Meta[driver.MetaFile+name]
		if !ok {
			return nil, fmt.Errorf("file %q of run %s: %w", name, a.id, journal.ErrNotFound)
		}
		return a.file(ctx, name, hash)
	})
	a.info.History = a.history
	return nil
}

// file reads a file that was stored with the run. Without the file the run would continue as a
// different one, for example with models in place of a reply script.
func (a *actor) file(ctx context.Context, name, hash string) (data []byte, err error) {
	err = a.persist("read file", func() error {
		data, err = a.d.cfg.Store.Blob(ctx, hash)
		if errors.Is(err, journal.ErrNotFound) {
			return &journal.CorruptError{Run: a.id, Reason: fmt.Sprintf("its file %q is missing", name)}
		}
		return err
	})
	return data, err
}

// history reads the calls made so far from the journal.
func (a *actor) history(ctx context.Context) (*driver.History, error) {
	var h *driver.History
	err := a.persist("read run", func() (err error) {
		fold := held.NewRun(a.plan, a.id)
		h = driver.NewHistory(a.id, fold)
		defer text.Recover(&err)
		return held.FoldInto(ctx, a.d.cfg.Store, fold, a.id, a.loadText, h.Add)
	})
	return h, err
}

// setRun sets the run in memory.
func (a *actor) setRun(run *engine.Run) {
	a.run = run
	run.StopWhen(a.stopsDeciding)
}

// reread reloads the run in memory from the journal.
func (a *actor) reread() error {
	if a.create != nil {
		a.setRun(held.NewRun(a.plan, a.id))
		return nil
	}
	return a.persist("read run", func() (err error) {
		defer text.Recover(&err)
		run, err := held.Fold(a.d.root, a.d.cfg.Store, a.id, a.plan, a.loadText)
		if err != nil {
			return err
		}
		a.setRun(run)
		a.orphans = map[string]engine.Command{}
		for _, c := range run.Open() {
			if id := engine.CallID(c); id != "" && a.calls.get(id) == nil {
				a.orphans[id] = c
			}
		}
		return nil
	})
}

// events reads the events after seq, record by record.
func (d *Driver) events(ctx context.Context, run string, after uint64, fn func([]event.Event) error) error {
	return journal.EachEvents(ctx, d.cfg.Store, run, after, func(events []event.Event, _ bool) error {
		return fn(events)
	})
}
