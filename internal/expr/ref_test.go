package expr

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// steps is the document that most tests refer to.
var steps = []Step{
	{ID: "gen"},
	{ID: "a"},
	{ID: "a-b"},
	{ID: "dot.ted"},
	{ID: "two words"},
	{ID: "qa"},
	{ID: "par", Children: []Step{{ID: "gen_1"}, {ID: "gen-2"}, {ID: "output"}}},
	{ID: "outer", Children: []Step{{ID: "g"}, {ID: "inner", Children: []Step{{ID: "researcher"}, {ID: "sum.up"}}}}},
}

func lexOne(t *testing.T, src string, expr bool, steps []Step) (Ref, *Problem, string) {
	t.Helper()
	l := &lexer{src: src, expr: expr, opts: Options{Steps: steps}}
	r, p := l.ref()
	return r, p, src[l.pos:]
}

func ids(r Ref) []string {
	var out []string
	for _, h := range r.Steps {
		if h.ID == "" {
			out = append(out, "#"+string(rune('0'+h.Index)))
			continue
		}
		out = append(out, h.ID)
	}
	return out
}

func TestRefForms(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, src string
		expr      bool
		unknown   bool // the document's steps are unknown
		steps     []string
		field     Field
		path      []string
		rest      string
	}{
		{name: "output", src: "$steps.gen.output", steps: []string{"gen"}},
		{name: "path", src: "$steps.qa.output.a.b_2.c-d", steps: []string{"qa"}, path: []string{"a", "b_2", "c-d"}},
		{name: "path with index", src: "$steps.qa.output.items[12].name", steps: []string{"qa"},
			path: []string{"items", "12", "name"}},
		{name: "quoted segment", src: `$steps.qa.output['x y']["z"]`, steps: []string{"qa"},
			path: []string{"x y", "z"}},
		{name: "quoted segment with escape", src: `$steps.qa.output['it\'s']`, steps: []string{"qa"},
			path: []string{"it's"}},
		{name: "quoted step", src: `$steps['two words'].output`, steps: []string{"two words"}},
		{name: "spaces in brackets", src: `$steps.qa.output[ 'k' ][ 3 ]`, steps: []string{"qa"},
			path: []string{"k", "3"}},
		{name: "letters of any script", src: "$steps.qa.output.größe", steps: []string{"qa"}, path: []string{"größe"}},

		{name: "D9 longest id wins", src: "$steps.a-b.output", expr: true, steps: []string{"a-b"}},
		{name: "D9 subtraction needs a space", src: "$steps.a.output - 1", expr: true, steps: []string{"a"},
			rest: " - 1"},
		{name: "D9 id with a dot", src: "$steps.dot.ted.output", steps: []string{"dot.ted"}},
		{name: "D9 id with a space", src: "$steps.two words.output.x", steps: []string{"two words"},
			path: []string{"x"}},
		{name: "minus right behind the field", src: "$steps.a.output-1", expr: true, steps: []string{"a"}, rest: "-1"},
		{name: "dash inside a path", src: "$steps.a.output.x-1", expr: true, steps: []string{"a"},
			path: []string{"x-1"}},
		{name: "dash at the end of a path", src: "$steps.a.output.x- 1", expr: true, steps: []string{"a"},
			path: []string{"x"}, rest: "- 1"},

		{name: "S4-14 child by id", src: "$steps.par.outputs.gen_1.output", steps: []string{"par", "gen_1"}},
		{name: "S4-14 child by index", src: "$steps.par.outputs[1].output", steps: []string{"par", "gen-2"}},
		{name: "S4-14 child by index, steps unknown", src: "$steps.par.outputs[1].output", unknown: true,
			steps: []string{"par", "#1"}},
		{name: "S4-14 nested", src: "$steps.outer.outputs.inner.outputs.researcher.output",
			steps: []string{"outer", "inner", "researcher"}},
		{name: "S4-36 nested without outputs", src: "$steps.outer.outputs.inner.researcher.output.x",
			steps: []string{"outer", "inner", "researcher"}, path: []string{"x"}},
		{name: "S4-36 nested without outputs, steps unknown", src: "$steps.outer.outputs.inner.researcher.output",
			unknown: true, steps: []string{"outer", "inner", "researcher"}},
		{name: "S4-36 nested id with a dot", src: "$steps.outer.outputs.inner.sum.up.output",
			steps: []string{"outer", "inner", "sum.up"}},
		{name: "S4-36 order", src: "$steps.par.order", steps: []string{"par"}, field: FieldOrder},
		{name: "S4-36 order by index", src: "$steps.par.order[0]", steps: []string{"par"}, field: FieldOrder,
			path: []string{"0"}},
		{name: "S4-36 outputs", src: "$steps.par.outputs", steps: []string{"par"}, field: FieldOutputs},
		{name: "S4-34 output of a parallel step", src: "$steps.par.output.order", steps: []string{"par"},
			path: []string{"order"}},
		{name: "child called output", src: "$steps.par.outputs.output.output", steps: []string{"par", "output"}},
		{name: "child's entry", src: "$steps.par.outputs[0]", steps: []string{"par", "gen_1"}, field: FieldEntry},
		{name: "agent", src: "$steps.par.outputs.gen_1.agent", steps: []string{"par", "gen_1"}, field: FieldAgent},

		{name: "method of a path", src: `$steps.qa.output.lang.startsWith("e")`, expr: true, steps: []string{"qa"},
			path: []string{"lang"}, rest: `.startsWith("e")`},
		{name: "method of an output", src: `$steps.qa.output.size ()`, expr: true, steps: []string{"qa"},
			rest: `.size ()`},
		{name: "method of outputs", src: `$steps.par.outputs.exists(k, true)`, expr: true, steps: []string{"par"},
			field: FieldOutputs, rest: `.exists(k, true)`},
		{name: "method of an entry", src: `$steps.par.outputs.gen_1.size()`, expr: true,
			steps: []string{"par", "gen_1"}, field: FieldEntry, rest: `.size()`},
		{name: "index by a value", src: `$steps.qa.output.items[i]`, expr: true, steps: []string{"qa"},
			path: []string{"items"}, rest: `[i]`},
		{name: "outputs by a value", src: `$steps.par.outputs[k].output`, expr: true, steps: []string{"par"},
			field: FieldOutputs, rest: `[k].output`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			known := steps
			if test.unknown {
				known = nil
			}
			r, p, rest := lexOne(t, test.src, test.expr, known)
			if p != nil {
				t.Fatalf("problem: %v", p)
			}
			if diff := cmp.Diff(ids(r), test.steps); diff != "" {
				t.Errorf("steps (-got +want):\n%s", diff)
			}
			if r.Field != test.field {
				t.Errorf("field = %d, want %d", r.Field, test.field)
			}
			if diff := cmp.Diff(r.Path, test.path); diff != "" {
				t.Errorf("path (-got +want):\n%s", diff)
			}
			if rest != test.rest || r.Text+rest != test.src {
				t.Errorf("text = %q, rest = %q, want rest %q", r.Text, rest, test.rest)
			}
		})
	}
}

