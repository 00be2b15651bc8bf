package service

import (
	"encoding/json"
	"slices"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/workflow"
)

// Raises tells whether the limits that are set in l let a run of a branch do more than the workflow's own, those of any branch where the run has several.
func Raises(l workflow.Limits, w *workflow.Workflow, branch string) bool {
	g, err := Choose(w, branch)
	return err == nil && raisesOwn(l, g) // without such a branch there is no run
}

// raisesOwn is Raises for the graph of a run.
func raisesOwn(l workflow.Limits, g *workflow.Workflow) bool {
	if len(g.Branches) > 0 {
		return slices.ContainsFunc(g.Branches, func(b *workflow.Workflow) bool { return isMore(l, b.Limits) })
	}
	return isMore(l, g.Limits)
}

func isMore(l, own workflow.Limits) bool {
	return l.MaxSteps != nil && *l.MaxSteps > own.Steps() || own.MaxTokens > 0 && l.MaxTokens > own.MaxTokens ||
		own.MaxCostUSD > 0 && l.MaxCostUSD > own.MaxCostUSD || own.MaxCalls > 0 && l.MaxCalls > own.MaxCalls ||
		own.MaxConcurrency > 0 && l.MaxConcurrency > own.MaxConcurrency || own.Timeout > 0 && l.Timeout > own.Timeout ||
		l.MaxLoopIterations > own.LoopIterations()
}

// isRaised tells whether a run of g had limits above those of g: from its beginning, or since it was reopened or its question about a budget was answered.
func isRaised(past []engine.Event, g *workflow.Workflow) bool {
	for _, e := range past {
		var l *workflow.Limits
		switch d := e.Data.(type) {
		case *engine.RunCreated:
			l = &d.Limits
			if text := d.Meta[metaLimits]; text != "" {
				l = new(workflow.Limits)
				if json.Unmarshal([]byte(text), l) != nil {
					return true // what cannot be read is not known to be lower
				}
			}
		case *engine.RunResumed:
			l = d.Limits
		case *engine.WaitAnswered:
			l = d.Limits
		}
		if l != nil && raisesOwn(*l, g) {
			return true
		}
	}
	return false
}
