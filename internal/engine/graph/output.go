package graph

import (
	"bytes"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/prompt"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/text"
)

// Output is the output of a step: a text, which is kept as such, or any other JSON value, in memory
// or as a stored text. The zero Output means no output.
type Output struct {
	text   text.Text // the output if isText is set; else its JSON if value is nil and there is an output
	isText bool
	value  event.Value
}

// TextOutput returns an output that is a text.
func TextOutput(t text.Text) Output { return Output{text: t, isText: true} }

// OutputOf returns the output for a JSON value. A JSON string in the form written by Quote is kept
// as a text.
func OutputOf(v event.Value) Output {
	if len(v) > 1 && v[0] == '"' {
		if t := expr.Text(v); len(t) == len(v)-2 && isPlain(t) || bytes.Equal(expr.Quote(t), v) {
			return TextOutput(text.Of(t))
		}
	}
	return Output{value: v}
}

// isPlain reports whether s needs no escapes in JSON.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// Value returns the output as JSON, or nil for none. For a text it is encoded on each call.
func (o Output) Value() event.Value {
	switch {
	case o.isText:
		return expr.Quote(o.text.String())
	case o.value == nil && !o.text.IsZero():
		return event.Value(o.text.String())
	}
	return o.value
}

// Kept returns the output with its large parts replaced by keep. JSON that differs from its text in
// prompts stays in memory.
func (o Output) Kept(keep func(text.Text) text.Text) Output {
	if o.value == nil {
		o.text = keep(o.text)
	} else if t := prompt.OfJSON(o.value); t.String() == string(o.value) {
		o.text, o.value = keep(t), nil
	}
	return o
}

// Text returns the output as prompts show it.
func (o Output) Text() text.Text {
	if o.value == nil {
		return o.text
	}
	return prompt.OfJSON(o.value)
}

// exists reports whether there is an output, even if it is null.
func (o Output) exists() bool { return o.isText || o.value != nil || !o.text.IsZero() }

// Size returns the approximate length of the JSON.
func (o Output) Size() int64 {
	switch {
	case o.isText:
		return o.text.Len() + 2
	case o.value == nil:
		return o.text.Len()
	}
	return int64(len(o.value))
}

// OutputText returns the text of a step's output, of the run's input for step 0, or of the item of
// a scope for a negative step; false if the step has not ended.
func (g *Graph[L]) OutputText(step int) (text.Text, bool) {
	switch {
	case step == 0:
		return g.runInput().Text(), true
	case step < 0:
		item := g.item(-step)
		return item.Text(), item.exists()
	case step > g.Steps.Len() || g.Step(step).Status == event.Running:
		return text.Text{}, false
	}
	return g.Step(step).Output.Text(), true
}

// runInput returns the run's input as an output.
func (g *Graph[L]) runInput() Output {
	if !g.input.exists() {
		g.input = OutputOf(g.Input)
	}
	return g.input
}

// Value returns the output of a step, the run's input for step 0, or the item of a scope for a
// negative step.
func (g *Graph[L]) Value(step int) event.Value {
	if step == 0 {
		return g.Input
	}
	return g.output(step).Value()
}

// output returns the output of a step, the run's input for step 0, or the item of a scope for a
// negative step.
func (g *Graph[L]) output(step int) Output {
	switch {
	case step == 0:
		return g.runInput()
	case step < 0:
		return g.item(-step)
	}
	return g.Step(step).Output
}

// StepInput returns the input of a step.
func (g *Graph[L]) StepInput(id int) event.Value {
	if st := g.Step(id); st.Input != nil {
		return st.Input
	}
	if t, ok := g.texts.Of(id); ok {
		return expr.Quote(t.String())
	}
	return g.Value(g.Step(id).From)
}

// StepText returns the text of a step's input.
func (g *Graph[L]) StepText(id int) text.Text {
	st := g.Step(id)
	if st.Input != nil {
		return prompt.OfJSON(st.Input)
	}
	if t, ok := g.texts.Of(id); ok {
		return t
	}
	t, _ := g.OutputText(st.From)
	return t
}

// Given returns the input of a step as the output that the step has if it passes its input on.
func (g *Graph[L]) Given(id int) Output {
	st := g.Step(id)
	if t, ok := g.texts.Of(id); ok {
		return TextOutput(t)
	}
	if st.Input != nil {
		return OutputOf(st.Input)
	}
	return g.output(st.From)
}
