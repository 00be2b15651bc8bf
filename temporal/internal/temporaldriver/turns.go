package temporaldriver

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/held"
	"github.com/hocket-run/hocket/internal/journal"
)

// turns are the pending runs known to this process, by the names of their slots. Such a run
// has no workflow yet, and any process may let it begin: the one that started it knows it at once,
// all others from their next sweep on.
type turns map[string]*queue

// queue holds the known pending runs that request slots of one name.
type queue struct {
	runs []pendingRun // oldest first, which is about their order in the store
	// busy are the runs with slots that the first one waits for; nil means that it must be tried.
	busy []string
}

type pendingRun struct {
	id      string
	created time.Time
}

// awaitTurn makes the maintenance of this process let a pending run begin when its turn has come.
func (d *Driver) awaitTurn(head journal.Head) {
	d.startMaintenance()
	d.mu.Lock()
	d.queued = append(d.queued, head)
	d.mu.Unlock()
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// add adds a pending run, and makes its queue be tried.
func (t turns) add(h journal.Head) {
	slot, _ := driver.SlotOf(h.Run, h.Meta)
	q := t[slot.Name]
	if q == nil {
		q = &queue{}
		t[slot.Name] = q
	}
	q.busy = nil
	i, known := slices.BinarySearchFunc(q.runs, h, func(r pendingRun, h journal.Head) int {
		return cmp.Or(r.created.Compare(h.Created), cmp.Compare(r.id, h.Run))
	})
	if !known {
		q.runs = slices.Insert(q.runs, i, pendingRun{h.Run, h.Created})
	}
}

// changed makes the queue that waits for a run be tried, because the run may have ended.
func (t turns) changed(run string) {
	for _, q := range t {
		if slices.Contains(q.busy, run) {
			q.busy = nil
		}
	}
}

// beginQueued lets the pending runs begin whose turn has come.
func (f *feed) beginQueued(ctx context.Context) error {
	f.d.mu.Lock()
	queued, closed := f.d.queued, f.d.closed
	f.d.queued = nil
	f.d.mu.Unlock()
	if closed { // a run that began now would get no workflow from this process
		return nil
	}
	for _, h := range queued {
		f.turns.add(h)
	}
	var errs []error
	for name, q := range f.turns {
		if q.busy != nil {
			continue
		}
		errs = append(errs, f.tryQueue(ctx, q))
		if len(q.runs) == 0 {
			delete(f.turns, name)
		}
	}
	return errors.Join(errs...)
}

// tryQueue lets the known runs of a queue begin in the order of the store, until one has to wait.
func (f *feed) tryQueue(ctx context.Context, q *queue) error {
	for i := 0; len(q.runs) > 0; {
		turn, err := f.tryRun(ctx, q.runs[i].id)
		switch {
		case err != nil:
			return err
		case turn.Admitted:
			q.runs = slices.Delete(q.runs, i, i+1)
			i = 0
			continue
		case turn.Behind == "":
			q.busy = turn.Busy
			return nil
		}
		i = slices.IndexFunc(q.runs, func(r pendingRun) bool { return r.id == turn.Behind })
		if i < 0 { // another process knows the run before
			return nil
		}
	}
	return nil
}

// tryRun lets a pending run begin if its turn has come. A run that is no longer pending, or that
// this process cannot let begin, counts as admitted.
func (f *feed) tryRun(ctx context.Context, run string) (turn journal.Turn, err error) {
	head, err := f.d.cfg.Store.Head(ctx, run)
	switch {
	case err == nil && head.Kind != journal.KindTemporal:
		return journal.Turn{Admitted: true}, nil
	case err == nil && head.Status != journal.StatusPending:
		// The process that let it begin may have died before it sent the signal.
		f.open = append(f.open, continued{run, time.Now()})
		return journal.Turn{Admitted: true}, nil
	case err == nil:
		turn, err = f.d.AdmitCommon(ctx, head)
	}
	_, moved := errors.AsType[*held.NotCommonError](err)
	_, bad := errors.AsType[*driver.QuarantineError](err)
	switch {
	case moved, errors.Is(err, journal.ErrNotFound), errors.Is(err, journal.ErrOwned):
		return journal.Turn{Admitted: true}, nil
	case bad, held.IsDefect(err), held.IsPermanent(err):
		f.d.log(ctx, "cannot let a queued run begin", err)
		return journal.Turn{Admitted: true}, nil
	}
	return turn, err
}
