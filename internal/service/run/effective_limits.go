package run

import (
	"cmp"

	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/workflow"
)

// ceiling returns the limits that override a document's: the limits of flags, and of the operator
// if they are lower (P20). A run limited by a share of its parent's budget needs no limit from the
// operator: the parent has it, unless a person allowed more.
func ceiling(all config.Budgets, flags, document workflow.Limits, above *workflow.Budget) workflow.Limits {
	out, b := flags, all.Run
	if above != nil {
		if above.MaxTokens > 0 {
			b.Tokens = 0
		}
		if above.MaxCostUSD > 0 {
			b.CostUSD = 0
		}
		if above.MaxCalls > 0 {
			b.Calls = 0
		}
	}
	if n := cmp.Or(flags.MaxTokens, document.MaxTokens); b.Tokens > 0 && (n == 0 || n > b.Tokens) {
		out.MaxTokens = b.Tokens
	}
	if n := cmp.Or(flags.MaxCostUSD, document.MaxCostUSD); b.CostUSD > 0 && (n == 0 || n > b.CostUSD) {
		out.MaxCostUSD = b.CostUSD
	}
	if n := cmp.Or(flags.MaxCalls, document.MaxCalls); b.Calls > 0 && (n == 0 || n > b.Calls) {
		out.MaxCalls = b.Calls
	}
	out.OnBudget = cmp.Or(flags.OnBudget, document.OnBudget, b.OnReached)
	out.Uncounted = cmp.Or(flags.Uncounted, document.Uncounted)
	switch {
	case all.Uncounted == workflow.UncountedAllow && flags.Uncounted == "":
		out.Uncounted = workflow.UncountedAllow
	case all.Uncounted != workflow.UncountedAllow && (b.Tokens > 0 || b.CostUSD > 0):
		// only the operator may loosen the operator's limits
		out.Uncounted = workflow.UncountedRefuse
	}
	return out
}
