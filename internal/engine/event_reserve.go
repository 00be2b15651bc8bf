package engine

import (
	"github.com/hocket-run/hocket/internal/chat"
)

// CallReserve asks for room in the budgets for a model call or a tool call that an open tool or function call is about to make itself. It is no result: the call stays open. Asked again with the
// Key of a reservation that stands it changes nothing. Where no budget bounds the call nothing is recorded. [Run.ReservedFor] tells what was granted.
//
// Errors: ErrCallLate; ErrNoRoom: ask again when something has changed; *BudgetError: the model call must not be made; *UncountedError; ErrPrice.
type CallReserve struct {
	ID string // the command's
	// Key names the model call within the run; "" only asks whether work is allowed whose use is never reported, and reserves nothing.
	Key   string
	Model string
	// Input is an estimate of the input, Output the most that the answer may take, both in tokens.
	Input, Output int64
	// Rate is the price of the model; nil: unknown.
	Rate *chat.Rate
	// Tool: it is a tool call, which uses a call and no tokens.
	Tool bool
}

func (CallReserve) input() {}
