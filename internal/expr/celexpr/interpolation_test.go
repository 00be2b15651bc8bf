package celexpr

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/expr"
)

var valueEnv = expr.EnvMap{
	"a": {
		Output: json.RawMessage(`{"n":3,"f":1.50,"tags":["x","y"],"none":null,"text":"{{ $steps.b.output }}"}`),
	},
	"b":         {Output: json.RawMessage(`"plain <b>"`), Error: json.RawMessage(`{"code":"tool","message":"no"}`)},
	"agent":     {Output: json.RawMessage(`"x"`), Agent: "Agent"},
	"cut":       {Output: json.RawMessage(`"x"`), Agent: "Agent", StopReason: "length"},
	"caught":    {Output: json.RawMessage(`"x"`), Agent: "Agent", Error: json.RawMessage(`{"code":"tool"}`)},
	"gate":      {Output: json.RawMessage(`"x"`), Decision: "approve", Note: ""},
	"$input":    {Output: json.RawMessage(`"{\"city\":\"Ulm\"}"`)},
	"$previous": {Output: json.RawMessage(`{"k":1}`)},
	"$note":     {Output: json.RawMessage(`"shorter"`)},
}

var valueOptions = expr.Options{Vars: []string{expr.VarInput}}

// TestInterpolation checks that a text consisting of one expression keeps the type of its value,
// and that any other text is a string.
func TestInterpolation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ src, want string }{
		{"", `""`},
		{"no braces } }", `"no braces } }"`},
		{"{{ $steps.a.output.n }}", `3`},
		{"{{$steps.a.output.f}}", `1.50`},
		{"{{ $steps.a.output.tags }}", `["x","y"]`},
		{"{{ $steps.a.output.none }}", `null`},
		{" {{ $steps.a.output.n }}", `" 3"`},
		{"n={{ $steps.a.output.n }}, tags={{ $steps.a.output.tags }}{{ $steps.b.output }}",
			`"n=3, tags=[\"x\",\"y\"]plain <b>"`},
		{"{{ $steps.a.output.n + 1 }}", `4`},
		{"{{ $steps.a.output.n / 2 }}", `1.5`},
		{"{{ $steps.a.output.n * 2.0 }}", `6`},
		{"{{ $steps.a.output.n > 2 ? 'many' : 'few' }}", `"many"`},
		{"{{ $steps.a.output.tags.map(t, t + '!') }}", `["x!","y!"]`},
		{"{{ $steps.a.output }}", `{"n":3,"f":1.50,"tags":["x","y"],"none":null,"text":"{{ $steps.b.output }}"}`},
		{"{{ true ? $steps.a.output : null }}",
			`{"f":1.5,"n":3,"none":null,"tags":["x","y"],"text":"{{ $steps.b.output }}"}`},
		{"{{ $steps.a.output.text }}", `"{{ $steps.b.output }}"`},
		{`{{ "{{" }}`, `"{{"`},
		{`{{ '}}' + "}}" }}`, `"}}}}"`},
		{"{{ $input.city }}", `"Ulm"`},
		{"{{ $input }}", `"{\"city\":\"Ulm\"}"`},
		{"{{PREVIOUS_OUTPUT}}", `{"k":1}`},
		{"<{{ PREVIOUS_OUTPUT }}|{{APPROVAL_NOTE}}>", `"<{\"k\":1}|shorter>"`},
		{"{{ has($steps.a.output.gone) ? 1 : 2 }}", `2`},
		{"{{ $steps.b.error.code }}", `"tool"`},
		{"{{ has($steps.b.error) && !has($steps.a.error) }}", `true`},
		{"{{ $steps.gate.decision }}/{{ $steps.gate.note }}", `"approve/"`},
		{"{{ $steps.agent.stop_reason }} {{ $steps.cut.stop_reason }}", `"stop length"`},
		{"{{ $steps.cut.stop_reason == 'length' }}", `true`},
		{"{{ has($steps.gate.stop_reason) || has($steps.caught.stop_reason) }}", `false`},
	} {
		x, problems := ParseInterpolation(c.src, valueOptions)
		if len(problems) > 0 {
			t.Errorf("%s: %v", c.src, problems)
			continue
		}
		if got, err := x.Eval(valueEnv); err != nil || string(got) != c.want {
			t.Errorf("%s gives %s, %v, want %s", c.src, got, err, c.want)
		}
		for _, r := range x.Refs() {
			if c.src[r.Offset:r.Offset+r.Length] != r.Text {
				t.Errorf("%s: reference %+v", c.src, r)
			}
		}
		alone := len(x.Refs()) == 1 && strings.Trim(c.src, "{} ") == x.Refs()[0].Text
		if n := x.Size(valueEnv, 1<<20); alone && n < int64(len(c.want)-2) {
			t.Errorf("%s: size %d, value of %d bytes", c.src, n, len(c.want))
		}
	}
}

