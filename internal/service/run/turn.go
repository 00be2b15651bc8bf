package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service/failure"
)

// turn is the place of a request in the queue of its session, which the store keeps for all
// processes.
type turn struct {
	s     *Runner
	line  journal.Line
	place uint64 // 0 means none
}

// waitBehind waits behind the requests that already wait. If there are none it takes no place: the
// run may start immediately.
func (t *turn) waitBehind(ctx context.Context) error {
	st, err := t.s.store.Position(ctx, t.line, 0)
	if err != nil || st.All == 0 {
		return err
	}
	return t.wait(ctx)
}

// wait takes a place at the end of the queue and waits until it is the first. It returns an error
// of ctx or the store, or *LimitError if too many wait.
func (t *turn) wait(ctx context.Context) error {
	changed := make(chan struct{}, 1)
	defer t.s.store.Subscribe(changed, journal.OfLines())()
	for {
		if t.place == 0 {
			place, err := t.s.store.Enter(ctx, t.line)
			if err != nil {
				return err
			}
			t.place = place
		}
		st, err := t.s.store.Position(ctx, t.line, t.place)
		switch {
		case errors.Is(err, journal.ErrNotFound): // it was lost with this process's session
			t.place = 0
			continue
		case err != nil && (ctx.Err() != nil || !errors.Is(err, journal.ErrUnavailable)):
			return err
		case err != nil: // the place is kept, and checked again
		case st.Before == 0:
			return nil
		case st.Before >= maxQueue:
			return &failure.LimitError{Limit: fmt.Sprintf("requests that wait for session %q", t.line.Name),
				Max: maxQueue}
		}
		if err := await(ctx, changed); err != nil {
			return err
		}
	}
}

// leaveTime is the timeout of one attempt to release a place, and leavePause the delay between
// attempts.
const leaveTime, leavePause = 10 * time.Second, time.Second

// leave releases the place. If the store is unreachable it keeps trying: a leftover place would
// block the queue as long as this process lives.
func (t *turn) leave() {
	if t.place == 0 || t.tryLeave() {
		return
	}
	go func() {
		for !t.tryLeave() {
			time.Sleep(leavePause)
		}
	}()
}

// tryLeave reports whether the place is released, or the store closed, which releases it too.
func (t *turn) tryLeave() bool {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
	defer cancel()
	err := t.s.store.Leave(ctx, t.line, t.place)
	return err == nil || errors.Is(err, journal.ErrClosed)
}
