package steps_test

import (
	"fmt"
	"testing"

	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/format/steps"
)

// TestConditionOnHandOver checks that a path is checked against the schema of the agent that
// answers. If the step's agent may hand over to one that answers in another form, nothing is known
// before it runs (S4-17).
func TestConditionOnHandOver(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		handoffs, other string
		refused         bool
	}{
		"no other agent":   {"[]", "paid", true},
		"another form":     {"[clerk]", "paid", false},
		"further on":       {"[middle]", "paid", false},
		"text":             {"[middle]", "", false},
		"all say the same": {"[twin]", "paid", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			form := func(key string) string {
				if key == "" {
					return ""
				}
				return fmt.Sprintf(
					"structured_output: {name: x, schema: {type: object, properties: {%s: {type: boolean}}}}", key)
			}
			root, diags := source.Parse("in.yaml", fmt.Appendf(nil, `
agents:
  front: {model: openai/x, handoffs: %s, %s}
  twin: {model: openai/x, %s}
  middle: {model: openai/x, handoffs: [clerk], %s}
  clerk: {model: openai/x, %s}
workflow:
  - {id: ask, type: agent, name: front}
  - {type: condition, condition: "{{ $steps.ask.output.paid }}", "true": [{type: agent, name: clerk}]}
`, tc.handoffs, form("open"), form("open"), form("open"), form(tc.other)))
			_, more := steps.Read(root, steps.Options{})
			diags = append(diags, more...)
			if diags.HasErrors() != tc.refused {
				t.Errorf("refused: %t, want %t\n%v", diags.HasErrors(), tc.refused, diags)
			}
		})
	}
}
