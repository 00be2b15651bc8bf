package celexpr

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/expr"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	_ "github.com/hocket-run/hocket/internal/randtest"
)

// outcome evaluates src in env and returns "true", "false", or the reason for the error.
func outcome(t *testing.T, src string, env expr.Env) string {
	t.Helper()
	c, ps := ParseCondition(src, expr.Options{Steps: steps})
	if refused(ps) {
		t.Fatalf("problems: %v", ps)
	}
	v, err := c.Eval(env)
	if err == nil {
		return fmt.Sprint(v)
	}
	// S4-10
	if want := fmt.Sprintf("condition did not resolve to boolean: \"%s\"", src); !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %q does not begin with %q", err, want)
	}
	return reasonOf(t, err)
}

// reasonOf returns the Reason of an *EvalError; any other error ends the test.
func reasonOf(t *testing.T, err error) string {
	t.Helper()
	failed, ok := errors.AsType[*expr.EvalError](err)
	if !ok {
		t.Fatalf("error is a %T", err)
	}
	return failed.Reason
}

// TestConditionTruth checks what a lone reference resolves to (S4-10).
func TestConditionTruth(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ output, want string }{
		{`true`, "true"}, {` false `, "false"},
		{`"true"`, "true"}, {`"Yes"`, "true"}, {`" 1\n"`, "true"}, {`"YES "`, "true"},
		{`"false"`, "false"}, {`"No"`, "false"}, {`"0"`, "false"}, {`"\tFALSE"`, "false"},
		{`"y"`, `$steps.x.output is "y"`}, {`""`, `$steps.x.output is ""`}, {`"yes!"`, `$steps.x.output is "yes!"`},
		{`1`, `$steps.x.output is 1`}, {`0`, `$steps.x.output is 0`}, {`null`, `$steps.x.output is null`},
		{`{}`, `$steps.x.output is {}`}, {`[true]`, `$steps.x.output is [true]`},
		{``, `$steps.x.output has no value`},
		{`"` + strings.Repeat("é", 900) + `"`, `$steps.x.output is "` + strings.Repeat("é", 59) + "…"},
	} {
		c, ps := ParseCondition("{{ $steps.x.output }}", expr.Options{})
		if len(ps) > 0 {
			t.Fatal(ps)
		}
		v, err := c.Eval(expr.EnvMap{"x": {Output: raw(test.output)}})
		got := fmt.Sprint(v)
		if err != nil {
			got = reasonOf(t, err)
		}
		if got != test.want {
			t.Errorf("%s: got %s, want %s", test.output, got, test.want)
		}
	}
}

