package graph

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// form reads and writes the values of one type. Its results are those of encoding/json without escapes for HTML.
type form interface {
	// read takes one value from r into v, which is zero. False: encoding/json must see to it; v is then void.
	read(r *reader, v reflect.Value) bool
	// append adds the encoding of v. False: encoding/json must see to it.
	append(b []byte, v reflect.Value) ([]byte, bool)
	// equal tells whether a and b have the same encoding.
	equal(a, b reflect.Value) bool
	// tail adds the JSON of what v, a list or a text, has behind was, as edits of states have it. False: it has none, or more differs.
	tail(b []byte, was, v reflect.Value) ([]byte, bool)
	// take makes of to, which is zero, what decoding the encoding of from gives, with memory of its own. It shares texts with was, a value that was taken
	// before, if that is valid. False: JSON would make another value of it; to is then void.
	take(to, from, was reflect.Value) bool
	// share makes of to a copy of from, a value that was taken; whatever becomes of it, from stays as it is. A list has room for spare more elements.
	share(to, from reflect.Value, spare int)
}

// member is one field of a struct.
type member struct {
	name  string
	key   []byte // `"name":`
	index []int
	form  form // nil: encoding/json sees to the whole field
	// omitEmpty and omitZero are the options of the tag.
	omitEmpty, omitZero bool
	// zero is how the zero value is encoded, nil where it is left out.
	zero []byte
	typ  reflect.Type
	// flat and stable are as the functions of these names tell; both are false without a form.
	flat, stable bool
}

func (f *member) in(v reflect.Value) reflect.Value {
	if len(f.index) == 1 {
		return v.Field(f.index[0])
	}
	return v.FieldByIndex(f.index)
}

// leaves tells whether the field is left out of the object.
func (f *member) leaves(v reflect.Value) bool {
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

// read decodes a whole field into v, which is zero, by way of r. Where keep is set, it gives how v is encoded, nil where it is left out.
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
	case !keep || f.leaves(v):
		return nil, true
	case same:
		return raw, true
	default:
		return f.write(nil, v)
	}
}

// write adds the encoding of a whole field to b.
func (f *member) write(b []byte, v reflect.Value) ([]byte, bool) {
	if f.form != nil {
		return f.form.append(b, v)
	}
	raw, err := encodeValue(v.Interface())
	return append(b, raw...), err == nil
}

// members gives the fields of a struct as JSON has them. False: encoding/json must see to the type.
func members(t reflect.Type, above []reflect.Type) ([]member, bool) {
	if t.Kind() != reflect.Struct || says(t) {
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
		if zero := reflect.New(sf.Type).Elem(); !m.leaves(zero) {
			var ok bool
			if m.zero, ok = m.write(nil, zero); !ok {
				return nil, false
			}
		}
		out = append(out, m)
	}
	for i, m := range out { // which of two fields wins is left to encoding/json
		if slices.ContainsFunc(out[:i], func(o member) bool { return strings.EqualFold(o.name, m.name) }) {
			return nil, false
		}
	}
	return out, true
}

// plainName tells whether JSON holds a name as it is.
func plainName(name string) bool {
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' && c != '.' {
			return false
		}
	}
	return name != ""
}

// says tells whether a type decides its own form in JSON.
func says(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return slices.ContainsFunc([]reflect.Type{jsonMarshaler, jsonUnmarshaler, textMarshaler, textUnmarshaler}, func(i reflect.Type) bool {
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

// formOf gives the form of a type, nil where encoding/json must see to it. above are the types around it: one that holds itself is left to encoding/json.
func formOf(t reflect.Type, above []reflect.Type) form {
	if t == timeType {
		return timeForm{}
	}
	if says(t) || t == reflect.TypeFor[json.Number]() || slices.Contains(above, t) {
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
		if k := t.Key(); k.Kind() != reflect.String || says(k) {
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
