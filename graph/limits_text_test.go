package graph_test

import (
	"math"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/graph"
)

// TestLimitsMisuse checks that Compile reports invalid limits with their Go names, and with a
// position that an editor can follow.
func TestLimitsMisuse(t *testing.T) {
	t.Parallel()
	for want, l := range map[string]graph.Limits{
		"Config.Limits: MaxTokens must not be negative":  {Budget: graph.Budget{MaxTokens: -1}},
		"Config.Limits: MaxCalls must not be negative":   {Budget: graph.Budget{MaxCalls: -1}},
		"Config.Limits: MaxCostUSD must not be negative": {Budget: graph.Budget{MaxCostUSD: math.NaN()}},
		"Config.Limits: OnBudget":                        {OnBudget: "wait"},
		"Config.Limits: Uncounted":                       {Budget: graph.Budget{Uncounted: "maybe"}},
	} {
		_, err := graph.New[state]("t").Then(nothing("a")).Compile(graph.Config{Limits: l})
		if err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "limits_text_test.go:") {
			t.Errorf("got %v, want %s", err, want)
		}
		node := strings.Replace(want, "Config.Limits", `Node "a": invalid budget`, 1)
		if l.OnBudget != "" {
			continue
		}
		_, err = graph.New[state]("t").Then(nothing("a", graph.NodeOptions{Budget: l.Budget})).Compile()
		if err == nil || !strings.Contains(err.Error(), node) ||
			!strings.HasPrefix(err.Error(), "limits_text_test.go:") {
			t.Errorf("got %v, want %s", err, node)
		}
	}
}
