package engine

import (
	"encoding/json"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/typed"
)

// initialState returns the typed state that an input is (Rules.InputIsState), which is JSON; an
// empty input has no fields. Errors: ErrState.
func initialState(input event.Value) (typed.State, error) {
	if isEmptyInput(input) {
		return typed.State{}, nil
	}
	if state, ok := typed.Split(input); ok {
		return state, nil
	}
	var fields map[string]event.Value
	if json.Unmarshal(input, &fields) != nil {
		return typed.State{}, ErrState
	}
	return typed.StateOf(fields, 0), nil
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
