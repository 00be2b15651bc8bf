package graph

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// form reads and writes the values of one type. Its results equal those of encoding/json without
// HTML escapes.
type form interface {
	// read reads one value from r into v, which must be zero. It returns false if encoding/json
	// must handle the value; v must then be discarded.
	read(r *reader, v reflect.Value) bool
	// append appends the encoding of v. It returns false if encoding/json must handle the value.
	append(b []byte, v reflect.Value) ([]byte, bool)
	// equal reports whether a and b have the same encoding.
	equal(a, b reflect.Value) bool
	// appended appends the JSON of what v, a list or a string, has beyond was, in the form of an
	// edit of the state. It returns false if v has nothing beyond was, or differs from it in any
	// other way.
	appended(b []byte, was, v reflect.Value) ([]byte, bool)
	// take sets to, which must be zero, to the result of decoding the encoding of from, with its
	// own memory. It shares strings with was, a previously taken value, if that is valid. It
	// returns false if JSON would produce another value; to must then be discarded.
	take(to, from, was reflect.Value) bool
	// share sets to to a copy of from, a taken value, such that later changes to the copy do not
	// affect from. A list has capacity for spare more elements.
	share(to, from reflect.Value, spare int)
}

// member is a field of a struct.
type member struct {
	name  string
	key   []byte // `"name":`
	index []int
	form  form // if nil, encoding/json handles the whole field
	// omitEmpty and omitZero are the options of the tag.
	omitEmpty, omitZero bool
	// zero is the encoding of the zero value, nil if it is omitted.
	zero []byte
	typ  reflect.Type
	// flat and stable hold the results of the functions of the same names; both are false without a
	// form.
	flat, stable bool
}

func (f *member) in(v reflect.Value) reflect.Value {
	if len(f.index) == 1 {
		return v.Field(f.index[0])
	}
	return v.FieldByIndex(f.index)
}

// isOmitted reports whether the field is omitted from the object.
func (f *member) isOmitted(v reflect.Value) bool {
	if f.omitZero && (f.typ == timeType && timeIn(v).IsZero() || v.IsZero()) {
		return true
	}
	if !f.omitEmpty {
		return false
	}
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	default:
		return v.IsZero()
	}
}

// read decodes a complete field into v, which must be zero, using r. If keep is set, it returns the
// encoding of v, nil if v is omitted.
func (f *member) read(r *reader, raw []byte, v reflect.Value, keep bool) (canon []byte, ok bool) {
	if len(raw) == 0 {
		return nil, false
	}
	same := false
	if f.form != nil {
		*r = reader{b: raw, canon: true}
		if f.form.read(r, v) && r.end() {
			same = r.canon
		} else {
			v.SetZero()
			if json.Unmarshal(raw, v.Addr().Interface()) != nil {
				return nil, false
			}
		}
	} else if json.Unmarshal(raw, v.Addr().Interface()) != nil {
		return nil, false
	}
	switch {
	case !keep || f.isOmitted(v):
		return nil, true
	case same:
		return raw, true
	default:
		return f.write(nil, v)
	}
}

// write appends the encoding of a complete field to b.
func (f *member) write(b []byte, v reflect.Value) ([]byte, bool) {
	if f.form != nil {
		return f.form.append(b, v)
	}
	raw, err := encodeValue(v.Interface())
	return append(b, raw...), err == nil
}

// members returns the fields of a struct as JSON sees them. It returns false if encoding/json must
// handle the type.
func members(t reflect.Type, above []reflect.Type) ([]member, bool) {
	if t.Kind() != reflect.Struct || hasOwnJSON(t) {
		return nil, false
	}
	var out []member
	for sf := range t.Fields() {
		tag, tagged := sf.Tag.Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		if sf.Anonymous {
			if tagged || sf.Type.Kind() != reflect.Struct {
				return nil, false
			}
			inner, ok := members(sf.Type, above)
			if !ok {
				return nil, false
			}
			for _, m := range inner {
				m.index = append(slices.Clone(sf.Index), m.index...)
				out = append(out, m)
			}
			continue
		}
		if !sf.IsExported() || tag == "-" {
			continue
		}
		if name == "" {
			name = sf.Name
		}
		m := member{name: name, index: sf.Index, form: formOf(sf.Type, above), typ: sf.Type}
		for option := range strings.SplitSeq(options, ",") {
			switch option {
			case "":
			case "omitempty":
				m.omitEmpty = true
			case "omitzero":
				if m.omitZero = true; sf.Type != timeType && has(sf.Type, "IsZero") {
					return nil, false
				}
			default:
				return nil, false
			}
		}
		if !plainName(name) {
			return nil, false
		}
		m.key = append(appendText(nil, name), ':')
		m.flat, m.stable = flat(m.form), m.isStable()
		if zero := reflect.New(sf.Type).Elem(); !m.isOmitted(zero) {
			var ok bool
			if m.zero, ok = m.write(nil, zero); !ok {
				return nil, false
			}
		}
		out = append(out, m)
	}
	for i, m := range out { // encoding/json decides which duplicate wins
		if slices.ContainsFunc(out[:i], func(o member) bool { return strings.EqualFold(o.name, m.name) }) {
			return nil, false
		}
	}
	return out, true
}

// plainName reports whether JSON represents a name without escapes.
func plainName(name string) bool {
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' &&
			c != '.' {
			return false
		}
	}
	return name != ""
}

// hasOwnJSON reports whether a type defines its own JSON form.
func hasOwnJSON(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return slices.ContainsFunc([]reflect.Type{jsonMarshaler, jsonUnmarshaler, textMarshaler, textUnmarshaler},
		func(i reflect.Type) bool {
			return t.Implements(i) || p.Implements(i)
		})
}

func has(t reflect.Type, method string) bool {
	_, ok := t.MethodByName(method)
	if !ok {
		_, ok = reflect.PointerTo(t).MethodByName(method)
	}
	return ok
}

// formOf returns the form of a type, nil if encoding/json must handle it. above holds the enclosing
// types: a recursive type is left to encoding/json.
func formOf(t reflect.Type, above []reflect.Type) form {
	if t == timeType {
		return timeForm{}
	}
	if hasOwnJSON(t) || t == reflect.TypeFor[json.Number]() || slices.Contains(above, t) {
		return nil
	}
	above = append(slices.Clip(above), t)
	switch t.Kind() {
	case reflect.Bool:
		return boolForm{}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return intForm{}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return uintForm{}
	case reflect.Float32, reflect.Float64:
		return floatForm{bits: t.Bits()}
	case reflect.String:
		return textForm{}
	case reflect.Pointer:
		if elem := formOf(t.Elem(), above); elem != nil {
			return pointerForm{elem: t.Elem(), form: elem}
		}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return nil
		}
		if t == reflect.TypeFor[[]string]() {
			return textsForm{}
		}
		if elem := formOf(t.Elem(), above); elem != nil {
			return listForm{elem}
		}
	case reflect.Map:
		if k := t.Key(); k.Kind() != reflect.String || hasOwnJSON(k) {
			return nil
		}
		if elem := formOf(t.Elem(), above); elem != nil {
			return mapForm{typ: t, elem: elem}
		}
	case reflect.Struct:
		fields, ok := members(t, above)
		if !ok || slices.ContainsFunc(fields, func(m member) bool { return m.form == nil }) {
			return nil
		}
		return structForm{fields: fields}
	}
	return nil
}
