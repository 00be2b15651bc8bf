package celexpr

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/expr"
)

// listOf returns a value that is a list of n texts.
func listOf(t *testing.T, n int, text func(i int) string) *expr.Value {
	t.Helper()
	items := make([]string, n)
	for i := range items {
		items[i] = text(i)
	}
	raw, err := json.Marshal(items)
	if err != nil {
		t.Fatal(err)
	}
	v, problems, err := ParseValue(raw, expr.Options{Vars: []string{expr.VarPrevious}})
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	return v
}

// allocated returns the bytes that fn allocates, and those that are left of them afterwards.
func allocated(fn func()) (all, kept int64) {
	var before, after, rest runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	runtime.GC()
	runtime.ReadMemStats(&rest)
	return int64(after.TotalAlloc - before.TotalAlloc), int64(rest.HeapAlloc) - int64(before.HeapAlloc)
}

// TestValue_Memory checks that a compiled expression is small, that the expressions of one value
// parse what they share once, and that a value is made in about the memory that it takes.
func TestValue_Memory(t *testing.T) { //nolint:paralleltest // it measures the heap
	const n = 500
	var v *expr.Value
	_, kept := allocated(func() {
		v = listOf(t, n, func(i int) string { return fmt.Sprintf("{{ $steps.a.output[%d] + 1 }}", i) })
	})
	if kept > n*10_000 {
		t.Errorf("%d expressions keep %d bytes, want less than 10 KB each", n, kept)
	}
	numbers := json.RawMessage("[" + strings.TrimSuffix(strings.Repeat("1,", 50_000), ",") + "]")
	env := expr.EnvMap{"a": {Output: numbers}}
	for what, v := range map[string]*expr.Value{
		"items":     v,
		"reference": listOf(t, n, func(i int) string { return fmt.Sprintf("{{ $steps.a.output[%d] }}", i) }),
		"sizes":     listOf(t, n, func(int) string { return "{{ size($steps.a.output) }}" }),
	} {
		all, _ := allocated(func() {
			if _, err := v.Eval(env, 1<<20); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		})
		if all > 50<<20 {
			t.Errorf("%s: %d expressions allocate %d bytes over a value of %d", what, n, all, len(numbers))
		}
	}
	const size = 4 << 20
	twice := listOf(t, 2, func(int) string { return "{{ PREVIOUS_OUTPUT }}" })
	previous := expr.EnvMap{"$previous": {Output: expr.Quote(strings.Repeat("x", size))}}
	if all, _ := allocated(func() {
		if out, err := twice.Eval(previous, 1<<30); err != nil || len(out) < 2*size {
			t.Errorf("%d bytes, %v", len(out), err)
		}
	}); all > 3*size {
		t.Errorf("a value of %d bytes allocates %d", 2*size, all)
	}
	if all, _ := allocated(func() {
		if _, err := twice.Eval(previous, 2*size); !errors.Is(err, expr.ErrTooLarge) {
			t.Errorf("a value beyond its limit: %v, want ErrTooLarge", err)
		}
	}); all > size {
		t.Errorf("a value that is too large allocates %d bytes", all)
	}
}

// TestValue_Limits checks that the results of expressions count against the size of a value, and
// that their costs add up.
func TestValue_Limits(t *testing.T) {
	t.Parallel()
	env := expr.EnvMap{"a": {Output: expr.Quote(strings.Repeat("x", 10_000))}}
	for what, text := range map[string]string{
		"values": "{{ $steps.a.output + $steps.a.output }}", "texts": "so {{ $steps.a.output + 'y' }}",
	} {
		v := listOf(t, 100, func(int) string { return text })
		if _, err := v.Eval(env, 100_000); !errors.Is(err, expr.ErrTooLarge) {
			t.Errorf("%s: %v, want ErrTooLarge", what, err)
		}
		if out, err := v.Eval(env, 10_000_000); err != nil {
			t.Errorf("%s: %d bytes, %v", what, len(out), err)
		}
	}
	list := expr.EnvMap{"a": {Output: json.RawMessage("[" + strings.Repeat("1,", 50_000) + "1]")}}
	v := listOf(t, 200, func(int) string { return "{{ $steps.a.output.filter(x, x > 1) }}" })
	if _, err := v.Eval(list, 1<<20); err == nil || !strings.Contains(err.Error(), "2500000 units") {
		t.Errorf("%v, want that the expressions cost too much together", err)
	}
}
