package engine

import (
	"fmt"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
)

func (m *machine) handleNote(d FuncNote) error {
	if err := m.state.checkCall(d.ID); err != nil {
		return err
	}
	key, c := m.state.openCall(d.ID, loop.Func)
	if c == nil || c.State != loop.Open {
		return fmt.Errorf("%w: %q", ErrNoteLate, d.ID)
	}
	if checkValues(d.ID, d.Value) != nil {
		return fmt.Errorf("%w: the value of key %q is not JSON", loop.ErrNote, d.Key)
	}
	v := noteValue(d.Value)
	err := loop.CheckNote(m.graph.Step(c.Step).Loop.Notes, d.Key, v)
	if err == nil {
		m.emitStep(c.Step, &event.FuncNoted{Call: key, Attempt: c.Attempt, Key: d.Key, Value: v})
	}
	return err
}

// noteValue returns a value in the form in which it is stored: compact, and nil for null.
func noteValue(v event.Value) event.Value {
	if v = event.Compact(v); string(v) == "null" {
		return nil
	}
	return v
}
