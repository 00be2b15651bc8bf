package graph

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/hocket-run/hocket/internal/program"
)

// Reducer specifies how two changes of one field by concurrent branches are merged. Branches are
// merged in declared order, so the result does not depend on which was faster. Without a reducer,
// two such changes are an error that names both nodes and the field.
type Reducer struct {
	word string
	fn   func(base, mine, theirs program.Value) (program.Value, error)
	// fits describes why the type of the field is unsuitable; it returns "" if the type fits.
	fits func(reflect.Type) string
}

// Append returns a reducer that appends to a list what each branch appended. If a branch changed or
// removed existing elements while another one changed the list, too, the block fails, since the
// change would be lost.
func Append() Reducer {
	return Reducer{word: "append", fits: func(t reflect.Type) string {
		if t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 {
			return ""
		}
		return "needs a slice"
	}}
}

// Sum returns a reducer that adds up the differences by which the branches changed a number.
func Sum() Reducer {
	return Reducer{word: "sum", fits: func(t reflect.Type) string {
		if number(t) {
			return ""
		}
		return "needs a number"
	}}
}

// MergeMap returns a reducer that combines the keys that each branch set or removed; for the same
// key the last branch counts.
func MergeMap() Reducer {
	return Reducer{word: "merge", fits: func(t reflect.Type) string {
		if t.Kind() == reflect.Map {
			return ""
		}
		return "needs a map"
	}}
}

// Last returns a reducer that keeps the change of the branch declared last.
func Last() Reducer { return Reducer{word: "last", fits: func(reflect.Type) string { return "" }} }

// Reduce returns your own reducer for fields of type T: base is the value at the fork, mine the
// value merged from the previous branches, theirs the value of this branch. fn must be pure.
func Reduce[T any](fn func(base, mine, theirs T) T) Reducer {
	want := reflect.TypeFor[T]()
	r := Reducer{word: "func", fits: func(t reflect.Type) string {
		if t == want && fn != nil {
			return ""
		}
		return fmt.Sprintf("is a function of %s", want)
	}}
	r.fn = func(base, mine, theirs program.Value) (program.Value, error) {
		var v [3]T
		for i, raw := range []program.Value{base, mine, theirs} {
			if len(raw) == 0 {
				continue
			}
			if err := json.Unmarshal(raw, &v[i]); err != nil {
				return nil, err
			}
		}
		return encodeValue(fn(v[0], v[1], v[2]))
	}
	return r
}
