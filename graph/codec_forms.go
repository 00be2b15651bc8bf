package graph

import (
	"bytes"
	"reflect"
	"strconv"
)

func (boolForm) read(r *reader, v reflect.Value) bool {
	switch {
	case r.skipLiteral("true"):
		v.SetBool(true)
	case r.skipLiteral("false"), r.null(false):
	default:
		return false
	}
	return true
}

func (intForm) read(r *reader, v reflect.Value) bool {
	if r.null(false) {
		return true
	}
	digits, ok := r.integer()
	if !ok {
		return false
	}
	n, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil || v.OverflowInt(n) {
		return false
	}
	v.SetInt(n)
	return true
}

func (uintForm) read(r *reader, v reflect.Value) bool {
	if r.null(false) {
		return true
	}
	digits, ok := r.integer()
	if !ok {
		return false
	}
	n, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil || v.OverflowUint(n) {
		return false
	}
	v.SetUint(n)
	return true
}

func (f floatForm) read(r *reader, v reflect.Value) bool {
	if r.null(false) {
		return true
	}
	digits := r.number()
	n, err := strconv.ParseFloat(string(digits), f.bits)
	if err != nil || v.OverflowFloat(n) {
		return false
	}
	v.SetFloat(n)
	var space [32]byte
	if b, ok := f.append(space[:0], v); !ok || !bytes.Equal(b, digits) {
		r.canon = false
	}
	return true
}

func (textForm) read(r *reader, v reflect.Value) bool {
	if r.null(false) {
		return true
	}
	s, ok := r.quoted()
	if ok {
		v.SetString(s)
	}
	return ok
}

func (f pointerForm) read(r *reader, v reflect.Value) bool {
	if r.null(true) {
		return true
	}
	p := reflect.New(f.elem)
	if !f.form.read(r, p.Elem()) {
		return false
	}
	v.Set(p)
	return true
}

func (textsForm) read(r *reader, v reflect.Value) bool {
	if r.null(true) {
		return true
	}
	if !r.take('[') {
		return false
	}
	list := make([]string, r.count())
	for i := range list {
		if i > 0 && !r.take(',') {
			return false
		}
		s, ok := r.quoted()
		if !ok && !r.null(false) {
			return false
		}
		list[i] = s
	}
	*v.Addr().Interface().(*[]string) = list
	return r.take(']')
}

func (f listForm) read(r *reader, v reflect.Value) bool {
	if r.null(true) {
		return true
	}
	if !r.take('[') {
		return false
	}
	n := r.count()
	if n == 0 {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		return r.take(']')
	}
	v.Grow(n)
	v.SetLen(n)
	for i := range n {
		if i > 0 && !r.take(',') || !f.elem.read(r, v.Index(i)) {
			return false
		}
	}
	return r.take(']')
}

func (f mapForm) read(r *reader, v reflect.Value) bool {
	if r.null(true) {
		return true
	}
	if !r.take('{') {
		return false
	}
	n := r.count()
	m := reflect.MakeMapWithSize(f.typ, n)
	last := ""
	for i := range n {
		if i > 0 && !r.take(',') {
			return false
		}
		key, ok := r.quoted()
		if !ok || !r.take(':') {
			return false
		}
		if i > 0 && key <= last {
			r.canon = false // keys are written in order
		}
		last = key
		k, elem := reflect.New(f.typ.Key()).Elem(), reflect.New(f.typ.Elem()).Elem()
		k.SetString(key)
		if !f.elem.read(r, elem) {
			return false
		}
		m.SetMapIndex(k, elem)
	}
	v.Set(m)
	return r.take('}')
}

// read accepts objects whose fields are in the order in which they are written; all others are left
// to encoding/json.
func (f structForm) read(r *reader, v reflect.Value) bool {
	if r.null(false) {
		return true
	}
	if !r.take('{') {
		return false
	}
	for next, n := 0, r.count(); n > 0; n-- {
		r.space()
		for next < len(f.fields) && !bytes.HasPrefix(r.b[r.i:], f.fields[next].key) {
			if f.fields[next].zero != nil {
				r.canon = false // omitted, but would be written
			}
			next++
		}
		if next == len(f.fields) {
			return false
		}
		m := &f.fields[next]
		next++
		r.i += len(m.key)
		at := m.in(v)
		if !m.form.read(r, at) {
			return false
		}
		if m.isOmitted(at) {
			r.canon = false // written, but would be omitted
		}
		if n > 1 && !r.take(',') {
			return false
		}
		if n > 1 {
			continue
		}
		for _, rest := range f.fields[next:] {
			r.canon = r.canon && rest.zero == nil
		}
		return r.take('}')
	}
	for _, m := range f.fields {
		r.canon = r.canon && m.zero == nil
	}
	return r.take('}')
}
