package expr

import (
	"bytes"
	"cmp"
	"encoding/json"

	"github.com/hocket-run/hocket/internal/jsontext"
)

// Env is the engine's view of what has run. It is called only for the steps that a text names, and
// only when the text is evaluated.
//
// Step returns the entry of a step of the outermost list, or false while it has not run. Its answer
// must not change during one evaluation. An Env is called from one goroutine at a time.
type Env interface {
	Step(id string) (Entry, bool)
	// Var returns the value of a variable, or false if it has none.
	Var(name string) (json.RawMessage, bool)
}

// Variables that texts may use.
const (
	VarInput    = "input"    // `$input`: the run's input
	VarPrevious = "previous" // `{{PREVIOUS_OUTPUT}}` in a [Value]: the input of the step
	VarSignal   = "signal"   // `$signal` in the filter of a wait for a signal: its value
	VarNote     = "note"     // `{{APPROVAL_NOTE}}` in a [Value]: the note of the last approval on the path to the step
)

// Entry is the result of one step.
//
// An agent step has Output and Agent. A parallel step has Children: all of them, in declared order,
// whether they ran or not; if its Output is nil, the object of S4-34 is built from the children
// when a reference needs it. A nil Output means "has not run". The slices belong to the Env;
// nothing here modifies them.
type Entry struct {
	Agent string
	// Step is the number of the step, for the Env's own use; nothing here reads it.
	Step     int
	Output   json.RawMessage
	Children []Child
	// Error is the failure of the step's latest execution, if that execution failed and the run
	// continued; nil means none.
	Error json.RawMessage
	// Decision and Note are the answer to an approval; "" means that it was not answered or has no
	// note.
	Decision string
	Note     string
	// StopReason is why the reply with the output of an agent step ended; "" means that the model
	// was done.
	StopReason string
}

// Child is a child of a parallel step together with its id.
type Child struct {
	ID    string
	Entry Entry
}

// EnvMap is an Env backed by a map, for tests and for callers that have all entries available.
type EnvMap map[string]Entry

// Step implements [Env].
func (m EnvMap) Step(id string) (Entry, bool) {
	e, ok := m[id]
	return e, ok
}

// Var implements [Env]. It returns the output of the entry `$name`.
func (m EnvMap) Var(name string) (json.RawMessage, bool) {
	e, ok := m["$"+name]
	return e.Output, ok
}

// Resolve returns the value that r refers to, or false if the step has not run or has no such value
// (S4-15). The bytes may be shared with the Env.
func (r Ref) Resolve(env Env) (json.RawMessage, bool) {
	if m, ok := env.(*Memo); ok {
		return m.resolve(r)
	}
	v, ok := r.whole(env)
	if !ok {
		return nil, false
	}
	return lookupPath(v, r.Path, partsOf)
}

// whole returns the value in which the path of r starts.
func (r Ref) whole(env Env) (json.RawMessage, bool) {
	if r.Var != "" {
		return env.Var(r.Var)
	}
	if len(r.Steps) == 0 {
		return nil, false
	}
	e, ok := env.Step(r.Steps[0].ID)
	if !ok {
		return nil, false
	}
	for _, hop := range r.Steps[1:] {
		if e, ok = e.child(hop); !ok {
			return nil, false
		}
	}
	switch r.Field {
	case FieldAgent:
		return textOf(e.Agent)
	case FieldOutputs:
		return e.outputs(), e.Children != nil
	case FieldOrder:
		return e.order(), e.Children != nil
	case FieldEntry:
		return e.object(), true
	case FieldError:
		return e.Error, true
	case FieldDecision:
		return textOf(e.Decision)
	case FieldNote:
		return quote(e.Note), e.Decision != ""
	case FieldStopReason:
		return quote(cmp.Or(e.StopReason, "stop")), e.Agent != "" && e.Error == nil
	}
	if e.Output == nil && e.Children != nil {
		return e.object(), true
	}
	return e.Output, true
}

func textOf(s string) (json.RawMessage, bool) {
	if s == "" {
		return nil, false
	}
	return quote(s), true
}

func (e Entry) child(hop Hop) (Entry, bool) {
	if hop.ID == "" {
		if hop.Index < 0 || hop.Index >= len(e.Children) {
			return Entry{}, false
		}
		return e.Children[hop.Index].Entry, true
	}
	for _, c := range e.Children {
		if c.ID == hop.ID {
			return c.Entry, true
		}
	}
	return Entry{}, false
}

// object returns the step context's entry of S4-34: {"output","agent"} or {"steps","order"}.
func (e Entry) object() json.RawMessage {
	var b bytes.Buffer
	e.write(&b)
	return b.Bytes()
}

func (e Entry) write(b *bytes.Buffer) {
	if e.Children != nil {
		b.WriteString(`{"steps":`)
		b.Write(e.outputs())
		b.WriteString(`,"order":`)
		b.Write(e.order())
		b.WriteByte('}')
		return
	}
	b.WriteString(`{"output":`)
	if len(e.Output) == 0 {
		b.WriteString("null")
	} else {
		b.Write(e.Output)
	}
	b.WriteString(`,"agent":`)
	writeQuoted(b, e.Agent)
	b.WriteByte('}')
}

func (e Entry) outputs() json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, c := range e.Children {
		if i > 0 {
			b.WriteByte(',')
		}
		writeQuoted(&b, c.ID)
		b.WriteByte(':')
		c.Entry.write(&b)
	}
	b.WriteByte('}')
	return b.Bytes()
}

func (e Entry) order() json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('[')
	for i, c := range e.Children {
		if i > 0 {
			b.WriteByte(',')
		}
		writeQuoted(&b, c.ID)
	}
	b.WriteByte(']')
	return b.Bytes()
}

// quote returns s as a JSON string. HTML characters are not escaped: this is text for models and
// people, never for a browser's script.
func quote(s string) json.RawMessage {
	b, _ := jsontext.AppendString(nil, s)
	return b
}

// writeQuoted appends s to b as a JSON string.
func writeQuoted(b *bytes.Buffer, s string) {
	quoted, _ := jsontext.AppendString(b.AvailableBuffer(), s)
	b.Write(quoted)
}
