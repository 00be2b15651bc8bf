package project

import (
	"encoding/json"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/typed"
)

// Values makes values of what events have. Readers that put tokens in the place of long values have one of their own.
type Values interface {
	// Fields gives the fields of the first state of a Go graph, which is the run's input; false where that is no object.
	Fields(input engine.Value) (map[string]engine.Value, bool)
	// JSONOf is [engine.JSONOf].
	JSONOf(text string) (engine.Value, bool)
	// Edited gives a field of a typed state as an edit of step changed it; an error where the edit does not belong to it.
	Edited(v *typed.Value, e *engine.Edit, step int) (*typed.Value, error)
}

// whole is what is done with events that have all of their values.
type whole struct{}

func (whole) Fields(input engine.Value) (map[string]engine.Value, bool) { return Fields(input) }

func (whole) JSONOf(text string) (engine.Value, bool) { return engine.JSONOf(text) }

func (whole) Edited(v *typed.Value, e *engine.Edit, step int) (*typed.Value, error) {
	return v.Edited(e, step)
}

// Short makes a folder without events take events in which tokens have the place of long values. Values knows the tokens.
func (f *Folder) Short(v Values) { f.values = v }

// result keeps the last result of a step, to which its completion may refer.
func (st *step) result(d engine.Data) {
	if event.IsResult(d) {
		st.given = d
	}
}

// jsonReply is the JSON in the last reply of a frame.
func (f *Folder) jsonReply(st *step, frame int) engine.Value {
	if m := st.reply(frame); m != nil {
		if v, ok := f.values.JSONOf(m.Text.String()); ok {
			return v
		}
	}
	return nil
}

// initState takes the fields of a Go graph's first state, which is its input.
func (f *Folder) initState(d *engine.RunCreated) {
	if f.format() != formatGraph {
		return
	}
	if fields, ok := f.values.Fields(d.Input); ok { // a graph that begins with something else begins with an empty state
		f.state = typed.StateOf(fields, 0)
	}
}

// Fields gives the members of an object; false where the value is none.
func Fields(v engine.Value) (map[string]engine.Value, bool) {
	var fields map[string]engine.Value
	return fields, json.Unmarshal(v, &fields) == nil
}

// change takes what a step of the run's own scope changed in the typed state. Changes that do not apply, which the engine does not make, are left out.
func (f *Folder) change(st *step, d *engine.StepCompleted) {
	update, edits, ofView := d.Changes(st.given)
	before := f.state
	if ofView {
		before = st.view
	}
	f.state = f.state.With(before.ChangesBy(f.values.Edited, update, edits, st.n))
}
