package celexpr

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/hocket-run/hocket/internal/expr"
)

// celValue converts a JSON value to a CEL value. Whole numbers stay exact up to 64 bits, others
// become doubles.
func celValue(raw json.RawMessage) (ref.Val, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("read value: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("read value: more than one JSON value")
	}
	return fromJSON(v)
}

func fromJSON(v any) (ref.Val, error) {
	switch v := v.(type) {
	case nil:
		return types.NullValue, nil
	case bool:
		return types.Bool(v), nil
	case string:
		return types.String(v), nil
	case json.Number:
		if i, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return types.Int(i), nil
		}
		if u, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return types.Uint(u), nil
		}
		f, err := v.Float64()
		if err != nil {
			return nil, fmt.Errorf("the number %s is out of range", v)
		}
		return types.Double(f), nil
	case []any:
		items := make([]ref.Val, len(v))
		for i, x := range v {
			item, err := fromJSON(x)
			if err != nil {
				return nil, err
			}
			items[i] = item
		}
		return types.NewRefValList(types.DefaultTypeAdapter, items), nil
	case map[string]any:
		fields := make(map[ref.Val]ref.Val, len(v))
		for k, x := range v {
			field, err := fromJSON(x)
			if err != nil {
				return nil, err
			}
			fields[types.String(k)] = field
		}
		return object{
			Mapper: types.NewRefValMap(types.DefaultTypeAdapter, fields),
			keys:   slices.Sorted(maps.Keys(v)),
		}, nil
	}
	return nil, fmt.Errorf("unexpected %T", v)
}

// object is a JSON object whose keys are in sorted order: CEL's own maps are walked in Go's random
// order, which would let two evaluations of `$steps.a.output.map(k, k)` differ. Embedding the
// interface, not the type, also hides CEL's faster unordered walk.
type object struct {
	traits.Mapper
	keys []string
}

// Iterator implements traits.Iterable.
func (o object) Iterator() traits.Iterator {
	return types.NewStringList(types.DefaultTypeAdapter, o.keys).Iterator()
}

// typeError reports that an operator received operands that it does not accept. The evaluation
// returns it; [program.reason] turns it into a message.
type typeError struct {
	verb        string     // "compare", "add", …
	left, right expr.Kinds // right is 0 for an operator that requires a boolean
	inside      bool       // both are inside a list or object, so operand names would mislead
}

func (e *typeError) Error() string { return e.text([2]string{}) }

// text is Error with the names of the operands that have one: `cannot compare $steps.a.output (a
// string) with 200 (a number)`.
func (e *typeError) text(names [2]string) string {
	with := func(name string, k expr.Kinds) string {
		if name == "" || e.inside {
			return k.String()
		}
		return name + " (" + k.String() + ")"
	}
	where := ""
	if e.inside {
		where = " inside a list or an object"
	}
	if e.right == 0 {
		return fmt.Sprintf("%s needs a boolean, not %s", e.verb, with(names[0], e.left))
	}
	return fmt.Sprintf("cannot %s %s with %s%s", e.verb, with(names[0], e.left), with(names[1], e.right), where)
}

// equalInside is equal for the elements of lists and objects.
func equalInside(a, b ref.Val) (bool, error) {
	same, err := equal(a, b)
	if mismatch, ok := errors.AsType[*typeError](err); ok {
		mismatch.inside = true
	}
	return same, err
}

// equal compares two values of one type, lists and objects recursively. Different types anywhere
// are a *typeError (P25).
func equal(a, b ref.Val) (bool, error) {
	ka, kb := kindOf(a), kindOf(b)
	if ka != kb {
		return false, &typeError{verb: "compare", left: ka, right: kb}
	}
	switch ka {
	case expr.KindList:
		return equalLists(a.(traits.Lister), b.(traits.Lister))
	case expr.KindObject:
		return equalObjects(a.(traits.Mapper), b.(traits.Mapper))
	}
	return a.Equal(b) == types.True, nil
}

func equalLists(a, b traits.Lister) (bool, error) {
	n := a.Size().(types.Int)
	if b.Size() != n {
		return false, nil
	}
	for i := range n {
		if same, err := equalInside(a.Get(i), b.Get(i)); !same || err != nil {
			return false, err
		}
	}
	return true, nil
}

func equalObjects(a, b traits.Mapper) (bool, error) {
	if a.Size() != b.Size() {
		return false, nil
	}
	for it := a.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		other, ok := b.Find(key)
		if !ok {
			return false, nil
		}
		mine, _ := a.Find(key)
		if same, err := equalInside(mine, other); !same || err != nil {
			return false, err
		}
	}
	return true, nil
}

// contained is the `in` operator: a value in a list, a key in an object. A list that contains no
// equal element but an element of another type is an error.
func contained(x, in ref.Val) (bool, error) {
	switch in := in.(type) {
	case traits.Mapper:
		if kindOf(x) != expr.KindString {
			return false, &typeError{verb: "look up", left: kindOf(x), right: expr.KindObject}
		}
		_, ok := in.Find(x)
		return ok, nil
	case traits.Lister:
		var mismatch error
		for i := range in.Size().(types.Int) {
			same, err := equalInside(x, in.Get(i))
			if same {
				return true, nil
			}
			if mismatch == nil {
				mismatch = err
			}
		}
		return false, mismatch
	}
	return false, &typeError{verb: "look up", left: kindOf(x), right: kindOf(in)}
}

// compare orders two numbers, strings or booleans: it returns -1, 0 or 1.
func compare(a, b ref.Val) (int, error) {
	ka, kb := kindOf(a), kindOf(b)
	if ka != kb || ka&(expr.KindNumber|expr.KindString|expr.KindBool) == 0 {
		return 0, &typeError{verb: "order", left: ka, right: kb}
	}
	switch v := a.(traits.Comparer).Compare(b).(type) {
	case types.Int:
		return int(v), nil
	case *types.Err:
		return 0, v
	}
	return 0, &typeError{verb: "order", left: ka, right: kb}
}

// walkCost estimates the work of walking v, for the cost limit: one per value, one per ten bytes of
// text.
func walkCost(v ref.Val) uint64 {
	switch v := v.(type) {
	case types.String:
		return 1 + uint64(len(v))/10
	case traits.Mapper:
		n := uint64(1)
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			field, _ := v.Find(key)
			n += walkCost(key) + walkCost(field)
		}
		return n
	case traits.Lister:
		n := uint64(1)
		for i := range v.Size().(types.Int) {
			n += walkCost(v.Get(i))
		}
		return n
	}
	return 1
}
