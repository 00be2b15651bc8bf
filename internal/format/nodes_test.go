package format_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/format"
)

// TestRead_MaxNodes checks that a document has a limited number of nodes, wherever they are, and
// that nothing is made of one with more.
func TestRead_MaxNodes(t *testing.T) {
	t.Parallel()
	steps := func(n int) string {
		return strings.Repeat("    - {type: set, values: {a: x}}\n", n)
	}
	flat := "workflow:\n" + steps(9) + "    - {type: end, output: x}\n"
	nested := "workflow:\n  - type: map\n    over: [a]\n    steps:\n" + steps(20)
	for name, c := range map[string]struct {
		text string
		most int
		want bool
	}{
		"below": {flat, 12, false}, "above": {flat, 5, true}, "of a flow": {nested, 10, true},
	} {
		w, diags := format.Read("x", []byte(c.text), format.Options{MaxNodes: c.most})
		got := strings.Contains(fmt.Sprint(diags), format.CodeTooManyNodes)
		if got != c.want || got && (w != nil || len(diags) != 1) {
			t.Errorf("%s: %v", name, diags)
		}
	}
	w, diags := format.Read("x", []byte("workflow:\n"+steps(20_100)), format.Options{})
	if w != nil || len(diags) != 1 || diags[0].Code != format.CodeTooManyNodes {
		t.Errorf("the default: %d problems", len(diags))
	}
}
