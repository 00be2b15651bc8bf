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
	cases := "workflow:\n" + steps(1) + "    - type: switch\n      cases:\n" +
		strings.Repeat("        - {when: \"{{ $input == 'x' }}\"}\n", 20)
	for name, c := range map[string]struct {
		text string
		most int
		want bool
	}{
		"below": {flat, 12, false}, "above": {flat, 5, true}, "of a flow": {nested, 10, true},
		"cases": {cases, 10, true}, "few cases": {cases, 30, false},
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

// TestRead_ManyPatterns checks that the patterns of a document count once for each agent that they
// apply to.
func TestRead_ManyPatterns(t *testing.T) {
	t.Parallel()
	document := func(patterns int) []byte {
		return []byte("permissions: {deny: [" + strings.Repeat("shell, ", patterns) + "shell]}\nagents: {" +
			agentsOf(400) + "}\nworkflow: [{type: agent, name: a0}]\n")
	}
	for patterns, want := range map[int]bool{499: false, 500: true} {
		_, diags := format.Read("d.yaml", document(patterns), format.Options{})
		if got := strings.Contains(fmt.Sprint(diags), "too-many-values"); got != want {
			t.Errorf("%d patterns of 400 agents: refused %v, want %v: %v", patterns+1, got, want, diags)
		}
	}
}

func agentsOf(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("a%d: {}", i)
	}
	return strings.Join(all, ", ")
}
