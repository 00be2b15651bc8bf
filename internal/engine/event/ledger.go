package event

import "github.com/hocket-run/hocket/workflow"

// ChildStarted says that an open call is about to start the run Run, or to continue it with a larger Part. Part is what that run and its own child runs may use in all. It
// is reserved in the budgets of this run until the child run has ended (P20); nil: no budget bounds it.
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
	// Borne is what counts of it against budgets. It is more than the rest where the usage of a call is unknown.
	Borne Spent `json:"borne"`
}

// Spent is what counts against budgets.
type Spent struct {
	Tokens  int64   `json:"tokens,omitempty"`
	CostUSD float64 `json:"costUSD,omitempty"`
	Calls   int64   `json:"calls,omitempty"`
}

// CallReserved says that an open tool or function call is about to make a model call itself, as sessions of Go graphs do. Part is the most that the model call may use: it
// counts as used until a CallUsed with the same Key tells what it was. The provider is asked to stop at Output tokens. Bound names the budget that left no more, as in
// Reserved, and Detail what it bounds.
type CallReserved struct {
	Call    string           `json:"call"`
	Attempt int              `json:"attempt"`
	Key     string           `json:"key"`
	Model   string           `json:"model,omitempty"`
	Output  int64            `json:"output"`
	Bound   string           `json:"bound,omitempty"`
	Detail  string           `json:"detail,omitempty"`
	Part    *workflow.Budget `json:"part"`
}
