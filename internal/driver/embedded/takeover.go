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

// cancelsOnly refuses everything but cancellations, for a run whose models and tools cannot be opened.
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

// mayTakeOver gives the messages that let a run continue which its owner left: a request to resume it, a cancellation, an answer that it takes. Others are refused here, and
// the run stays unchanged. An answer is tried on the run in memory, which is read again if the run takes it.
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
			for _, t := range held.Due(a.run, m.given()) {
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

// leaveToOthers gives the messages that a process may take which does not drive the run: none to resume it, and of a run that was left by its owner only cancellations. The process that continues
// the run does the rest.
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

// goesOnElsewhere tells whether the run is given up with what is stored of a batch: no call of it will be out, none is begun here, and none that was told to stop is to be answered.
func (a *actor) goesOnElsewhere(batch []*message) bool {
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

// errElsewhere: a run that was left by its owner is continued by another process.
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
