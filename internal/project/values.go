package project

import (
	"encoding/json"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/typed"
)

// Values converts the contents of events to values. Readers that use tokens in place of long values
// have their own implementation.
type Values interface {
	// Fields returns the fields of the initial state of a Go graph, which is the run's input, or
	// false if the input is not an object.
	Fields(input event.Value) (map[string]event.Value, bool)
	// JSONOf is [event.JSONOf].
	JSONOf(text string) (event.Value, bool)
	// Edited returns a field of a typed state after an edit by step, or an error if the edit does
	// not apply to the field.
	Edited(v *typed.Value, e *typed.Edit, step int) (*typed.Value, error)
}

// fullValues is the implementation of Values for events that hold all of their values.
type fullValues struct{}

func (fullValues) Fields(input event.Value) (map[string]event.Value, bool) { return Fields(input) }

func (fullValues) JSONOf(text string) (event.Value, bool) { return event.JSONOf(text) }

func (fullValues) Edited(v *typed.Value, e *typed.Edit, step int) (*typed.Value, error) {
	return v.Edited(e, step)
}

// Short makes a folder without events accept events in which tokens replace long values. v resolves
// the tokens.
func (f *Folder) Short(v Values) { f.values = v }

// result keeps the last result of a step, to which its completion may refer.
func (st *step) result(d event.Data) {
	if event.IsResult(d) {
		st.lastResult = d
	}
}

// jsonReply returns the JSON in the last reply of a frame.
func (f *Folder) jsonReply(st *step, frame int) event.Value {
	if m := st.reply(frame); m != nil {
		if v, ok := f.values.JSONOf(m.Text.String()); ok {
			return v
		}
	}
	return nil
}

// initState sets the fields of a Go graph's initial state, which is its input.
func (f *Folder) initState(d *event.RunCreated) {
	if f.format() != formatGraph {
		return
	}
	if fields, ok := f.values.Fields(d.Input); ok { // any other input starts with an empty state
		f.state = typed.StateOf(fields, 0)
	}
}

// Fields returns the members of an object, or false if v is not an object.
func Fields(v event.Value) (map[string]event.Value, bool) {
	var fields map[string]event.Value
	return fields, json.Unmarshal(v, &fields) == nil
}

// change applies a step's changes to the typed state, if the step belongs to the run's own scope.
// Changes that do not apply, which the engine never makes, are skipped.
func (f *Folder) change(st *step, d *event.StepCompleted) {
	update, edits, ofView := d.Changes(st.lastResult)
	before := f.state
	if ofView {
		before = st.inputState
	}
	f.state = f.state.With(before.ChangesBy(f.values.Edited, update, edits, st.n))
}
