package workflow

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Budget limits what all executions of one node may use in a run, including sub-agents, failed
// attempts, and the nodes inside a block or a sub-flow. Zero fields mean no limit. A node that
// exceeds its budget fails with the code `node_budget`, for which an edge of PortLimit is taken.
type Budget struct {
	MaxTokens  int64   `json:"maxTokens,omitempty"`
	MaxCostUSD float64 `json:"maxCostUSD,omitempty"`
	// MaxCalls is the maximum number of model calls and tool calls together, counting attempts.
	MaxCalls int64 `json:"maxCalls,omitempty"`
	// Uncounted determines what happens under MaxTokens or MaxCostUSD to work whose usage is never
	// reported, such as a coding agent that speaks ACP: UncountedRefuse (the default) or
	// UncountedAllow.
	Uncounted string `json:"uncounted,omitempty"`
}

// Values of Uncounted: how work whose usage is never reported is handled under a budget of tokens
// or money.
const (
	// UncountedRefuse does not start such work. It is the default.
	UncountedRefuse = "refuse"
	// UncountedAllow starts such work; the budget does not include it.
	UncountedAllow = "allow"
)

// Bounds reports whether the budget limits anything.
func (b Budget) Bounds() bool { return b.MaxTokens > 0 || b.MaxCostUSD > 0 || b.MaxCalls > 0 }

// Budget returns the budget that is part of the limits.
func (l Limits) Budget() Budget {
	return Budget{MaxTokens: l.MaxTokens, MaxCostUSD: l.MaxCostUSD, MaxCalls: l.MaxCalls, Uncounted: l.Uncounted}
}

// What a run does when it exceeds its budget.
const (
	// OnBudgetFail ends the run at the limit; it may be reopened with a larger budget. It is the
	// default.
	OnBudgetFail = "fail"
	// OnBudgetPause asks a person for a larger budget, in the form that ParseBudget parses, or for
	// BudgetStop.
	OnBudgetPause = "pause"
	// BudgetStop is the answer that ends the run.
	BudgetStop = "stop"
)

// ParseBudget parses an amount as people write it: tokens (`50000`), money (`2.50USD`) or calls
// (`200calls`), ignoring blanks and case. It sets one of MaxTokens, MaxCostUSD and MaxCalls. It
// returns an error for anything that is not an amount above 0.
func ParseBudget(text string) (Limits, error) {
	s := strings.ToLower(strings.Join(strings.Fields(text), ""))
	var l Limits
	var err error
	if money, ok := strings.CutSuffix(s, "usd"); ok {
		l.MaxCostUSD, err = strconv.ParseFloat(money, 64)
	} else if calls, ok := strings.CutSuffix(strings.TrimSuffix(s, "s"), "call"); ok {
		l.MaxCalls, err = strconv.ParseInt(calls, 10, 64)
	} else {
		l.MaxTokens, err = strconv.ParseInt(strings.TrimSuffix(strings.TrimSuffix(s, "s"), "token"), 10, 64)
	}
	if err != nil || l.MaxTokens < 0 || l.MaxCalls < 0 || !(l.MaxCostUSD >= 0) || math.IsInf(l.MaxCostUSD, 0) ||
		l == (Limits{}) {
		return Limits{},
			fmt.Errorf("%q is not a valid budget: write tokens such as 200000, money such as 2.50USD, or calls such "+
				"as 100calls", text)
	}
	return l, nil
}

// BudgetText returns the budget that is set, in the form that ParseBudget parses, or "" if none is
// set.
func (l Limits) BudgetText() string {
	switch {
	case l.MaxTokens > 0:
		return strconv.FormatInt(l.MaxTokens, 10)
	case l.MaxCostUSD > 0:
		return strconv.FormatFloat(l.MaxCostUSD, 'f', -1, 64) + "USD"
	case l.MaxCalls > 0:
		return strconv.FormatInt(l.MaxCalls, 10) + "calls"
	}
	return ""
}
