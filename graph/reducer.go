package graph

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/hocket-run/hocket/internal/program"
)

// Reducer says how two changes of one field by concurrent branches become one (D27). Branches are merged in declared order, so the result does not
// depend on which was faster. Without a reducer two such changes are an error that names both nodes and the field (P7).
type Reducer struct {
	word string
	fn   func(base, mine, theirs program.Value) (program.Value, error)
	// fits tells what is wrong with the type of the field, "" where it fits.
	fits func(reflect.Type) string
}

// Append adds to a list what each branch added at its end. A branch that changed or removed what was in the list before, while another one changed the
// list too, fails the block: the change would be lost.
func Append() Reducer {
	return Reducer{word: "append", fits: func(t reflect.Type) string {
		if t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 {
			return ""
		}
		return "needs a slice"
	}}
}

// Sum adds up by how much each branch changed a number.
func Sum() Reducer {
	return Reducer{word: "sum", fits: func(t reflect.Type) string {
		if number(t) {
			return ""
		}
		return "needs a number"
	}}
}

// MergeMap puts the keys together that each branch set or removed; of the same key the last branch counts.
func MergeMap() Reducer {
	return Reducer{word: "merge", fits: func(t reflect.Type) string {
		if t.Kind() == reflect.Map {
			return ""
		}
		return "needs a map"
	}}
}

// Last keeps the change of the branch that is declared last.
func Last() Reducer { return Reducer{word: "last", fits: func(reflect.Type) string { return "" }} }

// Reduce is a reducer of your own for fields of type T: base is the value at the fork, mine what the branches before made of it, theirs what this
// branch made of it. It must be pure.
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
