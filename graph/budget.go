package graph

import "github.com/hocket-run/hocket/workflow"

// Budget limits the usage of model calls and tool calls, of sub-agents and of sessions with models.
// Zero fields set no limit. A call that does not fit is withheld before it is made.
type Budget struct {
	// MaxTokens limits input and output tokens together.
	MaxTokens int64
	// MaxCostUSD limits the cost in US dollars. Every model that is called must have a price.
	MaxCostUSD float64
	// MaxCalls limits model calls and tool calls together, counting each attempt.
	MaxCalls int64
	// Uncounted specifies how agents whose usage is never reported, such as those that speak ACP,
	// are treated under MaxTokens or MaxCostUSD; "" means [UncountedRefuse].
	Uncounted Uncounted
}

// Uncounted specifies how agents whose usage is never reported are treated.
type Uncounted string

const (
	// UncountedRefuse does not start such agents: their node fails with the code `uncounted`.
	UncountedRefuse Uncounted = workflow.UncountedRefuse
	// UncountedAllow starts such agents; the budget does not include their usage.
	UncountedAllow Uncounted = workflow.UncountedAllow
)

// Limits holds the budget of a run.
type Limits struct {
	Budget
	// OnBudget specifies what a run does when it exceeds its budget; "" means [OnBudgetFail].
	OnBudget OnBudget
}

// OnBudget specifies what a run does when it exceeds its budget.
type OnBudget string

const (
	// OnBudgetFail ends the run as failed with the code `budget`. It can be continued where it
	// stopped with a larger budget.
	OnBudgetFail OnBudget = workflow.OnBudgetFail
	// OnBudgetPause asks a person for a larger budget: the answer is an amount such as 200000,
	// 2.50USD or 100calls, or `stop`.
	OnBudgetPause OnBudget = workflow.OnBudgetPause
)

// lower returns the budget in the form that workflows use.
func (b Budget) lower() workflow.Budget {
	return workflow.Budget{MaxTokens: b.MaxTokens, MaxCostUSD: b.MaxCostUSD, MaxCalls: b.MaxCalls,
		Uncounted: string(b.Uncounted)}
}

// lowered returns the limits in the form that workflows use.
func (l Limits) lowered() workflow.Limits {
	return workflow.Limits{MaxTokens: l.MaxTokens, MaxCostUSD: l.MaxCostUSD, MaxCalls: l.MaxCalls,
		Uncounted: string(l.Uncounted), OnBudget: string(l.OnBudget)}
}

// tighter returns a budget that satisfies both a and b. A nil budget sets no limit.
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
	if bounds := func(b workflow.Budget) bool { return b.MaxTokens > 0 || b.MaxCostUSD > 0 }; bounds(*a) &&
		a.Uncounted != workflow.UncountedAllow || bounds(b) && b.Uncounted != workflow.UncountedAllow {
		out.Uncounted = workflow.UncountedRefuse
	} else {
		out.Uncounted = workflow.UncountedAllow
	}
	return &out
}
