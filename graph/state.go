package graph

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hocket-run/hocket/internal/program"
)

// encode returns the top-level fields of a state.
func encode[S any](s S) (program.Fields, error) {
	raw, err := encodeValue(s)
	if err != nil {
		return nil, fmt.Errorf("encode state: %w", err)
	}
	var fields program.Fields
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, fmt.Errorf("encode state: %w", err)
	}
	return fields, nil
}

// encodeValue returns a value as compact JSON without HTML escapes.
func encodeValue(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// encodeFields encodes values by name.
func encodeFields(values map[string]any) (program.Fields, error) {
	out := program.Fields{}
	for k, v := range values {
		if !utf8.ValidString(k) {
			return nil, fmt.Errorf("the name %q is not UTF-8", k)
		}
		raw, err := encodeValue(v)
		if err != nil {
			return nil, err
		}
		out[k] = raw
	}
	return out, nil
}

// decode builds a state from its fields. Fields that S does not have belong to the graph: counters
// of loops are stored next to the state.
func decode[S any](fields program.Fields) (S, error) {
	var s S
	if len(fields) == 0 {
		return s, nil
	}
	raw, err := encodeValue(fields)
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	if err != nil {
		return s, fmt.Errorf("decode state: %w", err)
	}
	return s, nil
}

// changes returns the fields that differ. A field that `omitempty` omits afterwards is null.
func changes(before, after program.Fields) program.Fields {
	var out program.Fields
	put := func(name string, v json.RawMessage) {
		if out == nil {
			out = program.Fields{}
		}
		out[name] = v
	}
	for name, v := range after {
		if !bytes.Equal(before[name], v) {
			put(name, v)
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			put(name, json.RawMessage("null"))
		}
	}
	return out
}

var (
	jsonMarshaler   = reflect.TypeFor[json.Marshaler]()
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// ownForm reports whether a type defines its JSON form in both directions.
func ownForm(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(jsonMarshaler) && p.Implements(jsonUnmarshaler) || p.Implements(textMarshaler) &&
		p.Implements(textUnmarshaler)
}

// lossy lists the parts of a state's type that do not survive JSON, each with its path.
func lossy(t reflect.Type) []string {
	if t.Kind() != reflect.Struct || ownForm(t) {
		return []string{fmt.Sprintf("State type %s must be a struct that JSON encodes as an object", t)}
	}
	var out []string
	seen := map[reflect.Type]bool{}
	var walk func(t reflect.Type, path string)
	walk = func(t reflect.Type, path string) {
		if seen[t] || ownForm(t) {
			return
		}
		seen[t] = true
		switch t.Kind() {
		case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
			out = append(out, fmt.Sprintf("State field %s is a %s, which JSON cannot hold", path, t.Kind()))
			delete(seen, t) // each occurrence is reported
		case reflect.Interface:
			if t.NumMethod() > 0 {
				out = append(out, fmt.Sprintf("State field %s is the interface %s, which JSON cannot read back", path,
					t))
				delete(seen, t)
			}
		case reflect.Pointer, reflect.Slice, reflect.Array:
			walk(t.Elem(), path)
		case reflect.Map:
			if k := t.Key(); !ownForm(k) && (k.Kind() < reflect.Int || k.Kind() > reflect.Uintptr) &&
				k.Kind() != reflect.String {
				out = append(out, fmt.Sprintf("State field %s is a map with keys of type %s, which JSON cannot hold",
					path, k))
			}
			walk(t.Elem(), path)
		case reflect.Struct:
			for f := range t.Fields() {
				at := f.Name
				if path != "" {
					at = path + "." + f.Name
				}
				switch embedded := f.Anonymous && f.Type.Kind() == reflect.Struct; {
				case !f.IsExported() && !embedded:
					out = append(out, fmt.Sprintf("State field %s is not exported, so nodes would lose it", at))
				case f.Tag.Get("json") == "-":
					out = append(out, fmt.Sprintf("State field %s has the tag json:\"-\", so nodes would lose it", at))
				default:
					walk(f.Type, at)
				}
			}
		}
	}
	walk(t, "")
	return out
}

// stateFields returns the types of the top-level fields of S by their JSON names.
func stateFields(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	if t.Kind() != reflect.Struct {
		return out
	}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct || len(f.Index) > 1 &&
			!promoted(t, f.Index) {
			continue
		}
		if name == "" {
			name = f.Name
		}
		if _, taken := out[name]; !taken {
			out[name] = f.Type
		}
	}
	return out
}

// promoted reports whether JSON promotes the fields of all structs on the path to an embedded
// field, that is, whether none of them has a name of its own.
func promoted(t reflect.Type, index []int) bool {
	for i := range index[:len(index)-1] {
		f := t.FieldByIndex(index[:i+1])
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" || !f.Anonymous {
			return false
		}
	}
	return true
}

// number reports whether JSON encodes values of the type as numbers.
func number(t reflect.Type) bool {
	return slices.Contains([]reflect.Kind{
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8,
		reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Uintptr, reflect.Float32, reflect.Float64,
	}, t.Kind()) && !ownForm(t)
}
