package ledger

import "github.com/hocket-run/hocket/workflow"

// Details that a budget limits, as events and errors name them. Events count money in millionths of
// a dollar.
const (
	DetailTokens = "tokens"
	DetailMoney  = "micro-USD"
	DetailCalls  = "calls"
)

// Details are the names of the fields of an Amount, in order.
var Details = [3]string{DetailTokens, DetailMoney, DetailCalls}

// Limit returns what a budget allows of detail, as events count it; 0 means no limit or an unknown
// detail.
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

// Text formats n units of detail, as events count them, in the form that workflow.ParseBudget
// reads.
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

// USD converts an amount of money, as events count it, to dollars.
func USD(n int64) float64 { return float64(n) / 1e6 }

func microUSD(usd float64) int64 { return int64(usd * 1e6) }
