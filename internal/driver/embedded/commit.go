package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/held"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
)

// commit stores the events of a decision about a batch. If committed is false and err is nil, the
// events are not stored and the run was reloaded; the same inputs may then be passed once more.
// After an error, no more inputs may be passed.
func (a *actor) commit(dec engine.Decision, batch []*message) (committed bool, err error) {
	ap, err := a.append(dec.Events, batch)
	if err != nil {
		return false, &held.DefectError{Err: err}
	}
	if err := a.d.cfg.Store.Append(a.d.root, ap); err != nil {
		return a.uncertain(ap, err)
	}
	a.stored(ap)
	return true, nil
}

// append builds the data of one transaction. The next append overwrites it.
func (a *actor) append(events []event.Event, batch []*message) (journal.Append, error) {
	ap, err := held.NewAppend(a.run, a.id, events, &a.buf, a.d.keepsEvents)
	if err != nil {
		return ap, err
	}
	ap.Create, ap.Epoch = a.create, a.epoch
	ap.Blobs = append(slices.Clip(a.blobs), ap.Blobs...)
	if !a.hasMail() && len(a.unapproved()) == 0 {
		ap.NotStarted = !a.settled() && a.continuesElsewhere(batch)
		ap.Release = ap.NotStarted || a.settled()
	}
	return ap, ap.Validate()
}

func (a *actor) hasMail() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.mail) > 0
}

// unapproved returns the waits that ApproveAll has yet to answer.
func (a *actor) unapproved() []engine.WaitInfo {
	if !a.d.cfg.ApproveAll {
		return nil
	}
	var open []engine.WaitInfo
	for _, w := range a.run.Waits() {
		if approves(w) && !a.asked[w.ID] {
			open = append(open, w)
		}
	}
	return open
}

// stored records that ap is durable.
func (a *actor) stored(ap journal.Append) {
	if a.create != nil {
		a.create, a.blobs, a.epoch = nil, nil, 1
	}
	if a.pause.last > 0 {
		a.log().Warn("the store is available again")
	}
	a.owned, a.pause = !ap.Release, backoff{}
	if a.run != nil { // a burst produces no large texts
		a.releaseStored(ap)
	}
}

// uncertain finds out whether an append that returned an error was stored. Only the journal shows
// that, so it is read until that succeeds:
//
//  1. Append fails either before or after the record is on disk.
//  2. The journal shows which: it contains exactly these records, or it does not.
//  3. If it does, the run in memory is correct. If not, the run is reloaded and the inputs are
//     passed again.
func (a *actor) uncertain(ap journal.Append, cause error) (committed bool, err error) {
	switch {
	case errors.Is(cause, journal.ErrFenced):
		a.owned = false
		return false, cause
	case errors.Is(cause, journal.ErrExists), errors.Is(cause, journal.ErrNotFound),
		errors.Is(cause, journal.ErrClosed):
		a.owned = false
		if lost := held.Lost(ap, 0); lost != nil && errors.Is(cause, journal.ErrNotFound) {
			a.log().Error("run cannot continue", "err", lost)
		}
		return false, cause
	case errors.Is(cause, journal.ErrBusy):
		return false, cause // nothing was stored; a run that had ended is released again
	case held.IsDamage(cause):
		return false, &held.DefectError{Err: cause}
	}
	level := slog.LevelDebug
	if a.pause.last == 0 {
		level = slog.LevelWarn // warn once per outage
	}
	a.log().Log(a.d.root, level, "the store is temporarily unavailable; retrying", "err", cause)
	for {
		head, err := a.d.cfg.Store.Head(a.d.root, a.id)
		switch {
		case err == nil:
			return a.compare(ap, head)
		case errors.Is(err, journal.ErrNotFound):
			a.owned = false
			return false, cause // a new run that was not stored
		case errors.Is(err, journal.ErrClosed):
			a.owned = false
			return false, err
		case held.IsDamage(err):
			return false, &held.DefectError{Err: err}
		}
		if err := a.waitRetry(); err != nil {
			return false, err
		}
	}
}

