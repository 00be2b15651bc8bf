package steps

import (
	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/workflow"
)

var (
	budgetKeys    = []string{"tokens", "cost_usd", "calls"}
	runBudgetKeys = []string{"tokens", "cost_usd", "calls", "on_reached"}
)

// budget reads `budget:` of a step, or of the workflow, which may also specify what happens when it
// is exceeded (P20).
func (r *reader) budget(f field, of string, ofRun bool) (b workflow.Budget, onReached string) {
	for _, g := range r.fieldsOf(f) {
		switch {
		case g.key == "tokens":
			b.MaxTokens = int64(r.notNegative(g))
		case g.key == "calls":
			b.MaxCalls = int64(r.notNegative(g))
		case g.key == "cost_usd":
			usd, _ := r.float(g)
			if usd < 0 {
				r.diags.Errorf(g.value.Span, g.path, codeBadValue, "%s must not be negative, got %g", g.path, usd)
				continue
			}
			b.MaxCostUSD = usd
		case g.key == "on_reached" && ofRun:
			onReached = r.text(g)
			if onReached != workflow.OnBudgetFail && onReached != workflow.OnBudgetPause {
				d := r.diags.Errorf(g.value.Span, g.path, codeBadValue, "on_reached is %q, not one of fail, pause",
					onReached)
				d.Hint = diag.DidYouMean(onReached, []string{workflow.OnBudgetFail, workflow.OnBudgetPause})
				onReached = ""
			}
		case ofRun:
			r.unknown(g, diag.Error, of+".budget", runBudgetKeys)
		default:
			r.unknown(g, diag.Error, of+".budget", budgetKeys)
		}
	}
	return b, onReached
}
