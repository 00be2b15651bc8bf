package expr

import "testing"

func FuzzTemplate(f *testing.F) {
	for _, s := range []string{
		"a {{ $steps.gen.output }} b", "{{{ $steps.a-b.output.x[0]['y z'] }}}", "{{ $steps.par.outputs[1].output }}",
		"{{ $steps.", "{{ $", "{{ $steps['", "{{ $steps.a.output }", "\xff{{ $steps.a.output.\xff }}",
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
			got, err := tmpl.Expand(env)
			if len(got) > len(src)+len(tmpl.Refs())*(3*len(value)+100) {
				t.Fatalf("%q expands to %d bytes", src, len(got))
			}
			if len(tmpl.Refs()) == 0 && (err != nil || got != src) {
				t.Fatalf("text without references changed: %q, %v", src, err)
			}
		}
	})
}
