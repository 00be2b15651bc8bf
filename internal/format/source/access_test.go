package source

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/diag"
)

func parse(t *testing.T, src string) *Node {
	t.Helper()
	n, diags := Parse("f", []byte(src))
	if len(diags) > 0 {
		t.Fatalf("diagnostics:\n%s", diags)
	}
	return n
}

func TestFields(t *testing.T) {
	t.Parallel()
	n := parse(t, "s: text\nn: 3\nbig: 123456789012345678901\nf: 2.5\nwhole: 3.0\nb: true\nnul: ~\nl: [a, b]\nm: {k: "+
		"v}\nid: 007x\nnum: 12\n")
	var diags diag.List
	f := n.Fields(&diags)
	if got := f.Str("s") + "|" + f.RequireStr("s") + "|" + f.Text("num") + "|" + f.Text("b") + "|" + f.Str("gone") +
		"|" + f.Str("nul"); got != "text|text|12|true||" {
		t.Errorf("texts: %s", got)
	}
	if i, ok := f.Int("n"); i != 3 || !ok {
		t.Errorf("Int: %d, %v", i, ok)
	}
	if i, ok := f.Int("whole"); i != 3 || !ok {
		t.Errorf("Int of 3.0: %d, %v", i, ok)
	}
	if _, ok := f.Int("gone"); ok {
		t.Error("Int of nothing")
	}
	if v, ok := f.Float("f"); v != 2.5 || !ok {
		t.Errorf("Float: %v, %v", v, ok)
	}
	if v, ok := f.Bool("b"); !v || !ok {
		t.Errorf("Bool: %v, %v", v, ok)
	}
	if diff := cmp.Diff(f.Strs("l"), []string{"a", "b"}); diff != "" {
		t.Error(diff)
	}
	if got := f.Map("m").Str("k"); got != "v" {
		t.Errorf("Map: %q", got)
	}
	if got := f.Map("gone").Map("deeper").Str("k"); got != "" || f.Map("gone").List("x") != nil ||
		f.Map("gone").Require("x") != nil {
		t.Errorf("chain of absent maps: %q", got)
	}
	if items, ok := f.RequireList("l"); len(items) != 2 || !ok {
		t.Errorf("RequireList: %v, %v", items, ok)
	}
	if f.RequireMap("m").Node().Path() != "m" || f.Get("nul") == nil || !f.Get("nul").IsNull() {
		t.Error("RequireMap or Get")
	}
	if len(diags) > 0 {
		t.Errorf("diagnostics:\n%s", diags)
	}
}

func TestFieldsProblems(t *testing.T) {
	t.Parallel()
	n := parse(t,
		"nodes:\n  - name: 5\n    count: \"3\"\n    ratio: x\n    on: yes\n    big: 123456789012345678901\n    part: "+
			"1.5\n    list: a\n    map: [1]\n    words: [a, 1]\n    empty: \"\"\n    nul: ~\n    idd: x\n    what: "+
			"y\n  - 7\n")
	var diags diag.List
	items, _ := n.Fields(&diags).RequireList("nodes")
	f := items[0].Fields(&diags)
	f.Str("name")
	f.Int("count")
	f.Float("ratio")
	f.Bool("on")
	f.Int("big")
	f.Int("part")
	f.List("list")
	f.Map("map")
	f.Strs("words")
	f.RequireStr("empty")
	f.RequireStr("nul")
	f.RequireStr("id")
	f.RequireList("gone")
	f.RequireMap("gone")
	f.Unknown(diag.Warning, "known")
	items[1].Fields(&diags).Str("x")
	want := []string{
		`f:2:11: error: expected a string, found a number (wrong-type); hint: put it in quotes: "5"`,
		`f:3:12: error: expected a whole number, found a string (wrong-type); hint: write the number without quotes`,
		`f:4:12: error: expected a number, found a string (wrong-type); hint: write the number without quotes`,
		`f:5:9: error: expected a boolean, found a string (wrong-type); hint: write true or false without quotes`,
		`f:6:10: error: 123456789012345678901 is too large a number (wrong-type)`,
		`f:7:11: error: expected a whole number, found a number (wrong-type)`,
		`f:8:11: error: expected a list, found a string (wrong-type)`,
		`f:9:10: error: expected a map, found a list (wrong-type)`,
		`f:10:16: error: expected a string, found a number (wrong-type); hint: put it in quotes: "1"`,
		`f:11:12: error: "empty" must not be empty (missing-key)`,
		`f:12:10: error: "nul" is missing (missing-key)`,
		`f:2:5: error: "id" is missing (missing-key)`,
		`f:2:5: error: "gone" is missing (missing-key)`,
		`f:2:5: error: "gone" is missing (missing-key)`,
		`f:13:5: warning: the key "idd" is not known here (unknown-key); hint: did you mean "id"?`,
		`f:14:5: warning: the key "what" is not known here (unknown-key)`,
		`f:15:5: error: expected a map, found a number (wrong-type)`,
	}
	if diff := cmp.Diff(lines(diags), want); diff != "" {
		t.Errorf("diagnostics (-got +want):\n%s", diff)
	}
	for i, path := range map[int]string{0: "nodes[0].name", 8: "nodes[0].words[1]", 11: "nodes[0]", 14: "nodes[0].idd",
		16: "nodes[1]"} {
		if diags[i].Path != path {
			t.Errorf("path %d = %q, want %q", i, diags[i].Path, path)
		}
	}
}

