package engine

import (
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/ledger"
	"github.com/hocket-run/hocket/internal/engine/loop"
)

// reserve reserves budget for a model call. It returns false if the call is not made now: either a
// limit was reached, or the call waits for others to release their reservations, or for a person.
// Nil and true mean that no budget limits the call.
func (m *machine) reserve(id, fr int, model string, added []chat.Message) (*event.Reserved, bool) {
	if m.endedByBudget() || m.runTooLarge(id) {
		return nil, false
	}
	balances := m.balances(id)
	if len(balances) == 0 {
		return nil, true
	}
	if m.askedForBudget() {
		m.withheld = true
		return nil, false
	}
	rate, priced := m.state.Ledger.Rate(model)
	v := &event.Reserved{Input: m.inputTokens(id, fr, added)}
	fit := ledger.FitModel(balances, v.Input, m.outputBound(id, fr), rate, priced, false)
	if !m.fitsBudget(id, fit) {
		return nil, false
	}
	v.Output, v.Bound = fit.Output, fit.Bound
	return v, true
}

// mayCallTool reports whether the budgets allow a tool call, which uses up one call and nothing
// else. key is the key of a call that is repeated, or empty.
func (m *machine) mayCallTool(id int, key string) bool {
	if m.endedByBudget() || m.runTooLarge(id) {
		return false
	}
	balances := m.balances(id)
	if !ledger.BoundsCalls(balances) {
		return true
	}
	if m.askedForBudget() {
		m.withheld = true
		return false
	}
	own, idle := m.state.Ledger.Own(&m.state, key)
	return m.fitsBudget(id, ledger.FitCalls(balances, own, idle))
}

// fitsBudget reports whether a call fits the budgets of its step. If it does not, the budget is
// used up or the call waits.
func (m *machine) fitsBudget(id int, fit ledger.Fit) bool {
	switch {
	case fit.Met != nil:
		m.budgetExceeded(id, fit.Met, fit.MetDetail, fit.MetLimit)
		return false
	case fit.Waits:
		m.withheld = true
		return false
	}
	return true
}

// balances returns the budgets that a step's calls must fit.
func (m *machine) balances(step int) []ledger.Balance { return m.state.Ledger.Balances(&m.state, step) }

// endedByBudget reports whether the run ends because of a limit after which no call that uses
// budget is made.
func (m *machine) endedByBudget() bool {
	return m.state.Ending != nil && m.state.Ending.Limit && event.CodeIs(m.state.Limit, event.EndsSpending)
}

// hasSlot reports whether a step may have a call in flight; a step that may not is checked again
// later.
func (m *machine) hasSlot(id int) bool {
	if m.graph.Step(id).Loop.Out > 0 || m.hasFreeSlot() {
		return true
	}
	m.withheld = true
	return false
}

// mayReuseSlot reports whether a call that was in flight before may be in flight again: it needs no
// slot if calls that have one may be waiting for what its runs hold.
func (m *machine) mayReuseSlot(key string, c *loop.Call) bool {
	return m.graph.Step(c.Step).Loop.Out > 0 || m.hasFreeSlot() || m.state.Ledger.HasReserved(key)
}

// hasFreeSlot reports whether one more step may have calls in flight.
func (m *machine) hasFreeSlot() bool {
	limit := m.state.Limits.MaxConcurrency
	return limit <= 0 || m.state.Loop.Busy() < limit
}

// runTooLarge reports whether the run is too large for another call of a step, which then waits for
// a reopening.
func (m *machine) runTooLarge(id int) bool {
	left, bounded := m.state.bytesLeft()
	if !bounded || left > 0 {
		return false
	}
	m.endBySize(id)
	return true
}

func (m *machine) endBySize(id int) {
	if m.state.Ending == nil {
		m.emitStep(id, &event.LimitReached{Limit: event.CodeMaxBytes, Max: m.state.Limits.MaxBytes})
	}
}
