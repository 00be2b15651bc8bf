package driver

import (
	"context"
	"fmt"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/tool"
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
	// Use reports what the call used; see engine.CallUse, whose ID is the ledger's to set. Errors: engine.ErrCallLate; others where it is not known whether it was kept.
	Use(u engine.CallUse) error
	// Reserve asks for room for a model call that the call makes itself; see engine.CallReserve, whose ID is the ledger's to set. It waits, without a slot, while others hold what is
	// left of a budget, and is answered once the reservation is durable.
	//
	// Errors: those of engine.CallReserve but for ErrNoRoom; that of ctx. A call that fails after a *engine.BudgetError met the budget of its run or node.
	Reserve(ctx context.Context, q engine.CallReserve) (Grant, error)
	// Short says that a budget left too little for something else that the call started, as if Begin had said so. detail is that of engine.BudgetError.
	Short(detail string)
	// Info is what is known of the run of the call; nil: there is none.
	Info() *Info
}

// Grant is the room that a model call has. The zero Grant bounds nothing.
type Grant struct {
	// Reserved: a budget bounds the call, which may have Output tokens of output.
	Reserved bool
	Output   int64
	// Short is what the budget bounds that leaves no more, as engine.BudgetError says it; "": the call's own bound is met first.
	Short string
	// Key is the name of the call for Use, unique in its run.
	Key string
}

// Caller is a call that is under way, as those see it who carry it out. Safe for concurrent use.
type Caller interface {
	Ledger
	Recorder
	// Idle says that the call does nothing any more but wait for other runs, which need slots themselves: it holds none from now on (P14). It may be called several times.
	Idle()
}

// CallerOf gives the Caller of a tool call; one that bounds and keeps nothing where no driver made the call.
func CallerOf(c tool.Call) Caller {
	if by, ok := c.Caller.(Caller); ok {
		return by
	}
	return NoCaller{}
}

// NoCaller is the Caller of what no call of a run does: it bounds and keeps nothing, and takes no notes.
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
	return fmt.Errorf("%w: notes cannot be recorded here", engine.ErrNote)
}

// Idle implements Caller.
func (NoCaller) Idle() {}
