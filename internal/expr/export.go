package expr

import (
	"bytes"
	"encoding/json"
)

// Quote gives s as a JSON string, without escapes that only HTML needs.
func Quote(s string) json.RawMessage { return quote(s) }

// JSON gives the step context's entry of S4-34: {"output","agent"} for a step, {"steps","order"} for a parallel step.
func (e Entry) JSON() json.RawMessage { return e.object() }

// Entries gives the object of S4-34 that has the entries of steps by their ids, in the order given.
func Entries(steps []Child) json.RawMessage { return Entry{Children: steps}.outputs() }

// Member is one member of an object whose order matters. An empty Value is null.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Object writes an object with its members in the order given.
func Object(members []Member) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			b.WriteByte(',')
		}
		writeQuoted(&b, m.Name)
		b.WriteByte(':')
		if len(m.Value) == 0 {
			b.WriteString("null")
		} else {
			b.Write(m.Value)
		}
	}
	b.WriteByte('}')
	return b.Bytes()
}
