package engine

import (
	"bytes"
	"cmp"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

func (m *machine) start(d Start) error {
	if m.state.Created != nil {
		return ErrStarted
	}
	c := d.Created
	if err := m.state.checkCreated(&c); err != nil {
		return err
	}
	c.Version, c.Digest, c.Format = Version, m.state.plan.digest, m.state.plan.root.Workflow.Format
	if c.Name == "" {
		c.Name = m.state.plan.root.Workflow.Name
	}
	c.Limits = MergeLimits(m.state.plan.root.Workflow.Limits, c.Limits)
	if rules := m.state.plan.root.Workflow.Rules; isEmptyInput(c.Input) && rules.DefaultInput != nil {
		c.Input = rules.DefaultInput
	}
	if c.Input = event.Compact(c.Input); len(c.Input) == 0 {
		c.Input = event.Value(`""`)
	}
	m.emit(0, "", &c)
	if !d.Queued {
		m.admitted()
	}
	return nil
}

// admitted passes the input to the entry, once.
func (m *machine) admitted() {
	if m.state.Status != event.StatusPending {
		return
	}
	m.emit(0, "", &event.RunStarted{})
	if m.state.plan.root.Workflow.Entry != "" { // a workflow without nodes has nothing to start (S1-7)
		m.emit(0, "", &event.EdgeTaken{Edge: -1, To: m.state.plan.root.Workflow.Entry, Token: m.graph.Tokens + 1})
	}
}

func isEmptyInput(v event.Value) bool {
	return len(v) == 0 || bytes.Equal(v, []byte(`""`)) || bytes.Equal(v, []byte(`null`))
}

// MergeLimits returns base with the limits that are set in over.
func MergeLimits(base, over workflow.Limits) workflow.Limits {
	if over.MaxSteps != nil {
		base.MaxSteps = over.MaxSteps
	}
	override(&base.MaxRounds, over.MaxRounds)
	override(&base.MaxLoopIterations, over.MaxLoopIterations)
	override(&base.Timeout, over.Timeout)
	override(&base.MaxConcurrency, over.MaxConcurrency)
	override(&base.MaxTokens, over.MaxTokens)
	override(&base.MaxCostUSD, over.MaxCostUSD)
	override(&base.MaxCalls, over.MaxCalls)
	override(&base.MaxBytes, over.MaxBytes)
	override(&base.OnBudget, over.OnBudget)
	override(&base.Uncounted, over.Uncounted)
	return base
}

// override replaces a limit if over is above its zero value.
func override[T cmp.Ordered](base *T, over T) {
	var zero T
	if over > zero {
		*base = over
	}
}
