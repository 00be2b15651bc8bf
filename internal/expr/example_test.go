package expr_test

import (
	"encoding/json"
	"fmt"

	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/expr/celexpr"
)

func ExampleTemplate() {
	tmpl, problems := expr.ParseTemplate("Translate: {{ $steps.gen.output }}",
		expr.Options{Steps: []expr.Step{{ID: "gen"}}})
	fmt.Println(len(problems), tmpl.Expand(expr.EnvMap{"gen": {Output: json.RawMessage(`"A draft"`)}}))
	// Output: 0 Translate: A draft
}

func ExampleCondition() {
	c, problems := celexpr.ParseCondition(`{{ $steps.qa.output.score >= 0.8 && $steps.qa.output.lang == "en" }}`,
		expr.Options{})
	fmt.Println(len(problems))
	fmt.Println(c.Eval(expr.EnvMap{"qa": {Output: json.RawMessage(`{"score": 1, "lang": "en"}`)}}))
	fmt.Println(c.Eval(expr.EnvMap{"qa": {Output: json.RawMessage(`{"score": "high", "lang": "en"}`)}}))
	// Output:
	// 0
	// true <nil>
	// false condition did not resolve to boolean: "{{ $steps.qa.output.score >= 0.8 && $steps.qa.output.lang == "en" }}": cannot order $steps.qa.output.score (a string) with 0.8 (a number)
}
