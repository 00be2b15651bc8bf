package hocket

import (
	"time"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/workflow"
)

// Limits are all that a run can be bound by. Of [StartOptions] those that are set win over the document's; for [Engine.Reopen] they are the larger ones. Zero fields say nothing.
type Limits struct {
	// MaxSteps bounds executions of nodes; [graph.Zero] lets none run.
	MaxSteps int
	// MaxRounds ends a rounds document after that many full cycles, as completed.
	MaxRounds int
	// MaxLoopIterations bounds the passes of each loop of a document.
	MaxLoopIterations int
	// MaxConcurrency bounds the steps in flight.
	MaxConcurrency int
	// Timeout bounds the time in which the run runs, pauses excluded.
	Timeout time.Duration
	// MaxBytes bounds what the run takes in and makes, in bytes, each as often as it is recorded.
	MaxBytes int64
	// MaxTokens, MaxCostUSD, MaxCalls, Uncounted and OnBudget are the budget: see [graph.Limits].
	MaxTokens  int64
	MaxCostUSD float64
	MaxCalls   int64
	Uncounted  graph.Uncounted
	OnBudget   graph.OnBudget
}

// lowered gives the limits in the terms of workflows.
func (l Limits) lowered() workflow.Limits {
	return workflow.Limits{
		MaxSteps: stepsOf(l.MaxSteps), MaxRounds: l.MaxRounds, MaxLoopIterations: l.MaxLoopIterations, MaxConcurrency: l.MaxConcurrency, Timeout: workflow.Duration(l.Timeout), MaxBytes: l.MaxBytes,
		MaxTokens: l.MaxTokens, MaxCostUSD: l.MaxCostUSD, MaxCalls: l.MaxCalls, Uncounted: string(l.Uncounted), OnBudget: string(l.OnBudget),
	}
}

// budgetOf gives the limits of a graph as those of any run.
func budgetOf(l graph.Limits) Limits {
	return Limits{MaxTokens: l.MaxTokens, MaxCostUSD: l.MaxCostUSD, MaxCalls: l.MaxCalls, Uncounted: l.Uncounted, OnBudget: l.OnBudget}
}
