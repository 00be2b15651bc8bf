package graph

import (
	"math"
	"reflect"
	"strings"
	"unicode/utf8"
)

func (boolForm) take(to, from, _ reflect.Value) bool {
	to.SetBool(from.Bool())
	return true
}

func (intForm) take(to, from, _ reflect.Value) bool {
	to.SetInt(from.Int())
	return true
}

func (uintForm) take(to, from, _ reflect.Value) bool {
	to.SetUint(from.Uint())
	return true
}

func (floatForm) take(to, from, _ reflect.Value) bool {
	x := from.Float()
	to.SetFloat(x)
	return !math.IsNaN(x) && !math.IsInf(x, 0)
}

// take copies strings that are new: a string may be part of a much longer one.
func (textForm) take(to, from, was reflect.Value) bool {
	s := from.String()
	switch {
	case was.IsValid() && was.String() == s:
		s = was.String()
	case !utf8.ValidString(s):
		return false // JSON replaces invalid UTF-8
	default:
		s = strings.Clone(s)
	}
	to.SetString(s)
	return true
}

func (f pointerForm) take(to, from, was reflect.Value) bool {
	if null(f, from) {
		return true
	}
	var before reflect.Value
	if was.IsValid() && !was.IsNil() {
		before = was.Elem()
	}
	p := reflect.New(f.elem)
	to.Set(p)
	return f.form.take(p.Elem(), from.Elem(), before)
}

func (textsForm) take(to, from, was reflect.Value) bool {
	return listForm{textForm{}}.take(to, from, was)
}

func (f listForm) take(to, from, was reflect.Value) bool {
	n := from.Len()
	if n == 0 {
		if !from.IsNil() {
			to.Set(reflect.MakeSlice(to.Type(), 0, 0))
		}
		return true
	}
	known := 0
	if was.IsValid() {
		known = was.Len()
	}
	to.Grow(n)
	to.SetLen(n)
	for i := range n {
		var before reflect.Value
		if i < known {
			before = was.Index(i)
		}
		if !f.elem.take(to.Index(i), from.Index(i), before) {
			return false
		}
	}
	return true
}

func (f mapForm) take(to, from, was reflect.Value) bool {
	if from.IsNil() {
		return true
	}
	m := reflect.MakeMapWithSize(f.typ, from.Len())
	to.Set(m)
	elem := reflect.New(f.typ.Elem()).Elem()
	for it := from.MapRange(); it.Next(); {
		key := it.Key()
		var before reflect.Value
		if was.IsValid() {
			if old := was.MapIndex(key); old.IsValid() {
				before = reflect.New(f.typ.Elem()).Elem() // which is addressable
				before.Set(old)
			}
		}
		if !before.IsValid() {
			if !utf8.ValidString(key.String()) {
				return false
			}
			k := reflect.New(f.typ.Key()).Elem()
			k.SetString(strings.Clone(key.String()))
			key = k
		}
		value := reflect.New(f.typ.Elem()).Elem()
		elem.SetIterValue(it)
		if !f.elem.take(value, elem, before) {
			return false
		}
		m.SetMapIndex(key, value)
	}
	return true
}

func (f structForm) take(to, from, was reflect.Value) bool {
	for i := range f.fields {
		m := &f.fields[i]
		at := m.in(from)
		if m.isOmitted(at) {
			continue
		}
		var before reflect.Value
		if was.IsValid() {
			before = m.in(was)
		}
		if !m.form.take(m.in(to), at, before) {
			return false
		}
	}
	return true
}

// noSharing is embedded in forms whose values have nothing that others could share.
type noSharing struct{}

func (noSharing) share(to, from reflect.Value, _ int) { to.Set(from) }

func (f pointerForm) share(to, from reflect.Value, _ int) {
	if from.IsNil() {
		to.SetZero()
		return
	}
	p := reflect.New(f.elem)
	f.form.share(p.Elem(), from.Elem(), 0)
	to.Set(p)
}

func (textsForm) share(to, from reflect.Value, spare int) {
	list := *texts(from)
	if list != nil {
		list = append(make([]string, 0, len(list)+spare), list...)
	}
	*texts(to) = list
}

func (f listForm) share(to, from reflect.Value, spare int) {
	n := from.Len()
	switch {
	case from.IsNil():
		to.SetZero()
		return
	case n == 0:
		to.Set(reflect.MakeSlice(to.Type(), 0, 0))
		return
	}
	to.SetZero()
	to.Grow(n + spare)
	to.SetLen(n)
	reflect.Copy(to, from)
	if flat(f.elem) {
		return
	}
	for i := range n {
		f.elem.share(to.Index(i), from.Index(i), 0)
	}
}

func (f mapForm) share(to, from reflect.Value, _ int) {
	if from.IsNil() {
		to.SetZero()
		return
	}
	m := reflect.MakeMapWithSize(f.typ, from.Len())
	elem, value := reflect.New(f.typ.Elem()).Elem(), reflect.New(f.typ.Elem()).Elem()
	for it := from.MapRange(); it.Next(); {
		elem.SetIterValue(it)
		f.elem.share(value, elem, 0)
		m.SetMapIndex(it.Key(), value)
	}
	to.Set(m)
}

func (f structForm) share(to, from reflect.Value, _ int) {
	to.Set(from)
	for i := range f.fields {
		if m := &f.fields[i]; !m.flat {
			m.form.share(m.in(to), m.in(from), 0)
		}
	}
}

// flat reports whether values of a form contain nothing that could be changed except through
// themselves.
func flat(f form) bool {
	switch f := f.(type) {
	case pointerForm, textsForm, listForm, mapForm, nil:
		return false
	case structForm:
		for i := range f.fields {
			if !f.fields[i].flat {
				return false
			}
		}
	}
	return true
}

// isStable reports whether the values of a field still have the same encoding after being encoded
// and decoded.
func (f *member) isStable() bool {
	p, isPointer := f.form.(pointerForm)
	switch {
	case f.omitZero && f.typ.Kind() == reflect.Struct && f.typ != timeType: // an empty list becomes nil
		return false
	case (f.omitEmpty || f.omitZero) && isPointer && canBeNull(p.form): // a pointer to it becomes nil
		return false
	}
	return stable(f.form)
}

func stable(f form) bool {
	switch f := f.(type) {
	case pointerForm:
		return stable(f.form)
	case listForm:
		return stable(f.elem)
	case mapForm:
		return stable(f.elem)
	case structForm:
		for i := range f.fields {
			if !f.fields[i].stable {
				return false
			}
		}
	}
	return f != nil
}

func canBeNull(f form) bool {
	switch f.(type) {
	case pointerForm, textsForm, listForm, mapForm:
		return true
	}
	return false
}
