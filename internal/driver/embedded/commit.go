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
	"github.com/hocket-run/hocket/internal/journal"
)

// commit stores the events of a decision about a batch. committed is false with a nil error where they are not stored and the run was read again; then the
// same inputs may be given once more. After an error nothing may be given any more.
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

// maxBuf bounds what an actor keeps of the data of a record, for the next one.
const maxBuf = 4 << 10

// append builds what is stored in one transaction. Its data is overwritten by the next one.
func (a *actor) append(events []engine.Event, batch []*message) (journal.Append, error) {
	ap, err := held.NewAppend(a.run, a.id, events, a.buf, a.d.keepsEvents)
	if err != nil {
		return ap, err
	}
	if ap.Events == nil {
		if a.buf = ap.Record.Data; cap(a.buf) > maxBuf {
			a.buf = nil
		}
	}
	ap.Create, ap.Epoch = a.create, a.epoch
	ap.Blobs = append(slices.Clip(a.blobs), ap.Blobs...)
	if !a.hasMail() && len(a.unapproved()) == 0 {
		ap.Unbegun = !a.settled() && a.goesOnElsewhere(batch)
		ap.Release = ap.Unbegun || a.settled()
	}
	return ap, ap.Validate()
}

func (a *actor) hasMail() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.mail) > 0
}

// unapproved are the waits that ApproveAll has yet to answer.
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

// stored notes that ap is durable.
func (a *actor) stored(ap journal.Append) {
	if a.create != nil {
		a.create, a.blobs, a.epoch = nil, nil, 1
	}
	if a.pause.last > 0 {
		a.log().Warn("the store is available again")
	}
	a.owned, a.pause = !ap.Release, backoff{}
	a.releaseStored(ap)
}

// uncertain finds out whether an append that gave an error was stored. Only the journal has the answer, so it is read until that succeeds:
//
//  1. Append fails after the disk has the record, or before.
//  2. The journal says which: it holds exactly these records, or it does not.
//  3. If it is there, the run in memory is right. If not, the run is read again and the inputs are given again.
func (a *actor) uncertain(ap journal.Append, cause error) (committed bool, err error) {
	switch {
	case errors.Is(cause, journal.ErrFenced):
		a.owned = false
		return false, cause
	case errors.Is(cause, journal.ErrExists), errors.Is(cause, journal.ErrNotFound), errors.Is(cause, journal.ErrClosed):
		a.owned = false
		if lost := held.Lost(ap, 0); lost != nil && errors.Is(cause, journal.ErrNotFound) {
			a.log().Error("run cannot continue", "err", lost)
		}
		return false, cause
	case errors.Is(cause, journal.ErrBusy):
		return false, cause // nothing was stored; a run that had ended is given up again
	case held.IsDamage(cause):
		return false, &held.DefectError{Err: cause}
	}
	level := slog.LevelDebug
	if a.pause.last == 0 {
		level = slog.LevelWarn // once is enough for an outage
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
		if err := a.patience(); err != nil {
			return false, err
		}
	}
}

// patience waits before the store is asked once more. An interruption of the run waits for one more try and no longer: what could not be
// written is asked again at a resume.
func (a *actor) patience() error {
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
			return false, fmt.Errorf("append to run %s: %w", a.id, journal.ErrFenced) // its commands are another's now
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
	// The store answers and does not take the record: a full disk, say. Do not retry without end.
	if err := a.patience(); err != nil {
		return false, err
	}
	return false, a.reread()
}

// stillOwned makes sure that a refusal is true. A process that was taken for dead knows the run as it was: its commits fail, but a refusal
// commits nothing. Nor does one that was stopped for a while know it, until it looks.
func (a *actor) stillOwned(batch []*message) error {
	if !slices.ContainsFunc(batch, func(m *message) bool { return m.check || m.refused != nil && m.done != nil && !isNote(m) }) || !a.owned {
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

// quarantine gives the run up after a defect: it ends as failed if its journal still allows to say so (P18). It is logged here, once.
func (a *actor) quarantine(cause error) error {
	q := &driver.QuarantineError{Run: a.id, Err: cause}
	a.log().Error("run cannot continue", "err", cause)
	if a.create != nil {
		return q
	}
	a.d.mu.Lock()
	a.d.bad[a.id] = q
	a.d.mu.Unlock()
	if !a.owned || a.reread() != nil {
		return q
	}
	end := []engine.Event{{
		Seq: a.run.Seq() + 1, At: a.d.now(),
		Data: &engine.RunFailed{Error: engine.Failure{Code: held.CodeOf(cause), Message: cause.Error()}},
	}}
	if a.run.Status().Ended() || a.run.Apply(end) != nil {
		return q
	}
	if ok, err := a.commit(engine.Decision{Events: end}, nil); ok && err == nil {
		a.publish(end)
	}
	return q
}

// release gives the run up, for as long as it takes: a run that is owned by a living process and not driven would never go on. A
// driver that is closed tries once: its process ends, and its lease with it.
func (a *actor) release() {
	var b backoff
	for a.owned {
		giveUp := a.d.cfg.Store.Release
		if a.unbegun {
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
