package engine

import (
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/ledger"
	"github.com/hocket-run/hocket/internal/engine/loop"
)

// budgets decides whether the bounds of a run leave room for a call: budgets, the limit of concurrency, and the size of the run. Where they do not, the call is withheld, its step fails,
// a person is asked, or the run ends. It reads the state and changes nothing of it but by events.
type budgets struct {
	*recorder
	calls callSize
	// steps fails a step, which may be tried again.
	steps interface{ failStep(step int, f Failure) }
	// withheld: there may be calls that wait until others have settled.
	withheld bool
}

// callSize estimates the next model call of a frame.
type callSize interface {
	// inputTokens estimates the input, with messages that are added first.
	inputTokens(step, frame int, added []chat.Message) int64
	// outputBound is the most that the answer may take.
	outputBound(step, frame int) int64
}

// reserve asks the budgets for a model call. False: the call is not made now. Then either the limit was met, or the call waits for others to free
// what they reserved, or for a person. Nil and true: no budget bounds it.
func (b *budgets) reserve(id, fr int, model string, added []chat.Message) (*Reserved, bool) {
	if b.endedByBudget() || b.full(id) {
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

// mayCallTool asks the budgets for a tool call, which uses up nothing but a call. key is that of one that is made again, or empty.
func (b *budgets) mayCallTool(id int, key string) bool {
	if b.endedByBudget() || b.full(id) {
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

// fitsBudget tells whether a call fits the budgets of its step. Where it does not, the budget is met or the call waits.
func (b *budgets) fitsBudget(id int, fit ledger.Fit) bool {
	switch {
	case fit.Met != nil:
		b.budgetMet(id, fit.Met, fit.MetDetail, fit.MetLimit)
		return false
	case fit.Waits:
		b.withheld = true
		return false
	}
	return true
}

// balances gives the budgets that a step's calls must fit.
func (b *budgets) balances(step int) []ledger.Balance { return b.state.Ledger.Balances(&b.state, step) }

// endedByBudget tells whether the run ends by a limit after which nothing is called that uses something.
func (b *budgets) endedByBudget() bool {
	return b.state.Ending != nil && b.state.Ending.Limit && isBudget(b.state.Limit)
}

// hasSlot tells whether a step may have a call out; one that may not is looked at again.
func (b *budgets) hasSlot(id int) bool {
	if b.graph.Step(id).Loop.Out > 0 || b.slot() {
		return true
	}
	b.withheld = true
	return false
}

// maySlot tells whether a call that was out before may be out again: it needs no slot where others that have one may wait for what its runs hold.
func (b *budgets) maySlot(key string, c *loop.Call) bool {
	return b.graph.Step(c.Step).Loop.Out > 0 || b.slot() || b.state.Ledger.HasReserved(key)
}

// slot tells whether one more step may have calls out.
func (b *budgets) slot() bool {
	limit := b.state.Limits.MaxConcurrency
	return limit <= 0 || b.state.Loop.Busy() < limit
}

// full tells whether the run is too large for a further call of a step, which then waits for a reopening.
func (b *budgets) full(id int) bool {
	left, bounded := b.state.left()
	if !bounded || left > 0 {
		return false
	}
	b.meetSize(id)
	return true
}

func (b *budgets) meetSize(id int) {
	if b.state.Ending == nil {
		b.emitStep(id, &LimitReached{Limit: CodeMaxBytes, Max: b.state.Limits.MaxBytes})
	}
}
