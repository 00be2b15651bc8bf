package engine

import (
	"bytes"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

func (l *lifecycle) start(d Start) {
	c := d.Created
	c.Version, c.Digest, c.Format = Version, l.state.plan.digest, l.state.plan.root.Workflow.Format
	if c.Name == "" {
		c.Name = l.state.plan.root.Workflow.Name
	}
	c.Limits = MergeLimits(l.state.plan.root.Workflow.Limits, c.Limits)
	if rules := l.state.plan.root.Workflow.Rules; isEmptyInput(c.Input) && rules.DefaultInput != nil {
		c.Input = rules.DefaultInput
	}
	if c.Input = event.Compact(c.Input); len(c.Input) == 0 {
		c.Input = Value(`""`)
	}
	l.emit(0, "", &c)
	l.emit(0, "", &RunStarted{})
	if l.state.plan.root.Workflow.Entry != "" { // a workflow without nodes has nothing to begin with (S1-7)
		l.emit(0, "", &EdgeTaken{Edge: -1, To: l.state.plan.root.Workflow.Entry, Token: l.graph.Tokens + 1})
	}
}

func isEmptyInput(v Value) bool {
	return len(v) == 0 || bytes.Equal(v, []byte(`""`)) || bytes.Equal(v, []byte(`null`))
}

// MergeLimits puts the limits that are set in over above those in base.
func MergeLimits(base, over workflow.Limits) workflow.Limits {
	if over.MaxSteps != nil {
		base.MaxSteps = over.MaxSteps
	}
	if over.MaxRounds > 0 {
		base.MaxRounds = over.MaxRounds
	}
	if over.MaxLoopIterations > 0 {
		base.MaxLoopIterations = over.MaxLoopIterations
	}
	if over.Timeout > 0 {
		base.Timeout = over.Timeout
	}
	if over.MaxConcurrency > 0 {
		base.MaxConcurrency = over.MaxConcurrency
	}
	if over.MaxTokens > 0 {
		base.MaxTokens = over.MaxTokens
	}
	if over.MaxCostUSD > 0 {
		base.MaxCostUSD = over.MaxCostUSD
	}
	if over.MaxCalls > 0 {
		base.MaxCalls = over.MaxCalls
	}
	if over.MaxBytes > 0 {
		base.MaxBytes = over.MaxBytes
	}
	if over.OnBudget != "" {
		base.OnBudget = over.OnBudget
	}
	if over.Uncounted != "" {
		base.Uncounted = over.Uncounted
	}
	return base
}
