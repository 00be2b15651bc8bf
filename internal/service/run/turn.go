package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service/failure"
)

// turn is the place of a request in the line of its session, which the store keeps for all processes.
type turn struct {
	s     *Runner
	line  journal.Line
	place uint64 // 0: it has none
}

// behind waits behind the requests that wait already. Where there are none it takes no place: the run may begin at once.
func (t *turn) behind(ctx context.Context) error {
	st, err := t.s.store.Standing(ctx, t.line, 0)
	if err != nil || st.All == 0 {
		return err
	}
	return t.wait(ctx)
}

// wait takes a place at the end of the line and waits until it is the first. Errors: ctx's, the store's; *LimitError where too many wait.
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
		st, err := t.s.store.Standing(ctx, t.line, t.place)
		switch {
		case errors.Is(err, journal.ErrNotFound): // it was lost with the session of this process
			t.place = 0
			continue
		case err != nil && (ctx.Err() != nil || !errors.Is(err, journal.ErrUnavailable)):
			return err
		case err != nil: // the place is kept, and asked for again
		case st.Before == 0:
			return nil
		case st.Before >= maxQueue:
			return &failure.LimitError{Limit: fmt.Sprintf("requests that wait for session %q", t.line.Name), Max: maxQueue}
		}
		if err := await(ctx, changed); err != nil {
			return err
		}
	}
}

// leaveTime bounds one attempt to give a place up, and leavePause is between two.
const leaveTime, leavePause = 10 * time.Second, time.Second

// leave gives the place up. Where the store cannot be reached it goes on to try: a place that stays would stop the line for as long as this process lives.
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

// tryLeave tells whether the place is given up, or the store closed, which gives it up too.
func (t *turn) tryLeave() bool {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
	defer cancel()
	err := t.s.store.Leave(ctx, t.line, t.place)
	return err == nil || errors.Is(err, journal.ErrClosed)
}
