package conformance_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/format"
	"github.com/hocket-run/hocket/internal/service"
)

var canvasDocument = []rule{
	{name: "S0-1 nodes and connections must both be lists", test: func(t *testing.T) {
		const text = "Invalid workflow graph payload"
		for _, doc := range []string{
			`{"nodes":{},"connections":[]}`, `{"nodes":[],"connections":{}}`,
			`{"nodes":[{"id":"s","type":"start","x":0,"y":0}]}`,
			`{"connections":[]}`, `{"nodes":null,"connections":null}`, `{"nodes":"","connections":0}`, `{}`, `[]`,
			`null`, `"graph"`,
		} {
			if got := refused(t, doc, service.LoadOptions{Format: format.Canvas}); !slices.Contains(got, text) {
				t.Errorf("%s: errors %q, want %q", doc, got, text)
			}
		}
		w := newWorld(t)
		wf, problems := load(t,
			`{"nodes":[{"id":"s","type":"start","x":1.5,"y":-2,"data":{"initialInput":"hi"}},{"id":"a",`+
				`"type":"agent","x":0,"y":0}],
			"connections":[{"source":"s","target":"a","sourceHandle":"output","targetHandle":"input"}]}`)
		same(t, "problems of a whole document", problems, diag.List(nil))
		w.beginWorkflow(wf, "").is(event.StatusCompleted)
		same(t, "the agent's prompt", w.prompt("Agent"), "hi")
	}},
	{name: "S0-2 there are four types, and input is an old name of approval", test: func(t *testing.T) {
		w := newWorld(t)
		r := w.runs(canvas("s -> q; q:condition-0 -> a -> old; old:approve -> b",
			start(), gate("q", "contains go"), agent("a"), node("old", "input", `{}`), agent("b")), "go")
		o := r.is(event.StatusPaused)
		same(t, "waiting node", o.Waiting[0].Node, "old")
		same(t, "kind of wait", o.Waiting[0].Kind, "approval")
		same(t, "its log", r.logOf("old "),
			[]string{"old step_start approval node", "old wait_input Waiting for user approval"})
		r.answers("approve")
		r.is(event.StatusCompleted)
		same(t, "asked", w.asked(), []string{"a", "b"})
		// Nodes of the type end are no longer dropped: they are an unknown type (S0-7).
		same(t, "errors of a node of type end",
			refused(t, canvas("s -> a -> e", start(), agent("a"), node("e", "end", `{}`))),
			[]string{`unknown node type "end"`})
	}},
	{name: "S0-3 one start node, no more and no less", test: func(t *testing.T) {
		same(t, "errors without start", refused(t, canvas("a -> b", agents("a b")...)),
			[]string{"No start node found in workflow graph"})
		two := refused(t, canvas("s -> a; s2 -> a", start(), node("s2", "start", `{}`), agent("a")))
		if len(two) != 1 || !strings.Contains(two[0], "start") || !strings.Contains(two[0], `"s2"`) {
			t.Errorf("errors with two starts: %q, want one that names start and s2", two)
		}
	}},
	{name: "S0-4 the start gives the initial input, or an empty text", test: func(t *testing.T) {
		for _, c := range []struct{ data, prompt, state string }{
			{`{}`, "", `""`},
			{`{"initialInput":"hello"}`, "hello", `"hello"`},
			{`{"initialInput":""}`, "", `""`},
			{`{"initialInput":0}`, "", `""`},
			{`{"initialInput":0.0}`, "", `""`},
			{`{"initialInput":false}`, "", `""`},
			{`{"initialInput":null}`, "", `""`},
			{`{"initialInput":7}`, "7", `7`},
			{`{"initialInput":true}`, "true", `true`},
			{`{"initialInput":{"b":[1,"x"],"a":null}}`, `{"b":[1,"x"],"a":null}`, `{"b":[1,"x"],"a":null}`},
		} {
			w := newWorld(t)
			o := w.completes(canvas("s -> a", node("s", "start", c.data), agent("a")), "")
			same(t, "prompt for "+c.data, w.prompt("a"), c.prompt)
			same(t, "state for "+c.data, string(o.State["s"]), c.state)
		}
		w := newWorld(t)
		doc := canvas("s -> q; q:condition-0 -> a", node("s", "start", `{"initialInput":{"Kind":"DOG"}}`),
			gate("q", `equal {"kind":"dog"}`), agent("a"))
		w.completes(doc, "")
		same(t, "an if reads an object as JSON", w.prompt("a"), `{"Kind":"DOG"}`)
		w = newWorld(t)
		w.completes(canvas("s -> a", node("s", "start", `{"initialInput":"hello"}`), agent("a")), "other")
		same(t, "an input of the run wins", w.prompt("a"), "other")
	}},
	{name: "S0-5 no node id twice", test: func(t *testing.T) {
		same(t, "errors", refused(t, canvas("s -> twin", start(), agent("twin"), approval("twin"))),
			[]string{`node id "twin" is used twice, first at 3:9`})
	}},
	{name: "S0-6 a connection to a missing node is a warning on its source, and the run goes on",
		test: func(t *testing.T) {
			w := newWorld(t)
			doc := canvas("s -> ghost; s -> a -> gone; a -> b", append([]string{start()}, agents("a b")...)...)
			_, problems := load(t, doc)
			same(t, "warnings", messages(problems, diag.Warning), []string{`Connection target "ghost" not found`,
				`Connection target "gone" not found`})
			r := w.runs(doc, "go")
			r.is(event.StatusCompleted)
			same(t, "log", r.log(), []string{
				"s step_start start node",
				`s warn Connection target "ghost" not found`,
				"a step_start a agent node",
				"a start_prompt go",
				"a llm_response a said",
				`a warn Connection target "gone" not found`,
				"b step_start b agent node",
				"b start_prompt a said",
				"b llm_response b said",
			})
			w = newWorld(t)
			r = w.runs(canvas("s -> q; q:condition-0 -> ghost; q:false -> a", start(), gate("q", "equal x"),
				agent("a")),
				"go")
			r.is(event.StatusCompleted)
			same(t, "warnings of a branch that is not taken", len(r.logOf("q warn")), 0)
			r = w.runs(canvas("s -> ok; ok:approve -> ghost; ok:approve -> a; ok:reject -> gone", start(),
				approval("ok"),
				agent("a")), "go")
			same(t, "warnings of an approval that waits", r.logOf("ok warn"), []string{})
			r.answers("approve")
			r.is(event.StatusCompleted)
			same(t, "warnings of an approval", r.logOf("ok warn"),
				[]string{`ok warn Connection target "ghost" not found`})
			_, problems = load(t, canvas("ghost -> a; s -> a", start(), agent("a")))
			same(t, "warnings of a missing source", messages(problems, diag.Warning),
				[]string{`Connection source "ghost" not found`})
		}},
	{name: "S0-7 an unknown node type is refused", test: func(t *testing.T) {
		for _, typ := range []string{"webhook", "Agent", "agent ", "subflow"} {
			same(t, "errors for "+typ, refused(t, canvas("s -> a -> x", start(), agent("a"), node("x", typ, `{}`))),
				[]string{`unknown node type "` + typ + `"`})
		}
		if got := refused(t,
			`{"nodes":[{"id":"s","type":"start","x":0,"y":0},{"id":"x","x":0,"y":0},{"id":"y","type":7,"x":0,"y":0}],`+
				`"connections":[]}`); len(got) != 2 {
			t.Errorf("errors for a missing type and a number: %q, want two", got)
		}
		if !slices.Contains(refused(t, canvas("s -> x", start(), node("x", "agnet", `{}`))),
			`unknown node type "agnet"`) {
			t.Error("a typo in a type is not named")
		}
	}},
}

func TestCanvasDocument(t *testing.T) { check(t, canvasDocument) }

func TestCanvasDocumentCovered(t *testing.T) {
	covered(t, canvasDocument, "S0-1", "S0-2", "S0-3", "S0-4", "S0-5", "S0-6", "S0-7")
}
