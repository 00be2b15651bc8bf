package source

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/diag"
	_ "github.com/hocket-run/hocket/internal/randtest"
)

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"a: 1\n", `{"a": [1, "x\u00e9", null]}`, "a: &x {k: [1]}\nb: *x\nc: {<<: *x}\n", "a: |\n  x\n y: >-\n  z\n",
		"id: {{ x }}\n", "? a\n: b\n", "%YAML 1.2\n---\n- !!str 1\n...\n", "\ufeff- 'é'\n- \"\\t\"\n",
		"a: &a [*a]\n", "{{", "- - - -\n", "a: .inf\nb: 0x1F\n", "\r\na:\r  b\u2028: c\n",
		"a: !!binary x\n? [1]\n: 2\n", "*a : 1", "&a : &b\n", "a: !!bool x\nb: !!int y\nc: !!null z\nd: !!float w\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		o := Options{MaxBytes: 1 << 16, MaxValues: 2000, MaxDepth: 20}
		n, diags := o.Parse("f", data)
		if n == nil && len(diags) == 0 {
			t.Fatal("nothing and no reason")
		}
		if len(diags) > DefaultMaxProblems {
			t.Fatalf("%d problems", len(diags))
		}
		for _, d := range diags {
			checkSpan(t, d.Span, len(data))
			if d.Code == "" || d.Message == "" || !utf8.ValidString(d.Message+d.Hint) {
				t.Fatalf("%+v", d)
			}
		}
		if n == nil {
			return
		}
		out := n.JSON()
		if !json.Valid(out) {
			t.Fatalf("not JSON: %s", out)
		}
		again, more := Parse("f", out)
		if len(diags) == 0 && again.Kind >= List && (len(more) > 0 || string(again.JSON()) != string(out)) {
			t.Fatalf("%s comes back as %s, %v", out, again.JSON(), more)
		}
		values := 0
		var walk func(n *Node, depth int)
		walk = func(n *Node, depth int) {
			values++
			if depth > 20 || values > 2000 {
				t.Fatalf("depth %d, %d values", depth, values)
			}
			checkSpan(t, n.Span, len(data))
			if n.Kind == String {
				for at := range n.Text {
					checkSpan(t, n.SpanAt(at, 1), len(data))
				}
			}
			for _, item := range n.Items {
				walk(item, depth+1)
			}
			for _, e := range n.Entries {
				checkSpan(t, e.KeySpan, len(data))
				if n.Get(e.Key) != e.Value {
					t.Fatalf("key %q twice", e.Key)
				}
				walk(e.Value, depth+1)
			}
			_ = n.Path()
		}
		walk(n, 1)
	})
}

func checkSpan(t *testing.T, s diag.Span, size int) {
	t.Helper()
	if s.Start.Line < 1 || s.Start.Column < 1 || s.Start.Offset < 0 || s.Start.Offset > size || s.End.IsKnown() &&
		(s.End.Offset <= s.Start.Offset || s.End.Offset > size) {
		t.Fatalf("span %+v in %d bytes", s, size)
	}
}

// TestJSONRoundTrip checks that any JSON value survives unchanged.
func TestJSONRoundTrip(t *testing.T) {
	t.Parallel()
	var value func(t *rapid.T, depth int) any
	value = func(t *rapid.T, depth int) any {
		switch n := rapid.IntRange(0, 6).Draw(t, "kind"); {
		case n == 0:
			return nil
		case n == 1:
			return rapid.Bool().Draw(t, "bool")
		case n == 2:
			return rapid.Int64().Draw(t, "int")
		case n == 3 || depth > 3:
			return rapid.String().Draw(t, "string")
		case n == 4:
			return rapid.Float64().Draw(t, "float")
		case n == 5:
			return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) any { return value(t, depth+1) }), 0, 4).Draw(t, "list")
		}
		return rapid.MapOfN(rapid.String(), rapid.Custom(func(t *rapid.T) any { return value(t, depth+1) }), 0,
			4).Draw(t, "map")
	}
	rapid.Check(t, func(t *rapid.T) {
		var in []byte
		if rapid.Bool().Draw(t, "indented") {
			in, _ = json.MarshalIndent([]any{value(t, 0)}, "", "\t")
		} else {
			in, _ = json.Marshal([]any{value(t, 0)})
		}
		n, diags := Parse("f", in)
		if len(diags) > 0 {
			t.Fatalf("%s: %v", in, diags)
		}
		var a, b any
		if json.Unmarshal(in, &a) != nil || json.Unmarshal(n.JSON(), &b) != nil {
			t.Fatalf("%s gives %s", in, n.JSON())
		}
		x, _ := json.Marshal(a)
		y, _ := json.Marshal(b)
		if string(x) != string(y) {
			t.Fatalf("%s gives %s", x, y)
		}
	})
}
