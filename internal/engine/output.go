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
func (g *graph) outputText(step int) (text.Text, bool) {
	switch {
	case step == 0:
		return g.runInput().Text(), true
	case step < 0 || step > g.Steps.len() || g.step(step).Status == stepRunning:
		return text.Text{}, false
	}
	return g.step(step).Output.Text(), true
}

// runInput is the run's input.
func (g *graph) runInput() output {
	if !g.input.exists() {
		g.input = outputFrom(g.Input)
	}
	return g.input
}

// value is the output of a step, or the run's input for step 0.
func (g *graph) value(step int) Value {
	if step == 0 {
		return g.Input
	}
	return g.step(step).Output.Value()
}

// stepInput is what a step was given.
func (g *graph) stepInput(id int) Value {
	if st := g.step(id); st.Input != nil {
		return st.Input
	}
	if t, ok := g.texts.Of(id); ok {
		return expr.Quote(t.String())
	}
	return g.value(g.step(id).From)
}

// stepText is the text of what a step was given.
func (g *graph) stepText(id int) text.Text {
	st := g.step(id)
	if st.Input != nil {
		return prompt.OfJSON(st.Input)
	}
	if t, ok := g.texts.Of(id); ok {
		return t
	}
	t, _ := g.outputText(st.From)
	return t
}

// given is what a step was given, as the output that it is where the step hands it on.
func (g *graph) given(id int) output {
	st := g.step(id)
	if t, ok := g.texts.Of(id); ok {
		return textOutput(t)
	}
	switch {
	case st.Input != nil:
		return outputFrom(st.Input)
	case st.From == 0:
		return g.runInput()
	}
	return g.step(st.From).Output
}
