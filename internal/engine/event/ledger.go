package event

import "github.com/hocket-run/hocket/workflow"

// ChildStarted records that an open call is about to start the run Run, or to continue it with a
// larger Part. Part is the total that the run and its own child runs may use. It is reserved in the
// budgets of this run until the child run has ended (P20); nil means that no budget limits it.
type ChildStarted struct {
	Call    string           `json:"call"`
	Attempt int              `json:"attempt"`
	Run     string           `json:"run"`
	Part    *workflow.Budget `json:"part,omitempty"`
}

// CallUsed reports usage of an open call that no other event reports. If Run is set, it is the
// usage so far of that child run and all its descendants: a later event about the same run replaces
// this one. Otherwise it is the usage of one model call of a session, and is added.
type CallUsed struct {
	Call    string `json:"call"`
	Attempt int    `json:"attempt"`
	Run     string `json:"run,omitempty"`
	// Ended means that the child run has ended.
	Ended bool `json:"ended,omitempty"`
	Used  Used `json:"used"`
	// Key identifies the model call of a session, and Model is the model that it called; both are
	// "" for runs. UsageEstimated says why Used is an estimate, as in ModelReplied.
	Key            string `json:"key,omitempty"`
	Model          string `json:"model,omitempty"`
	UsageEstimated string `json:"usageEstimated,omitempty"`
	// Warning is as in ModelReplied.
	Warning string `json:"warning,omitempty"`
}

// Used is the usage of runs or calls.
type Used struct {
	InputTokens  int64 `json:"inputTokens,omitempty"`
	OutputTokens int64 `json:"outputTokens,omitempty"`
	// CostUSD is the known cost, and UnknownCosts the number of calls whose cost is unknown (D14).
	CostUSD      float64 `json:"costUSD,omitempty"`
	UnknownCosts int     `json:"unknownCosts,omitempty"`
	ModelCalls   int     `json:"modelCalls,omitempty"`
	ToolCalls    int     `json:"toolCalls,omitempty"`
	// Borne is the part that counts against budgets. It exceeds the other fields if the usage of a
	// call is unknown.
	Borne Spent `json:"borne"`
}

// Spent is an amount that counts against budgets.
type Spent struct {
	Tokens  int64   `json:"tokens,omitempty"`
	CostUSD float64 `json:"costUSD,omitempty"`
	Calls   int64   `json:"calls,omitempty"`
}

// CallReserved records that an open tool or function call is about to make a model call itself, as
// sessions of Go graphs do. Part is the most that the model call may use: it counts as used until a
// CallUsed with the same Key reports the actual usage. The provider is asked to stop at Output
// tokens. Bound names the budget that left no more, as in Reserved, and Detail what it limits.
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
