package embedded

import (
	"context"
	"errors"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
)

// farPoll is how often a run that is not the first of its line looks whether its turn has come: the run before it is what it waits for.
const farPoll = 10 * time.Second

// askForSlot lets a run that was stored and has not begun go on when it is its turn. It does nothing for others.
func (a *actor) askForSlot() {
	if a.asksForSlot || a.run.Status() != engine.StatusPending || a.run.Created() == nil {
		return
	}
	a.asksForSlot = true
	a.d.wg.Go(func() {
		if a.awaitSlot(a.ctx) {
			a.put(&message{at: a.d.now(), data: engine.Admitted{}})
		}
	})
}

// awaitSlot waits until the run has a slot; false where ctx was done first. A run that is in no line, as one that came from another store, asks anew.
func (a *actor) awaitSlot(ctx context.Context) bool {
	if a.slot.Run == "" { // it asks for nothing
		return true
	}
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

// lookForSlot asks for a slot, and where there is none waits for a change of the runs that are in the way.
func (a *actor) lookForSlot(ctx context.Context) (journal.Turn, error) {
	turn, err := a.admit(ctx)
	if err != nil || turn.Admitted {
		return turn, err
	}
	topics, poll := []journal.Topic{journal.OfRun(turn.Behind)}, farPoll
	if turn.Behind == "" {
		topics, poll = nil, journal.SafetyPoll
		for _, run := range turn.Busy {
			topics = append(topics, journal.OfRun(run))
		}
	}
	changes := a.d.subscribe(topics...)
	defer changes.stop()
	again, err := a.admit(ctx) // what was stored before
	if err != nil || again.Admitted || again.Behind != turn.Behind {
		return again, err
	}
	return again, changes.waitAtMost(ctx, a.d.root, poll)
}

func (a *actor) admit(ctx context.Context) (journal.Turn, error) {
	turn, err := a.d.cfg.Store.Admit(ctx, a.id)
	if !errors.Is(err, journal.ErrNotFound) {
		return turn, err
	}
	turn, err = a.d.cfg.Store.Queue(ctx, a.slot)
	return turn, errors.Join(err, a.d.cfg.Store.Confirm(ctx, a.id))
}
