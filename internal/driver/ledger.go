package driver

import (
	"context"
	"fmt"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

// Ledger records the runs that a call in progress starts and what the call itself uses, so that
// both count in its own run (P20). It is safe for concurrent use.
type Ledger interface {
	// Begin announces that the call is about to start a run, and returns the total budget of that
	// run; nil means that no budget limits it. Begin waits while others hold the remainder of a
	// budget. shares is the number of parts into which the remainder is divided, including this
	// one; 0 means 1. more, if not nil, requests a budget beyond this one for a run that ended
	// because it had used it up. Called again for a run that has not ended, Begin returns the same
	// budget.
	//
	// Errors: *engine.BudgetError if the run must not be started, and a call that fails after it
	// has exceeded the budget of its run or node; engine.ErrCallLate; ctx's error.
	Begin(ctx context.Context, run string, shares int, more *workflow.Budget) (above *workflow.Budget, err error)
	// Use reports what the call used; see engine.CallUse, whose ID is set by the ledger. Errors:
	// engine.ErrCallLate; others if it is unknown whether the usage was recorded.
	Use(u engine.CallUse) error
	// Reserve reserves budget for a model call that the call in progress makes itself; see
	// engine.CallReserve, whose ID is set by the ledger. It waits, without a slot, while others
	// hold the remainder of a budget, and returns once the reservation is durable.
	//
	// Errors: those of engine.CallReserve except ErrNoRoom; ctx's error. A call that fails after a
	// *engine.BudgetError has exceeded the budget of its run or node.
	Reserve(ctx context.Context, q engine.CallReserve) (Grant, error)
	// Short reports that a budget left too little for something else that the call started, as if
	// Begin had returned that error. detail is the detail of engine.BudgetError.
	Short(detail string)
	// Info returns the information about the call's run, or nil if there is none.
	Info() *Info
}

// Grant is the budget granted to a model call. The zero Grant sets no limit.
type Grant struct {
	// Reserved means that a budget limits the call to Output output tokens.
	Reserved bool
	Output   int64
	// Short names the budget that leaves no more, as in engine.BudgetError; "" means that the
	// call's own limit is reached first.
	Short string
	// Key identifies the call for Use and is unique in its run.
	Key string
}

// Caller is a call in progress, as seen by the code that executes it. It is safe for concurrent
// use.
type Caller interface {
	Ledger
	Recorder
	// Idle reports that from now on the call only waits for other runs, which need slots
	// themselves, so it releases its slot (P14). It may be called several times.
	Idle()
}

// CallerOf returns the Caller of a tool call, or one that sets no limits and records nothing if no
// driver made the call.
func CallerOf(c tool.Call) Caller {
	if by, ok := c.Caller.(Caller); ok {
		return by
	}
	return NoCaller{}
}

// NoCaller is the Caller of work that is not part of a run's call: it sets no limits, records
// nothing, and takes no notes.
type NoCaller struct{}

var _ Caller = NoCaller{}

// Begin implements Ledger.
func (NoCaller) Begin(context.Context, string, int, *workflow.Budget) (*workflow.Budget, error) {
	return nil, nil //nolint:nilnil // nothing bounds the run
}

// Use implements Ledger.
func (NoCaller) Use(engine.CallUse) error { return nil }

// Reserve implements Ledger.
func (NoCaller) Reserve(context.Context, engine.CallReserve) (Grant, error) { return Grant{}, nil }

// Short implements Ledger.
func (NoCaller) Short(string) {}

// Info implements Ledger.
func (NoCaller) Info() *Info { return nil }

// Record implements Recorder.
func (NoCaller) Record(engine.FuncNote) error {
	return fmt.Errorf("%w: notes cannot be recorded here", loop.ErrNote)
}

// Idle implements Caller.
func (NoCaller) Idle() {}
