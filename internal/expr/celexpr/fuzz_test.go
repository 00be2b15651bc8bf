package celexpr

import (
	"encoding/json"
	"testing"

	"github.com/hocket-run/hocket/internal/expr"
	"unicode/utf8"
)

func FuzzCondition(f *testing.F) {
	for _, s := range []string{
		`{{ $steps.qa.output.ok }}`, `$steps.a.output == "x" && [1, 2.5].exists(t, t > $steps.qa.output.n)`,
		`"{{" + r'\' + """a"""`, `$steps.a-b.output - 1 < 2 // x`,
		`has($steps.a.output.b) ? $steps.par.outputs[k] : !true`, `{{ $steps['x'].output['y'] in ["a"] }}`,
		`1u + 2 == 3.0`, `((((((1))))))`, `-----1 == 1`, "\"\xff\" == 'a'", `b"a" == b"b"`, `x.{a}`, "`a`.b",
		`$steps.a.output.matches("(a+)+$")`,
	} {
		f.Add(s, `{"ok":true,"n":1.5,"b":[1,"x",null,{"c":1e9}]}`)
	}
	f.Fuzz(func(t *testing.T, src, output string) {
		for _, opts := range []expr.Options{{}, {Steps: steps}} {
			c, ps := ParseCondition(src, opts)
			for _, p := range ps {
				if p.Offset < 0 || p.Length < 0 || p.Offset+p.Length > len(src) || p.Message == "" || p.Code == "" {
					t.Fatalf("problem %+v of %q", p, src)
				}
			}
			env := expr.EnvMap{}
			for _, r := range c.Refs() {
				env[r.Step()] = expr.Entry{Output: json.RawMessage(output)}
			}
			v, err := c.Eval(env)
			again, errAgain := c.Eval(env)
			if v != again || (err == nil) != (errAgain == nil) || (err != nil && err.Error() != errAgain.Error()) {
				t.Fatalf("%q: %v, %v, then %v, %v", src, v, err, again, errAgain)
			}
			if refused(ps) && err == nil {
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
