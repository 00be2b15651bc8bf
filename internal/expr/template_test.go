package expr

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	_ "github.com/hocket-run/hocket/internal/randtest"
)

func TestTemplateExpand(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, src, want string }{
		{"no reference", "Just text.", "Just text."},
		{"empty", "", ""},
		{"one", "Improve: {{ $steps.gen.output }}!", "Improve: A draft!"},
		{"no spaces", "{{$steps.gen.output}}", "A draft"},
		{"line breaks inside", "{{\n\t$steps.gen.output\r\n}}", "A draft"},
		{"two", "{{ $steps.a.output }}-{{ $steps.qa.output.n }}", "yes-1"},
		{"number as written", "{{ $steps.qa.output.big }} {{ $steps.qa.output.score }}", "9007199254740993 0.9"},
		{"object is compact JSON", "{{ $steps.qa.output.o }}", `{"b":1,"a":2}`},
		{"HTML stays", "{{ $steps.qa.output.html }}", "<b>&"},
		{"null is nothing", "[{{ $steps.qa.output.nothing }}]", "[]"},
		{"S4-36 order", "{{ $steps.par.order }}", `["gen_1","gen-2","output"]`},
		{"S4-36 outputs", "{{ $steps.outer.outputs.inner.outputs }}",
			`{"researcher":{"output":"found","agent":"researcher"},"sum.up":{"output":"short","agent":"summarizer"}}`},
		{"D9 not a reference", "{{ name }} {{PREVIOUS_OUTPUT}} {{}} {{", "{{ name }} {{PREVIOUS_OUTPUT}} {{}} {{"},
		{"bare reference is text", "see $steps.gen.output", "see $steps.gen.output"},
		{"three braces", "{{{ $steps.a.output }}}", "{yes}"},
		{"literal braces before", "{{ {{ $steps.a.output }}", "{{ yes"},
		{"single braces", "{ $steps.a.output }", "{ $steps.a.output }"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			tmpl, ps := ParseTemplate(test.src, Options{Steps: steps})
			if len(ps) > 0 {
				t.Fatalf("problems: %v", ps)
			}
			got, err := tmpl.Expand(world)
			if diff := cmp.Diff(got, test.want); err != nil || diff != "" {
				t.Errorf("expanded: %v (-got +want):\n%s", err, diff)
			}
		})
	}
}

// TestTemplateExpand_Missing checks that a reference without a value is an error (S4-15).
func TestTemplateExpand_Missing(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"[{{ $steps.dot.ted.output }}]": "{{ $steps.dot.ted.output }}: $steps.dot.ted.output has no value",
		"{{ $steps.gen.output }} {{ $steps.qa.output.gone }}": "{{ $steps.qa.output.gone }}: $steps.qa.output.gone " +
			"has no value",
	} {
		tmpl, ps := ParseTemplate(src, Options{Steps: steps})
		if got, err := tmpl.Expand(world); len(ps) > 0 || err == nil || err.Error() != want || got != "" {
			t.Errorf("%s: %v, %q, %v", src, ps, got, err)
		}
	}
}

