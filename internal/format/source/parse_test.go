package source

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/diag"
)

func lines(l diag.List) []string {
	var out []string
	for _, d := range l {
		out = append(out, d.String())
		for _, r := range d.Related {
			out = append(out, "  "+r.Span.String()+": "+r.Message)
		}
	}
	return out
}

// TestParseProblems checks every diagnostic with its exact line and column.
func TestParseProblems(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, src string
		want      []string
	}{
		{"empty", "", []string{"f:1:1: error: the document is empty (empty-document)"}},
		{"white space only", " \n\t\r\n", []string{"f:1:1: error: the document is empty (empty-document)"}},
		{"comments only", "# nothing\n", []string{"f:1:1: error: the document is empty (empty-document)"}},
		{"mark only", "---\n", []string{"f:1:1: error: the document is empty (empty-document)"}},
		{"byte order mark only", "\ufeff", []string{"f:1:1: error: the document is empty (empty-document)"}},

		{"invalid UTF-8", "a: ok\nb: é\xffx\n",
			[]string{"f:2:5: error: the byte 0xFF is not UTF-8 (bad-encoding); hint: save the file as UTF-8"}},
		{"UTF-16", "\xff\xfea\x00",
			[]string{"f:1:1: error: the byte 0xFF is not UTF-8 (bad-encoding); hint: save the file as UTF-8"}},
		{"control character", "a: b\nc: \x01\n",
			[]string{"f:2:4: error: the character U+0001 is not allowed in a document (bad-encoding)"}},
		{"byte order mark inside", "a: b\n\ufeffc: d\n",
			[]string{"f:2:1: error: the character U+FEFF is not allowed in a document (bad-encoding)"}},

		{"JSON trailing comma", "{\n  \"a\": 1,\n}\n",
			[]string{"f:3:1: error: invalid character '}' looking for beginning of object key string (syntax); hint: " +
				"remove the comma before it"}},
		{"JSON trailing comma in a list", "[1, 2,]",
			[]string{"f:1:7: error: invalid character ']' looking for beginning of value (syntax); hint: remove the " +
				"comma before it"}},
		{"JSON missing comma", "{\n  \"a\": 1\n  \"b\": 2\n}",
			[]string{"f:3:3: error: invalid character '\"' after object key:value pair (syntax); hint: a comma is " +
				"missing before it"}},
		{"JSON single quotes", "{'a': 1}",
			[]string{"f:1:2: error: invalid character '\\'' looking for beginning of object key string (syntax); " +
				"hint: JSON text needs double quotes"}},
		{"JSON bare key", "{a: 1}",
			[]string{"f:1:2: error: invalid character 'a' looking for beginning of object key string (syntax); hint: " +
				"keys need double quotes"}},
		{"JSON comment", "{\n  // no\n}",
			[]string{"f:2:3: error: invalid character '/' looking for beginning of object key string (syntax); hint: " +
				"JSON has no comments; YAML has"}},
		{"JSON line break in a string", "{\"é\": \"a\nb\"}",
			[]string{"f:1:9: error: invalid character '\\n' in string literal (syntax); hint: inside quotes, write " +
				"\\n for a line break and \\t for a tab"}},
		{"JSON ends early", "{\"a\": [1, 2\n\n", []string{"f:1:12: error: the JSON text ends too early (syntax)"}},
		{"JSON two values", "{}\n{}",
			[]string{
				"f:2:1: error: invalid character '{' after top-level value (syntax); hint: a document is one value",
			}},
		{"JSON duplicate key", "{\"a\": 1,\n \"b\": {\"x\": 1, \"\\u0078\": 2},\n \"a\": 3}", []string{
			`f:2:16: error: duplicate key "x", first at 2:8 (duplicate-key)`, "  f:2:8: the first of the two",
			`f:3:2: error: duplicate key "a", first at 1:2 (duplicate-key)`, "  f:1:2: the first of the two",
		}},
		{"JSON behind a byte order mark", "\ufeff{\"a\": }",
			[]string{"f:1:7: error: invalid character '}' looking for beginning of value (syntax)"}},
		{"JSON with CRLF", "{\r\n\"a\": 1,\r\n\"b\": x}",
			[]string{"f:3:6: error: invalid character 'x' looking for beginning of value (syntax)"}},

		{"YAML tab", "a:\n\tb: 1\n",
			[]string{"f:2:1: error: tabs are not allowed for indentation (syntax); hint: indent with spaces"}},
		{"YAML colon in text", "a: b: c\n",
			[]string{"f:1:5: error: a colon is not allowed here (syntax); hint: put a text that holds `: ` in " +
				"quotes, or check the indentation"}},
		{"YAML quotes never closed", "x: 1\na: \"x\n", []string{"f:3:1: error: the text ends inside quotes (syntax)",
			"  f:2:4: while scanning a quoted scalar"}},
		{"YAML at sign", "a: @x\n",
			[]string{"f:1:4: error: a value cannot begin with '@' (syntax); hint: put the value in quotes"}},
		{"YAML key without colon", "- a\nb\n",
			[]string{"f:3:1: error: a key without a colon (syntax); hint: check the indentation, or write key: value",
				"  f:2:1: while scanning a simple key"}},
		{"YAML list in a map", "a: 1\n- b\n",
			[]string{"f:2:1: error: the indentation does not match the lines above (syntax)",
				"  f:1:1: while parsing a block mapping"}},
		{"YAML list never closed", "a: [1,2", []string{"f:1:8: error: did not find expected ',' or ']' (syntax)",
			"  f:1:4: while parsing a flow sequence"}},
		{"YAML unknown alias", "a: *nope\n",
			[]string{"f:1:4: error: there is no anchor 'nope' (syntax); hint: define the anchor &name before its " +
				"alias *name"}},
		{"YAML alias in itself", "a: &a [1, *a]\n",
			[]string{"f:1:11: error: the alias *a is inside its own anchor (bad-alias)"}},
		{"YAML template as a value", "id: {{ x }}\n",
			[]string{"f:1:5: error: {{ begins a map in YAML, not a template (bad-key); hint: put the whole value in " +
				"quotes: \"{{ … }}\""}},
		{"YAML template with text behind", "- id: {{ $steps.x.output }} y\n",
			[]string{"f:1:29: error: did not find expected key (syntax); hint: put a value that begins with {{ in " +
				"quotes: \"{{ … }}\"", "  f:1:3: while parsing a block mapping"}},
		{"YAML map as a key", "? {a: 1}\n: 2\n", []string{"f:1:3: error: a key must be text, not a map (bad-key)"}},
		{"YAML two documents", "a: 1\n---\nb: 2\n",
			[]string{"f:2:1: error: a second document begins here (multiple-documents); hint: a file holds one " +
				"document; remove the line ---"}},
		{"YAML duplicate keys, all of them", "true: 1\n\"true\": 2\nb: {x: 1, x: 2}\n'true': 3\n", []string{
			`f:2:1: error: duplicate key "true", first at 1:1 (duplicate-key)`, "  f:1:1: the first of the two",
			`f:3:11: error: duplicate key "x", first at 3:5 (duplicate-key)`, "  f:3:5: the first of the two",
			`f:4:1: error: duplicate key "true", first at 1:1 (duplicate-key)`, "  f:1:1: the first of the two",
		}},
		{"YAML behind wide runes", "ключ: \"ü\"\nb: [é, @x]\n",
			[]string{"f:2:8: error: a value cannot begin with '@' (syntax); hint: put the value in quotes"}},
		{"YAML with U+2028", "a: \"x\u2028y\"\nb: @x\n",
			[]string{"f:2:4: error: a value cannot begin with '@' (syntax); hint: put the value in quotes"}},
		{"YAML tag", "a: !python/object x\n",
			[]string{"f:1:4: error: the tag !python/object is not known (unknown-tag); hint: remove it; quote the " +
				"value if it is text"}},
		{"YAML infinity", "a:\n  b: .inf\n",
			[]string{"f:2:6: error: .inf is not a JSON number (not-json); hint: quote it if it is text"}},
		{"YAML bad merge", "a: {<<: 3}\n",
			[]string{"f:1:9: error: << takes a map or a list of maps, not a number (bad-merge)"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, diags := Parse("f", []byte(test.src))
			if diff := cmp.Diff(lines(diags), test.want); diff != "" {
				t.Errorf("diagnostics (-got +want):\n%s", diff)
			}
		})
	}
}

