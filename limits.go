package hocket

import (
	"time"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/workflow"
)

// Limits holds all the limits that a run can have. In [StartOptions], limits that are set take
// precedence over the document's; in [Engine.Reopen] they are the larger limits that replace the
// run's. Zero fields are not set.
type Limits struct {
	// MaxSteps is the maximum number of node executions; [graph.Zero] allows none.
	MaxSteps int
	// MaxRounds ends a rounds document after that many full cycles, with status completed.
	MaxRounds int
	// MaxLoopIterations is the maximum number of iterations of each loop of a document.
	MaxLoopIterations int
	// MaxConcurrency is the maximum number of steps in flight.
	MaxConcurrency int
	// Timeout is the maximum time that the run may be active, pauses excluded.
	Timeout time.Duration
	// MaxBytes is the maximum number of bytes that the run takes in and produces, counted each time
	// that they are recorded.
	MaxBytes int64
	// MaxTokens, MaxCostUSD, MaxCalls, Uncounted and OnBudget are the budget; see [graph.Limits].
	MaxTokens  int64
	MaxCostUSD float64
	MaxCalls   int64
	Uncounted  graph.Uncounted
	OnBudget   graph.OnBudget
}

// lowered converts the limits to the representation of workflows.
func (l Limits) lowered() workflow.Limits {
	return workflow.Limits{
		MaxSteps: stepsOf(l.MaxSteps), MaxRounds: l.MaxRounds, MaxLoopIterations: l.MaxLoopIterations,
		MaxConcurrency: l.MaxConcurrency, Timeout: workflow.Duration(l.Timeout), MaxBytes: l.MaxBytes,
		MaxTokens: l.MaxTokens, MaxCostUSD: l.MaxCostUSD, MaxCalls: l.MaxCalls, Uncounted: string(l.Uncounted),
		OnBudget: string(l.OnBudget),
	}
}

// budgetOf converts the limits of a graph to those of any run.
func budgetOf(l graph.Limits) Limits {
	return Limits{MaxTokens: l.MaxTokens, MaxCostUSD: l.MaxCostUSD, MaxCalls: l.MaxCalls, Uncounted: l.Uncounted,
		OnBudget: l.OnBudget}
}
