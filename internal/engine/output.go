package engine

import (
	"bytes"

	"github.com/hocket-run/hocket/internal/engine/prompt"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/text"
)

// output is what a step gave: a text, which is kept as such, or any other JSON value. The zero output is none.
type output struct {
	text   text.Text
	isText bool
	value  Value
}

// textOutput is the output that is a text.
func textOutput(t text.Text) output { return output{text: t, isText: true} }

// outputFrom is the output that is a JSON value. One that is a JSON string as Quote writes it is kept as a text.
func outputFrom(v Value) output {
	if len(v) > 1 && v[0] == '"' {
		if t := expr.Text(v); len(t) == len(v)-2 && isPlain(t) || bytes.Equal(expr.Quote(t), v) {
			return textOutput(text.Of(t))
		}
	}
	return output{value: v}
}

// isPlain tells whether s needs no escapes in JSON.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// Value gives the output as JSON, nil for none. That of a text is made anew.
func (o output) Value() Value {
	if o.isText {
		return expr.Quote(o.text.String())
	}
	return o.value
}

// Text gives the output as prompts show it.
func (o output) Text() text.Text {
	if o.isText {
		return o.text
	}
	return prompt.OfJSON(o.value)
}

// exists tells whether there is an output, be it null.
func (o output) exists() bool { return o.isText || o.value != nil }

// size is about the length of the JSON.
func (o output) size() int64 {
	if o.isText {
		return o.text.Len() + 2
	}
	return int64(len(o.value))
}

// outputText gives the text of what a step gave, or of the run's input for step 0; false where the step has not ended.
func (r *Run) outputText(step int) (text.Text, bool) {
	switch {
	case step == 0:
		return r.runInput().Text(), true
	case step < 0 || step > r.s.Steps.len() || r.step(step).Status == stepRunning:
		return text.Text{}, false
	}
	return r.step(step).Output.Text(), true
}

// runInput is the run's input.
func (r *Run) runInput() output {
	if !r.input.exists() {
		r.input = outputFrom(r.s.Created.Input)
	}
	return r.input
}

// value is the output of a step, or the run's input for step 0.
func (r *Run) value(step int) Value {
	if step == 0 {
		return r.s.Created.Input
	}
	return r.step(step).Output.Value()
}

// stepInput is what a step was given.
func (r *Run) stepInput(id int) Value {
	if st := r.step(id); st.Input != nil {
		return st.Input
	}
	if t, ok := r.texts.Of(id); ok {
		return expr.Quote(t.String())
	}
	return r.value(r.step(id).From)
}

// stepText is the text of what a step was given.
func (r *Run) stepText(id int) text.Text {
	st := r.step(id)
	if st.Input != nil {
		return prompt.OfJSON(st.Input)
	}
	if t, ok := r.texts.Of(id); ok {
		return t
	}
	t, _ := r.outputText(st.From)
	return t
}

// given is what a step was given, as the output that it is where the step hands it on.
func (r *Run) given(id int) output {
	st := r.step(id)
	if t, ok := r.texts.Of(id); ok {
		return textOutput(t)
	}
	switch {
	case st.Input != nil:
		return outputFrom(st.Input)
	case st.From == 0:
		return r.runInput()
	}
	return r.step(st.From).Output
}