// TestInterpolationFails checks that a missing value is an error that names it.
func TestInterpolationFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ src, want string }{
		{"{{ $steps.c.output }}", "{{ $steps.c.output }}: $steps.c.output has no value"},
		{"x {{ $steps.a.output.gone }}", "{{ $steps.a.output.gone }}: $steps.a.output.gone has no value"},
		{"{{ $steps.a.output.n + 'x' }}",
			"{{ $steps.a.output.n + 'x' }}: cannot add $steps.a.output.n (a number) with \"x\" (a string)"},
		{"{{ $steps.a.error }}", "{{ $steps.a.error }}: $steps.a.error has no value"},
		{"{{ $steps.a.note }}", "{{ $steps.a.note }}: $steps.a.note has no value"},
		{"{{ 1.0 / 0.0 }}", "{{ 1.0 / 0.0 }}: it gives +Inf, which JSON cannot represent"},
		{"{{ 1 / 0 }}", "{{ 1 / 0 }}: division by zero"},
	} {
		x, problems := ParseInterpolation(c.src, valueOptions)
		if len(problems) > 0 {
			t.Errorf("%s: %v", c.src, problems)
			continue
		}
		if got, err := x.Eval(valueEnv); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s gives %s, %v, want %s", c.src, got, err, c.want)
		}
	}
}

func TestInterpolationProblems(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ src, want string }{
		{"a {{ $steps.x.output",
			"2: error: {{ is never closed (unclosed-template); hint: write }} after the expression"},
		{"{{ }}", "2: error: there is no expression between {{ and }} (condition-empty)"},
		{"ab {{ name }}", "6: error: undeclared reference to 'name' (bad-condition); hint: a step's output is " +
			"$steps.<id>.output; text is written in quotes"},
		{"{{ $other }}", "3: error: unknown reference $other; only $steps and $input can be referenced " +
			"(bad-reference); hint: " + refForm},
		{"ab {{ $steps.nope.output }}", "13: error: step \"nope\" not found (unknown-step); hint: steps here: a"},
	} {
		opts := valueOptions
		opts.Steps = []expr.Step{{ID: "a"}}
		x, problems := ParseInterpolation(c.src, opts)
		if len(problems) != 1 || problems[0].String() != c.want {
			t.Errorf("%s: %v, want %s", c.src, problems, c.want)
		}
		if _, literal := x.Literal(); literal {
			continue
		}
		if _, err := x.Eval(valueEnv); err == nil {
			t.Errorf("%s can be evaluated", c.src)
		}
	}
}

func TestValue(t *testing.T) {
	t.Parallel()
	v, problems, err := ParseValue(json.RawMessage(
		`{"b": ["{{ $steps.a.output.n }}", 1e2, null, true], "a": {"x": "t {{ $input.city }}"}}`), valueOptions)
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	got, err := v.Eval(valueEnv, 1<<20)
	if want := `{"a":{"x":"t Ulm"},"b":[3,1e2,null,true]}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	if _, _, err := ParseValue(json.RawMessage(`{"a"`), valueOptions); err == nil {
		t.Error("damaged JSON is read")
	}
}

func FuzzInterpolation(f *testing.F) {
	for _, s := range []string{
		"a {{ $steps.gen.output }} b", "{{ $steps.a.output + 1 }}{{PREVIOUS_OUTPUT}}", `{{ "{{" }}`, "{{ $input.x }}",
		"{{", "{{ }}", "{{ '", "{{ $steps.a.error.code }}",
	} {
		f.Add(s, `{"n":[1,2.5,{"x":null}]}`)
	}
	f.Fuzz(func(t *testing.T, src, output string) {
		x, ps := ParseInterpolation(src, valueOptions)
		for _, p := range ps {
			if p.Offset < 0 || p.Length < 0 || p.Offset+p.Length > len(src) || p.Message == "" || p.Code == "" {
				t.Fatalf("problem %+v of %q", p, src)
			}
		}
		env := expr.EnvMap{"$input": {Output: json.RawMessage(output)}}
		for _, r := range x.Refs() {
			if src[r.Offset:r.Offset+r.Length] != r.Text {
				t.Fatalf("reference %+v of %q", r, src)
			}
			if r.Var == "" {
				env[r.Step()] = expr.Entry{Output: json.RawMessage(output)}
			}
		}
		v, err := x.Eval(env)
		again, errAgain := x.Eval(env)
		if string(v) != string(again) || (err == nil) != (errAgain == nil) {
			t.Fatalf("%q: %s, %v, then %s, %v", src, v, err, again, errAgain)
		}
		if err == nil && json.Valid([]byte(output)) && !json.Valid(v) {
			t.Fatalf("%q gives %s", src, v)
		}
	})
}