func TestParseValues(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, src, want string }{
		{"JSON", `{"a": [1, 2.50, true, null, "x\n\u00e9\ud83d\ude00"], "b": {}}`,
			`{"a":[1,2.50,true,null,"x\né😀"],"b":{}}`},
		{"JSON keeps digits", `[123456789012345678901234567890, 1E+2, -0, 0.10]`,
			`[123456789012345678901234567890,1E+2,-0,0.10]`},
		{"JSON with tabs and CRLF", "{\r\n\t\"a\":\t1\r\n}\r\n", `{"a":1}`},
		{"JSON that YAML refuses", "{\"k\": \"\x7f\u2028\\/\"}", "{\"k\":\"\x7f\\u2028/\"}"},
		{"JSON scalar is YAML, too", `"x"`, `"x"`},
		{"byte order mark", "\ufeffa: 1\n", `{"a":1}`},
		{"YAML scalars", "a: 1\nb: 2.5\nc: true\nd: ~\ne:\nf: text\ng: 'q'\nh: \"\\u00e9\"\n",
			`{"a":1,"b":2.5,"c":true,"d":null,"e":null,"f":"text","g":"q","h":"é"}`},
		{"YAML numbers in other spellings", "[]\n", `[]`},
		{"YAML numbers", "c: 5.\nd: .5\ne: 123456789012345678901\ng: 1e3\nh: 1.10\ni: 0\nj: -0.5\nk: 1e+3\n",
			`{"c":5,"d":0.5,"e":123456789012345678901,"g":1e3,"h":1.10,"i":0,"j":-0.5,"k":1e+3}`},
		{"YAML numbers with leading zeros are text",
			"- 02134\n- 0912\n- -012\n- 007.5\n- 00\n- 0_1\n- '01'\n- 12:30\n" +
				"- 02134-1000\n",
			`["02134","0912","-012","007.5","00","0_1","01","12:30","02134-1000"]`},
		{"YAML numbers with leading zeros and a tag", "- !!int 010\n- !!str 010\n", `[8,"010"]`},
		{"YAML words that are not booleans", "a: yes\nb: no\nc: on\nd: off\ne: y\n",
			`{"a":"yes","b":"no","c":"on","d":"off","e":"y"}`},
		{"YAML booleans", "a: True\nb: FALSE\n", `{"a":true,"b":false}`},
		{"YAML dates are text", "a: 2026-11-21\n", `{"a":"2026-11-21"}`},
		{"YAML blocks", "a: |\n  x\n   y\nb: >-\n  p\n  q\n", `{"a":"x\n y\n","b":"p q"}`},
		{"S4-33 keys are text", "true: 1\n'false': 2\non: 3\nyes: 4\n1: 5\nnull: 6\n~: 7\n",
			`{"true":1,"false":2,"on":3,"yes":4,"1":5,"null":6,"~":7}`},
		{"aliases", "a: &x {k: [1]}\nb: *x\nc: [*x, *x]\n", `{"a":{"k":[1]},"b":{"k":[1]},"c":[{"k":[1]},{"k":[1]}]}`},
		{"alias as a key", "a: &k name\n*k : 1\n", `{"a":"name","name":1}`},
		{"merge", "base: &b {x: 1, y: 2}\nd:\n  y: 3\n  <<: *b\n  z: 4\n",
			`{"base":{"x":1,"y":2},"d":{"y":3,"z":4,"x":1}}`},
		{"merge list, earlier wins", "a: &a {x: 1}\nb: &b {x: 2, y: 2}\nc: {<<: [*a, *b]}\n",
			`{"a":{"x":1},"b":{"x":2,"y":2},"c":{"x":1,"y":2}}`},
		{"merge of a merge", "a: &a {x: 1}\nb: &b {<<: *a, y: 2}\nc: {<<: *b}\n",
			`{"a":{"x":1},"b":{"y":2,"x":1},"c":{"y":2,"x":1}}`},
		{"quoted << is a key", "a: {'<<': {x: 1}}\nb: \n", `{"a":{"<<":{"x":1}},"b":null}`},
		{"explicit string tag", "a: !!str 5\n", `{"a":"5"}`},
		{"document marks", "---\na: 1\n...\n", `{"a":1}`},
		{"HTML is left alone", "a: <b>&\n", `{"a":"<b>&"}`},
		{"tab after a colon", "a:\tb\n", `{"a":"b"}`},
		{"quoted template", "a: \"{{ x }}\"\nb: text {{ $steps.y.output }}\n",
			`{"a":"{{ x }}","b":"text {{ $steps.y.output }}"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			n, diags := Parse("f", []byte(test.src))
			if len(diags) > 0 {
				t.Fatalf("diagnostics:\n%s", diags)
			}
			if diff := cmp.Diff(string(n.JSON()), test.want); diff != "" {
				t.Errorf("JSON (-got +want):\n%s", diff)
			}
		})
	}
}

// TestParse_NumberSpelling checks that a number that is written otherwise than in JSON is read as
// YAML says, and named.
func TestParse_NumberSpelling(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{"0x1F": "31", "0o17": "15", "0b11": "3", "1_000": "1000",
		"+4915112345": "4915112345"} {
		n, diags := Parse("f", []byte("a: "+src+"\n"))
		said := fmt.Sprintf("f:1:4: warning: %s is read as the number %s (number-spelling); hint: quote it if "+
			"it is text, or write %[2]s", src, want)
		if got := string(n.JSON()); got != `{"a":`+want+`}` || len(diags) != 1 || lines(diags)[0] != said {
			t.Errorf("%s: %s, %v", src, got, diags)
		}
	}
}

// TestParse_YAMLInFlowStyle checks that only a file named as YAML may begin with a bracket without
// being JSON.
func TestParse_YAMLInFlowStyle(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ file, src, want string }{
		{"f.yaml", "{a: [x, 02], # why\n b: {c: d}}", `{"a":["x","02"],"b":{"c":"d"}}`},
		{"f.YML", "\ufeff[a, b,]\n", `["a","b"]`},
		{"f.yaml", `{"a": "\ud83d\ude00\/"}`, `{"a":"😀/"}`},
		{"f.yaml", "{a: ", "f.yaml:1:"},
		{"f.json", "{a: b}", "f.json:1:2: error: "},
		{"-", "{a: b}", "-:1:2: error: "},
	} {
		n, diags := Parse(test.file, []byte(test.src))
		if n == nil {
			if got := lines(diags); len(got) != 1 || !strings.HasPrefix(got[0], test.want) {
				t.Errorf("%s %q: %v", test.file, test.src, got)
			}
		} else if got := string(n.JSON()); got != test.want {
			t.Errorf("%s %q: %s", test.file, test.src, got)
		}
	}
}

// TestSpans checks the positions of values and keys, including ends if they are known.
func TestSpans(t *testing.T) {
	t.Parallel()
	show := func(n *Node) []string {
		var out []string
		var walk func(*Node)
		at := func(s diag.Span) string {
			text := s.String()[2:]
			if s.End.IsKnown() {
				text += "-" + diag.Span{Start: s.End}.String()[2:]
			}
			return text
		}
		walk = func(n *Node) {
			out = append(out, at(n.Span)+" "+n.Kind.String()+" "+n.Path())
			for _, e := range n.Entries {
				out = append(out, at(e.KeySpan)+" key "+e.Key)
				walk(e.Value)
			}
			for _, item := range n.Items {
				walk(item)
			}
		}
		walk(n)
		return out
	}
	for _, test := range []struct {
		name, src string
		want      []string
	}{
		{"JSON", "{\n \"é\" : [ 1, \"ü\" ],\r\n\t\"two words\":{}}", []string{
			"1:1-3:17 a map ", "2:2-2:5 key é", `2:8-2:18 a list ["é"]`, `2:10-2:11 a number ["é"][0]`,
			`2:13-2:16 a string ["é"][1]`,
			"3:2-3:13 key two words", `3:14-3:16 a map ["two words"]`,
		}},
		{"YAML", "nodes:\n  - id: é\n    data: {model: \"x\"}\n  - 5 # c\n", []string{
			"1:1-4:6 a map ", "1:1-1:6 key nodes", "2:3-4:6 a list nodes", "2:5-3:22 a map nodes[0]", "2:5-2:7 key id",
			"2:9-2:10 a string nodes[0].id",
			"3:5-3:9 key data", "3:11-3:22 a map nodes[0].data", "3:12-3:17 key model",
			"3:19-3:22 a string nodes[0].data.model", "4:5-4:6 a number nodes[1]",
		}},
		{"alias stands at its anchor", "a: &x [1]\nb: *x\n", []string{
			"1:1-2:2 a map ", "1:1-1:2 key a", "1:4-1:9 a list a", "1:8-1:9 a number a[0]", "2:1-2:2 key b",
			"1:4-1:9 a list b", "1:8-1:9 a number b[0]",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			n, diags := Parse("f", []byte(test.src))
			if len(diags) > 0 {
				t.Fatal(diags)
			}
			if diff := cmp.Diff(show(n), test.want); diff != "" {
				t.Errorf("spans (-got +want):\n%s", diff)
			}
		})
	}
}

// TestBounds checks that hostile texts are rejected fast, and that the error names the limit
// (SEC17).
func TestBounds(t *testing.T) {
	t.Parallel()
	laughs := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := range 9 {
		d := string(rune('0' + i))
		e := string(rune('1' + i))
		laughs += "a" + e + ": &a" + e + " [" + strings.TrimSuffix(strings.Repeat("*a"+d+",", 10), ",") + "]\n"
	}
	merges := "a000: &a000 {k000: 1}\n"
	for i := range 150 {
		merges += "a" + itoa(i+1) + ": &a" + itoa(i+1) + " {k" + itoa(i+1) + ": 1, <<: [*a" + itoa(i) + ", *a" +
			itoa(i) + "]}\n"
	}
	var deepBlock strings.Builder
	for i := range 3000 {
		deepBlock.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	const many, deep = "too-many-values", "document-too-deep"
	for _, test := range []struct{ name, src, code, message string }{
		{"size", strings.Repeat("[", 10<<20), "document-too-large",
			"the document has 10485760 bytes; the limit is 8388608"},
		{"JSON nesting", strings.Repeat("[", 8<<20), deep,
			"maps and lists are nested more than 200 deep; that is the limit"},
		{"JSON objects nesting", strings.Repeat(`{"a":`, 1<<20), deep, ""},
		{"YAML flow nesting", "a: " + strings.Repeat("[", 4<<20), deep, ""},
		{"YAML block nesting", strings.Repeat("- ", 4<<20), deep, ""},
		{"YAML keys nesting", strings.Repeat("? ", 4<<20), deep, ""},
		{"YAML indentation", deepBlock.String(), deep, ""},
		{"alias bomb", laughs, many, "the document has more than 200000 values, aliases expanded; that is the limit"},
		{"merge bomb", merges, many, ""},
		{"aliases of a long text", "x: &x " + strings.Repeat("x", 1<<20) +
			"\ny: [" + strings.Repeat("*x, ", 8) + "]\n",
			"document-too-large",
			"the texts of the document have more than 8388608 bytes, aliases expanded; that is the limit"},
		{"aliases of a long key", "x: &x {" + strings.Repeat("x", 1<<20) +
			": 1}\ny: [" + strings.Repeat("*x, ", 8) + "]\n",
			"document-too-large",
			"the texts of the document have more than 8388608 bytes, aliases expanded; that is the limit"},
		{"wide JSON", "[" + strings.Repeat("1,", 300_000) + "1]", many, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			// without the limits most of these would not finish during the test
			_, diags := Parse("f", []byte(test.src))
			if len(diags) != 1 || diags[0].Code != test.code || test.message != "" && diags[0].Message != test.message {
				t.Errorf("diagnostics: %v", diags)
			}
		})
	}
}

func itoa(i int) string {
	return string(rune('0'+i/100)) + string(rune('0'+i/10%10)) + string(rune('0'+i%10))
}

func TestParse_DepthLimit(t *testing.T) {
	t.Parallel()
	o := Options{MaxDepth: 3}
	for src, ok := range map[string]bool{`[[[]]]`: true, `[[[[]]]]`: false, `{"a":[{"b":1}]}`: false,
		`["[[[[",[[]]]`: true, "a: [[1]]": false, "a: [1]": true} {
		_, diags := o.Parse("f", []byte(src))
		if (len(diags) == 0) != ok {
			t.Errorf("%s: %v", src, diags)
		}
	}
}

func TestParse_ProblemLimit(t *testing.T) {
	t.Parallel()
	_, diags := Parse("f", []byte(strings.Repeat("a: 1\n", 500)))
	if len(diags) != DefaultMaxProblems {
		t.Fatalf("%d problems", len(diags))
	}
	if last := diags[len(diags)-1].String(); last != "f:101:1: error: there are 100 problems or more; only the first "+
		"99 are shown (too-many-problems)" {
		t.Error(last)
	}
}
