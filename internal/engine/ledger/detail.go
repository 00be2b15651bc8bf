package ledger

import "github.com/hocket-run/hocket/workflow"

// What a budget bounds, as events and errors name it. Events count money in millionths of a dollar.
const (
	DetailTokens = "tokens"
	DetailMoney  = "micro-USD"
	DetailCalls  = "calls"
)

// Details name the fields of an Amount, in their order.
var Details = [3]string{DetailTokens, DetailMoney, DetailCalls}

// Limit gives what a budget allows of detail, as events count it; 0: nothing bounds it, or detail is none.
func Limit(b workflow.Budget, detail string) int64 {
	switch detail {
	case DetailTokens:
		return b.MaxTokens
	case DetailMoney:
		return microUSD(b.MaxCostUSD)
	case DetailCalls:
		return b.MaxCalls
	}
	return 0
}

// Text gives n of detail, as events count it, as workflow.ParseBudget reads it.
func Text(detail string, n int64) string {
	switch detail {
	case DetailTokens:
		return workflow.Limits{MaxTokens: n}.BudgetText()
	case DetailMoney:
		return workflow.Limits{MaxCostUSD: USD(n)}.BudgetText()
	case DetailCalls:
		return workflow.Limits{MaxCalls: n}.BudgetText()
	}
	return ""
}

// USD gives an amount of money in dollars, as events count it.
func USD(n int64) float64 { return float64(n) / 1e6 }

func microUSD(usd float64) int64 { return int64(usd * 1e6) }
