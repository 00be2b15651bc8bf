package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service/failure"
)

// IfBusy says what becomes of a run that is to begin in a session whose last run has not ended (P19).
type IfBusy string

const (
	// IfBusyReject refuses it with *BusyError. It is what "" means.
	IfBusyReject IfBusy = "reject"
	// IfBusyQueue lets it wait until the other has ended, behind those that wait in this process already. Several processes have a line each.
	IfBusyQueue IfBusy = "queue"
	// IfBusyCancelPrevious cancels the other and waits for its end.
	IfBusyCancelPrevious IfBusy = "cancel_previous"
)

// maxQueue bounds the requests that wait for one session in one process.
const maxQueue = 100

func (q StartRequest) checkSession() error {
	switch q.IfBusy {
	case "", IfBusyReject, IfBusyQueue, IfBusyCancelPrevious:
	default:
		return failure.Refuse(errcode.InvalidBusyPolicy, errcode.Fields{
			"value": clip(string(q.IfBusy)), "known": []string{string(IfBusyReject), string(IfBusyQueue), string(IfBusyCancelPrevious)},
		}, nil)
	}
	if q.Session == "" && q.IfBusy != "" {
		return failure.Refuse(errcode.SessionMissing, errcode.Fields{"value": string(q.IfBusy)}, nil)
	}
	return checkKey("the session", q.Session)
}

// launch begins the run when its session lets it.
func (s *Runner) launch(ctx context.Context, spec driver.Spec, policy IfBusy) (run string, err error) {
	if policy == IfBusyQueue {
		leave, err := s.lines.join(ctx, spec.Session)
		if err != nil {
			return "", err
		}
		defer leave()
	}
	for {
		run, err = s.admit(ctx, spec)
		busy, ok := errors.AsType[*failure.BusyError](err)
		switch {
		case !ok:
			return run, err
		case policy == IfBusyQueue:
			err = s.untilEnded(ctx, busy.Run)
		case policy == IfBusyCancelPrevious:
			err = s.makeRoom(ctx, busy.Run)
		}
		if err != nil {
			return "", err
		}
	}
}

// admit begins the run if there are not too many. A run that another one started is part of that one.
func (s *Runner) admit(ctx context.Context, spec driver.Spec) (run string, err error) {
	if spec.ParentRun != "" {
		return s.startTraced(ctx, spec)
	}
	done, err := s.active.admit(ctx, s.store, s.cfg.MaxRuns)
	if err != nil {
		return "", err
	}
	run, err = s.startTraced(ctx, spec)
	done(err == nil)
	return run, err
}

// makeRoom cancels a run that is in the way of a later one and waits for its end.
func (s *Runner) makeRoom(ctx context.Context, run string) error {
	err := s.Cancel(ctx, run, "it was replaced by another run of its session")
	if err != nil && !errors.Is(err, engine.ErrEnded) && !errors.Is(err, journal.ErrNotFound) {
		return fmt.Errorf("cancel the previous run: %w", err)
	}
	return s.untilEnded(ctx, run)
}

// lookForEnd is how often those who wait for the end of a run look, where it is paused or not driven here.
const lookForEnd = 250 * time.Millisecond

// untilEnded waits until a run has ended, or is gone. Unlike Wait it waits while the run is paused or interrupted.
func (s *Runner) untilEnded(ctx context.Context, run string) error {
	for {
		st, err := s.driver.Wait(ctx, run)
		switch {
		case errors.Is(err, journal.ErrNotFound):
			return nil
		case err == nil && st.Status.Ended():
			return nil
		case err != nil && ctx.Err() != nil, errors.Is(err, driver.ErrClosed):
			return err
		}
		if err := pause(ctx, lookForEnd); err != nil {
			return err
		}
	}
}

// lines are the requests that wait for their session, oldest first. The zero value is ready; safe for concurrent use.
type lines struct {
	mu   sync.Mutex
	line map[string][]chan struct{} // closed when its turn has come
}

// join waits for the turn of a request of the session; leave ends it. Errors: ctx's; *LimitError where too many wait.
func (l *lines) join(ctx context.Context, session string) (leave func(), err error) {
	turn := make(chan struct{})
	l.mu.Lock()
	if len(l.line[session]) >= maxQueue {
		l.mu.Unlock()
		return nil, &failure.LimitError{Limit: fmt.Sprintf("requests that wait for session %q", session), Max: maxQueue}
	}
	if l.line == nil {
		l.line = map[string][]chan struct{}{}
	}
	if len(l.line[session]) == 0 {
		close(turn)
	}
	l.line[session] = append(l.line[session], turn)
	l.mu.Unlock()

	leave = func() { l.leave(session, turn) }
	select {
	case <-turn:
		return leave, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

func (l *lines) leave(session string, turn chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.line[session]
	for i, t := range line {
		if t != turn {
			continue
		}
		line = append(line[:i:i], line[i+1:]...)
		if i == 0 && len(line) > 0 {
			close(line[0])
		}
		break
	}
	if l.line[session] = line; len(line) == 0 {
		delete(l.line, session)
	}
}
