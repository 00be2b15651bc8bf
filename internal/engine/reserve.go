package engine

import (
	"fmt"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/ledger"
	"github.com/hocket-run/hocket/internal/engine/loop"
)

// Model calls that a function or a tool makes itself, in a session, are limited like those of
// agents: each has a reservation from before it is made until its usage is reported, so that
// parallel sessions cannot overspend together (P20, ADR 35).

// ReservedFor returns the output tokens granted to the model call with this key, and the budget
// limit that left no more, as named in BudgetError; short is "" if the call's own limit is lower.
// It returns false if nothing is reserved for the call.
func (r *Run) ReservedFor(key string) (output int64, short string, ok bool) {
	v, ok := r.state.Ledger.Session(key)
	return v.Output, v.Detail, ok
}

func applyCallReserved(s *state, ev *event.Event, d *event.CallReserved) {
	s.Ledger.StartSession(d.Key, ledger.Session{Call: d.Call, Step: ev.Step, Amount: ledger.AmountOf(d.Part),
		Output: d.Output, Bound: d.Bound, Detail: d.Detail})
}

// checkCallReserved returns why a stored reservation is impossible.
func checkCallReserved(s *state, ev *event.Event, d *event.CallReserved) string {
	c, b := s.Loop.Call(d.Call), d.Part
	_, reserved := s.Ledger.Session(d.Key)
	switch {
	case c == nil || c.Kind == loop.Model || c.Step != ev.Step || c.Attempt != d.Attempt || c.State != loop.Open:
		return "call " + d.Call + " is not open"
	case d.Key == "" || reserved:
		return "model call " + d.Key + " has a reservation"
	case b == nil || b.MaxTokens < 0 || b.MaxCostUSD < 0 || b.MaxCalls < 0 || d.Output < 0:
		return "it reserves a negative amount"
	case !ledger.KnowsBound(d.Bound, d.Detail):
		return fmt.Sprintf("it names the budget %q and the amount %q", d.Bound, d.Detail)
	}
	return ""
}

func (m *machine) handleReserve(d CallReserve) error {
	key, c, err := m.state.openWork(d.ID, false)
	if err != nil {
		return err
	}
	v, err := m.grant(key, c, d)
	if v != nil {
		m.emitStep(c.Step, &event.CallReserved{Call: key, Attempt: c.Attempt, Key: d.Key, Model: d.Model,
			Output: v.Output, Bound: v.Bound, Detail: v.Detail, Part: v.Amount.Budget()})
	}
	return err
}

// grant decides what a model call may use. A nil session without an error means that nothing is to
// be recorded.
func (m *machine) grant(key string, c *loop.Call, d CallReserve) (*ledger.Session, error) {
	if old, ok := m.state.Ledger.Session(d.Key); ok {
		if old.Call != key {
			return nil, fmt.Errorf("%w: model call %q belongs to another call", ErrCallLate, d.Key)
		}
		return nil, nil
	}
	balances := m.balances(c.Step)
	if len(balances) == 0 {
		return nil, nil
	}
	if d.Key == "" {
		if bound := ledger.RefusesUncounted(balances); bound != "" {
			return nil, &UncountedError{Bound: bound}
		}
		return nil, nil
	}
	switch {
	case m.endedByBudget():
		return nil, &BudgetError{Detail: ledger.Tightest(balances)}
	case m.state.Ending == nil && m.askedForBudget():
		return nil, ErrNoRoom
	}
	var rate chat.Rate
	if d.Rate != nil {
		rate = *d.Rate
	}
	var fit ledger.Fit
	input := max(d.Input, 0)
	if d.Tool {
		fit = ledger.FitCalls(balances, ledger.Amount{}, ledger.Amount{})
	} else {
		fit = ledger.FitModel(balances, input, max(d.Output, 1), rate, d.Rate != nil, true)
	}
	switch {
	case fit.NoPrice:
		return nil, fmt.Errorf("%w: %q", ErrPrice, d.Model)
	case fit.Met != nil:
		return nil, &BudgetError{Detail: fit.MetDetail}
	case fit.Waits:
		return nil, ErrNoRoom
	case d.Tool && !fit.Bounded:
		return nil, nil
	case d.Tool:
		return &ledger.Session{Amount: ledger.Amount{Calls: 1}}, nil
	}
	return &ledger.Session{Amount: ledger.AmountOfModel(input, fit.Output, rate), Output: fit.Output, Bound: fit.Bound,
		Detail: fit.Detail}, nil
}
