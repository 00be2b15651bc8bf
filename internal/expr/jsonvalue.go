package expr

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hocket-run/hocket/internal/jsontext"
)

// Value is a JSON value whose strings are interpolations, each evaluated separately, so that an
// inserted value can never change its shape. It is safe for concurrent use.
type Value struct{ root any }

// ParseValue parses JSON. The error is a JSON error; the problems are those of its strings, in a
// deterministic order.
func ParseValue(raw json.RawMessage, opts Options) (*Value, []Problem, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // numbers stay as they are written
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, nil, fmt.Errorf("read value: %w", err)
	}
	var problems []Problem
	return &Value{parseTexts(v, opts, &problems)}, problems, nil
}

func parseTexts(v any, opts Options, problems *[]Problem) any {
	switch x := v.(type) {
	case string:
		t, found := ParseInterpolation(x, opts)
		*problems = append(*problems, found...)
		return t
	case []any:
		for i := range x {
			x[i] = parseTexts(x[i], opts, problems)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(x)) {
			x[k] = parseTexts(x[k], opts, problems)
		}
	}
	return v
}

// ErrTooLarge is returned for a value that is larger than its limit. It is not built.
var ErrTooLarge = errors.New("the value is too large")

// Eval returns the value as compact JSON with sorted keys, of at most most bytes. The error is
// ErrTooLarge, or that of the first string without a value.
func (v *Value) Eval(env Env, most int64) (json.RawMessage, error) {
	memo := NewMemo(env)
	size := sizeOf(v.root, memo, most)
	if size > most {
		return nil, ErrTooLarge
	}
	return appendValue(make(json.RawMessage, 0, size+size/64), v.root, memo, most)
}

func appendValue(b json.RawMessage, v any, env Env, most int64) (_ json.RawMessage, err error) {
	if int64(len(b)) > most {
		return nil, ErrTooLarge
	}
	switch x := v.(type) {
	case *Interpolation:
		value, err := x.EvalWithin(env, most-int64(len(b)))
		if err != nil {
			return nil, err
		}
		c := bytes.NewBuffer(b)
		if err := json.Compact(c, value); err != nil {
			return nil, fmt.Errorf("read value: %w", err)
		}
		return c.Bytes(), nil
	case []any:
		b = append(b, '[')
		for i, e := range x {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = appendValue(b, e, env, most); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	case map[string]any:
		b = append(b, '{')
		for i, k := range slices.Sorted(maps.Keys(x)) {
			if i > 0 {
				b = append(b, ',')
			}
			b, _ = jsontext.AppendString(b, k)
			if b, err = appendValue(append(b, ':'), x[k], env, most); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	}
	text, err := json.Marshal(v) // a number as it was written, a boolean or null
	return append(b, text...), err
}

// Size is [Interpolation.Size] of all strings.
func (v *Value) Size(env Env, most int64) int64 { return sizeOf(v.root, NewMemo(env), most) }

func sizeOf(v any, env Env, most int64) (n int64) {
	switch x := v.(type) {
	case *Interpolation:
		return x.Size(env, most)
	case []any:
		n = int64(1 + len(x))
		for i := 0; i < len(x) && n <= most; i++ {
			n += sizeOf(x[i], env, most-n)
		}
	case map[string]any:
		n = int64(1 + 4*len(x))
		for _, k := range slices.Sorted(maps.Keys(x)) {
			if n += int64(len(k)); n <= most {
				n += sizeOf(x[k], env, most-n)
			}
		}
	}
	return n
}