func TestRefProblems(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, src, want string }{
		{"other root", "$env.HOME",
			`0: error: unknown reference $env; only $steps can be referenced (bad-reference); hint: ` + refForm},
		{"dollar alone", "$", `0: error: unknown reference $; only $steps can be referenced (bad-reference); hint: ` +
			refForm},
		{"no step", "$steps", `0: error: the reference names no step (bad-reference); hint: ` + refForm},
		{"index of the outermost list", "$steps[0].output",
			`0: error: the reference names no step (bad-reference); hint: ` + refForm},
		{"nothing to read", "$steps.gen", `0: error: the reference does not say what to read from the step ` +
			`(bad-reference); hint: write $steps.gen.output`},
		{"S4-11 unknown step", "$steps.gne.output",
			`7: error: step "gne" not found (unknown-step); hint: did you mean "gen"?`},
		{"unknown step, nothing near", "$steps.zzzzzz.output",
			`7: error: step "zzzzzz" not found (unknown-step); hint: steps here: gen, a, a-b, dot.ted, two words, ` +
				`qa, par, outer`},
		{"unknown child", "$steps.par.outputs.gen_2.output",
			`19: error: parallel step "par" has no child "gen_2" (unknown-step); hint: did you mean "gen_1"?`},
		{"index beyond the children", "$steps.par.outputs[3].output",
			`21: error: parallel step "par" has 3 children, so there is no index 3 (unknown-step)`},
		{"path without output", "$steps.qa.is_approved",
			`0: error: a step has no "is_approved"; it has output, outputs, order and agent (bad-reference); hint: ` +
				`write $steps.qa.output.is_approved`},
		{"outputs of an agent step", "$steps.gen.outputs.x",
			`0: error: step "gen" is not parallel, so it has no outputs (bad-reference); hint: write ` +
				`$steps.gen.output`},
		{"nothing after the dot", "$steps.gen.output.", `17: error: a name is missing after the dot (bad-reference)`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, p, _ := lexOne(t, test.src, false, steps)
			if p == nil {
				t.Fatal("no problem")
			}
			if diff := cmp.Diff(p.String(), test.want); diff != "" {
				t.Errorf("problem (-got +want):\n%s", diff)
			}
		})
	}
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// world holds the outputs of the steps used in the tests; "dot.ted" has not run, and neither has
// the child output of par.
var world = EnvMap{
	"gen":       {Agent: "generator", Output: raw(`"A draft"`)},
	"a":         {Agent: "x", Output: raw(`"yes"`)},
	"a-b":       {Agent: "x", Output: raw(`" NO\n"`)},
	"two words": {Agent: "x", Output: raw(`{"x":"spaced"}`)},
	"qa": {
		Agent: "qa_agent",
		Output: raw(
			`{"ok":true, "score":0.9, "n":1, "lang":"en", "no":"false", "status":"200", "code":200, "tags":["a","b"],
		"nothing":null, "o":{"b":1,"a":2}, "mixed":["a",1], "x y":"quoted", "big":9007199254740993, "html":"<b>&"}`)},
	"par": {Children: []Child{
		{"gen_1", Entry{Agent: "generator", Output: raw(`"one"`)}},
		{"gen-2", Entry{Agent: "generator", Output: raw(`{"k":[10,20]}`)}},
		{"output", Entry{Agent: "generator"}},
	}},
	"outer": {Children: []Child{
		{"g", Entry{Agent: "generator", Output: raw(`"g"`)}},
		{"inner", Entry{Children: []Child{
			{"researcher", Entry{Agent: "researcher", Output: raw(`"found"`)}},
			{"sum.up", Entry{Agent: "summarizer", Output: raw(`"short"`)}},
		}}},
	}},
}

