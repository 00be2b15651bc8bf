package engine

import (
	"bytes"
	"encoding/json"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/typed"
)

// stateOf returns the fields of an input that is the initial state (Rules.InputIsState); an empty
// input has none.
func stateOf(input event.Value) (map[string]event.Value, error) {
	if isEmptyInput(input) {
		return nil, nil
	}
	var fields map[string]event.Value
	if err := json.Unmarshal(input, &fields); err != nil {
		return nil, ErrState
	}
	return fields, nil
}

// isFields reports whether stateOf accepts a value, which is JSON: it must be an object or null.
func isFields(v event.Value) bool {
	v = bytes.TrimLeft(v, " \t\r\n")
	return len(v) > 0 && (v[0] == '{' || v[0] == 'n')
}

// State returns the current typed state of the run itself, by top-level field, without changes made
// in open branches; nil if there is none. The caller owns the map, but not the values.
func (r *Run) State() map[string]event.Value {
	g := r.graph
	if len(g.Scopes) == 0 {
		return nil
	}
	return g.Scope(0).State.Map()
}

// TypedState is [Run.State] as the run itself holds it; it has no fields if there is no state.
func (r *Run) TypedState() typed.State {
	g := r.graph
	if len(g.Scopes) == 0 {
		return typed.State{}
	}
	return g.Scope(0).State
}