func TestTemplateProblems(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, src string
		want      []string
	}{
		{"unclosed", "a {{ $steps.gen.output",
			[]string{`2: error: {{ is never closed (unclosed-template); hint: write }} after the reference`}},
		{"unclosed before another", "{{ $steps.gen.output and {{ $steps.a.output }}",
			[]string{`0: error: {{ is never closed (unclosed-template); hint: write }} after the reference`}},
		{"one brace too few", "{{ $steps.gen.output } x",
			[]string{`0: error: {{ is never closed (unclosed-template); hint: write }} after the reference`}},
		{"filter", "{{ $steps.gen.output | upper }}",
			[]string{`21: error: "| upper" is not allowed in a template (bad-reference); hint: keep only the ` +
				`reference between {{ and }}`}},
		{"a reference later in the braces", "{{ has($steps.gen.output) }} {{ x }} {{ 1 + $input }}", []string{
			`3: error: "has($steps.gen.output)" is not allowed in a template (bad-reference); hint: keep only the ` +
				`reference between {{ and }}`,
			`40: error: "1 + $input" is not allowed in a template (bad-reference); hint: keep only the reference ` +
				`between {{ and }}`,
		}},
		{"S4-15 unknown step", "{{ $steps.gen.output }} {{ $steps.nope.output }}",
			[]string{`34: error: step "nope" not found (unknown-step); hint: steps here: gen, a, a-b, dot.ted, two ` +
				`words, qa, par, outer`}},
		{"all are reported", "{{ $steps.gne.output }}{{ $env }}{{ $steps.a.output }}", []string{
			`10: error: step "gne" not found (unknown-step); hint: did you mean "gen"?`,
			`26: error: unknown reference $env; only $steps can be referenced (bad-reference); hint: ` + refForm,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			tmpl, ps := ParseTemplate(test.src, Options{Steps: steps})
			if tmpl == nil {
				t.Fatal("no template")
			}
			if diff := cmp.Diff(texts(ps), test.want); diff != "" {
				t.Errorf("problems (-got +want):\n%s", diff)
			}
			for _, p := range ps {
				if p.Offset < 0 || p.Length < 0 || p.Offset+p.Length > len(test.src) {
					t.Errorf("%v lies outside the text", p)
				}
			}
		})
	}
}

func texts(ps []Problem) []string {
	var out []string
	for _, p := range ps {
		out = append(out, p.String())
	}
	return out
}

func TestTemplateRefs(t *testing.T) {
	t.Parallel()
	src := "{{ $steps.gen.output }} and {{ $steps.par.outputs[0].output.x }} and {{ $steps.gen.output }}"
	tmpl, ps := ParseTemplate(src, Options{Steps: steps})
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	var got []string
	for _, r := range tmpl.Refs() {
		if src[r.Offset:r.Offset+r.Length] != r.Text {
			t.Errorf("%q is not at %d", r.Text, r.Offset)
		}
		got = append(got, strings.Join(append(ids(r), r.Path...), "/"))
	}
	if diff := cmp.Diff(got, []string{"gen", "par/gen_1/x", "gen"}); diff != "" {
		t.Errorf("refs (-got +want):\n%s", diff)
	}
}

// TestTemplateInsertsVerbatim checks that for any string v, a template that inserts v yields v
// verbatim, whatever v looks like (SEC3, S4-16).
func TestTemplateInsertsVerbatim(t *testing.T) {
	t.Parallel()
	tmpl, ps := ParseTemplate("<{{ $steps.a.output }}|{{ $steps.b.output.p }}>", Options{})
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	hostile := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"{{ $steps.b.output }}", "{{ $steps.a.output }}", "$steps.a.output", "$&", "$1", "$`", "}}", "{{", `\u0000`,
		`"`, "null", "\u2028", "{{PREVIOUS_OUTPUT}}",
	}))
	rapid.Check(t, func(t *rapid.T) {
		v, w := hostile.Draw(t, "v")+hostile.Draw(t, "v2"), hostile.Draw(t, "w")
		p, err := json.Marshal(map[string]string{"p": w})
		if err != nil {
			t.Fatal(err)
		}
		got, err := tmpl.Expand(EnvMap{"a": {Output: quote(v)}, "b": {Output: p}})
		if want := "<" + v + "|" + w + ">"; err != nil || got != want {
			t.Fatalf("got %q, %v, want %q", got, err, want)
		}
	})
}