func TestResolve(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ src, want string }{
		{"$steps.gen.output", `"A draft"`},
		{"$steps.qa.output.tags[1]", `"b"`},
		{"$steps.qa.output.tags.1", `"b"`},
		{"$steps.qa.output['x y']", `"quoted"`},
		{"$steps.qa.output.nothing", `null`},
		{"$steps.qa.output.gone", ``},
		{"$steps.qa.output.tags[2]", ``},
		{"$steps.qa.output.tags.x", ``},
		{"$steps.qa.output.lang.x", ``},
		{"$steps.gen.output.x", ``},
		{"$steps.dot.ted.output", ``},
		{"$steps.two words.output.x", `"spaced"`},
		{"$steps.par.outputs.gen_1.output", `"one"`},
		{"$steps.par.outputs[1].output.k[0]", `10`},
		{"$steps.par.outputs.output.output", ``},
		{"$steps.par.outputs[0]", `{"output":"one","agent":"generator"}`},
		{"$steps.par.outputs[0].agent", `"generator"`},
		{"$steps.par.order", `["gen_1","gen-2","output"]`},
		{"$steps.par.order[0]", `"gen_1"`},
		{"$steps.outer.outputs",
			`{"g":{"output":"g","agent":"generator"},"inner":{"steps":{"researcher":{"output":"found",` +
				`"agent":"researcher"},"sum.up":{"output":"short","agent":"summarizer"}},"order":["researcher",` +
				`"sum.up"]}}`},
		{"$steps.outer.outputs.inner.output",
			`{"steps":{"researcher":{"output":"found","agent":"researcher"},"sum.up":{"output":"short",` +
				`"agent":"summarizer"}},"order":["researcher","sum.up"]}`},
		{"$steps.outer.outputs.inner.outputs.researcher.output", `"found"`},
		{"$steps.outer.outputs.inner.researcher.output", `"found"`},
		{"$steps.outer.output.order[0]", `"g"`},
		{"$steps.par.output.steps.output.output", `null`},
	} {
		t.Run(test.src, func(t *testing.T) {
			t.Parallel()
			for _, known := range [][]Step{steps, nil} {
				if known == nil && (test.src == "$steps.dot.ted.output" || test.src == "$steps.two words.output.x") {
					continue // such ids are only found if they are known
				}
				r, p, rest := lexOne(t, test.src, false, known)
				if p != nil || rest != "" {
					t.Fatalf("problem %v, rest %q", p, rest)
				}
				v, ok := r.Resolve(world)
				if string(v) != test.want || ok != (test.want != "") {
					t.Errorf("steps known: %v: got %s, %v; want %s", known != nil, v, ok, test.want)
				}
			}
		})
	}
}

// TestResolveJSONInText checks that a path on a text reply is resolved in the JSON that it
// contains, fenced or not (S4-17).
func TestResolveJSONInText(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, want string }{
		{"whole text", ` {"ok": true} `, "true"},
		{"fenced", "```json\n{\"ok\": 1}\n```", "1"},
		{"bare fence", "```\n{\"ok\": 2}\n```", "2"},
		{"prose around", "Here you are:\n\n```json\n{\n  \"ok\": \"3\"\n}\n```\nBye.", `"3"`},
		{"CRLF", "```json\r\n{\"ok\": 4}\r\n```\r\n", "4"},
		{"backticks in a string", "```json\n{\"ok\": \"```\"}\n```", "\"```\""},
		{"two blocks", "```json\n{\"ok\": 1}\n```\n```json\n{\"ok\": 2}\n```", ""},
		{"never closed", "```json\n{\"ok\": 1}\n", ""},
		{"prose", "ok: true", ""},
		{"broken", `{"ok": tru`, ""},
		{"text in text", `"{\"ok\": true}"`, ""},
		{"empty", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r, p, _ := lexOne(t, "$steps.x.output.ok", false, nil)
			if p != nil {
				t.Fatal(p)
			}
			v, ok := r.Resolve(EnvMap{"x": {Output: quote(test.text)}})
			if string(v) != test.want || ok != (test.want != "") {
				t.Errorf("got %s, %v; want %s", v, ok, test.want)
			}
		})
	}
}
