package event

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/expr"
)

const (
	// minRepeated is the size below which a value is repeated, because a reference would be as
	// long.
	minRepeated = 32
	// maxRemainder is the maximum size of a structured result without the text that is omitted from
	// it. Views read longer values separately from their events.
	maxRemainder = 1 << 10
)

// JSONOf returns the compact JSON that the text of a reply or of a tool's result contains: all of
// the text, or its only fenced block. It returns false if there is none.
func JSONOf(text string) (Value, bool) {
	v, ok := chat.JSONIn(text)
	if !ok {
		return nil, false
	}
	return Compact(v), true
}

// Whole returns the original result of the tool, with the text back in Structured. jsonOf is
// [JSONOf], or an equivalent function if Text holds a stand-in for the text. A result that cannot
// be restored, which the engine does not create, is returned unchanged.
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

// Shorten omits from Structured what Text already contains.
func (d *ToolReturned) Shorten() {
	if len(d.Structured) < minRepeated {
		return
	}
	if v, ok := JSONOf(d.Text); ok && bytes.Equal(v, d.Structured) {
		d.Structured, d.JSON = nil, true
		return
	}
	text := expr.Quote(d.Text)
	if len(text) < minRepeated || len(d.Structured)-len(text) > maxRemainder {
		return
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(d.Structured, &members) != nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if name == "" || !bytes.Equal(members[name], text) {
			continue
		}
		from, to, ok := memberOf(d.Structured, name)
		if !ok || !bytes.Equal(d.Structured[from:to], text) {
			continue // the name occurs with two values
		}
		d.Structured, d.Member = bytes.Join([][]byte{d.Structured[:from], []byte("null"), d.Structured[to:]}, nil), name
		return
	}
}

// memberOf returns the position of a member's value in an object, the first one if there are
// several; ok is false if the object has no such member.
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
