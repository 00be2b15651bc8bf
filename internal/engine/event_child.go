package engine

import (
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/ledger"
	"github.com/hocket-run/hocket/workflow"
)

func amountOf(s event.Spent) ledger.Amount {
	return ledger.Amount{Tokens: max(s.Tokens, 0), Cost: max(chat.ToMoney(s.CostUSD), 0), Calls: max(s.Calls, 0)}
}

// ChildStart asks what a run may use that an open tool or function call is about to start. It is no result: the call stays open. Asked again for a run that
// has not ended it changes nothing.
//
// Errors: ErrCallLate; ErrNoRoom: ask again when something has changed; *BudgetError: the run is not to be started, as in a run that ends by a limit and has no room now.
type ChildStart struct {
	ID  string // the command's
	Run string
	// Shares is in how many parts what is left is divided, this one included: the call starts as many runs beside one another; 0 is 1.
	Shares int
	// More asks for a run that ended because it had used its part, which was this; nil: for one that is to begin or goes on.
	More *workflow.Budget
}

// CallUse reports what a call used: see CallUsed. Errors: ErrCallLate.
type CallUse struct {
	ID    string
	Run   string
	Ended bool
	Used  Used

	Key, Model, UsageEstimated, Warning string
}

func (ChildStart) input() {}
func (CallUse) input()    {}
