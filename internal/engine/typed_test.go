package engine

import (
	"math/big"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/graph"
	"github.com/hocket-run/hocket/internal/engine/typed"
)

// TestReducer_IntegerSum checks that whole numbers are added exactly, whatever their size, and that
// the fast path for small numbers agrees with the general one (D27).
func TestReducer_IntegerSum(t *testing.T) {
	t.Parallel()
	numbers := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-9, 9),
		rapid.SampledFrom([]int64{0, 1e17, 999_999_999_999_999_999, -99_999_999_999_999_999}))
	rapid.Check(t, func(t *rapid.T) {
		var v [3]event.Value
		want := new(big.Int)
		for i := range v {
			if rapid.IntRange(0, 4).Draw(t, "absent") == 0 {
				continue
			}
			n := numbers.Draw(t, "n")
			v[i] = strconv.AppendInt(nil, n, 10)
			if x := big.NewInt(n); i == 0 {
				want.Sub(want, x)
			} else {
				want.Add(want, x)
			}
		}
		if got, ok := sumWhole(v[0], v[1], v[2]); !ok || string(got) != want.String() {
			t.Fatalf("base %s, %s and %s give %s, not %s", v[0], v[1], v[2], got, want)
		}
	})
	for _, no := range []string{"1.5", "1e3", `"1"`, "true"} {
		if _, ok := sumWhole(nil, event.Value("1"), event.Value(no)); ok {
			t.Errorf("%s is taken for a whole number", no)
		}
	}
}

// TestState_CopyOnWrite checks that a state does not change after it was returned.
func TestState_CopyOnWrite(t *testing.T) {
	t.Parallel()
	r := &Run{machine{graph: &runGraph{
		Scopes: []graph.Scope{{State: typed.StateOf(map[string]event.Value{"a": event.Value("1"),
			"b": event.Value("2")}, 0)}},
	}}}
	before := r.graph.Scope(0).State
	mine := r.State()
	r.graph.Scopes[0].State = before.With(typed.Changes{{Field: "a", Value: typed.Of(event.Value("3"), 1)}})
	after := r.graph.Scope(0).State
	mine["a"] = event.Value("4")
	seen := after.With(typed.Changes{{Field: "b", Value: typed.Of(event.Value("5"), 2)}})
	for name, got := range map[string]event.Value{"1": before.Get("a"), "3": after.Get("a"), "2": after.Get("b"),
		"5": seen.Get("b")} {
		if string(got) != name {
			t.Errorf("got %s, want %s", got, name)
		}
	}
}
