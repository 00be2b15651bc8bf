package enginetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/text"
)

// derived lists fields of the engine's state that are recomputed on demand, so they may differ
// between a run and the fold of its events.
var derived = map[string]bool{"state.plan": true, "state.kept": true, "Value.grow": true, "Loop.spare": true,
	"Loop.block": true, "Loop.size": true, "Scope.shared": true, "block.settled": true, "Graph.flows": true,
	"Graph.texts": true, "Graph.input": true,
	"Graph.wake": true, "Graph.awake": true, "Graph.precomputed": true, "workPool.spare": true, "workPool.block": true,
	"workPool.size": true,
	"Graph.native":  true, "State.native": true, "Time.loc": true}

// State returns everything that a run knows as JSON with the engine's own names, without empty
// values, so that two runs can be compared. It includes the counters that the run keeps of its
// calls.
func State(r *engine.Run) []byte {
	var b bytes.Buffer
	writeState(&b, reflect.ValueOf(r).Elem().FieldByName("state"))
	return b.Bytes()
}

// writeState writes a value by its kind alone, because methods of unexported fields cannot be
// called.
func writeState(b *bytes.Buffer, v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		b.WriteString(strconv.FormatBool(v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		b.WriteString(strconv.FormatInt(v.Int(), 10))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		b.WriteString(strconv.FormatUint(v.Uint(), 10))
	case reflect.Float32, reflect.Float64:
		b.WriteString(strconv.FormatFloat(v.Float(), 'g', -1, 64))
	case reflect.String:
		writeText(b, v.String())
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			b.WriteString("null")
			return
		}
		writeState(b, v.Elem())
	case reflect.Slice, reflect.Array:
		writeList(b, v)
	case reflect.Map:
		writeMap(b, v)
	case reflect.Struct:
		switch {
		case v.Type() == reflect.TypeFor[text.Text](): // regardless of its internal form
			writeText(b, textOf(v))
		case v.Type().Name() == "Output" && v.FieldByName("isText").Bool():
			writeText(b, string(expr.Quote(textOf(v.FieldByName("text")))))
		case v.Type().Name() == "Output" && v.FieldByName("value").IsNil():
			writeText(b, textOf(v.FieldByName("text")))
		case v.Type().Name() == "Output":
			writeState(b, v.FieldByName("value"))
		case v.Type().Name() == "calls": // calls of a loop
			writeCalls(b, v)
		default:
			writeStruct(b, v)
		}
	default:
		panic(fmt.Sprintf("the engine's state holds a %s", v.Type()))
	}
}

// textOf reads a text from an unexported field, whose methods cannot be called.
func textOf(v reflect.Value) string {
	return (*text.Text)(v.Addr().UnsafePointer()).String()
}

func writeList(b *bytes.Buffer, v reflect.Value) {
	if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
		writeText(b, string(v.Bytes()))
		return
	}
	b.WriteByte('[')
	for i := range v.Len() {
		if i > 0 {
			b.WriteByte(',')
		}
		writeState(b, v.Index(i))
	}
	b.WriteByte(']')
}

// writeMap writes the entries in the order of their keys, which are strings or integers.
func writeMap(b *bytes.Buffer, v reflect.Value) {
	writeEntries(b, entriesOf(v))
}

func entriesOf(v reflect.Value) map[string]reflect.Value {
	entries := make(map[string]reflect.Value, v.Len())
	for it := v.MapRange(); it.Next(); {
		var key bytes.Buffer
		writeState(&key, it.Key())
		entries[key.String()] = it.Value()
	}
	return entries
}

// writeCalls writes the calls of a loop by key.
func writeCalls(b *bytes.Buffer, v reflect.Value) {
	entries := entriesOf(v.FieldByName("more"))
	if one := v.FieldByName("one"); !one.IsNil() {
		entries[strconv.Quote(v.FieldByName("key").String())] = one
	}
	writeEntries(b, entries)
}

func writeEntries(b *bytes.Buffer, entries map[string]reflect.Value) {
	b.WriteByte('{')
	for i, key := range slices.Sorted(maps.Keys(entries)) {
		if i > 0 {
			b.WriteByte(',')
		}
		name := key
		if name[0] != '"' {
			name = strconv.Quote(name)
		}
		b.WriteString(name + ":")
		writeState(b, entries[key])
	}
	b.WriteByte('}')
}

func writeStruct(b *bytes.Buffer, v reflect.Value) {
	t := v.Type()
	b.WriteByte('{')
	first := true
	for i := range t.NumField() {
		f := t.Field(i)
		if isDerived(t, f) || isEmpty(v.Field(i)) {
			continue
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		b.WriteString(strconv.Quote(f.Name) + ":")
		writeState(b, v.Field(i))
	}
	b.WriteByte('}')
}

func isDerived(t reflect.Type, f reflect.StructField) bool {
	name, _, _ := strings.Cut(t.Name(), "[")                    // without type arguments
	return derived[name+"."+f.Name] || f.Tag.Get("json") == "-" // not kept by the journal
}

// isEmpty treats nil and empty lists as equal.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	case reflect.Struct:
		for i := range v.NumField() {
			if !isDerived(v.Type(), v.Type().Field(i)) && !isEmpty(v.Field(i)) {
				return false
			}
		}
		return true
	}
	return v.IsZero()
}

func writeText(b *bytes.Buffer, s string) {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	b.Write(text)
}