// waitRetry waits before the store is queried again. An interruption of the run waits for one more
// try and no longer: commands whose events could not be written are requested again at a resume.
func (a *actor) waitRetry() error {
	if a.ctx.Err() != nil {
		return errStopped
	}
	if a.pause.wait(a.ctx) != nil && a.d.root.Err() != nil {
		return context.Cause(a.d.root)
	}
	return nil
}

func (a *actor) compare(ap journal.Append, head journal.Head) (committed bool, err error) {
	epoch := ap.Epoch
	if ap.Create != nil {
		epoch = 1
	}
	mine := head.Owner == a.d.cfg.Store.Owner().ID && head.Epoch == epoch
	err = a.persist("read run", func() error {
		committed, err = held.HasStored(a.d.root, a.d.cfg.Store, ap)
		return err
	})
	switch {
	case err != nil:
		return false, err
	case committed:
		a.stored(ap)
		if a.owned && !mine {
			a.owned = false
			// its commands now belong to another process
			return false, fmt.Errorf("append to run %s: %w", a.id, journal.ErrFenced)
		}
		return true, nil
	case ap.Create != nil:
		a.owned = false
		return false, fmt.Errorf("start run %s: %w", a.id, journal.ErrExists)
	case !mine:
		a.owned = false
		if lost := held.Lost(ap, head.LastSeq); lost != nil {
			a.log().Error("another process continues the run", "err", lost)
		}
		return false, fmt.Errorf("append to run %s: %w", a.id, journal.ErrFenced)
	}
	if lost := held.Lost(ap, head.LastSeq); lost != nil {
		return false, &held.DefectError{Err: lost}
	}
	// The store responds but does not accept the record, for example because the disk is full. Do
	// not retry forever.
	if err := a.waitRetry(); err != nil {
		return false, err
	}
	return false, a.reread()
}

// stillOwned verifies that a rejection is based on current state. A process that was treated as
// dead has outdated state of the run: its commits fail, but a rejection commits nothing. The same
// holds for a process that was suspended, until it checks.
func (a *actor) stillOwned(batch []*message) error {
	if !slices.ContainsFunc(batch, func(m *message) bool {
		return m.check || m.refused != nil && m.done != nil && !isNote(m)
	}) || !a.owned {
		return nil
	}
	var head journal.Head
	err := a.persist("read the owner of the run", func() (err error) {
		head, err = a.d.cfg.Store.Head(a.d.root, a.id)
		return err
	})
	if err == nil && (head.Owner != a.d.cfg.Store.Owner().ID || head.Epoch != a.epoch) {
		a.owned = false
		err = fmt.Errorf("drive run %s: %w", a.id, journal.ErrFenced)
	}
	return err
}

// quarantine abandons the run after an internal error: the run ends as failed if its journal still
// allows that (P18). The error is logged here, once.
func (a *actor) quarantine(cause error) error {
	q := &driver.QuarantineError{Run: a.id, Err: cause}
	a.log().Error("run cannot continue", "err", cause)
	if a.create != nil {
		return q
	}
	a.d.mu.Lock()
	a.d.undrivable[a.id] = q
	a.d.mu.Unlock()
	if !a.owned || a.reread() != nil {
		return q
	}
	end := held.Fail(a.run, a.d.now(), cause)
	if end == nil {
		return q
	}
	if ok, err := a.commit(engine.Decision{Events: end}, nil); ok && err == nil {
		a.publish(end)
	}
	return q
}

// release releases the run, retrying for as long as it takes: a run that is owned by a living
// process but not driven would never continue. A driver that is closed tries once, because its
// lease ends with its process.
func (a *actor) release() {
	var b backoff
	for a.owned {
		giveUp := a.d.cfg.Store.Release
		if a.notStarted {
			giveUp = a.d.cfg.Store.Return
		}
		err := giveUp(a.d.root, a.id, a.epoch)
		if err == nil || errors.Is(err, journal.ErrFenced) || held.IsPermanent(err) {
			break
		}
		if b.last == 0 {
			a.log().Warn("cannot release the run; retrying", "err", err)
		}
		if b.wait(a.d.work) != nil {
			break
		}
	}
	a.owned = false
}
