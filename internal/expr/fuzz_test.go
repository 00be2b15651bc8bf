package expr

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

func FuzzTemplate(f *testing.F) {
	for _, s := range []string{
		"a {{ $steps.gen.output }} b", "{{{ $steps.a-b.output.x[0]['y z'] }}}", "{{ $steps.par.outputs[1].output }}", "{{ $steps.", "{{ $", "{{ $steps['", "{{ $steps.a.output }", "\xff{{ $steps.a.output.\xff }}",
	} {
		f.Add(s, "v")
	}
	f.Fuzz(func(t *testing.T, src, value string) {
		for _, opts := range []Options{{}, {Steps: steps}} {
			tmpl, ps := ParseTemplate(src, opts)
			for _, p := range ps {
				if p.Offset < 0 || p.Length < 0 || p.Offset+p.Length > len(src) || p.Message == "" || p.Code == "" {
					t.Fatalf("problem %+v of %q", p, src)
				}
			}
			env := EnvMap{}
			for _, r := range tmpl.Refs() {
				if src[r.Offset:r.Offset+r.Length] != r.Text {
					t.Fatalf("reference %+v of %q", r, src)
				}
				env[r.Step()] = Entry{Output: quote(value)}
			}
			if got := tmpl.Expand(env); len(got) > len(src)+len(tmpl.Refs())*(3*len(value)+100) {
				t.Fatalf("%q expands to %d bytes", src, len(got))
			}
			if len(tmpl.Refs()) == 0 && tmpl.Expand(env) != src {
				t.Fatalf("text without references changed: %q", src)
			}
		}
	})
}

func FuzzCondition(f *testing.F) {
	for _, s := range []string{
		`{{ $steps.qa.output.ok }}`, `$steps.a.output == "x" && [1, 2.5].exists(t, t > $steps.qa.output.n)`, `"{{" + r'\' + """a"""`, `$steps.a-b.output - 1 < 2 // x`,
		`has($steps.a.output.b) ? $steps.par.outputs[k] : !true`, `{{ $steps['x'].output['y'] in ["a"] }}`, `1u + 2 == 3.0`, `((((((1))))))`, `-----1 == 1`, "\"\xff\" == 'a'", `b"a" == b"b"`, `x.{a}`, "`a`.b", `$steps.a.output.matches("(a+)+$")`,
	} {
		f.Add(s, `{"ok":true,"n":1.5,"b":[1,"x",null,{"c":1e9}]}`)
	}
	f.Fuzz(func(t *testing.T, src, output string) {
		for _, opts := range []Options{{}, {Steps: steps}} {
			c, ps := ParseCondition(src, opts)
			for _, p := range ps {
				if p.Offset < 0 || p.Length < 0 || p.Offset+p.Length > len(src) || p.Message == "" || p.Code == "" {
					t.Fatalf("problem %+v of %q", p, src)
				}
			}
			env := EnvMap{}
			for _, r := range c.Refs() {
				env[r.Step()] = Entry{Output: json.RawMessage(output)}
			}
			v, err := c.Eval(env)
			again, errAgain := c.Eval(env)
			if v != again || (err == nil) != (errAgain == nil) || (err != nil && err.Error() != errAgain.Error()) {
				t.Fatalf("%q: %v, %v, then %v, %v", src, v, err, again, errAgain)
			}
			if hasErrors(ps) && err == nil {
				t.Fatalf("%q has problems %v and evaluates", src, ps)
			}
			if err != nil && utf8.ValidString(src) && utf8.ValidString(output) && !utf8.ValidString(err.Error()) {
				t.Fatalf("%q: error is not UTF-8: %q", src, err)
			}
			if want, ok := c.Constant(); ok && err == nil && v != want {
				t.Fatalf("%q is constantly %v and gave %v", src, want, v)
			}
		}
	})
}
