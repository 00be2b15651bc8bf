package graph

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"strconv"

	"github.com/hocket-run/hocket/internal/jsontext"
)

// Forms, by kind.
type (
	boolForm struct {
		noSharing
		notAppendable
	}
	intForm struct {
		noSharing
		notAppendable
	}
	uintForm struct {
		noSharing
		notAppendable
	}
	floatForm struct {
		noSharing
		notAppendable
		bits int
	}
	textForm    struct{ noSharing }
	textsForm   struct{} // []string
	pointerForm struct {
		notAppendable
		elem reflect.Type
		form form
	}
	listForm struct{ elem form }
	mapForm  struct {
		notAppendable
		typ  reflect.Type
		elem form
	}
	structForm struct {
		notAppendable
		fields []member
	}
)

func (boolForm) append(b []byte, v reflect.Value) ([]byte, bool) {
	return strconv.AppendBool(b, v.Bool()), true
}

func (intForm) append(b []byte, v reflect.Value) ([]byte, bool) {
	return strconv.AppendInt(b, v.Int(), 10), true
}

func (uintForm) append(b []byte, v reflect.Value) ([]byte, bool) {
	return strconv.AppendUint(b, v.Uint(), 10), true
}

// append formats numbers as encoding/json does, which follows ECMAScript.
func (f floatForm) append(b []byte, v reflect.Value) ([]byte, bool) {
	x := v.Float()
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return b, false
	}
	format := byte('f')
	if abs := math.Abs(x); abs != 0 && (f.bits == 64 && (abs < 1e-6 || abs >= 1e21) || f.bits == 32 &&
		(float32(abs) < 1e-6 || float32(abs) >= 1e21)) {
		format = 'e'
	}
	b = strconv.AppendFloat(b, x, format, -1, f.bits)
	if n := len(b); format == 'e' && n >= 4 && b[n-4] == 'e' && b[n-3] == '-' && b[n-2] == '0' {
		b[n-2] = b[n-1]
		b = b[:n-1]
	}
	return b, true
}

func (textForm) append(b []byte, v reflect.Value) ([]byte, bool) {
	return appendText(b, v.String()), true
}

func (f pointerForm) append(b []byte, v reflect.Value) ([]byte, bool) {
	if v.IsNil() {
		return append(b, "null"...), true
	}
	return f.form.append(b, v.Elem())
}

func (textsForm) append(b []byte, v reflect.Value) ([]byte, bool) {
	list := *v.Addr().Interface().(*[]string)
	if list == nil {
		return append(b, "null"...), true
	}
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(b, s)
	}
	return append(b, ']'), true
}

func (f listForm) append(b []byte, v reflect.Value) ([]byte, bool) {
	if v.IsNil() {
		return append(b, "null"...), true
	}
	b = append(b, '[')
	for i := range v.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		var ok bool
		if b, ok = f.elem.append(b, v.Index(i)); !ok {
			return b, false
		}
	}
	return append(b, ']'), true
}

func (f mapForm) append(b []byte, v reflect.Value) ([]byte, bool) {
	if v.IsNil() {
		return append(b, "null"...), true
	}
	type pair struct {
		key string
		// value is an addressable copy, as the forms of lists require.
		value reflect.Value
	}
	pairs := make([]pair, 0, v.Len())
	values := reflect.MakeSlice(reflect.SliceOf(f.typ.Elem()), v.Len(), v.Len())
	for it := v.MapRange(); it.Next(); {
		value := values.Index(len(pairs))
		value.SetIterValue(it)
		pairs = append(pairs, pair{it.Key().String(), value})
	}
	slices.SortFunc(pairs, func(x, y pair) int { return cmp.Compare(x.key, y.key) })
	b = append(b, '{')
	for i, p := range pairs {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(b, p.key), ':')
		var ok bool
		if b, ok = f.elem.append(b, p.value); !ok {
			return b, false
		}
	}
	return append(b, '}'), true
}

func (f structForm) append(b []byte, v reflect.Value) ([]byte, bool) {
	b = append(b, '{')
	first := true
	for i := range f.fields {
		m := &f.fields[i]
		at := m.in(v)
		if m.isOmitted(at) {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		var ok bool
		if b, ok = m.form.append(append(b, m.key...), at); !ok {
			return b, false
		}
	}
	return append(b, '}'), true
}

// appendText appends a string. Invalid UTF-8 is replaced with U+FFFD, as in encoding/json.
func appendText(b []byte, s string) []byte {
	b, _ = jsontext.AppendString(b, s)
	return b
}
