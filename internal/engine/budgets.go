package engine

import (
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/ledger"
	"github.com/hocket-run/hocket/internal/engine/loop"
)

// budgets decides whether the limits of a run leave room for a call: budgets, the concurrency
// limit, and the size of the run. If they do not, the call is withheld, its step fails, a person is
// asked, or the run ends. It reads the state and changes it only through events.
type budgets struct {
	*recorder
	calls callSize
	// steps fails a step, which may be retried.
	steps interface{ failStep(step int, f Failure) }
}

// callSize estimates the next model call of a frame.
type callSize interface {
	// inputTokens estimates the input, with messages that are added first.
	inputTokens(step, frame int, added []chat.Message) int64
	// outputBound is the maximum number of tokens in the answer.
	outputBound(step, frame int) int64
}

// reserve reserves budget for a model call. It returns false if the call is not made now: either a
// limit was reached, or the call waits for others to release their reservations, or for a person.
// Nil and true mean that no budget limits the call.
func (b *budgets) reserve(id, fr int, model string, added []chat.Message) (*Reserved, bool) {
	if b.endedByBudget() || b.runTooLarge(id) {
		return nil, false
	}
	balances := b.balances(id)
	if len(balances) == 0 {
		return nil, true
	}
	if b.askedForBudget() {
		b.withheld = true
		return nil, false
	}
	rate, priced := b.state.Ledger.Rate(model)
	v := &Reserved{Input: b.calls.inputTokens(id, fr, added)}
	fit := ledger.FitModel(balances, v.Input, b.calls.outputBound(id, fr), rate, priced, false)
	if !b.fitsBudget(id, fit) {
		return nil, false
	}
	v.Output, v.Bound = fit.Output, fit.Bound
	return v, true
}

// mayCallTool reports whether the budgets allow a tool call, which uses up one call and nothing
// else. key is the key of a call that is repeated, or empty.
func (b *budgets) mayCallTool(id int, key string) bool {
	if b.endedByBudget() || b.runTooLarge(id) {
		return false
	}
	balances := b.balances(id)
	if !ledger.BoundsCalls(balances) {
		return true
	}
	if b.askedForBudget() {
		b.withheld = true
		return false
	}
	own, idle := b.state.Ledger.Own(&b.state, key)
	return b.fitsBudget(id, ledger.FitCalls(balances, own, idle))
}

// fitsBudget reports whether a call fits the budgets of its step. If it does not, the budget is
// used up or the call waits.
func (b *budgets) fitsBudget(id int, fit ledger.Fit) bool {
	switch {
	case fit.Met != nil:
		b.budgetExceeded(id, fit.Met, fit.MetDetail, fit.MetLimit)
		return false
	case fit.Waits:
		b.withheld = true
		return false
	}
	return true
}

// balances returns the budgets that a step's calls must fit.
func (b *budgets) balances(step int) []ledger.Balance { return b.state.Ledger.Balances(&b.state, step) }

// endedByBudget reports whether the run ends because of a limit after which no call that uses
// budget is made.
func (b *budgets) endedByBudget() bool {
	return b.state.Ending != nil && b.state.Ending.Limit && event.CodeIs(b.state.Limit, event.EndsSpending)
}

// hasSlot reports whether a step may have a call in flight; a step that may not is checked again
// later.
func (b *budgets) hasSlot(id int) bool {
	if b.graph.Step(id).Loop.Out > 0 || b.hasFreeSlot() {
		return true
	}
	b.withheld = true
	return false
}

// mayReuseSlot reports whether a call that was in flight before may be in flight again: it needs no
// slot if calls that have one may be waiting for what its runs hold.
func (b *budgets) mayReuseSlot(key string, c *loop.Call) bool {
	return b.graph.Step(c.Step).Loop.Out > 0 || b.hasFreeSlot() || b.state.Ledger.HasReserved(key)
}

// hasFreeSlot reports whether one more step may have calls in flight.
func (b *budgets) hasFreeSlot() bool {
	limit := b.state.Limits.MaxConcurrency
	return limit <= 0 || b.state.Loop.Busy() < limit
}

// runTooLarge reports whether the run is too large for another call of a step, which then waits for
// a reopening.
func (b *budgets) runTooLarge(id int) bool {
	left, bounded := b.state.bytesLeft()
	if !bounded || left > 0 {
		return false
	}
	b.endBySize(id)
	return true
}

func (b *budgets) endBySize(id int) {
	if b.state.Ending == nil {
		b.emitStep(id, &LimitReached{Limit: CodeMaxBytes, Max: b.state.Limits.MaxBytes})
	}
}
