package definition

import (
	"slices"

	"github.com/hocket-run/hocket/workflow"
)

// Raises reports whether the limits that are set in l let a run of a branch do more than the
// workflow's own limits allow, or those of any branch if the run has several.
func Raises(l workflow.Limits, w *workflow.Workflow, branch string) bool {
	g, err := Choose(w, branch)
	return err == nil && RaisesOwn(l, g) // without such a branch there is no run
}

// RaisesOwn is Raises for the graph of a run.
func RaisesOwn(l workflow.Limits, g *workflow.Workflow) bool {
	if len(g.Branches) > 0 {
		return slices.ContainsFunc(g.Branches, func(b *workflow.Workflow) bool { return isMore(l, b) })
	}
	return isMore(l, g)
}

func isMore(l workflow.Limits, w *workflow.Workflow) bool {
	own := w.Limits
	return l.MaxSteps != nil && *l.MaxSteps > w.StepLimit() || own.MaxTokens > 0 && l.MaxTokens > own.MaxTokens ||
		own.MaxCostUSD > 0 && l.MaxCostUSD > own.MaxCostUSD || own.MaxCalls > 0 && l.MaxCalls > own.MaxCalls ||
		own.MaxConcurrency > 0 && l.MaxConcurrency > own.MaxConcurrency || own.Timeout > 0 && l.Timeout > own.Timeout ||
		l.MaxLoopIterations > own.LoopIterations()
}
