package engine

import (
	"fmt"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/ledger"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/workflow"
)

// Child runs are limited by an allotment of what their parent has left (P20, ADR 30). The ledger
// keeps the allotments; this file handles the inputs and events about them.

// ParentBudget returns what the parent run leaves for this run; nil means that the parent run sets
// no limit.
func (r *Run) ParentBudget() *workflow.Budget { return r.state.Ledger.ParentBudget() }

// Allotment returns the total budget of a child run; nil means that no budget limits it, or that
// there is no such run.
func (r *Run) Allotment(run string) *workflow.Budget { return r.state.Ledger.Allotment(run) }

// Spent returns what has counted against the run's budgets so far.
func (r *Run) Spent() event.Spent {
	a := r.state.Ledger.Used()
	return event.Spent{Tokens: a.Tokens, CostUSD: a.Cost.USD(), Calls: a.Calls}
}

func applyChildStarted(s *state, ev *event.Event, d *event.ChildStarted) {
	s.Ledger.StartChild(d.Run, d.Call, ev.Step, d.Part)
}

func applyCallUsed(s *state, ev *event.Event, d *event.CallUsed) {
	if used := ledger.NewAmount(d.Used.Borne.Tokens, d.Used.Borne.CostUSD, d.Used.Borne.Calls); d.Run == "" {
		s.Ledger.UseSession(s, ev.Step, d.Call, d.Key, used)
	} else {
		s.Ledger.UseChild(s, ev.Step, d.Run, used, d.Ended)
	}
}

// checkChildStarted returns the reason why a stored start of a run is invalid.
func checkChildStarted(s *state, ev *event.Event, d *event.ChildStarted) string {
	c, b := s.Loop.Call(d.Call), d.Part
	switch {
	case c == nil || c.Kind == loop.Model || c.Step != ev.Step || c.Attempt != d.Attempt || c.State != loop.Open:
		return "call " + d.Call + " is not open"
	case d.Run == "" || s.Ledger.IsActive(d.Run):
		return "the run has not ended"
	case b != nil && (b.MaxTokens < 0 || b.MaxCostUSD < 0 || b.MaxCalls < 0):
		return "its allotment is negative"
	}
	return ""
}

// checkCallUsed returns the reason why a stored report of a call's usage is invalid.
func checkCallUsed(s *state, ev *event.Event, d *event.CallUsed) string {
	c := s.Loop.Call(d.Call)
	switch {
	case c == nil || c.Kind == loop.Model || c.Step != ev.Step || c.Attempt != d.Attempt || c.State != loop.Open &&
		c.State != loop.Cancelled:
		return "call " + d.Call + " is not open"
	case d.Run != "" && !s.Ledger.HasChild(d.Run):
		return "run " + d.Run + " was not started"
	}
	return ""
}

func (m *machine) handleChild(d ChildStart) error {
	key, c, err := m.state.openWork(d.ID, false)
	if err != nil {
		return err
	}
	if d.Run == "" {
		return fmt.Errorf("%w: %q", ErrCallLate, d.ID)
	}
	allotment, fresh, err := m.allot(key, c, d)
	if fresh {
		m.emitStep(c.Step, &event.ChildStarted{Call: key, Attempt: c.Attempt, Run: d.Run, Part: allotment})
	}
	return err
}

func (m *machine) handleUse(d CallUse) error {
	key, c, err := m.state.openWork(d.ID, true)
	if err != nil {
		return err
	}
	if d.Run != "" && !m.state.Ledger.HasChild(d.Run) {
		return fmt.Errorf("%w: %q", ErrCallLate, d.ID)
	}
	m.emitStep(c.Step, &event.CallUsed{
		Call: key, Attempt: c.Attempt, Run: d.Run, Ended: d.Ended, Used: d.Used, Key: d.Key,
		Model: event.Clean(d.Model), UsageEstimated: event.Clean(d.UsageEstimated), Warning: event.Clean(d.Warning),
	})
	return nil
}

// allot decides the total budget of a child run; nil means that no budget limits it. fresh means
// that it differs from what is already recorded.
func (m *machine) allot(key string, c *loop.Call, d ChildStart) (allotment *workflow.Budget, fresh bool, err error) {
	if m.state.Ledger.IsAllotted(d.Run, d.More != nil) {
		return nil, false, nil
	}
	balances := m.balances(c.Step)
	switch {
	case len(balances) == 0:
		return nil, true, nil
	case m.endedByBudget():
		return nil, false, &BudgetError{Detail: ledger.Tightest(balances)}
	case m.state.Ending == nil && m.askedForBudget():
		return nil, false, ErrNoRoom
	}
	amount, short, waits := m.state.Ledger.Allot(&m.state, balances, key, d.Run, d.Shares, d.More)
	switch {
	case waits && m.state.Ending == nil:
		return nil, false, ErrNoRoom
	case short != "":
		return nil, false, &BudgetError{Detail: short}
	}
	allotment = amount.Budget()
	ledger.AllowUncounted(allotment, balances)
	return allotment, true, nil
}
