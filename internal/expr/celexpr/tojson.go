package celexpr

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/hocket-run/hocket/internal/jsontext"
)

// toJSON appends a CEL value as JSON. A float with an integral value is written as an integer, and
// keys are in the order in which the object is walked.
func toJSON(b json.RawMessage, v ref.Val) (json.RawMessage, error) {
	switch v := v.(type) {
	case types.Null:
		return append(b, "null"...), nil
	case types.Bool:
		return strconv.AppendBool(b, bool(v)), nil
	case types.Int:
		return strconv.AppendInt(b, int64(v), 10), nil
	case types.Uint:
		return strconv.AppendUint(b, uint64(v), 10), nil
	case types.Double:
		f := float64(v)
		if math.IsInf(f, 0) || math.IsNaN(f) {
			return nil, fmt.Errorf("it gives %v, which JSON cannot represent", f)
		}
		if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			return strconv.AppendInt(b, int64(f), 10), nil
		}
		text, err := json.Marshal(f)
		return append(b, text...), err
	case types.String:
		out, _ := jsontext.AppendString(b, string(v))
		return out, nil
	case traits.Lister:
		return listToJSON(b, v)
	case traits.Mapper:
		return objectToJSON(b, v)
	}
	return nil, fmt.Errorf("it gives %s", kindOf(v))
}

func listToJSON(b json.RawMessage, v traits.Lister) (_ json.RawMessage, err error) {
	b = append(b, '[')
	for i := range v.Size().(types.Int) {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = toJSON(b, v.Get(i)); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

func objectToJSON(b json.RawMessage, v traits.Mapper) (_ json.RawMessage, err error) {
	b = append(b, '{')
	first := len(b)
	for it := v.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		field, _ := v.Find(key)
		if len(b) > first {
			b = append(b, ',')
		}
		if b, err = toJSON(b, key); err != nil {
			return nil, err
		}
		if b, err = toJSON(append(b, ':'), field); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}
