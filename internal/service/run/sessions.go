package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service/failure"
)

// IfBusy determines what happens to a run that is to start in a session whose last run has not
// ended (P19).
type IfBusy string

const (
	// IfBusyReject rejects the run with *BusyError. It is the meaning of "".
	IfBusyReject IfBusy = "reject"
	// IfBusyQueue makes the run wait until the other has ended, after those that already wait, in
	// any process of the store.
	IfBusyQueue IfBusy = "queue"
	// IfBusyCancelPrevious cancels the other run and waits for its end.
	IfBusyCancelPrevious IfBusy = "cancel_previous"
)

// maxQueue is the maximum number of requests that wait for one session.
const maxQueue = 100

func (q StartRequest) checkSession() error {
	switch q.IfBusy {
	case "", IfBusyReject, IfBusyQueue, IfBusyCancelPrevious:
	default:
		return failure.Refuse(errcode.InvalidBusyPolicy, errcode.Fields{
			"value": clip(string(q.IfBusy)), "known": []string{string(IfBusyReject), string(IfBusyQueue),
				string(IfBusyCancelPrevious)},
		}, nil)
	}
	if q.Session == "" && q.IfBusy != "" {
		return failure.Refuse(errcode.SessionMissing, errcode.Fields{"value": string(q.IfBusy)}, nil)
	}
	return checkKey("the session", q.Session)
}

// launchInSession starts the run when its session allows it.
func (s *Runner) launchInSession(ctx context.Context, spec driver.Spec, policy IfBusy) (run string, err error) {
	t := turn{s: s, line: journal.Line{Kind: journal.LineSession, Name: spec.Session}}
	if policy == IfBusyQueue {
		defer t.leave()
		if err := t.waitBehind(ctx); err != nil {
			return "", err
		}
	}
	for {
		// The driver stamps a run with the time of the call, so it is called only after the previous
		// run has ended.
		if err = s.checkFree(ctx, spec); err == nil {
			run, err = s.admit(ctx, spec)
		}
		busy, ok := errors.AsType[*failure.BusyError](err)
		switch {
		case !ok:
			return run, err
		case policy == IfBusyQueue && t.place == 0:
			err = t.wait(ctx)
		case policy == IfBusyQueue:
			err = s.untilEnded(ctx, busy.Run)
		case policy == IfBusyCancelPrevious:
			err = s.makeRoom(ctx, busy.Run, "it was replaced by another run of its session")
		}
		if err != nil {
			return "", err
		}
	}
}

// checkFree returns *BusyError if another run holds the session of a run that is to start.
func (s *Runner) checkFree(ctx context.Context, spec driver.Spec) error {
	if spec.Session == "" {
		return nil
	}
	heads, _, err := s.store.List(ctx, journal.Query{Session: spec.Session, Limit: 1,
		Statuses: []journal.Status{journal.StatusPending, journal.StatusRunning, journal.StatusPaused}})
	if err != nil || len(heads) == 0 || heads[0].Run == spec.Run {
		return err
	}
	return &failure.BusyError{Session: spec.Session, Run: heads[0].Run}
}

// admit starts the run if there are not too many. A run that another run started is part of that
// run.
func (s *Runner) admit(ctx context.Context, spec driver.Spec) (run string, err error) {
	begin := ctx
	if spec.Slot != nil { // it must be known whether the run is stored
		begin = context.WithoutCancel(ctx)
	}
	if spec.ParentRun != "" {
		return s.startTraced(begin, spec)
	}
	done, err := s.active.admit(ctx, s.store, s.cfg.MaxRuns)
	if err != nil {
		return "", err
	}
	run, err = s.startTraced(begin, spec)
	done(err == nil)
	return run, err
}

// makeRoom cancels a run that blocks a later one and waits for its end.
func (s *Runner) makeRoom(ctx context.Context, run, reason string) error {
	err := s.Cancel(ctx, run, reason)
	if err != nil && !errors.Is(err, engine.ErrEnded) && !errors.Is(err, journal.ErrNotFound) {
		return fmt.Errorf("cancel the previous run: %w", err)
	}
	return s.untilEnded(ctx, run)
}

// untilEnded waits until a run has ended, or is gone. Unlike Wait it keeps waiting while the run is
// paused or interrupted.
func (s *Runner) untilEnded(ctx context.Context, run string) error {
	changed := make(chan struct{}, 1)
	defer s.store.Subscribe(changed, journal.OfRun(run))()
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
		if err := await(ctx, changed); err != nil {
			return err
		}
	}
}

// await waits for a signal, but no longer than the safety poll. It returns ctx's error.
func await(ctx context.Context, changed <-chan struct{}) error {
	t := time.NewTimer(journal.SafetyPoll)
	defer t.Stop()
	select {
	case <-changed:
	case <-t.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}
