package graph

import "github.com/hocket-run/hocket/workflow"

// Budget bounds what model calls and tool calls use, of sub-agents and of sessions with models. Zero fields bound nothing. A call that does not fit is withheld before it is made (P20).
type Budget struct {
	// MaxTokens bounds tokens, in and out.
	MaxTokens int64
	// MaxCostUSD bounds money in US dollars. Every model that is called must have a price.
	MaxCostUSD float64
	// MaxCalls bounds model calls and tool calls together, by attempt.
	MaxCalls int64
	// Uncounted says what becomes of agents whose use is never reported, such as those that speak ACP, under MaxTokens or MaxCostUSD; "" is [UncountedRefuse].
	Uncounted Uncounted
}

// Uncounted says what becomes of agents whose use is never reported.
type Uncounted string

const (
	// UncountedRefuse does not start them: their node fails with the code `uncounted`.
	UncountedRefuse Uncounted = workflow.UncountedRefuse
	// UncountedAllow starts them; the budget does not include what they use.
	UncountedAllow Uncounted = workflow.UncountedAllow
)

// Limits are the budget of a run.
type Limits struct {
	Budget
	// OnBudget says what a run does that meets its budget; "" is [OnBudgetFail].
	OnBudget OnBudget
}

// OnBudget says what a run does that meets its budget.
type OnBudget string

const (
	// OnBudgetFail ends the run as failed with the code `budget`. It goes on where it was with a larger budget.
	OnBudgetFail OnBudget = workflow.OnBudgetFail
	// OnBudgetPause asks a person for a larger budget: the answer is an amount such as 200000, 2.50USD or 100calls, or `stop`.
	OnBudgetPause OnBudget = workflow.OnBudgetPause
)

// lower gives the budget in the terms of workflows.
func (b Budget) lower() workflow.Budget {
	return workflow.Budget{MaxTokens: b.MaxTokens, MaxCostUSD: b.MaxCostUSD, MaxCalls: b.MaxCalls, Uncounted: string(b.Uncounted)}
}

// lowered gives the limits in the terms of workflows.
func (l Limits) lowered() workflow.Limits {
	return workflow.Limits{MaxTokens: l.MaxTokens, MaxCostUSD: l.MaxCostUSD, MaxCalls: l.MaxCalls, Uncounted: string(l.Uncounted), OnBudget: string(l.OnBudget)}
}

// tighter gives a budget that holds where both do. Nil bounds nothing.
func tighter(a *workflow.Budget, b workflow.Budget) *workflow.Budget {
	switch {
	case !b.Bounds():
		return a
	case a == nil:
		return &b
	}
	out := *a
	if out.MaxTokens == 0 || b.MaxTokens > 0 && b.MaxTokens < out.MaxTokens {
		out.MaxTokens = b.MaxTokens
	}
	if out.MaxCostUSD == 0 || b.MaxCostUSD > 0 && b.MaxCostUSD < out.MaxCostUSD {
		out.MaxCostUSD = b.MaxCostUSD
	}
	if out.MaxCalls == 0 || b.MaxCalls > 0 && b.MaxCalls < out.MaxCalls {
		out.MaxCalls = b.MaxCalls
	}
	if bounds := func(b workflow.Budget) bool { return b.MaxTokens > 0 || b.MaxCostUSD > 0 }; bounds(*a) && a.Uncounted != workflow.UncountedAllow || bounds(b) && b.Uncounted != workflow.UncountedAllow {
		out.Uncounted = workflow.UncountedRefuse
	} else {
		out.Uncounted = workflow.UncountedAllow
	}
	return &out
}
