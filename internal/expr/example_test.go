package expr_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/expr/celexpr"
)

func ExampleTemplate() {
	tmpl, problems := expr.ParseTemplate("Translate: {{ $steps.gen.output }}",
		expr.Options{Steps: []expr.Step{{ID: "gen"}}})
	fmt.Println(len(problems))
	fmt.Println(tmpl.Expand(expr.EnvMap{"gen": {Output: json.RawMessage(`"A draft"`)}}))
	// Output:
	// 0
	// Translate: A draft <nil>
}

func ExampleCondition() {
	c, problems := celexpr.ParseCondition(`{{ $steps.qa.output.score >= 0.8 && $steps.qa.output.lang == "en" }}`,
		expr.Options{})
	fmt.Println(len(problems))
	fmt.Println(c.Eval(expr.EnvMap{"qa": {Output: json.RawMessage(`{"score": 1, "lang": "en"}`)}}))
	ok, err := c.Eval(expr.EnvMap{"qa": {Output: json.RawMessage(`{"score": "high", "lang": "en"}`)}})
	var failed *expr.EvalError
	fmt.Println(ok, errors.As(err, &failed))
	fmt.Println(failed.Source)
	fmt.Println(failed.Reason)
	// Output:
	// 0
	// true <nil>
	// false true
	// {{ $steps.qa.output.score >= 0.8 && $steps.qa.output.lang == "en" }}
	// cannot order $steps.qa.output.score (a string) with 0.8 (a number)
}
