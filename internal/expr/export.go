package expr

import (
	"bytes"
	"encoding/json"
)

// Quote returns s as a JSON string, without escapes that only HTML needs.
func Quote(s string) json.RawMessage { return quote(s) }

// JSON returns the step context's entry of S4-34: {"output","agent"} for a step, {"steps","order"}
// for a parallel step.
func (e Entry) JSON() json.RawMessage { return e.object() }

// Entries returns the object of S4-34 with the entries of steps by their ids, in the given order.
func Entries(steps []Child) json.RawMessage { return Entry{Children: steps}.outputs() }

// Member is one member of an object whose order matters. An empty Value is null.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Object returns an object with its members in the given order.
func Object(members []Member) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			b.WriteByte(',')
		}
		writeQuoted(&b, m.Name)
		b.WriteByte(':')
		writeValue(&b, m.Value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// List returns a list of values.
func List(values []json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('[')
	for i, v := range values {
		if i > 0 {
			b.WriteByte(',')
		}
		writeValue(&b, v)
	}
	b.WriteByte(']')
	return b.Bytes()
}

// writeValue appends a value, or null if there is none.
func writeValue(b *bytes.Buffer, v json.RawMessage) {
	if len(v) == 0 {
		v = json.RawMessage("null")
	}
	b.Write(v)
}