func TestConditionEval(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ src, want string }{
		// Lone references.
		{`{{ $steps.qa.output.ok }}`, "true"},
		{`  {{$steps.qa.output.ok}}  `, "true"},
		{`$steps.a.output`, "true"},
		{`{{ $steps.a-b.output }}`, "false"},
		{`{{ $steps.qa.output.no }}`, "false"},
		{`{{ $steps.qa.output.gone }}`, "$steps.qa.output.gone has no value"},
		{`{{ $steps.dot.ted.output }}`, "$steps.dot.ted.output has no value"},
		{`{{ $steps.par.outputs.gen_1.output }}`, `$steps.par.outputs.gen_1.output is "one"`},

		// Braces around the whole expression, around parts, and none.
		{`{{ $steps.qa.output.score >= 0.8 && $steps.qa.output.lang == "en" }}`, "true"},
		{`{{ $steps.a.output }} == "yes"`, "true"},
		{`{{ $steps.a.output == "no" }} || {{ $steps.qa.output.ok }}`, "true"},
		{`$steps.a.output == 'yes'`, "true"},
		{`({{ $steps.qa.output.ok }})`, "true"},
		{"$steps.qa.output.ok // && {{ $steps.nope }} \n && true", "true"},
		{`"$5 {{ x }}" == '$5 {{ x }}' && $steps.qa.output.ok`, "true"},
		{`r"\" != "a" && """a"b""" != 'x' && $steps.qa.output.ok`, "true"},

		// P25: types are never mixed silently.
		{`$steps.qa.output.no == false`, "cannot compare $steps.qa.output.no (a string) with false (a boolean)"},
		{`$steps.qa.output.no != false`, "cannot compare $steps.qa.output.no (a string) with false (a boolean)"},
		{`$steps.qa.output.status == 200`, "cannot compare $steps.qa.output.status (a string) with 200 (a number)"},
		{`200 == $steps.qa.output.status`, "cannot compare 200 (a number) with $steps.qa.output.status (a string)"},
		{`$steps.qa.output.status > 100`, "cannot order $steps.qa.output.status (a string) with 100 (a number)"},
		{`$steps.qa.output.status + 1 == 201`, "cannot add $steps.qa.output.status (a string) with 1 (a number)"},
		{`$steps.qa.output.nothing == "x"`, `cannot compare $steps.qa.output.nothing (null) with "x" (a string)`},
		{`$steps.qa.output.nothing == null`, "true"},
		{`$steps.qa.output.lang != null`, "true"},
		{`$steps.qa.output.tags == ["a", 1]`, "cannot compare a string with a number inside a list or an object"},
		{`$steps.qa.output.tags == ["a"]`, "false"},
		{`$steps.qa.output.o == $steps.qa.output.o`, "true"},
		{`1 in $steps.qa.output.tags`, "cannot compare a number with a string inside a list or an object"},
		{`1 in $steps.qa.output.mixed`, "true"},
		{`"c" in $steps.qa.output.tags`, "false"},
		{`"b" in $steps.qa.output.o`, "true"},
		{`1 in $steps.qa.output.o`, "cannot look up 1 (a number) with $steps.qa.output.o (an object)"},
		{`"e" in $steps.qa.output.lang`, `cannot look up "e" (a string) with $steps.qa.output.lang (a string)`},
		{`$steps.a.output && true`, "&& needs a boolean, not $steps.a.output (a string)"},
		{`!$steps.a.output`, "! needs a boolean, not $steps.a.output (a string)"},
		{`$steps.a.output ? true : false`, "? needs a boolean, not $steps.a.output (a string)"},
		{`$steps.qa.output.tags.all(t, t == 1)`, "cannot compare t (a string) with 1 (a number)"},

		// The other operand does not hide an error.
		{`$steps.qa.output.no == false && $steps.qa.output.lang == "de"`,
			"cannot compare $steps.qa.output.no (a string) with false (a boolean)"},
		{`$steps.qa.output.gone == 1 || $steps.qa.output.ok`, "$steps.qa.output.gone has no value"},
		{`$steps.qa.output.ok || $steps.qa.output.gone == 1`, "true"},
		{`$steps.qa.output.lang == "de" && $steps.qa.output.gone == 1`, "false"},

		// Numbers are one type, as in JSON.
		{`$steps.qa.output.code == 200.0`, "true"},
		{`$steps.qa.output.n < 1.5 && $steps.qa.output.score <= 1`, "true"},
		{`$steps.qa.output.score + 1 > 1.5 && 1 + $steps.qa.output.score > 1.5`, "true"},
		{`$steps.qa.output.n / 2 == 0.5 && 4 / 2 == 2 && 1.0 / 2 == 0.5`, "true"},
		{`$steps.qa.output.n / 0 == 0`, "division by zero"},
		{`$steps.qa.output.code % 7 == 4 && 4.0 % 3 == 1`, "true"},
		{`$steps.qa.output.score % 2 == 1`, "% needs whole numbers"},
		{`$steps.qa.output.big == 9007199254740993 && $steps.qa.output.big != 9007199254740992`, "true"},
		{`-$steps.qa.output.n < 0`, "true"},

		// Functions and loops.
		{`$steps.qa.output.tags.exists(t, t == "b")`, "true"},
		{`$steps.qa.output.tags.exists_one(t, t == "a")`, "true"},
		{`$steps.qa.output.tags.filter(t, t != "a").map(t, t + "!") == ["b!"]`, "true"},
		{`$steps.qa.output.o.map(k, k) == ["a", "b"]`, "true"},
		{`$steps.qa.output.tags.size() == 2 && size($steps.qa.output.lang) == 2`, "true"},
		{`$steps.gen.output.lowerAscii().startsWith("a d") && $steps.gen.output.matches("^A.*t$")`, "true"},
		{`$steps.a-b.output.trim() == "NO"`, "true"},
		{`"[1, {\"a\": true}]".json()[1].a`, "true"},
		{`$steps.gen.output.json() == 1`, "json() needs a text that is JSON"},
		{`int($steps.qa.output.status) == 200`, "true"},
		{`has($steps.qa.output.ok) && !has($steps.qa.output.gone) && !has($steps.dot.ted.output)`, "true"},
		{`has($steps.qa.output.tags[0].x)`, "false"},
		{`$steps.qa.output.n.size() == 1`,
			"a function or an operator got a value of the wrong type (no such overload: size)"},
		{`$steps.qa.output.tags[2] == "x"`, "$steps.qa.output.tags[2] has no value"},
		{`$steps.qa.output.o["c"] == 1`, `$steps.qa.output.o["c"] has no value`},
		{`["a", "b"].all(k, $steps.qa.output.o[k] > 0)`, "true"},
		{`["c"].all(k, $steps.qa.output.o[k] > 0)`, `unknown field "c"`},

		// Parallel steps (S4-14, S4-36).
		{`$steps.par.outputs[0].output == $steps.par.outputs.gen_1.output`, "true"},
		{`$steps.par.outputs.exists(k, k == "gen_1" && $steps.par.outputs[k].output == "one")`, "true"},
		{`$steps.par.order == ["gen_1", "gen-2", "output"] && $steps.par.order[0] == "gen_1"`, "true"},
		{`$steps.outer.outputs.inner.researcher.output == "found"`, "true"},

		// S4-10 also applies to the outcome of an expression.
		{`$steps.qa.output.ok ? "yes" : "no"`, "true"},
		{`$steps.qa.output.ok ? $steps.qa.output.n : 2`, "it gives a number, not a boolean"},
		{`$steps.qa.output.ok ? "maybe" : "no"`, `it gives "maybe"`},
	} {
		t.Run(test.src, func(t *testing.T) {
			t.Parallel()
			if got := outcome(t, test.src, world); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestConditionProblems(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("(", 80) + "true" + strings.Repeat(")", 80)
	types := func(r expr.Ref) []string {
		switch r.Text {
		case "$steps.qa.output.ok":
			return []string{"boolean"}
		case "$steps.qa.output.n":
			return []string{"integer"}
		case "$steps.qa.output.lang":
			return []string{"string", "null"}
		}
		return nil
	}
	for _, test := range []struct {
		name, src string
		want      []string
	}{
		{"empty", " \n", []string{`0: error: the condition is empty (condition-empty)`}},
		{"nothing in braces", "{{ }}", []string{`4: error: syntax error: mismatched input ')' (bad-condition)`}},
		{"too long", strings.Repeat("x", expr.MaxConditionBytes+1),
			[]string{`4096: error: the condition has 4097 bytes; at most 4096 are allowed (condition-too-long); ` +
				`hint: let an agent decide and read its answer`}},
		{"too deep", deep, []string{`0: error: expression recursion limit exceeded: 64 (condition-too-deep)`}},
		{"too many loops", `[1].all(a, [1].all(b, [1].all(c, a == 1)))`,
			[]string{`29: error: comprehension exceeds nesting limit (condition-too-deep)`}},
		{"S4-11 unknown step", `$steps.qa.output.ok && {{ $steps.nope.output }} == "x"`,
			[]string{`33: error: step "nope" not found (unknown-step); hint: steps here: gen, a, a-b, dot.ted, two ` +
				`words, qa, par, outer`}},
		{"unclosed", "{{ $steps.a.output",
			[]string{`0: error: {{ is never closed (unclosed-template); hint: write }} at the end`}},
		{"stray braces", `$steps.a.output }} == "x"`, []string{`16: error: }} without its {{ (unclosed-template)`}},
		{"braces in braces", `{{ {{ $steps.a.output }} == "x" }}`,
			[]string{`3: error: {{ inside {{ (unclosed-template); hint: close the outer {{ first, or leave the ` +
				`inner one out`, `32: error: }} without its {{ (unclosed-template)`}},
		{"no dollar", `steps.a.output == "x"`,
			[]string{`0: error: undeclared reference to 'steps' (bad-condition); hint: a step's output is ` +
				`$steps.<id>.output; text is written in quotes`}},
		{"other dollar", `$a == "x"`,
			[]string{`0: error: unknown reference $a; only $steps can be referenced (bad-reference); hint: ` +
				refForm}},
		{"unknown function", `$steps.a.output.upper() == "x"`,
			[]string{`21: error: undeclared reference to 'upper' (bad-condition); hint: functions: ` +
				functionNames()}},
		{"no times", `timestamp($steps.a.output).getHours() == 1`, []string{
			`9: error: undeclared reference to 'timestamp' (bad-condition); hint: functions: ` + functionNames(),
			`35: error: undeclared reference to 'getHours' (bad-condition); hint: functions: ` + functionNames(),
		}},
		{"single equals", `$steps.a.output = "x"`, []string{
			`16: error: syntax error: token recognition error at: '= ' (bad-condition); hint: equality is ==`,
			`18: error: syntax error: extraneous input '"x"' (bad-condition); hint: equality is ==`,
		}},
		{"and", `$steps.qa.output.ok and true`,
			[]string{`20: error: syntax error: mismatched input 'and' (bad-condition); hint: write && for and, || ` +
				`for or, ! for not`}},
		{"the reference in the message", `not $steps.a.output`,
			[]string{`4: error: syntax error: extraneous input '$steps.a.output' (bad-condition); hint: write && for ` +
				`and, || for or, ! for not`}},
		{"second line", "$steps.qa.output.ok &&\n  nope == 1",
			[]string{`25: error: undeclared reference to 'nope' (bad-condition); hint: a step's output is ` +
				`$steps.<id>.output; text is written in quotes`}},
		{"behind wide runes", `"€€" == $steps.a.output && nope`,
			[]string{`31: error: undeclared reference to 'nope' (bad-condition); hint: a step's output is ` +
				`$steps.<id>.output; text is written in quotes`}},
		{"object literal", `{"a": 1}["a"] == 1`,
			[]string{`0: error: object literals are not supported in conditions (bad-condition)`}},
		{"has of a call", `has(size($steps.a.output))`,
			[]string{
				`8: error: has() takes a reference or a field, such as has($steps.qa.output.note) (bad-condition)`,
			}},
		{"quoted reference", `"{{ $steps.a.output }}" == "yes"`,
			[]string{`4: warning: this reference is inside quotes, where it is plain text (quoted-reference); hint: ` +
				`remove the quotes around the reference`}},
		{"bad regular expression", `$steps.a.output.matches("(")`,
			[]string{"24: error: invalid matches argument (bad-condition)"}},

		{"P25 literals", `1 == "1"`,
			[]string{`2: error: cannot compare 1 (a number) with "1" (a string) (type-mismatch)`}},
		{"P25 inferred", `size($steps.a.output) == "2"`,
			[]string{`22: error: cannot compare a number with "2" (a string) (type-mismatch)`}},
		{"P25 declared boolean", `$steps.qa.output.ok == "true"`,
			[]string{
				`20: error: cannot compare $steps.qa.output.ok (a boolean) with "true" (a string) (type-mismatch)`,
			}},
		{"P25 declared number", `$steps.qa.output.n > "1"`,
			[]string{`19: error: cannot order $steps.qa.output.n (a number) with "1" (a string) (type-mismatch)`}},
		{"P25 declared union", `$steps.qa.output.lang == 1`,
			[]string{`22: error: cannot compare $steps.qa.output.lang (a string or null) with 1 (a number) ` +
				`(type-mismatch)`}},
		{"P25 declared union that fits", `$steps.qa.output.lang == "en"`, nil},
		{"operand of &&", `$steps.qa.output.n && true`,
			[]string{`0: error: && needs a boolean, not $steps.qa.output.n (a number) (type-mismatch)`}},
		{"in a string", `"a" in "abc"`,
			[]string{`4: error: cannot look up "a" (a string) with "abc" (a string) (type-mismatch)`}},
		{"subtracting text", `"b" - "a" == "x"`,
			[]string{`4: error: cannot subtract "b" (a string) with "a" (a string) (type-mismatch)`}},
		{"lone number", `{{ $steps.qa.output.n }}`,
			[]string{`3: error: $steps.qa.output.n is a number by its declaration, so it can never resolve to a ` +
				`boolean (not-boolean)`}},
		{"lone list", `{{ $steps.par.order }}`,
			[]string{`3: error: $steps.par.order is a list by its declaration, so it can never resolve to a boolean ` +
				`(not-boolean)`}},
		{"result", `size($steps.a.output)`,
			[]string{`4: error: the result of the condition is a number, not a boolean (not-boolean); hint: compare ` +
				`it with a value`}},
		{"constant result", `1 + 1`,
			[]string{`0: error: the condition can never resolve to a boolean: it gives a number, not a boolean ` +
				`(not-boolean)`}},
		{"constant error", `1 / 0 == 1`,
			[]string{`0: error: the condition can never resolve to a boolean: division by zero (not-boolean)`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, ps := ParseCondition(test.src, expr.Options{Steps: steps, Types: types})
			if diff := cmp.Diff(texts(ps), test.want); diff != "" {
				t.Errorf("problems (-got +want):\n%s", diff)
			}
			if _, err := c.Eval(world); refused(ps) && err == nil {
				t.Error("a condition with errors evaluates")
			}
		})
	}
}

func TestConditionConstant(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ src, want string }{
		{`true`, "true"}, {`{{ false }}`, "false"}, {`"yes"`, "true"}, {`1 < 2 && size("ab") == 2`, "true"},
		{`$steps.a.output == "x" || true`, "true"}, {`false && $steps.a.output == "x"`, "false"},
		{`!(true || $steps.qa.output.ok)`, "false"},
		{`$steps.a.output == "x" ? true : 1 == 1`, "true"}, {`1 == 2 ? $steps.qa.output.ok : false`, "false"},
		{`$steps.a.output == $steps.a.output`, "true"}, {`$steps.a.output != $steps.a.output`, "false"},
		{`"{{ $steps.a.output }}" == "yes"`, "false"},
		{`{{ $steps.qa.output.ok }}`, "no"}, {`$steps.a.output == "x"`, "no"}, {`$steps.qa.output.ok && true`, "no"},
		{`true ? $steps.qa.output.ok : true`, "no"},
	} {
		c, ps := ParseCondition(test.src, expr.Options{Steps: steps})
		if refused(ps) {
			t.Errorf("%s: %v", test.src, ps)
			continue
		}
		got := "no"
		if v, ok := c.Constant(); ok {
			got = fmt.Sprint(v)
		}
		if got != test.want {
			t.Errorf("%s: constant %s, want %s", test.src, got, test.want)
		}
	}
}

func TestConditionRefs(t *testing.T) {
	t.Parallel()
	src := `{{ $steps.qa.output.ok }} && $steps.a.output == "$steps.gen.output" || {{ $steps.qa.output.ok }}`
	c, _ := ParseCondition(src, expr.Options{Steps: steps})
	var got []string
	for _, r := range c.Refs() {
		if src[r.Offset:r.Offset+r.Length] != r.Text {
			t.Errorf("%q is not at %d", r.Text, r.Offset)
		}
		got = append(got, r.Text)
	}
	if diff := cmp.Diff(got, []string{"$steps.qa.output.ok", "$steps.a.output", "$steps.qa.output.ok"}); diff != "" {
		t.Errorf("refs (-got +want):\n%s", diff)
	}
	if _, lone := c.Lone(); lone {
		t.Error("the expression counts as a lone reference")
	}
	c, _ = ParseCondition("{{ $steps.qa.output.ok }}", expr.Options{})
	if r, lone := c.Lone(); !lone || r.Step() != "qa" {
		t.Errorf("lone reference: %v, %v", r, lone)
	}
}

// TestConditionBounds checks that evaluation is limited by cost, never by time, and that many short
// terms are not "too deep" (D9).
func TestConditionBounds(t *testing.T) {
	t.Parallel()
	var list strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&list, `"%d",`, i)
	}
	env := expr.EnvMap{"a": {Output: raw("[" + list.String() + `"last"]`)}}
	for _, src := range []string{
		`$steps.a.output.all(a, $steps.a.output.exists(b, a == b))`,
		`$steps.a.output.map(a, $steps.a.output.map(b, a + b)).size() == 1`,
		`$steps.a.output.all(a, $steps.a.output == $steps.a.output)`,
		`$steps.a.output.all(a, a in $steps.a.output)`,
	} {
		c, ps := ParseCondition(src, expr.Options{})
		if len(ps) > 0 {
			t.Fatal(ps)
		}
		_, err := c.Eval(env)
		if want := fmt.Sprintf("it costs more than %d units to evaluate", expr.MaxCost); err == nil ||
			reasonOf(t, err) != want {
			t.Errorf("%s: %v, want %s", src, err, want)
		}
	}
	for _, src := range []string{
		`$steps.a.output.exists(a, a == "last")`,
		strings.TrimSuffix(strings.Repeat(`$steps.a.output.size() == 20001 && `, 100), "&& "),
		strings.TrimSuffix(strings.Repeat("1 + ", 40), "+ ") + " == 40",
	} {
		c, ps := ParseCondition(src, expr.Options{})
		if len(ps) > 0 {
			t.Fatal(ps)
		}
		if v, err := c.Eval(env); !v || err != nil {
			t.Errorf("%.60s: %v, %v", src, v, err)
		}
	}
}

