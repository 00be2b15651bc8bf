package workflow_test

import (
	"testing"

	"github.com/hocket-run/hocket/workflow"
)

// TestParseBudget checks that budgets are parsed as people write them and that invalid ones are
// rejected (P20, D20).
func TestParseBudget(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]workflow.Limits{
		"200000": {MaxTokens: 200000}, " 50 tokens": {MaxTokens: 50}, "1 token": {MaxTokens: 1},
		"2.50usd": {MaxCostUSD: 2.5}, "2 USD": {MaxCostUSD: 2},
		"100calls": {MaxCalls: 100}, "1 call": {MaxCalls: 1},
		"": {}, "0": {}, "-1": {}, "usd": {}, "0usd": {}, "-1usd": {}, "nanusd": {}, "infusd": {}, "0calls": {},
		"-5calls": {}, "lots": {}, "1.5": {}, "2eur": {},
	} {
		got, err := workflow.ParseBudget(text)
		if got != want || (err != nil) != (want == workflow.Limits{}) {
			t.Errorf("%q gives %+v, %v", text, got, err)
		}
		if err == nil {
			if again, err := workflow.ParseBudget(got.BudgetText()); err != nil || again != want {
				t.Errorf("%q is written as %q, which gives %+v, %v", text, got.BudgetText(), again, err)
			}
		}
	}
}
