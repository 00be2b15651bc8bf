package driver

import (
	"context"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/workflow"
)

// Ledger takes what a call that is under way tells of runs that it starts and of what it uses itself, so that both count in its own run (P20). Safe for concurrent use.
type Ledger interface {
	// Begin says that the call is about to start a run, and gives what that run may use in all; nil: no budget bounds it. It waits while others hold what is left of a budget.
	// shares is in how many parts what is left is divided, this one included; 0 is 1. more, where not nil, asks for more than that for a run that ended because it had used it. Asked again for a run that has
	// not ended it gives the same.
	//
	// Errors: *engine.BudgetError: the run is not to be started, and a call that fails after it met the budget of its run or node; engine.ErrCallLate; that of ctx.
	Begin(ctx context.Context, run string, shares int, more *workflow.Budget) (above *workflow.Budget, err error)
	// Use reports what the call used; see engine.CallUsed. run is "" for what was no run's. Errors: engine.ErrCallLate; others where it is not known whether it was kept.
	Use(run string, ended bool, used engine.Used) error
}

type ledgerKey struct{}

// WithLedger gives the call that is made with the context a ledger.
func WithLedger(ctx context.Context, l Ledger) context.Context {
	return context.WithValue(ctx, ledgerKey{}, l)
}

// LedgerOf gives the ledger of the call that ctx belongs to; one that bounds and keeps nothing where there is none.
func LedgerOf(ctx context.Context) Ledger {
	if l, ok := ctx.Value(ledgerKey{}).(Ledger); ok {
		return l
	}
	return noLedger{}
}

type noLedger struct{}

func (noLedger) Begin(context.Context, string, int, *workflow.Budget) (*workflow.Budget, error) {
	return nil, nil
} //nolint:nilnil // nothing bounds the run

func (noLedger) Use(string, bool, engine.Used) error { return nil }
