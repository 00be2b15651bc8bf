package workflow

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Budget is what all executions of one node may use in a run, with sub-agents, attempts that failed, and the nodes inside a block or a sub-flow. Zero fields bound nothing. A node that
// meets its budget fails with the code `node_budget`, which takes an edge of PortLimit.
type Budget struct {
	MaxTokens  int64   `json:"maxTokens,omitempty"`
	MaxCostUSD float64 `json:"maxCostUSD,omitempty"`
	// MaxCalls bounds model calls and tool calls together, by attempt.
	MaxCalls int64 `json:"maxCalls,omitempty"`
	// Uncounted says what becomes of work under MaxTokens or MaxCostUSD whose use is never reported, such as a coding agent that speaks ACP: UncountedRefuse ("" too) or
	// UncountedAllow.
	Uncounted string `json:"uncounted,omitempty"`
}

// What becomes of work whose use is never reported, under a budget of tokens or money.
const (
	// UncountedRefuse does not start it. The default.
	UncountedRefuse = "refuse"
	// UncountedAllow starts it; the budget does not include it.
	UncountedAllow = "allow"
)

// Bounds tells whether the budget bounds anything.
func (b Budget) Bounds() bool { return b.MaxTokens > 0 || b.MaxCostUSD > 0 || b.MaxCalls > 0 }

// Budget gives the budget that the limits hold.
func (l Limits) Budget() Budget {
	return Budget{MaxTokens: l.MaxTokens, MaxCostUSD: l.MaxCostUSD, MaxCalls: l.MaxCalls, Uncounted: l.Uncounted}
}

// What a run does that meets its budget.
const (
	// OnBudgetFail ends the run by the limit; it may be reopened with a larger budget (D20). The default.
	OnBudgetFail = "fail"
	// OnBudgetPause asks a person: for a larger budget, as ParseBudget reads it, or for BudgetStop.
	OnBudgetPause = "pause"
	// BudgetStop is the answer that ends the run after all.
	BudgetStop = "stop"
)

// ParseBudget reads an amount as people write it: tokens (`50000`), money (`2.50USD`) or calls (`200calls`), blanks and case aside. It sets one of
// MaxTokens, MaxCostUSD and MaxCalls. What is no amount above 0 is an error.
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
	if err != nil || l.MaxTokens < 0 || l.MaxCalls < 0 || !(l.MaxCostUSD >= 0) || math.IsInf(l.MaxCostUSD, 0) || l == (Limits{}) {
		return Limits{}, fmt.Errorf("%q is not a valid budget: write tokens such as 200000, money such as 2.50USD, or calls such as 100calls", text)
	}
	return l, nil
}

// BudgetText gives the budget that is set as ParseBudget reads it, "" where none is.
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
