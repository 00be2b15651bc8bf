package embedded

import (
	"context"
	"errors"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
)

// queuePoll is how often a run that is not the first in its queue checks whether its turn has come,
// in addition to being notified of changes of the run before it.
const queuePoll = 10 * time.Second

// askForSlot lets a stored run that has not started continue when its turn comes. It does
// nothing for other runs.
func (a *actor) askForSlot() {
	if a.asksForSlot || a.run.Status() != event.StatusPending || a.run.Created() == nil {
		return
	}
	a.asksForSlot = true
	a.d.wg.Go(func() {
		if a.awaitSlot(a.ctx) {
			a.deliver(&message{at: a.d.now(), data: engine.Admitted{}})
		}
	})
}

// awaitSlot waits until the run has a slot. It returns false if ctx was done first.
func (a *actor) awaitSlot(ctx context.Context) bool {
	var b backoff
	for {
		turn, err := a.lookForSlot(ctx)
		switch {
		case ctx.Err() != nil:
			return false
		case err == nil && turn.Admitted:
			return true
		case err == nil:
			b = backoff{}
			continue
		case errors.Is(err, journal.ErrClosed):
			return false
		}
		if b.last == 0 {
			a.log().Warn("cannot ask for the turn of the run; retrying", "err", err)
		}
		if b.wait(ctx) != nil {
			return false
		}
	}
}

// lookForSlot requests a slot and, if none is free, waits for a change of the runs that it has to
// wait for.
func (a *actor) lookForSlot(ctx context.Context) (journal.Turn, error) {
	turn, err := a.d.admit(ctx, a.slot)
	if err != nil || turn.Admitted {
		return turn, err
	}
	topics, poll := []journal.Topic{journal.OfRun(turn.Behind)}, queuePoll
	if turn.Behind == "" {
		topics, poll = nil, journal.SafetyPoll
		for _, run := range turn.Busy {
			topics = append(topics, journal.OfRun(run))
		}
	}
	changes := a.d.subscribe(topics...)
	defer changes.stop()
	again, err := a.d.admit(ctx, a.slot) // for changes stored before the subscription
	if err != nil || again.Admitted || again.Behind != turn.Behind {
		return again, err
	}
	return again, changes.waitAtMost(ctx, a.d.root, poll)
}

// admit assigns a stored run its slot if its turn has come; a slot without a name means that the
// run requests none. A run that is in no queue, such as one imported from another store, requests a
// slot again.
func (d *Driver) admit(ctx context.Context, slot journal.Slot) (journal.Turn, error) {
	if slot.Name == "" {
		return journal.Turn{Admitted: true}, nil
	}
	turn, err := d.cfg.Store.Admit(ctx, slot.Run)
	if !errors.Is(err, journal.ErrNotFound) {
		return turn, err
	}
	turn, err = d.cfg.Store.Queue(ctx, slot)
	return turn, errors.Join(err, d.cfg.Store.Confirm(ctx, slot.Run))
}
