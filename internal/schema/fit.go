package schema

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// maxFits is the maximum number of places that Fit compares with the schema. A value with more is
// not changed.
const maxFits = 1000

// Fit returns value as the arguments of a call are read, and every violation that remains. A key
// whose value is null counts as absent if the schema does not allow null, and a whole number is
// written as one where the schema wants an integer, such as 5 for 5.0: models write both. The value
// is not copied if it has neither.
func (s *Schema) Fit(value json.RawMessage) (json.RawMessage, []Violation) {
	if len(value) <= MaxValueBytes {
		if v, problem := decode(value); problem == "" {
			f := fitter{schema: s}
			if v = f.fit(v, nil); f.changed && f.checked <= maxFits {
				value = encode(v, value)
			}
		}
	}
	return value, s.Validate(value)
}

type fitter struct {
	schema  *Schema
	checked int
	changed bool
}

// fit returns v, the value at path, as Fit describes.
func (f *fitter) fit(v any, path []string) any {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			x := v[name]
			at := append(slices.Clip(path), name)
			if allowed, known := f.allowed(x == nil, at); known && !slices.Contains(allowed, "null") {
				delete(v, name)
				f.changed = true
				continue
			}
			v[name] = f.fit(x, at)
		}
	case []any:
		for i, x := range v {
			v[i] = f.fit(x, append(slices.Clip(path), strconv.Itoa(i)))
		}
	case json.Number:
		allowed, _ := f.allowed(strings.ContainsAny(string(v), ".eE"), path)
		if !slices.Contains(allowed, "integer") {
			return v
		}
		if r, ok := new(big.Rat).SetString(string(v)); ok && r.IsInt() {
			f.changed = true
			return json.Number(r.Num().String())
		}
	}
	return v
}

// allowed is PathType if the place must be checked. Otherwise nothing is known.
func (f *fitter) allowed(check bool, path []string) (types []string, known bool) {
	if !check || f.checked > maxFits {
		return nil, false
	}
	f.checked++
	return f.schema.PathType(path)
}

// encode returns v as JSON, or otherwise if it cannot be encoded.
func encode(v any, otherwise json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return otherwise
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
