package engine

import (
	"fmt"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
)

func (s *state) checkNote(d FuncNote) error {
	if err := s.checkCall(d.ID); err != nil {
		return err
	}
	_, c := s.openCall(d.ID, loop.Func)
	if c == nil || c.State != loop.Open {
		return fmt.Errorf("%w: %q", ErrNoteLate, d.ID)
	}
	if checkValues(d.ID, d.Value) != nil {
		return fmt.Errorf("%w: the value of key %q is not JSON", loop.ErrNote, d.Key)
	}
	return loop.CheckNote(s.graph.Step(c.Step).Loop.Notes, d.Key, noteValue(d.Value))
}

// noteValue returns a value in the form in which it is stored: compact, and nil for null.
func noteValue(v event.Value) event.Value {
	if v = event.Compact(v); string(v) == "null" {
		return nil
	}
	return v
}
