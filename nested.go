package hocket

import (
	"context"
	"errors"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/workflow"
)

// A run that a node function or a tool starts by Run, Stream, Engine.Run or Engine.Start, with the context that it was given, is a run below that of the function: it gets a part of what
// that one's budgets leave, and what it uses counts there (P20, ADR 35).

// begin asks the run of the call that ctx belongs to for a part of its budgets. Nil: there is no such run, or nothing bounds it. Errors: *BudgetError; that of ctx.
func (e *Engine) begin(ctx context.Context, run string) (*workflow.Budget, error) {
	if driver.LedgerOf(ctx).Info() == nil {
		return nil, nil //nolint:nilnil // nothing bounds the run
	}
	driver.Idle(ctx) // others may hold what is left, and need slots
	above, _, err := e.service.BeginChild(ctx, run, 1)
	if short, ok := errors.AsType[*engine.BudgetError](err); ok {
		return nil, &BudgetError{Code: engine.CodeBudget, Limit: limitNames[short.Detail], Message: short.Error() + " for another run"}
	}
	return above, known(err)
}

// unbegun says that a run was not stored after all.
func (e *Engine) unbegun(ctx context.Context, run string) {
	if err := driver.LedgerOf(ctx).Use(engine.CallUse{Run: run, Ended: true}); err != nil && !errors.Is(err, engine.ErrCallLate) {
		e.log.Warn("cannot release the budget of a run that did not start", "run", run, "err", err)
	}
}

// tell reports what a run used to that of the call which ctx belongs to. Where it ended because it had used its part, the function that started it has met the budget of its own run.
func (e *Engine) tell(ctx context.Context, run string) {
	ledger := driver.LedgerOf(ctx)
	if ledger.Info() == nil {
		return
	}
	short, err := e.service.TellAbove(context.WithoutCancel(ctx), run)
	switch {
	case errors.Is(err, engine.ErrCallLate):
	case err != nil:
		e.log.Warn("cannot report the usage of a run to its parent run", "run", run, "err", err)
	case short != "":
		ledger.Short(short)
	}
}

// report tells the run of the call that ctx belongs to what another one used that it started and does not wait for, so that what is kept for that one is free once it has ended. It
// ends with the call.
func (e *Engine) report(ctx context.Context, run string) {
	for {
		st, err := e.service.Wait(ctx, run)
		if err != nil || st.Status.Ended() || st.Interrupted {
			break
		}
		if err := (&bridge{e: e}).answered(ctx, run); err != nil {
			break
		}
	}
	if ctx.Err() == nil {
		e.tell(ctx, run)
	}
}
