package celexpr

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/expr"
)

func BenchmarkEvalReference(b *testing.B) {
	c, _ := ParseCondition(`{{ $steps.qa.output.ok }}`, expr.Options{})
	env := expr.EnvMap{"qa": {Output: json.RawMessage(`{"ok":true,"score":0.9}`)}}
	for b.Loop() {
		if _, err := c.Eval(env); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEvalCEL(b *testing.B) {
	c, _ := ParseCondition(`{{ $steps.qa.output.score >= 0.8 && $steps.qa.output.ok }}`, expr.Options{})
	env := expr.EnvMap{"qa": {Output: json.RawMessage(`{"ok":true,"score":0.9}`)}}
	for b.Loop() {
		if _, err := c.Eval(env); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEvalCostLimit(b *testing.B) {
	list := "[" + strings.Repeat(`"x",`, 20000) + `"y"]`
	env := expr.EnvMap{"a": {Output: json.RawMessage(list)},
		"s": {Output: json.RawMessage(`"` + strings.Repeat("a", 100000) + `"`)}}
	for name, src := range map[string]string{
		"nested": `$steps.a.output.all(a, $steps.a.output.all(b, a == "x" || true))`,
		"map":    `$steps.a.output.map(a, $steps.a.output.map(b, a + b)).size() == 1`,
		"equal":  `$steps.a.output.all(a, $steps.a.output == $steps.a.output)`,
		"in":     `$steps.a.output.all(a, a in $steps.a.output && "z" in $steps.a.output || true)`,
		"concat": `$steps.a.output.map(a, $steps.s.output + $steps.s.output).size() == 1`,
		"regex":  `$steps.a.output.all(a, $steps.s.output.matches("(a|a)*b") || true)`,
	} {
		b.Run(name, func(b *testing.B) {
			c, ps := ParseCondition(src, expr.Options{})
			if len(ps) > 0 {
				b.Fatal(ps)
			}
			for b.Loop() {
				_, err := c.Eval(env)
				if err == nil || !strings.Contains(err.Error(), "costs more") {
					b.Fatal(err)
				}
			}
		})
	}
}