// TestCondition_Deterministic checks that the result never depends on Go's map order: objects are
// walked in key order, errors included (D9).
func TestCondition_Deterministic(t *testing.T) {
	t.Parallel()
	env := expr.EnvMap{"a": {Output: raw(`{"e":"x","d":1,"c":true,"b":null,"a":[],"f":{}}`)}}
	for _, src := range []string{`$steps.a.output.map(k, k) == ["a","b","c","d","e","f"]`,
		`$steps.a.output.all(k, $steps.a.output[k] == 1)`} {
		c, ps := ParseCondition(src, expr.Options{})
		if len(ps) > 0 {
			t.Fatal(ps)
		}
		first, firstErr := c.Eval(env)
		for range 50 {
			if v, err := c.Eval(env); v != first || fmt.Sprint(err) != fmt.Sprint(firstErr) {
				t.Fatalf("%s: %v, %v, then %v, %v", src, first, firstErr, v, err)
			}
		}
	}
}

// TestCondition_ValuesAreData checks that in a condition, too, a value is data, whatever it looks
// like (SEC3).
func TestCondition_ValuesAreData(t *testing.T) {
	t.Parallel()
	c, ps := ParseCondition(`{{ $steps.a.output }} == $steps.b.output.p`, expr.Options{})
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	text := rapid.OneOf(rapid.String(),
		rapid.SampledFrom([]string{`" || true || "`, "{{ $steps.b.output.p }}", "true", "1"}))
	rapid.Check(t, func(t *rapid.T) {
		v, w := text.Draw(t, "v"), text.Draw(t, "w")
		got, err := c.Eval(expr.EnvMap{"a": {Output: expr.Quote(v)},
			"b": {Output: raw(`{"p":` + string(expr.Quote(w)) + `}`)}})
		if err != nil || got != (v == w) {
			t.Fatalf("%q == %q: %v, %v", v, w, got, err)
		}
	})
}
