package typed

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Value is the JSON of a field and the step that wrote it. It is immutable.
type Value struct {
	head []byte // starts with the bytes of the values that this one extends
	end  string // follows head: the last byte of a value that grew
	grow *tail  // nil if nothing has been added
	step int
}

// tail is the memory that values extending one another append to.
type tail struct{ b []byte }

// Of returns the value with the given JSON, which must be valid and must not change. step is the
// step that wrote it, 0 for the run's input.
func Of(v json.RawMessage, step int) *Value { return &Value{head: v, step: step} }

// Len returns the length of the JSON in bytes.
func (v *Value) Len() int { return len(v.head) + len(v.end) }

// Step returns the step that wrote the value.
func (v *Value) Step() int { return v.step }

// JSON returns the value, which must not be modified. It is a copy for values that grew.
func (v *Value) JSON() json.RawMessage {
	if v == nil {
		return nil
	}
	if v.end == "" {
		return v.head
	}
	return append(append(make([]byte, 0, v.Len()), v.head...), v.end...)
}

// Equal reports whether two values have the same bytes.
func (v *Value) Equal(w *Value) bool {
	switch {
	case v == w:
		return true
	case v == nil || w == nil:
		return v.isEmpty() && w.isEmpty()
	case v.Len() != w.Len():
		return false
	case v.end == w.end:
		return bytes.Equal(v.head, w.head)
	}
	return bytes.Equal(v.JSON(), w.JSON())
}

func (v *Value) isEmpty() bool { return v == nil || v.Len() == 0 }

func (v *Value) last() byte {
	if v.end != "" {
		return v.end[0]
	}
	return v.head[len(v.head)-1]
}

// hasContent reports whether v is a non-empty list or object, or a string: a value that can grow at
// its end.
func (v *Value) hasContent() bool {
	if v.Len() < 2 {
		return false
	}
	var opening byte
	switch v.last() {
	case '"':
		return v.head[0] == '"'
	case ']':
		opening = '['
	case '}':
		opening = '{'
	default:
		return false
	}
	rest := v.head
	if v.end == "" {
		rest = rest[:len(rest)-1]
	}
	rest = bytes.TrimRight(rest, " \t\r\n")
	return len(rest) > 1 && rest[0] == opening
}

// common returns the length of the longest common prefix of v and other.
func (v *Value) common(other []byte) int {
	n := common(v.head, other)
	if n == len(v.head) && v.end != "" && n < len(other) && other[n] == v.end[0] {
		n++
	}
	return n
}

// block is the number of bytes compared in one step.
const block = 4 << 10

func common(a, b []byte) int {
	n, most := 0, min(len(a), len(b))
	for n+block <= most && bytes.Equal(a[n:n+block], b[n:n+block]) {
		n += block
	}
	for n < most && a[n] == b[n] {
		n++
	}
	return n
}

// Edited returns v as step changed it with e. The error is ErrEdit, wrapped, for an edit that
// belongs to another value; whether the result is JSON is checked by [Edit.Check].
func (v *Value) Edited(e *Edit, step int) (*Value, error) {
	isAppend, err := e.check(v)
	if err != nil {
		return nil, err
	}
	if !isAppend {
		return &Value{head: e.apply(v.JSON()), step: step}, nil
	}
	head, end, grow := v.head, v.end, v.grow
	if end == "" {
		head, end, grow = head[:len(head)-1], string(head[len(head)-1:]), nil
	}
	if grow == nil || len(grow.b) != len(head) { // another value was derived from v before
		grow = &tail{b: append(make([]byte, 0, 2*len(head)+len(e.Text)), head...)}
	}
	grow.b = append(grow.b, e.Text...)
	return &Value{head: slices.Clip(grow.b), end: end, grow: grow, step: step}, nil
}