func TestNilNode(t *testing.T) {
	t.Parallel()
	var n *Node
	var diags diag.List
	if n.Get("x") != nil || n.Entry("x") != nil || !n.IsNull() || n.IsScalar() || n.Path() != "" ||
		string(n.JSON()) != "null" || n.Fields(&diags) != nil || n.SpanAt(0, 0).Start.IsKnown() {
		t.Error("a nil Node is something")
	}
	if _, ok := n.Int(); ok {
		t.Error("Int")
	}
	var f *Fields
	f.Unknown(diag.Error)
	if f.Node() != nil || f.Text("x") != "" || f.Str("x") != "" || len(diags) > 0 {
		t.Error("a nil Fields is something")
	}
}

// TestSpanAt checks that a position inside a text is found in the source, whatever the spelling.
func TestSpanAt(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, src, find, want string }{
		{"JSON", `{"a": "say {{ x }}"}`, "{{ x }}", "1:12-1:19"},
		{"JSON escapes", `{"a": "\"\u00e9\ud83d\ude00\n\\ {{ x }}"}`, "{{ x }}", "1:33-1:40"},
		{"JSON wide runes", `{"a": "é😀{{ x }}"}`, "{{ x }}", "1:10-1:17"},
		{"plain", "a: say {{ x }} now\n", "{{ x }}", "1:8-1:15"},
		{"double quotes", `a: "\t{{ x }}"`, "{{ x }}", "1:7-1:14"},
		{"single quotes", `a: 'it''s {{ x }}'`, "{{ x }}", "1:11-1:18"},
		{"literal block", "a: |\n  one\n\n    two {{ x }}\n  three\nb: 1\n", "{{ x }}", "4:9-4:16"},
		{"literal block, first line", "a: |-\n   {{ x }}", "{{ x }}", "2:4-2:11"},
		{"literal block with CRLF", "a: |\r\n  one\r\n  {{ x }}\r\n", "{{ x }}", "3:3-3:10"},
		{"literal block across lines", "a: |\n  one {{\n  x }}\n", "{{\nx }}", "2:7-3:7"},
		{"folded block gives the whole", "a: >\n  one\n  {{ x }}\n", "{{ x }}", "1:4"},
		{"plain over lines gives the whole", "a: one\n  {{ x }}\n", "{{ x }}", "1:4"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			n := parse(t, test.src).Get("a")
			at := indexOf(n.Text, test.find)
			s := n.SpanAt(at, len(test.find))
			got := s.String()[2:]
			if s.End.IsKnown() {
				got += "-" + diag.Span{Start: s.End}.String()[2:]
			}
			if got != test.want {
				t.Errorf("got %s, want %s (text %q)", got, test.want, n.Text)
			}
		})
	}
}

func indexOf(s, sub string) int {
	for i := range s {
		if len(s[i:]) >= len(sub) && s[i:i+len(sub)] == sub {
			return i
		}
	}
	return -1
}
