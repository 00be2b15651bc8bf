package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/workflow"
)

// childRuns drives runs that a tool call of the run of info starts. Their ids follow from the call, so that one which is made again after a crash finds
// the run that it began: such a call is idempotent (P12).
type childRuns struct {
	s    *Runner
	info driver.Info
}

// drive starts a run, within what the budgets of the run above leave for it, or takes it up where it was started before, and waits until it has ended or is paused. What it
// used counts in the run above. Where the call is cancelled or its time is over, the run is cancelled; where the run above is only interrupted it is interrupted
// as well, and goes on with it.
//
// Errors: *engine.BudgetError where the budgets leave nothing (more) for it: the call is made again under a larger one.
func (c childRuns) drive(ctx context.Context, ledger driver.Ledger, run string, start func(context.Context, *workflow.Budget) error) error {
	c.s.opener.Inherit(run, c.info.Run)
	err := c.begin(ctx, ledger, run, start)
	for goesOn := true; err == nil && goesOn; {
		var st driver.State
		st, err = c.s.driver.Wait(ctx, run)
		switch {
		case err != nil:
		case st.Interrupted:
			err = c.takeUp(ctx, run) // its owner died
		default:
			goesOn, err = c.s.SettleChild(ctx, ledger, run)
		}
	}
	if err != nil {
		c.stopped(ctx, ledger, run) // also while it begins: it may have been stored
	}
	return err
}

func (c childRuns) begin(ctx context.Context, ledger driver.Ledger, run string, start func(context.Context, *workflow.Budget) error) error {
	above, isNew, err := c.s.BeginChild(ctx, ledger, run, 1)
	switch {
	case err != nil:
		return err
	case !isNew:
		return c.takeUp(ctx, run)
	}
	err = start(ctx, above)
	if errors.Is(err, journal.ErrExists) {
		return c.takeUp(ctx, run)
	}
	if err != nil && ctx.Err() == nil {
		_, told := c.s.tellAbove(ctx, ledger, run) // nothing is kept for it any more
		err = errors.Join(err, told)
	}
	return err
}

// takeUp resumes an interrupted run.
func (c childRuns) takeUp(ctx context.Context, run string) error {
	err := c.s.driver.Resume(ctx, run)
	if errors.Is(err, journal.ErrOwned) || errors.Is(err, engine.ErrEnded) {
		return nil
	}
	return err
}

// cancelTime bounds how long a run is told to stop, and how long its end is waited for.
const cancelTime = time.Second

func (c childRuns) stopped(ctx context.Context, ledger driver.Ledger, run string) {
	if ctx.Err() == nil || errors.Is(context.Cause(ctx), driver.ErrInterrupted) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer cancel()
	if err := c.s.driver.Cancel(ctx, run, ""); err != nil && !errors.Is(err, engine.ErrEnded) && !errors.Is(err, journal.ErrNotFound) {
		c.s.cfg.Logger.Warn("run was not cancelled with its parent", "run", run, "error", err)
	}
	c.s.LeaveChild(ctx, ledger, run)
}

// cancelChildren cancels the runs that a run started and that have not ended, and tells whether there were any.
func (s *Runner) cancelChildren(ctx context.Context, run, reason string) (bool, error) {
	q := journal.Query{Parent: run, Statuses: []journal.Status{journal.StatusPending, journal.StatusRunning, journal.StatusPaused}}
	found := false
	for {
		heads, next, err := s.store.List(ctx, q)
		if err != nil {
			return found, err
		}
		for _, h := range heads {
			err := s.driver.Cancel(ctx, h.Run, reason)
			switch {
			case err == nil:
				found = true
			case !errors.Is(err, engine.ErrEnded):
				return found, fmt.Errorf("cancel run %s: %w", h.Run, err)
			}
		}
		if q.Cursor = next; next == "" {
			return found, nil
		}
	}
}
