package typed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Edit is a change of one field: Text replaces the bytes From to To, counted from 0, of the field's
// former JSON.
type Edit struct {
	Field string `json:"field"`
	// Base is the step that wrote the former value of the field, or 0 for the run's input. Size is
	// the length of that value in bytes.
	Base int    `json:"base,omitempty"`
	Size int    `json:"size"`
	From int    `json:"from"`
	To   int    `json:"to"`
	Text string `json:"text,omitempty"`
}

// minSaved is the number of bytes by which an edit must be shorter than the value to be used, since
// it has names and numbers of its own.
const minSaved = 96

// Between returns the edit that turns before into after. It returns false if the edit would not be
// much shorter than after.
func Between(field string, before *Value, after json.RawMessage) (Edit, bool) {
	if before == nil || len(after) < minSaved || before.Len() < minSaved {
		return Edit{}, false
	}
	e := Edit{Field: field, Base: before.step, Size: before.Len()}
	if e.From = before.common(after); e.From >= e.Size-1 && before.hasContent() &&
		isTail(after[e.Size-1:], before.last()) {
		e.From, e.To, e.Text = e.Size-1, e.Size-1, string(after[e.Size-1:len(after)-1])
	} else {
		old := before.JSON()
		for e.From > 0 && (!startsRune(old, e.From) || !startsRune(after, e.From)) {
			e.From--
		}
		n := commonEnd(old[e.From:], after[e.From:])
		for n > 0 && !utf8.RuneStart(old[len(old)-n]) {
			n--
		}
		e.To, e.Text = len(old)-n, string(after[e.From:len(after)-n])
	}
	return e, len(after)-len(e.Text) >= minSaved
}

func startsRune(b []byte, i int) bool { return i >= len(b) || utf8.RuneStart(b[i]) }

// isTail reports whether rest extends a non-empty list or object, or a string, without its last
// byte, which is end.
func isTail(rest []byte, end byte) bool {
	return len(rest) > 1 && rest[len(rest)-1] == end && (end == '"' || rest[0] == ',')
}

// commonEnd returns the length of the longest common suffix of a and b.
func commonEnd(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// ErrEdit is returned when an edit does not apply to a value.
var ErrEdit = errors.New("the change of a state does not apply")

// check verifies that the edit applies to v, and reports whether it only adds a tail.
func (e *Edit) check(v *Value) (isAppend bool, err error) {
	switch {
	case v == nil:
		return false, fmt.Errorf("%w: field %q has no value", ErrEdit, e.Field)
	case e.Base != v.step || e.Size != v.Len():
		return false, fmt.Errorf("%w: field %q has %d bytes of step %d, not %d bytes of step %d", ErrEdit, e.Field,
			v.Len(), v.step, e.Size, e.Base)
	case e.From < 0 || e.From > e.To || e.To > e.Size:
		return false, fmt.Errorf("%w: field %q has no bytes %d to %d", ErrEdit, e.Field, e.From, e.To)
	}
	return e.From == e.To && e.To == e.Size-1 && v.hasContent(), nil
}

// Check returns an error if an edit from disk cannot be applied to v: it belongs to another value,
// or the result is not JSON. The error is ErrEdit, wrapped.
func (e *Edit) Check(v *Value) error {
	isAppend, err := e.check(v)
	if err != nil {
		return err
	}
	var ok bool
	switch end := v.last(); {
	case isAppend && end == '"':
		ok = json.Valid([]byte(`"` + e.Text + `"`))
	case isAppend && end == ']':
		ok = e.Text != "" && e.Text[0] == ',' && json.Valid([]byte("[0"+e.Text+"]"))
	case isAppend && end == '}':
		ok = e.Text != "" && e.Text[0] == ',' && json.Valid([]byte(`{"":0`+e.Text+"}"))
	default:
		ok = json.Valid(e.apply(v.JSON()))
	}
	if !ok {
		return fmt.Errorf("%w: field %q would not be JSON", ErrEdit, e.Field)
	}
	return nil
}

func (e *Edit) apply(old []byte) json.RawMessage {
	return bytes.Join([][]byte{old[:e.From], []byte(e.Text), old[e.To:]}, nil)
}
