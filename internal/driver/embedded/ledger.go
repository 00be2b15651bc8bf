package embedded

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/workflow"
)

// ledger is that of one call.
type ledger struct {
	actor *actor
	id    string
	// short is the detail of the last *engine.BudgetError.
	short atomic.Pointer[string]
}

var _ driver.Ledger = (*ledger)(nil)

// Begin implements driver.Ledger.
func (l *ledger) Begin(ctx context.Context, run string, shares int, more *workflow.Budget) (*workflow.Budget, error) {
	told := make(chan error, 1)
	m := &message{at: l.actor.d.now(), data: engine.ChildStart{ID: l.id, Run: run, Shares: shares, More: more}, done: func(err error) { told <- err }}
	l.actor.put(m)
	select {
	case err := <-told:
		if short, ok := errors.AsType[*engine.BudgetError](err); ok {
			l.short.Store(&short.Detail)
		}
		return m.part, err
	case <-ctx.Done():
		m.withdrawn.Store(true)
		return nil, ctx.Err()
	}
}

// Use implements driver.Ledger.
func (l *ledger) Use(run string, ended bool, used engine.Used) error {
	told := make(chan error, 1)
	l.actor.put(&message{at: l.actor.d.now(), data: engine.CallUse{ID: l.id, Run: run, Ended: ended, Used: used}, done: func(err error) { told <- err }})
	return <-told
}

// mark says in the result of a call that failed that a budget left nothing for what it was to start.
func (l *ledger) mark(data engine.InputData) engine.InputData {
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
	case engine.FuncResult:
		if d.Failure != nil {
			d.Budget = *short
		}
		return d
	}
	return data
}

// again gives a batch with the calls that wait for room in a budget: something has changed. Calls that ask for room come last, so that they see what the others freed: there may
// be no later batch.
func (a *actor) again(batch []*message) []*message {
	if len(a.roomless) == 0 && !slices.ContainsFunc(batch, begins) {
		return batch
	}
	all := make([]*message, 0, len(batch)+len(a.roomless))
	for _, m := range batch {
		if !begins(m) {
			all = append(all, m)
		}
	}
	for _, m := range a.roomless {
		if !m.withdrawn.Load() {
			all = append(all, m)
		}
	}
	a.roomless = a.roomless[:0]
	for _, m := range batch {
		if begins(m) {
			all = append(all, m)
		}
	}
	return all
}

func begins(m *message) bool {
	_, ok := m.data.(engine.ChildStart)
	return ok
}

// reply answers a message that was handled, unless it is one that waits for room.
func (a *actor) reply(m *message) {
	d, ok := m.data.(engine.ChildStart)
	switch {
	case !ok:
	case errors.Is(m.refused, engine.ErrNoRoom):
		if !m.withdrawn.Load() {
			a.roomless = append(a.roomless, m)
		}
		return
	case m.refused == nil:
		m.part = a.run.PartOf(d.Run)
	}
	m.answer(m.refused)
}
