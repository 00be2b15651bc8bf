package engine

import (
	"bytes"
	"encoding/json"

	"github.com/hocket-run/hocket/internal/engine/typed"
)

// stateOf gives the fields of an input that is the first state (Rules.InputIsState); an empty one has none.
func stateOf(input Value) (map[string]Value, error) {
	if isEmptyInput(input) {
		return nil, nil
	}
	var fields map[string]Value
	if err := json.Unmarshal(input, &fields); err != nil {
		return nil, ErrState
	}
	return fields, nil
}

// isFields tells whether stateOf takes a value, which is JSON: it is an object, or null.
func isFields(v Value) bool {
	v = bytes.TrimLeft(v, " \t\r\n")
	return len(v) > 0 && (v[0] == '{' || v[0] == 'n')
}

// State gives the typed state of the run itself, by top-level field: as it is now, without what open branches change. Nil where there is none. The map
// is the caller's, the values are not.
func (r *Run) State() map[string]Value {
	g := r.graph
	if len(g.Scopes) == 0 {
		return nil
	}
	return g.Scope(0).State.Map()
}

// TypedState is [Run.State] as the run itself holds it, without fields where there is none.
func (r *Run) TypedState() typed.State {
	g := r.graph
	if len(g.Scopes) == 0 {
		return typed.State{}
	}
	return g.Scope(0).State
}
