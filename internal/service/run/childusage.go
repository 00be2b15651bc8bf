package run

import (
	"context"
	"errors"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/workflow"
)

// BeginChild says that the call of ledger is about to start the run, one of shares that it starts beside one another, and gives what the budgets of the run above leave
// for it: for StartRequest.Above. So much is kept for it until it has ended; while others hold what is left, BeginChild waits. isNew: there is no such run yet.
//
// Errors: *engine.BudgetError: nothing is left, and the run is not to be started; those of the store; that of ctx.
func (s *Runner) BeginChild(ctx context.Context, ledger driver.Ledger, run string, shares int) (above *workflow.Budget, isNew bool, err error) {
	_, err = s.store.Head(ctx, run)
	if isNew = errors.Is(err, journal.ErrNotFound); err != nil && !isNew {
		return nil, false, err
	}
	above, err = ledger.Begin(ctx, run, shares, nil)
	return above, isNew, err
}

// SettleChild tells the run above what a child run that ended or paused has used, with all runs below it. One that ended because it had used what was left for it goes on if there is
// more by now. goesOn: it did.
//
// Errors: *engine.BudgetError where there is no more; those of the store; that of ctx.
func (s *Runner) SettleChild(ctx context.Context, ledger driver.Ledger, run string) (goesOn bool, err error) {
	had, err := s.tellAbove(ctx, ledger, run)
	if err != nil || had == nil {
		return false, err
	}
	above, err := ledger.Begin(ctx, run, 1, had)
	if err != nil {
		return false, err
	}
	err = s.driver.Extend(ctx, run, above)
	return err == nil, err
}

// LeaveChild tells the run above what a child run has used that was told to stop, once it has: ctx bounds how long that is waited for. What is not known by then stays unknown.
func (s *Runner) LeaveChild(ctx context.Context, ledger driver.Ledger, run string) {
	_, err := s.driver.Wait(ctx, run)
	if err != nil && !errors.Is(err, journal.ErrNotFound) {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTime/2)
		defer cancel()
		ctx = within
	}
	if _, err := s.tellAbove(ctx, ledger, run); err != nil && !errors.Is(err, engine.ErrCallLate) {
		s.cfg.Logger.Debug("usage of a run was not reported to its parent", "run", run, "error", err)
	}
}

// TellAbove is SettleChild for a run that does not go on by itself. short, where not "", is what the run above left too little of: it ended because of that.
func (s *Runner) TellAbove(ctx context.Context, ledger driver.Ledger, run string) (short string, err error) {
	had, err := s.tellAbove(ctx, ledger, run)
	if err != nil || had == nil {
		return "", err
	}
	rec, err := s.ReadShort(ctx, run)
	if err != nil || rec.object.Error == nil {
		return "", err
	}
	return rec.object.Error.Limit, nil
}

// tellAbove reports what a child run has used. short, where not nil, is what was left for it: it ended because it had used that.
func (s *Runner) tellAbove(ctx context.Context, ledger driver.Ledger, run string) (short *workflow.Budget, err error) {
	rec, err := s.ReadShort(ctx, run)
	if errors.Is(err, journal.ErrNotFound) { // it was never stored
		return nil, ledger.Use(engine.CallUse{Run: run, Ended: true})
	}
	if err != nil {
		return nil, err
	}
	spent, above, err := s.runs.Spent(ctx, run)
	if err != nil {
		return nil, err
	}
	o := rec.Object()
	u := o.Usage
	err = ledger.Use(engine.CallUse{Run: run, Ended: o.Status.Ended(), Used: engine.Used{
		InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, CostUSD: u.KnownCost.USD(), UnknownCosts: u.UnknownCosts, ModelCalls: u.ModelCalls, ToolCalls: u.ToolCalls,
		Borne: spent,
	}})
	if o.Status != engine.StatusFailed || o.Error == nil || o.Error.Code != engine.CodeParentBudget {
		above = nil
	}
	return above, err
}