// TestExpandTokens checks that the canvas token is replaced everywhere, literally, once (S0-11,
// S0-13, SEC3).
func TestExpandTokens(t *testing.T) {
	t.Parallel()
	const token = "{{PREVIOUS_OUTPUT}}"
	for _, test := range []struct{ name, src, value, want string }{
		{"every occurrence", "a " + token + " b " + token, "x", "a x b x"},
		{"exact token only", "{{ PREVIOUS_OUTPUT }}", "x", "{{ PREVIOUS_OUTPUT }}"},
		{"JavaScript patterns", token, "$& $1 $` $'", "$& $1 $` $'"},
		{"the token in the value", token, token + token, token + token},
		{"no token", "plain", "x", "plain"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := ExpandTokens(test.src, token, test.value); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if got := ExpandTokens("abc", "", "x"); got != "abc" {
		t.Errorf("empty token: got %q", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		before, v, after := rapid.StringMatching(`[^{}]*`).Draw(t, "before"), rapid.String().Draw(t, "v"),
			rapid.StringMatching(`[^{}]*`).Draw(t, "after")
		if got := ExpandTokens(before+token+after, token, v); got != before+v+after {
			t.Fatalf("got %q", got)
		}
	})
}

func TestText(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ v, want string }{
		{`"a\nb"`, "a\nb"}, {`""`, ""}, {`null`, ""}, {``, ""}, {` 1.50 `, "1.50"}, {`true`, "true"},
		{`{ "b" : [ 1 , 2 ] , "a" : "<&>" }`, `{"b":[1,2],"a":"<&>"}`}, {`1e400`, "1e400"}, {`not json`, "not json"},
		{`"broken`, `"broken`},
	} {
		if got := Text(raw(test.v)); got != test.want {
			t.Errorf("Text(%s) = %q, want %q", test.v, got, test.want)
		}
	}
}

// TestMatchNumbers checks X-137.
func TestMatchNumbers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ op, operand, input, want string }{
		{OpLess, "10", `"9"`, "true"}, {OpLess, "10", `10`, "false"}, {OpLess, "-1", `" -1.5 "`, "true"},
		{OpLessOrEqual, "10", `10.0`, "true"}, {OpLessOrEqual, "1e1", `"11"`, "false"},
		{OpGreater, "9", `"10"`, "true"}, {OpGreater, "9", `9`, "false"},
		{OpGreaterOrEqual, " 9 ", `"9"`, "true"}, {OpGreaterOrEqual, "9", `8`, "false"},
		{OpGreater, "9", `"ten"`, `greater compares numbers, and the previous output "ten" is not one`},
		{OpGreater, "9", `null`, `greater compares numbers, and the previous output "" is not one`},
		{OpGreater, "9", `"NaN"`, `greater compares numbers, and the previous output "NaN" is not one`},
		{OpGreater, "9", `"0x10"`, `greater compares numbers, and the previous output "0x10" is not one`},
		{OpLess, "", `1`, `less compares numbers, and its value "" is not one`},
	} {
		got, err := Match(test.op, test.operand, raw(test.input))
		text := fmt.Sprint(got)
		if err != nil {
			text = err.Error()
		}
		if text != test.want {
			t.Errorf("Match(%q, %q, %s) = %s, want %s", test.op, test.operand, test.input, text, test.want)
		}
	}
}

// TestMatch checks S0-20 and S0-21.
func TestMatch(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		op, operand, input string
		want               bool
	}{
		{"equal", "Yes", `"yES"`, true},
		{"equal", "  yes\t", `"yes"`, true},
		{"equal", "yes", `" yes "`, false},
		{"contains", "DOG", `"a dog barks"`, true},
		{"contains", " dog ", `"hotdogs"`, true},
		{"contains", "cat", `"a dog"`, false},
		{"contains", "", `"anything"`, false},
		{"contains", "  \n", `"anything"`, false},
		{"equal", "", `""`, false},
		{"starts_with", "yes", `"yes"`, true},
		{"starts_with", "yes", `"yes indeed"`, false},
		{"Contains", "yes", `"yes indeed"`, false},
		{"", "yes", `"YES"`, true},
		{"contains", `"b":1`, `{"a":2, "b":1}`, true},
		{"equal", "12", `12`, true},
		{"equal", "null", `null`, false},
	} {
		if got, err := Match(test.op, test.operand, raw(test.input)); got != test.want || err != nil {
			t.Errorf("Match(%q, %q, %s) = %v, %v", test.op, test.operand, test.input, got, err)
		}
	}
}
