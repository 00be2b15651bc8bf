package embedded

import (
	"context"
	"errors"
	"slices"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/workflow"
)

var _ driver.Caller = (*callContext)(nil)

// Begin implements driver.Ledger.
func (l *callContext) Begin(ctx context.Context, run string, shares int, more *workflow.Budget) (
	*workflow.Budget, error) {
	told := make(chan error, 1)
	a := l.actor
	m := &message{at: a.d.now(), data: engine.ChildStart{ID: l.id(), Run: run, Shares: shares, More: more},
		done: func(err error) { told <- err }}
	a.deliver(m)
	select {
	case err := <-told:
		if short, ok := errors.AsType[*engine.BudgetError](err); ok {
			l.Short(short.Detail)
		}
		return m.part, err
	case <-ctx.Done():
		m.withdrawn.Store(true)
		return nil, ctx.Err()
	}
}

// Use implements driver.Ledger.
func (l *callContext) Use(u engine.CallUse) error {
	u.ID = l.id()
	told := make(chan error, 1)
	a := l.actor
	a.deliver(&message{at: a.d.now(), data: u, done: func(err error) { told <- err }})
	return <-told
}

// Reserve implements driver.Ledger.
func (l *callContext) Reserve(ctx context.Context, q engine.CallReserve) (driver.Grant, error) {
	q.ID = l.id()
	if q.Key != "" {
		q.Key = l.id() + "/" + q.Key
	}
	told := make(chan error, 1)
	a := l.actor
	m := &message{at: a.d.now(), data: q, done: func(err error) { told <- err }, parked: l.Idle}
	a.deliver(m)
	select {
	case err := <-told:
		if short, ok := errors.AsType[*engine.BudgetError](err); ok {
			l.Short(short.Detail)
		}
		m.grant.Key = q.Key
		return m.grant, err
	case <-ctx.Done():
		m.withdrawn.Store(true)
		return driver.Grant{}, ctx.Err()
	}
}

// Short implements driver.Ledger.
func (l *callContext) Short(detail string) { l.short.Store(&detail) }

// Info implements driver.Ledger.
func (l *callContext) Info() *driver.Info { return &l.actor.info }

// mark adds to the result of a failed call which budget left too little, if one did.
func (l *callContext) mark(data engine.InputData) engine.InputData {
	short := l.short.Load()
	if short == nil {
		return data
	}
	switch d := data.(type) {
	case engine.ToolResult:
		if d.Failure != nil {
			d.Budget, d.Unknown = *short, ""
		}
		return d
	case *engine.FuncResult:
		if d.Failure != nil {
			d.Budget = *short
		}
	}
	return data
}

// retryReservations adds the calls that wait for budget to a batch, since something has changed.
// Calls that request budget come last, so that they see what the other messages released: there may
// be no later batch.
func (a *actor) retryReservations(batch []*message) []*message {
	if len(a.waitingForBudget) == 0 && !slices.ContainsFunc(batch, requestsBudget) {
		return batch
	}
	all := make([]*message, 0, len(batch)+len(a.waitingForBudget))
	for _, m := range batch {
		if !requestsBudget(m) {
			all = append(all, m)
		}
	}
	for _, m := range a.waitingForBudget {
		if !m.withdrawn.Load() {
			all = append(all, m)
		}
	}
	a.waitingForBudget = a.waitingForBudget[:0]
	for _, m := range batch {
		if requestsBudget(m) {
			all = append(all, m)
		}
	}
	return all
}

// requestsBudget reports whether a message requests budget.
func requestsBudget(m *message) bool {
	switch m.data.(type) {
	case engine.ChildStart, engine.CallReserve:
		return true
	}
	return false
}

// reply answers a message that was handled, unless it waits for budget.
func (a *actor) reply(m *message) {
	if requestsBudget(m) && errors.Is(m.refused, engine.ErrNoRoom) {
		if m.parked != nil {
			m.parked()
		}
		if !m.withdrawn.Load() {
			a.waitingForBudget = append(a.waitingForBudget, m)
		}
		return
	}
	if m.refused == nil {
		switch d := m.data.(type) {
		case engine.ChildStart:
			m.part = a.run.Allotment(d.Run)
		case engine.CallReserve:
			m.grant.Output, m.grant.Short, m.grant.Reserved = a.run.ReservedFor(d.Key)
		}
	}
	m.answer(m.refused)
}
