package graph

import (
	"math"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/hocket-run/hocket/internal/jsontext"
)

// equal reports whether two values of a field have the same encoding, or are both omitted.
func (f *member) equal(a, b reflect.Value) bool {
	if (f.omitEmpty || f.omitZero) && (f.isOmitted(a) || f.isOmitted(b)) {
		return f.isOmitted(a) && f.isOmitted(b)
	}
	return f.form.equal(a, b)
}

func (boolForm) equal(a, b reflect.Value) bool { return a.Bool() == b.Bool() }
func (intForm) equal(a, b reflect.Value) bool  { return a.Int() == b.Int() }
func (uintForm) equal(a, b reflect.Value) bool { return a.Uint() == b.Uint() }

// equal distinguishes the two zeros, as their encodings do.
func (floatForm) equal(a, b reflect.Value) bool {
	return math.Float64bits(a.Float()) == math.Float64bits(b.Float())
}

func (textForm) equal(a, b reflect.Value) bool { return a.String() == b.String() }

func (f pointerForm) equal(a, b reflect.Value) bool {
	if null(f, a) || null(f, b) {
		return null(f, a) && null(f, b)
	}
	return f.form.equal(a.Elem(), b.Elem())
}

func (textsForm) equal(a, b reflect.Value) bool {
	x, y := *texts(a), *texts(b)
	return (x == nil) == (y == nil) && slices.Equal(x, y)
}

func (f listForm) equal(a, b reflect.Value) bool {
	return a.IsNil() == b.IsNil() && a.Len() == b.Len() && f.begins(a, b)
}

// begins reports whether the elements of a are a prefix of those of b.
func (f listForm) begins(a, b reflect.Value) bool {
	for i := range a.Len() {
		if !f.elem.equal(a.Index(i), b.Index(i)) {
			return false
		}
	}
	return true
}

func (f mapForm) equal(a, b reflect.Value) bool {
	if a.IsNil() != b.IsNil() || a.Len() != b.Len() {
		return false
	}
	// addressable, as the forms of lists require
	x, y := reflect.New(f.typ.Elem()).Elem(), reflect.New(f.typ.Elem()).Elem()
	for it := a.MapRange(); it.Next(); {
		other := b.MapIndex(it.Key())
		if !other.IsValid() {
			return false
		}
		x.SetIterValue(it)
		y.Set(other)
		if !f.elem.equal(x, y) {
			return false
		}
	}
	return true
}

func (f structForm) equal(a, b reflect.Value) bool {
	for i := range f.fields {
		m := &f.fields[i]
		if !m.equal(m.in(a), m.in(b)) {
			return false
		}
	}
	return true
}

func texts(v reflect.Value) *[]string { return v.Addr().Interface().(*[]string) }

// null reports whether a value is encoded as null.
func null(f form, v reflect.Value) bool {
	switch f := f.(type) {
	case pointerForm:
		return v.IsNil() || null(f.form, v.Elem())
	case textsForm, listForm, mapForm:
		return v.IsNil()
	}
	return false
}

// notAppendable is embedded in forms whose values cannot be appended to.
type notAppendable struct{}

func (notAppendable) appended(b []byte, _, _ reflect.Value) ([]byte, bool) { return b, false }

func (textForm) appended(b []byte, was, v reflect.Value) ([]byte, bool) {
	before, after := was.String(), v.String()
	if before == "" || len(after) <= len(before) || after[:len(before)] != before ||
		!utf8.ValidString(after[len(before):]) {
		return b, false
	}
	b, _ = jsontext.AppendEscaped(b, after[len(before):])
	return b, true
}

func (textsForm) appended(b []byte, was, v reflect.Value) ([]byte, bool) {
	before, after := *texts(was), *texts(v)
	if len(before) == 0 || len(after) <= len(before) || !slices.Equal(before, after[:len(before)]) {
		return b, false
	}
	for _, s := range after[len(before):] {
		b = appendText(append(b, ','), s)
	}
	return b, true
}

func (f listForm) appended(b []byte, was, v reflect.Value) ([]byte, bool) {
	if was.Len() == 0 || v.Len() <= was.Len() || !f.begins(was, v) {
		return b, false
	}
	from := len(b)
	for i := was.Len(); i < v.Len(); i++ {
		var ok bool
		if b, ok = f.elem.append(append(b, ','), v.Index(i)); !ok {
			return b[:from], false
		}
	}
	return b, true
}
