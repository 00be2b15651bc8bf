package engine

import (
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/ledger"
	"github.com/hocket-run/hocket/workflow"
)

// ChildStarted says that an open call is about to start the run Run, or to let it go on with more. Part is what that run may use in all, with the runs that it starts in
// turn: so much of the budgets of this one is kept for it until it has ended (P20); nil: no budget bounds it.
type ChildStarted struct {
	Call    string           `json:"call"`
	Attempt int              `json:"attempt"`
	Run     string           `json:"run"`
	Part    *workflow.Budget `json:"part,omitempty"`
}

// CallUsed tells what an open call used that no other event tells. Where Run is set it is the use of that child run and of all runs below it so far: a later event about
// the same run takes the place of this one. Else it is what one model call of a session used, and adds up.
type CallUsed struct {
	Call    string `json:"call"`
	Attempt int    `json:"attempt"`
	Run     string `json:"run,omitempty"`
	// Ended: the child run has ended.
	Ended bool `json:"ended,omitempty"`
	Used  Used `json:"used"`
	// Key is that of the model call of a session, and Model what it asked; both "" for runs. UsageEstimated says why Used is an estimate, as in ModelReplied.
	Key            string `json:"key,omitempty"`
	Model          string `json:"model,omitempty"`
	UsageEstimated string `json:"usageEstimated,omitempty"`
	// Warning is that of ModelReplied.
	Warning string `json:"warning,omitempty"`
}

// Used is what runs or calls used.
type Used struct {
	InputTokens  int64 `json:"inputTokens,omitempty"`
	OutputTokens int64 `json:"outputTokens,omitempty"`
	// CostUSD is what is known of the cost, and UnknownCosts counts the calls of which it is not (D14).
	CostUSD      float64 `json:"costUSD,omitempty"`
	UnknownCosts int     `json:"unknownCosts,omitempty"`
	ModelCalls   int     `json:"modelCalls,omitempty"`
	ToolCalls    int     `json:"toolCalls,omitempty"`
	// Borne is what budgets have to bear of it, which is more where nobody knows what a call used.
	Borne Spent `json:"borne"`
}

// Spent is what counts against budgets.
type Spent struct {
	Tokens  int64   `json:"tokens,omitempty"`
	CostUSD float64 `json:"costUSD,omitempty"`
	Calls   int64   `json:"calls,omitempty"`
}

func (s Spent) amount() ledger.Amount {
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
