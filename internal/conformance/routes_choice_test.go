package conformance_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/format"
)

// choice is one case of a routing rule: what the agents reply and how the run proceeds.
type choice struct {
	what, nodes, edges string
	more               []string
	plays              map[string][]line
	want               string // nodes that ran, then `= output` or `! message`
}

// check runs the case in a world of its own.
func (c choice) check(t *testing.T) {
	t.Helper()
	w := newWorld(t)
	for agent, lines := range c.plays {
		w.plays(agent, lines...)
	}
	same(t, c.what, w.runRoutes(routes(c.nodes, c.edges, c.more...), "hi"), c.want)
}

func checkAll(cases ...choice) func(t *testing.T) {
	return func(t *testing.T) {
		for _, c := range cases {
			c.check(t)
		}
	}
}

const conversational = `"isConversational": true`

func next(value string) line { return say(asJSON(row{"next": value})) }

var (
	think = use("think", `{"thought":"hm"}`)
	todo  = use("create_todo", `{"description":"buy"}`)
)

var routesChoice = []rule{
	{name: "S3-10 the key routing says how agents name the next node", test: func(t *testing.T) {
		byTool, byReply := use("route_to", `{"next":"B","content":"go"}`), next("B")
		checkAll(
			choice{"both, tool", "a b", "a:B -> b", []string{`"routing": "both"`}, map[string][]line{"a": {byTool}},
				"a b = b said"},
			choice{"both, output", "a b", "a:B -> b", []string{`"routing": "both"`}, map[string][]line{"a": {byReply}},
				"a b = b said"},
			choice{"tool", "a b", "a:B -> b", []string{`"routing": "tool"`}, map[string][]line{"a": {byTool}},
				"a b = b said"},
			choice{"tool, and JSON as a text", "a b", "a:B -> b", []string{`"routing": "tool"`},
				map[string][]line{"a": {byReply}}, `a = {"next":"B"}`},
			choice{"output", "a b", "a:B -> b", []string{`"routing": "output"`}, map[string][]line{"a": {byReply}},
				"a b = b said"},
		)(t)
		offered := func(routing string) []string {
			w := newWorld(t)
			w.plays("a", say("done"))
			w.runRoutes(routes("a b", "a:B -> b", routing), "hi")
			return tools(w.request("a"))
		}
		same(t, "offered by both", offered(`"routing": "both"`), []string{"route_to"})
		same(t, "offered by tool", offered(`"routing": "tool"`), []string{"route_to"})
		same(t, "offered by output", offered(`"routing": "output"`), []string{})
		same(t, "the default", digest(t, routes("a b", "a:B -> b", `"routing": "both"`)),
			digest(t, routes("a b", "a:B -> b")))
		same(t, "another word", refused(t, routes("a b", "a:B -> b", `"routing": "tools"`)),
			[]string{`unknown routing "tools"`})
		for _, routing := range []string{"tool", "output"} {
			doc := routes("a b", "a:B -> b; b -> a", `"routing": "`+routing+`"`)
			w, _ := load(t, doc)
			text, unsupported, err := format.Write(w, format.Routes)
			if err != nil || len(unsupported) > 0 || !strings.Contains(string(text), `"routing": "`+routing+`"`) {
				t.Errorf("%s is written as %s, %v, %v", routing, text, unsupported, err)
			}
			same(t, "written and read again", digest(t, string(text)), digest(t, doc))
		}
	}},
	{name: "S3-2 the value of the edge decides, whatever the target is called", test: checkAll(
		choice{"a value that is no name", "a b", "a:go left -> b", nil, map[string][]line{"a": {next("go left")}},
			"a b = b said"},
		choice{"the name of the target is no value", "a b", "a:go left -> b", nil, map[string][]line{"a": {next("b")}},
			`a ! no edge of "a" for next "b"`},
		choice{"in another case where one fits", "a b", "a:Clerk -> b", nil, map[string][]line{"a": {next("clerk")}},
			"a b = b said"},
		choice{"with blanks", "a b", "a:Clerk -> b", nil, map[string][]line{"a": {next(" CLERK\n")}}, "a b = b said"},
		choice{"the one that is equal", "a b c", "a:Clerk -> b; a:clerk -> c", nil,
			map[string][]line{"a": {next("clerk")}}, "a c = c said"},
		choice{"several fit", "a b c", "a:Clerk -> b; a:clerk -> c", nil, map[string][]line{"a": {next("CLERK")}},
			`a ! no edge of "a" for next "CLERK"`},
		choice{"END has one case", "a b", "a:Clerk -> b; a:END -> .", nil, map[string][]line{"a": {next("end")}},
			`a ! no edge of "a" for next "end"`},
		choice{"by the tool", "a b", "a:Clerk -> b", nil,
			map[string][]line{"a": {use("route_to", `{"next":"clerk"}`)}}, "a b = b said"},
		choice{"a value like a port of the engine", "a b", "a:error -> b", nil, map[string][]line{"a": {next("error")}},
			"a b = b said"},
		choice{"the first of two edges of one value", "a b c", "a:B -> b; a:B -> c", nil,
			map[string][]line{"a": {next("B")}}, "a b = b said"},
	)},
	{name: "S3-3 after an executor the name of the tool chooses", test: checkAll(
		choice{"by the tool", "a+* b c x", "a -> x; x:think -> b; x:create_todo -> c", nil,
			map[string][]line{"a": {think}}, "a x b = b said"},
		choice{"by another tool", "a+* b c x", "a -> x; x:think -> b; x:create_todo -> c", nil,
			map[string][]line{"a": {todo}}, "a x c = c said"},
		choice{"an end after a tool", "a+* x", "a -> x; x:think -> .", nil, map[string][]line{"a": {think}},
			"a x = Thoughts:\nhm"},
	)},
	{name: "S3-4 three tiers after a tool: its own edge, the ALWAYS edge, back to the caller", test: checkAll(
		choice{"1 before 2", "a+* b c x", "a -> x; x -> c; x:think -> b", nil, map[string][]line{"a": {think}},
			"a x b = b said"},
		choice{"2 where no edge matches", "a+* b c x", "a -> x; x:think -> b; x -> c", nil,
			map[string][]line{"a": {todo}}, "a x c = c said"},
		choice{"2 beats 3 when the caller is another node", "r a+* x", "r:A -> a; a -> x; x -> r", nil,
			map[string][]line{"r": {next("A"), say("done")}, "a": {think}}, "r a x r = done"},
		choice{"3 where there is neither", "a+* b+* x", "a:B -> b; a -> x; b -> x; x:other -> a", nil,
			map[string][]line{"a": {next("B")}, "b": {think, say("done")}}, "a b x b = done"},
		choice{"3 for each caller", "a+* b+* x", "a:B -> b; a -> x; b -> x", nil,
			map[string][]line{"a": {think, next("B")}, "b": {think, say("done")}}, "a x a b x b = done"},
	)},
	{name: "S3-5 END halts, with an END edge and without", test: checkAll(
		choice{"with an edge", "a b", "a:END -> .; a -> b", nil, map[string][]line{"a": {next("END")}},
			`a = {"next":"END"}`},
		choice{"without an edge", "a b", "a:B -> b; a -> b", nil, map[string][]line{"a": {next("END")}},
			`a = {"next":"END"}`},
		choice{"by the tool", "a b", "a:END -> .; a -> b", nil, map[string][]line{"a": {route("END", "That is all.")}},
			`a = That is all.`},
		choice{"case counts", "a b", "a:END -> .", nil, map[string][]line{"a": {next("end")}},
			`a ! no edge of "a" for next "end"`},
		choice{"an ALWAYS edge without a target", "a b", "a:B -> b; b -> .", nil, map[string][]line{"a": {next("B")}},
			"a b = b said"},
		choice{"an edge for END that has a target", "a b", "a:END -> b", nil, map[string][]line{"a": {next("END")}},
			"a b = b said"},
	)},
	{name: "S3-6 isConversational offers the tool end and an instruction, to every agent", test: func(t *testing.T) {
		for _, more := range [][]string{nil, {`"isConversational": false`}, {conversational}} {
			w := newWorld(t)
			w.plays("a", next("B"))
			w.completes(routes("a b", "a:B -> b", more...), "hi")
			for _, agent := range []string{"a", "b"} {
				q := w.request(agent)
				offered := slices.Contains(more, conversational)
				same(t, agent+" is offered end", slices.Contains(tools(q), "end"), offered)
				instruction, ok := strings.CutPrefix(q.System, "You are "+agent+".")
				same(t, agent+" has its own prompt first", ok, true)
				same(t, agent+" is offered end", strings.Contains(instruction, "`end`"), offered)
			}
		}
		choice{"calling it ends the run", "a b", "a -> b; b -> a", []string{conversational},
			map[string][]line{"b": {use("end", `{"message":"Bye."}`)}}, "a b = Bye."}.check(t)
		w := newWorld(t)
		w.plays("a", use("end", `{}`))
		o := w.runs(routes("a x", "a:B -> a"), "hi").is(event.StatusFailed)
		if !strings.Contains(o.Error.Message, "end") || !strings.Contains(o.Error.Message, "tool_executor") {
			t.Errorf("end is a tool like others where it is not offered; error %q", o.Error.Message)
		}
	}},
	{name: "S3-9 calls of tools go to the executor along any edge, and win over next", test: checkAll(
		choice{"a CONDITIONAL edge", "a+* x", "a:tool_executor -> x", nil, map[string][]line{"a": {think, say("done")}},
			"a x a = done"},
		choice{"a CONDITIONAL edge of any value", "a+* x", "a:whatever -> x", nil,
			map[string][]line{"a": {think, say("done")}}, "a x a = done"},
		choice{"an ALWAYS edge", "a+* x", "a -> x", nil, map[string][]line{"a": {think, say("done")}}, "a x a = done"},
		choice{"an edge for each tool", "a+* x", "a:think -> x; a:create_todo -> x", nil,
			map[string][]line{"a": {todo, say("done")}}, "a x a = done"},
		choice{"calls win over next", "a+* b x", "a:B -> b; a -> x", nil,
			map[string][]line{"a": {think.saying(`{"next":"B"}`), say("done")}}, "a x a = done"},
		choice{"calls win over the routing tool", "a+* b x", "a:B -> b; a:t -> x", nil,
			map[string][]line{"a": {use("route_to", `{"next":"B"}`, "think", `{"thought":"hm"}`), say("done")}},
			"a x a = done"},
		choice{"next may name the executor, which then has nothing to execute", "a+* b x",
			"a:tools -> x; a:B -> b; x -> b", nil,
			map[string][]line{"a": {next("tools")}}, "a x b = b said"},
		choice{"also by the routing tool, which is answered once", "a+* b x", "a:tools -> x; a:B -> b; x -> b", nil,
			map[string][]line{"a": {route("tools", "as they say")}}, "a x b = b said"},
		choice{"such a value is no other's", "a+* b x", "a:tools -> x; a:B -> b", nil,
			map[string][]line{"a": {next("tool")}}, `a ! no edge of "a" for next "tool"`},
	)},
	{name: "S3-10 next is in a JSON reply or in a call of the routing tool", test: func(t *testing.T) {
		checkAll(
			choice{"JSON", "a b", "a:B -> b", nil, map[string][]line{"a": {say(`{"next":"B","why":1}`)}},
				"a b = b said"},
			choice{"content is the output, as with the routing tool", "a", "a:END -> .", nil, map[string][]line{
				"a": {say(`{"next":"END","content":"All <done> & \"said\""}`)},
			}, `a = All <done> & "said"`},
			choice{"content in a fence", "a", "a:END -> .", nil, map[string][]line{
				"a": {say("Here:\n```json\n{\"next\": \"END\",\n \"content\": \"done\"}\n```\n")},
			}, "a = done"},
			choice{"content without an edge for the end", "a b", "a:B -> b", nil,
				map[string][]line{"a": {say(`{"content":"done","next":"END"}`)}}, "a = done"},
			choice{"content of a single node", "a", "", nil,
				map[string][]line{"a": {say(`{"next":"END","content":"done"}`)}}, "a = done"},
			choice{"content that is no text", "a", "a:END -> .", nil,
				map[string][]line{"a": {say(`{"next":"END","content":{"n": 1.50}}`)}}, `a = {"n":1.50}`},
			choice{"no content", "a", "a:END -> .", nil, map[string][]line{"a": {say(`{"next":"END","why":"x"}`)}},
				`a = {"next":"END","why":"x"}`},
			choice{"content that is null", "a", "a:END -> .", nil,
				map[string][]line{"a": {say(`{"next":"END","content":null}`)}}, `a = {"next":"END","content":null}`},
			choice{"empty content: what was said last", "a b", "a:B -> b; b:END -> .", nil,
				map[string][]line{"a": {say(`{"next":"B","content":"said"}`)},
					"b": {say(`{"next":"END","content":""}`)}}, "a b = said"},
			choice{"content and no next is an answer like others", "a b", "a:B -> b", nil,
				map[string][]line{"a": {say(`{"content":"x"}`)}}, `a = {"content":"x"}`},
			choice{"END in other letters is no end", "a b", "a:B -> b; a -> b", nil,
				map[string][]line{"a": {say(`{"next":"end","content":"x"}`)}}, "a b = b said"},
			choice{"content along an ALWAYS edge that ends", "a", "a:B -> a; a -> .", nil,
				map[string][]line{"a": {say(`{"next":"stop","content":"done"}`)}}, "a = done"},
			choice{"content beside the tool end", "a", "", []string{conversational}, map[string][]line{
				"a": {use("end", `{"message":"no"}`).saying(`{"next":"END","content":"done"}`)},
			}, "a = done"},
			choice{"JSON in a fence", "a b", "a:B -> b", nil,
				map[string][]line{"a": {say("```json\n{\"next\": \"B\"}\n```")}}, "a b = b said"},
			choice{"a next that is no text", "a b", "a:B -> b", nil, map[string][]line{"a": {say(`{"next":7}`)}},
				`a = {"next":7}`},
			choice{"the routing tool", "a b", "a:B -> b", nil, map[string][]line{"a": {route("B", "Over to you.")}},
				"a b = b said"},
			choice{"the last of two calls", "a b c", "a:B -> b; a:C -> c", nil,
				map[string][]line{"a": {use("route_to", `{"next":"B"}`, "route_to", `{"next":"C"}`)}}, "a c = c said"},
		)(t)
		w := newWorld(t)
		w.completes(routes("a+* b x", "a:B -> b; a:tools -> x; a:END -> .; b -> ."), "hi", thinking)
		var offered []string
		for _, d := range w.request("a").Tools {
			if strings.Contains(d.Name, "route") {
				offered = append(offered, d.Name+" "+string(d.Parameters))
			}
		}
		same(t, "the routing tool", offered,
			[]string{`route_to {"type":"object","properties":{"next":{"type":"string","enum":["B","END"]},` +
				`"content":{"type":"string","description":"What you want to say."}},"required":["next"]}`})
		w = newWorld(t)
		w.completes(routes("a b", "a -> b"), "hi")
		same(t, "tools where there is nothing to choose", tools(w.request("a")), []string{})
	}},
	{name: "S3-11 a CONDITIONAL edge, else the ALWAYS edge, else the end; a next for which there is nothing fails",
		test: checkAll(
			choice{"CONDITIONAL first", "a b c", "a -> c; a:B -> b", nil, map[string][]line{"a": {next("B")}},
				"a b = b said"},
			choice{"unset, ALWAYS", "a b c", "a:B -> b; a -> c", nil, nil, "a c = c said"},
			choice{"unmatched, ALWAYS", "a b c", "a:B -> b; a -> c", nil, map[string][]line{"a": {next("missing")}},
				"a c = c said"},
			choice{"unset and no ALWAYS", "a b", "a:B -> b", nil, nil, "a = a said"},
			choice{"unmatched and no ALWAYS", "a b", "a:B -> b", nil, map[string][]line{"a": {next("missing")}},
				`a ! no edge of "a" for next "missing"`},
			choice{"a single node", "a", "", nil, map[string][]line{"a": {next("B")}}, `a = {"next":"B"}`},
			choice{"an ALWAYS edge to an executor is for calls", "a+* x", "a -> x; x -> a", nil, nil, "a = a said"},
		)},
	{name: "S3-12 a next of one agent does not route the agent after it", test: checkAll(
		choice{"no ALWAYS", "a b", "a:B -> b; b:B -> a", nil, map[string][]line{"a": {next("B")}}, "a b = b said"},
		choice{"after tools", "a+* b x", "a:B -> b; a:t -> x", nil,
			map[string][]line{"a": {think.saying(`{"next":"B"}`), say("no idea")}}, "a x a = no idea"},
	)},
}

func TestRoutesChoice(t *testing.T) { check(t, routesChoice) }

func TestRoutesChoiceCovered(t *testing.T) {
	covered(t, routesChoice, "S3-2", "S3-3", "S3-4", "S3-5", "S3-6", "S3-9", "S3-10", "S3-11", "S3-12")
}
