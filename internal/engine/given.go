package engine

import (
	"bytes"
	"encoding/json"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/text"
	"github.com/hocket-run/hocket/workflow"
)

// A value that one event has is not repeated in a later event of the same step. This file says what follows from what.

const (
	// minRepeated is the size below which a value is repeated: naming it takes as much.
	minRepeated = 32
	// maxBeside bounds what a structured result has beside the text that is left out of it. Views read longer values apart from their events.
	maxBeside = 1 << 10
)

// JSONOf gives the compact JSON that the text of a reply or of a tool's result has in it: all of the text, or its one fenced block. False: it has none.
func JSONOf(text string) (Value, bool) {
	v, ok := chat.JSONIn(text)
	if !ok {
		return nil, false
	}
	return compacted(v), true
}

// Value is what the call gave: its structured result, or its text as a JSON string.
func (d *ToolReturned) Value() Value {
	if d = d.Whole(JSONOf); d.Structured != nil {
		return d.Structured
	}
	return expr.Quote(d.Text)
}

// Whole gives the result as the tool gave it, with the text in Structured again. jsonOf is [JSONOf], or does the same with what it was given in the place of a
// text. What cannot be restored, which the engine does not make, stays as it is.
func (d *ToolReturned) Whole(jsonOf func(text string) (Value, bool)) *ToolReturned {
	if !d.JSON && d.Member == "" {
		return d
	}
	whole := *d
	whole.JSON, whole.Member = false, ""
	if d.JSON {
		v, ok := jsonOf(d.Text)
		if !ok {
			return d
		}
		whole.Structured = v
		return &whole
	}
	from, to, ok := memberOf(d.Structured, d.Member)
	if !ok || string(d.Structured[from:to]) != "null" {
		return d
	}
	whole.Structured = bytes.Join([][]byte{d.Structured[:from], expr.Quote(d.Text), d.Structured[to:]}, nil)
	return &whole
}

// shorten leaves out of Structured what Text has.
func (d *ToolReturned) shorten() {
	if len(d.Structured) < minRepeated {
		return
	}
	if v, ok := JSONOf(d.Text); ok && bytes.Equal(v, d.Structured) {
		d.Structured, d.JSON = nil, true
		return
	}
	text := expr.Quote(d.Text)
	if len(text) < minRepeated || len(d.Structured)-len(text) > maxBeside {
		return
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(d.Structured, &members) != nil {
		return
	}
	for _, name := range sortedKeys(members) {
		if name == "" || !bytes.Equal(members[name], text) {
			continue
		}
		from, to, ok := memberOf(d.Structured, name)
		if !ok || !bytes.Equal(d.Structured[from:to], text) {
			continue // the name has two values
		}
		d.Structured, d.Member = bytes.Join([][]byte{d.Structured[:from], []byte("null"), d.Structured[to:]}, nil), name
		return
	}
}

// memberOf gives the place of a member's value in an object; false where the object has no such member. The first of several is meant.
func memberOf(object Value, name string) (from, to int, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(object))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return 0, 0, false
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return 0, 0, false
		}
		var raw json.RawMessage
		if dec.Decode(&raw) != nil {
			return 0, 0, false
		}
		if key == name {
			to = int(dec.InputOffset())
			return to - len(raw), to, true
		}
	}
	return 0, 0, false
}

// setGiven keeps the last result of a step, to which its completion may refer.
func (r *Run) setGiven(id int, d Data) {
	switch r.stepNode(id).Kind {
	case workflow.KindFunc, workflow.KindTool, workflow.KindExec, workflow.KindWait:
		r.step(id).given = d
	}
}

// resultOutput is the output that the last result of a step says; none where there was no result.
func (r *Run) resultOutput(id int) output {
	switch d := r.step(id).given.(type) {
	case *FuncReturned:
		return outputFrom(d.Output)
	case *ToolReturned:
		if d.Structured == nil && !d.JSON {
			return textOutput(text.Of(d.Text))
		}
		return outputFrom(d.Value())
	case *WaitAnswered:
		return outputFrom(d.Answer)
	}
	return output{}
}

// gotoOf gives the nodes that follow a step by its own word once done is applied.
func (r *Run) gotoOf(id int, done *StepCompleted) []string {
	if f, ok := r.step(id).given.(*FuncReturned); ok && done.Given && done.Goto == nil {
		return f.Goto
	}
	return done.Goto
}

// changesOf gives what a step changes in the state once done is applied. The error is typed.ErrEdit, wrapped: done belongs to another state.
func (r *Run) changesOf(id int, done *StepCompleted) (typed.Changes, error) {
	st := r.step(id)
	switch {
	case done.Given && done.Update == nil && done.Edits == nil:
		return st.changed, nil
	case r.completing == done:
		return st.changed, nil
	}
	return r.stateAt(st.Scope).ChangesOf(done.Update, done.Edits, id)
}

// shortenUpdate makes edits of what a step changes in the state in part. What it changes is made once, however often it is looked at before it is applied: of
// two values that are made of the same one, one has to copy it.
func (r *Run) shortenUpdate(id int, done *StepCompleted) {
	if done.Update == nil {
		return
	}
	st := r.step(id)
	state := r.stateAt(st.Scope)
	done.Update, done.Edits = state.Shorten(done.Update)
	var err error
	if st.changed, err = state.ChangesOf(done.Update, done.Edits, id); err == nil { // the edits were made of the state
		r.completing = done
	}
}
