package embedded

import (
	"context"

	"errors"
	"slices"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/held"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
)

// cancelsOnly rejects everything except cancellations, for a run whose models and tools cannot be
// opened.
func (a *actor) cancelsOnly(batch []*message) []*message {
	var kept []*message
	for _, m := range batch {
		if _, ok := m.data.(engine.Cancel); ok || m.done == nil && m.data != nil {
			kept = append(kept, m)
			continue
		}
		m.answer(&kitError{a.kitErr})
	}
	return kept
}

// mayTakeOver returns the messages with which a run that its owner left may continue: a request to
// resume it, a cancellation, an answer that it accepts. Other messages are rejected here, and the
// run stays unchanged. An answer is tried on the run in memory, which is reloaded if the run
// accepts it.
func (a *actor) mayTakeOver(batch []*message) ([]*message, error) {
	var kept []*message
	tried := false
	for _, m := range batch {
		if m.data == nil && !m.resume {
			m.answer(nil)
			continue
		}
		if _, ok := m.data.(engine.Cancel); m.data != nil && !ok {
			inputs := []engine.Input{}
			for _, t := range held.Due(a.run, m.submitted()) {
				inputs = append(inputs, engine.Input{At: m.at, Data: engine.TimerDue{ID: t.ID}})
			}
			inputs = append(inputs, engine.Input{At: m.at, Data: m.data})
			if err := a.try(inputs); err != nil {
				m.answer(err)
				continue
			}
			tried = true
		}
		kept = append(kept, m)
	}
	if tried {
		return kept, a.reread()
	}
	return kept, nil
}

// leaveToOthers returns the messages that a process may handle without driving the run: no request
// to resume it and, for a run that was left by its owner, only cancellations. The process that
// continues the run does the rest.
func (a *actor) leaveToOthers(batch []*message) []*message {
	if !driver.StatusOf(a.run).IsActive() {
		return batch
	}
	return slices.DeleteFunc(slices.Clone(batch), func(m *message) bool {
		_, isCancel := m.data.(engine.Cancel)
		isLeft := m.resume || a.takeover && !isCancel
		if isLeft {
			m.answer(errElsewhere)
		}
		return isLeft
	})
}

// continuesElsewhere reports whether the run is released together with the stored results of a
// batch: none of its calls will be in flight, none is started here, and none that was told to stop
// needs an answer.
func (a *actor) continuesElsewhere(batch []*message) bool {
	if !a.handsOff && !a.d.draining.Load() || len(a.run.Stopped()) > 0 {
		return false
	}
	out := a.calls.count()
	for _, m := range batch {
		if id, _ := outcome(m.data); a.calls.get(id) != nil {
			out--
		}
	}
	return out == 0
}

// errElsewhere means that a run that was left by its owner is continued by another process.
var errElsewhere = errors.New("the run is continued by another process")

// Adopt implements driver.Owners.
func (d *Driver) Adopt(ctx context.Context, run string) error {
	head, err := d.cfg.Store.Head(ctx, run)
	switch {
	case err != nil || head.Kind != journal.KindTemporal:
		return err
	case head.Meta[driver.MetaProgram] != "":
		return d.cfg.Store.SetKind(ctx, run, journal.KindProgram)
	}
	return d.cfg.Store.SetKind(ctx, run, journal.KindServe)
}
