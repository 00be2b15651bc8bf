package graph

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/program"
)

// fill sets v to an arbitrary value.
func fill(t *rapid.T, v reflect.Value, depth int) {
	switch x := v.Addr().Interface().(type) {
	case *time.Time:
		*x = time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "unix"),
			rapid.SampledFrom([]int64{0, 1, 1e6}).Draw(t, "nano"))
		switch rapid.IntRange(0, 6).Draw(t, "zone") {
		case 0:
			*x = x.In(time.FixedZone("here", rapid.SampledFrom([]int{0, 3600, -5400, 30, 24 * 3600}).Draw(t, "offset")))
		case 1:
			*x = time.Now()
		case 2:
			*x = rapid.SampledFrom([]time.Time{{}, time.Time{}.In(time.FixedZone("", 3600)), time.Date(10000, 1, 1, 0,
				0, 0, 0, time.UTC), time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)}).Draw(t, "odd time")
		case 3: // unchanged, in the machine's time zone
		default:
			*x = x.UTC()
		}
		return
	case *json.RawMessage:
		*x = json.RawMessage(rapid.SampledFrom([]string{"null", "1", `{"b": 1, "a": "<"}`, "broken"}).Draw(t, "raw"))
		return
	case *json.Number:
		*x = json.Number(rapid.SampledFrom([]string{"", "1", "1.50", "no number"}).Draw(t, "number"))
		return
	case *any:
		*x = rapid.SampledFrom([]any{nil, 1.5, "text", true, []any{"a", nil}, map[string]any{"b": 1.0, "a": "<"},
			textual{"w"}, math.Inf(1)}).Draw(t, "any")
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Int, reflect.Int8:
		v.SetInt(rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(-128, 127)).Draw(t, "int"))
	case reflect.Uint8, reflect.Uint16:
		v.SetUint(rapid.Uint64Range(0, 255).Draw(t, "uint"))
	case reflect.Float32:
		v.SetFloat(float64(rapid.OneOf(rapid.Float32(), rapid.SampledFrom([]float32{0, 1, 1e-7, 1e21, 0.1})).Draw(t,
			"float32")))
	case reflect.Float64:
		v.SetFloat(
			rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, 1e-7, 1e21, 1e-10, 0.1,
				math.NaN()})).Draw(t, "float64"))
	case reflect.String:
		v.SetString(rapid.OneOf(rapid.SampledFrom(words), rapid.String()).Draw(t, "string"))
	case reflect.Pointer:
		if v.SetZero(); depth > 0 && rapid.Bool().Draw(t, "set") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem(), depth-1)
		}
	case reflect.Slice:
		n := rapid.IntRange(-1, min(depth, 2)+1).Draw(t, "length")
		if v.SetZero(); n >= 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				fill(t, v.Index(i), depth-1)
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(t, v.Index(i), depth-1)
		}
	case reflect.Map:
		n := rapid.IntRange(-1, min(depth, 2)+1).Draw(t, "size")
		if v.SetZero(); n >= 0 {
			v.Set(reflect.MakeMap(v.Type()))
			for range n {
				k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
				fill(t, k, depth-1)
				fill(t, e, depth-1)
				v.SetMapIndex(k, e)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() || v.Type().Field(i).Anonymous && f.Kind() == reflect.Struct {
				fillField(t, f, depth)
			}
		}
	}
}

// fillField fills a field, or the fields of an embedded struct of an unexported type.
func fillField(t *rapid.T, f reflect.Value, depth int) {
	if f.CanSet() {
		fill(t, f, depth)
		return
	}
	for _, inner := range f.Fields() {
		fill(t, inner, depth)
	}
}

// disturb turns fields into other forms that a run may have: other spellings of the same values,
// values of another type, names in a different case, missing or extra fields.
func disturb(t *rapid.T, fields program.Fields) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		raw := fields[name]
		switch rapid.IntRange(0, 11).Draw(t, "how") {
		case 0:
			var b bytes.Buffer
			if json.Indent(&b, raw, "", " ") == nil {
				fields[name] = b.Bytes()
			}
		case 1:
			var b bytes.Buffer
			json.HTMLEscape(&b, raw)
			fields[name] = b.Bytes()
		case 2:
			fields[name] = json.RawMessage(rapid.SampledFrom(spellings).Draw(t, "other"))
		case 3:
			delete(fields, name)
		case 4:
			delete(fields, name)
			fields[strings.ToUpper(name)] = raw
		case 5:
			fields[strings.ToUpper(name)] = json.RawMessage(rapid.SampledFrom(spellings).Draw(t, "beside"))
		}
	}
	if rapid.Bool().Draw(t, "counter") {
		maps.Copy(fields, program.Fields{"outputs.loop_start_1_iteration": json.RawMessage("3"),
			"$caught": json.RawMessage(`{"error":{}}`)})
	}
}
