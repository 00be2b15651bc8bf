package conformance_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/format"
	"github.com/hocket-run/hocket/workflow"
)

// withKeys inserts keys before those of a canvas document.
func withKeys(keys, doc string) string { return "{" + keys + "," + strings.TrimPrefix(doc, "{") }

func toolNode(id, data string) string { return node(id, "tool", data) }
func setNode(id, data string) string  { return node(id, "set", data) }

var canvasExtensions = []rule{
	{name: "X-1 a canvas without extensions has the digest that it had", test: func(t *testing.T) {
		w, _ := load(t, canvas("s -> w -> ok; ok:approve -> yes", start(),
			agent("w", `"userPrompt":"{{ $input.x }} {{PREVIOUS_OUTPUT}}"`), node("ok", "approval",
				`{"prompt":"{{ $steps.w.output }}?","deadline":"1h","remindAfter":"5m"}`), agent("yes")))
		if text := asJSON(w); strings.Contains(text, "expressions") || strings.Contains(text, `"template":true`) ||
			strings.Contains(text, "failReject") || strings.Contains(text, "catch") {
			t.Errorf("the definition is %s", text)
		}
		_, problems := read(t, canvas("s -> w", start(), agent("w", `"userPrompt":"{{ $input.x }}"`)))
		if problems.HasErrors() || len(problems) != 1 || problems[0].Code != "not-replaced" {
			t.Errorf("a prompt that looks as if it held expressions: %v", problems)
		}
		wt, _ := withTools(t)
		wt.completes(canvas("s -> w", start(), agent("w", `"userPrompt":"{{ $input.x }} {{PREVIOUS_OUTPUT}}"`)), "go")
		same(t, "it is sent as it is", wt.prompt("w"), "{{ $input.x }} go")
	}},
	{name: "X-130 nodes of the types tool, workflow, set and ask", test: func(t *testing.T) {
		yields(t, canvas("s -> n -> t", start(), setNode("n", `{"values":{"three":3,"in":"{{ $input }}"}}`),
			toolNode("t",
				`{"tool":"act","args":{"sum":"{{ $steps.n.output.three + 1 }}","all":"{{PREVIOUS_OUTPUT}}"}}`)),
			`{"all":{"in":"go","three":3},"sum":4}`)
		w, act := withTools(t)
		r := w.runs(withKeys(`"permissions":{"ask":["act"]}`,
			canvas("s -> t", start(), toolNode("t", `{"tool":"act"}`))), "go")
		r.is(event.StatusPaused)
		same(t, "held", len(act.Calls()), 0)
		r.answers(map[string]string{"decision": "approve"})
		r.is(event.StatusCompleted)
		same(t, "agent of the call", act.Calls()[0].Agent, "")
		r = w.runs(
			canvas("s -> q -> v", start(),
				node("q", "ask",
					`{"prompt":"How many for {{ $input `+
						`}}?","schema":{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}}`),
				setNode("v", `{"values":{"n":"{{ $steps.q.output.n }}"}}`)), "go")
		same(t, "question", r.show().Waiting[0].Prompt, "How many for go?")
		if err := r.answer("three"); err == nil {
			t.Error("an answer that does not match was taken")
		}
		r.answers(map[string]any{"n": 3})
		same(t, "answer", string(r.is(event.StatusCompleted).Output), `{"n":3}`)
		for doc, want := range map[string]string{
			toolNode("x", `{"args":{}}`):                `node "x": a tool node requires tool`,
			setNode("x", `{}`):                          `node "x": a set node requires values`,
			node("x", "ask", `{}`):                      `node "x": an ask node requires prompt`,
			node("x", "workflow", `{"workflow":"a/b"}`): `node "x": "a/b" names no workflow`,
			toolNode("x", `{"tool":"act","args":[1]}`): `node "x": args must be a map, ` +
				`found a list`,
			toolNode("x", `{"tool":"act","args":{"a":"{{ $steps.y.output }}"}}`): `node "x": step "y" not found`,
			toolNode("x", `{"tool":"act","timeout":"soon"}`):                     `node "x": invalid duration "soon"`,
			setNode("x", `{"values":{"v":"{{ $steps.s.output }}"}}`): `node "x": "s" is of type start, which has ` +
				`no output`, toolNode("x", `{"tool":"act","on_error":"go on"}`): `node "x": on_error is "go on", not ` +
				`one of fail, continue`,
			node("x", "ask", `{"prompt":"?","options":["a"],"schema":{}}`): `node "x": a question has options or a ` +
				`schema, not both`,
		} {
			if got := refused(t, canvas("s -> x", start(), doc)); len(got) != 1 || !strings.HasPrefix(got[0], want) {
				t.Errorf("%s: %q, want %q", doc, got, want)
			}
		}
	}},
	{name: "X-131 connections from error and timeout", test: func(t *testing.T) {
		failing := toolNode("t", `{"tool":"act","args":{"fail":true}}`)
		yields(t, canvas("s -> t -> yes; t:error -> no", start(), failing, setNode("yes", `{"values":{"v":1}}`),
			setNode("no", `{"values":{"why":"{{ $steps.t.error.node }}","in":"{{PREVIOUS_OUTPUT}}"}}`)),
			`{"in":"go","why":"t"}`)
		yields(t,
			canvas("s -> t -> n", start(),
				toolNode("t", `{"tool":"act","args":{"fail":true},"on_error":{"default":"none for {{ $input }}"}}`),
				setNode("n", `{"values":{"v":"{{ $steps.t.output }}"}}`)), `{"v":"none for go"}`)
		yields(t, canvas("s -> t -> n", start(), toolNode("t", `{"tool":"act","if":"{{ $input == 'other' }}"}`),
			setNode("n", `{"values":{"ran":"{{ has($steps.t.output) }}"}}`)), `{"ran":false}`)
		w, act := withTools(t)
		w.runs(
			canvas("s -> t", start(),
				toolNode("t",
					`{"tool":"act","args":{"fail":true},"retry":{"max_attempts":2,`+
						`"backoff":{"initial_delay_seconds":0}}}`)), "go").is(event.StatusFailed)
		same(t, "attempts", len(act.Calls()), 3)
		w, _ = withTools(t)
		r := w.begin(canvas("s -> q -> yes; q:timeout -> no", start(),
			node("q", "ask", `{"prompt":"Who?","deadline":"2h"}`), setNode("yes", `{"values":{"v":1}}`),
			setNode("no", `{"values":{"late":true}}`)), "go")
		r.waitSettled()
		time.Sleep(3 * time.Hour) // fake time
		same(t, "at the deadline", string(r.is(event.StatusCompleted).Output), `{"late":true}`)
		for doc, want := range map[string]string{
			canvas("s -> t; t:approve -> n", start(), toolNode("t", `{"tool":"act"}`),
				setNode("n", `{"values":{}}`)): `a connection from the tool node "t" by the handle "approve" is ` +
				`never followed`,
			canvas("s -> t; t:error -> n", start(), toolNode("t", `{"tool":"act","on_error":"continue"}`), setNode("n",
				`{"values":{}}`)): `node "t": on_error and a connection from the handle "error" exclude each other`,
			canvas("s -> q; q:timeout -> n", start(), node("q", "ask", `{"prompt":"?"}`),
				setNode("n", `{"values":{}}`)): `a connection from the ask node "q" by the handle "timeout" is never ` +
				`followed`,
			canvas("s -> q", start(),
				node("q", "ask", `{"prompt":"?","on_deadline":{"default":1}}`)): `node "q": on_deadline requires ` +
				`deadline`,
			canvas("s -> t -> n", start(), toolNode("t", `{"tool":"act"}`),
				setNode("n", `{"values":{"v":"{{ $steps.t.error.code }}"}}`)): `node "n": "t": the run ends where it ` +
				`fails, so there is no error to read`,
			canvas("s -> t -> n", start(), toolNode("t", `{"tool":"act"}`),
				setNode("n", `{"values":{"v":"{{ $steps.t.decision }}"}}`)): `node "n": "t": only an approval has a ` +
				`decision and a note`,
			canvas("s -> t -> n", start(), toolNode("t", `{"tool":"act"}`),
				setNode("n", `{"values":{"v":"{{ $steps.t.stop_reason }}"}}`)): `node "n": "t": only an agent has a ` +
				`stop_reason`,
			canvas("s -> t", start(), node("t", "approval", `{"on_deadline":"reject","deadline":"1h"}`), setNode("n",
				`{"values":{}}`)): `node "t": on_deadline: reject requires a connection from the handle reject`,
		} {
			if got := refused(t, doc); len(got) != 1 || got[0] != want {
				t.Errorf("%s: %q, want %q", doc, got, want)
			}
		}
	}},
	{name: "X-130 a policy of a node whose type has none is an error", test: func(t *testing.T) {
		for doc, want := range map[string]string{
			canvas("s -> ok; ok:approve -> n", start(), node("ok", "approval",
				`{"prompt":"?","if":"{{ $input == 'x' }}"}`),
				setNode("n", `{"values":{}}`)): `node "ok": an approval node has no if`,
			canvas("s -> "+
				"a", start(), agent("a", `"retry":{"max_attempts":2}`)): `node "a": an agent node has no retry`,
			canvas("s -> "+
				"q", start(), node("q", "if", `{"on_error":"continue"}`)): `node "q": an if node has no on_error`,
			canvas("s -> "+
				"n", start(), setNode("n", `{"values":{},"timeout":"5s"}`)): `node "n": a set node has no timeout`,
			ofTurns("", `{"id":"x","type":"approval","config":{"prompt":"?","if":"$input == 'x'"}}`,
				""): `node "x": an ` +
				`approval node has no if`,
		} {
			if got := refused(t, doc); len(got) != 1 || got[0] != want {
				t.Errorf("%s: %q, want %q", doc, got, want)
			}
		}
	}},
	{name: "X-137 conditions compare numbers, or are expressions", test: func(t *testing.T) {
		for _, c := range []struct{ input, condition, want string }{
			{"10", "greater 9", "c0"}, {"9", "greater 10", "no"}, {" 9.5 ", "greater_or_equal 9.5", "c0"},
			{"-1", "less 0", "c0"}, {"1e3", "less_or_equal 999", "no"},
		} {
			same(t, c.input+" "+c.condition, chosen(t, c.input, gate("q", c.condition)), []string{c.want})
		}
		fails(t, canvas("s -> q", start(), gate("q", "greater 1")), event.CodeCondition,
			`greater compares numbers, and the previous output "go" is not one`)
		doc := func(condition string) string {
			return canvas("s -> n -> q; q:condition-0 -> big; q:false -> small", append(agents("big small"), start(),
				setNode("n", `{"values":{"total":120,"what":"lamp"}}`),
				node("q", "if", `{"conditions":[`+condition+`]}`))...)
		}
		for condition, want := range map[string]string{
			`{"if":"$steps.n.output.total > 100"}`:                                     "big",
			`{"if":"{{ $steps.n.output.total > 200 }}"}`:                               "small",
			`{"if":"$steps.n.output.what == 'lamp' && $input == 'go'"}`:                "big",
			`{"operator":"contains","value":"no"},{"if":"$steps.n.output.total > 10"}`: "",
		} {
			w, _ := withTools(t)
			w.completes(doc(condition), "go")
			same(t, condition, strings.Join(w.asked(), " "), want)
		}
		w, _ := withTools(t)
		r := w.runs(doc(`{"if":"$steps.n.output.total > 100"}`), "go")
		same(t, "log", r.logOf("q logic_check"),
			[]string{"q logic_check Condition 1 ($steps.n.output.total > 100) evaluated as true"})
		for condition, want := range map[string]string{
			`{"if":"$steps.x.output > 1"}`:                  `node "q": step "x" not found`,
			`{"if":"$steps.n.output >"}`:                    `node "q": `,
			`{"if":" "}`:                                    `node "q": the condition is empty`,
			`{"if":["$input"]}`:                             `node "q": if must be a condition, found a list`,
			`{"if":"$steps.n.output.ok","value":"x"}`:       "a condition has if or value, not both",
			`{"if":"$steps.n.output.ok","operator":"less"}`: "a condition has if or operator, not both",
			`{"operator":"less","value":"ten"}`:             `less compares numbers, and "ten" is not one`,
			`{"operator":"less"}`:                           `less compares numbers, and "" is not one`,
		} {
			if got := refused(t, doc(condition)); len(got) != 1 || !strings.HasPrefix(got[0], want) {
				t.Errorf("%s: %q, want %q", condition, got, want)
			}
		}
		steps := `{"if":"$steps.n.output.total > 100"}`
		there, _ := load(t, doc(steps))
		out, err := format.Convert(there, "steps")
		if err != nil || len(out.Meaning()) > 0 {
			t.Fatalf("to steps: %v, %v", err, out.Meaning())
		}
		if !strings.Contains(string(out.Document), "$steps.n.output.total > 100") {
			t.Errorf("to steps: %s", out.Document)
		}
		back, _ := load(t, string(out.Document))
		if again, err := format.Convert(back, "canvas"); err != nil || len(again.Meaning()) > 0 ||
			!strings.Contains(string(again.Document), `"if": "$steps.n.output.total > 100"`) {
			t.Errorf("back to canvas: %v, %v, %s", err, again.Meaning(), again.Document)
		}
	}},
	{name: "X-132 inputs and output of a canvas", test: func(t *testing.T) {
		doc := withKeys(`"inputs":{"city":{"title":"City"},"days":{"type":"integer","default":3}},"output":{"of":"{{ `+
			`$input.city }}","last":"{{PREVIOUS_OUTPUT}}"},"output_schema":{"type":"object","required":["of"]}`,
			canvas("s -> n", start(), setNode("n", `{"values":{"next":"{{ $input.days + 1 }}"}}`)))
		same(t, "output", runInputs(t, doc, "", `{"city":"Ulm"}`), `{"last":{"next":4},"of":"Ulm"}`)
		same(t, "missing", runInputs(t, doc, "", `{}`), "/city missing-input a text")
		same(t, "another name", len(refused(t, strings.Replace(doc, "$input.days", "$input.dys", 1))), 1)
		same(t, "a declaration", len(refused(t, strings.Replace(doc, `"type":"integer"`, `"type":"whole"`, 1))), 1)
		fails(t, withKeys(`"output":{"v":"{{ $steps.n.output.gone }}"}`,
			canvas("s -> n", start(), setNode("n", `{"values":{}}`))), event.CodeExpression, "has no value")
	}},
	{name: "X-133 on_reject says what follows a rejection", test: func(t *testing.T) {
		gate := func(data string) *run {
			w, _ := withTools(t)
			r := w.runs(canvas("s -> ok; ok:approve -> n", start(), node("ok", "approval", data),
				setNode("n", `{"values":{"d":"{{ $steps.ok.decision }}"}}`)), "go")
			r.answers(map[string]string{"decision": "reject", "note": "too dear"})
			return r
		}
		gate(`{}`).is(event.StatusCompleted)
		gate(`{"on_reject":"end"}`).is(event.StatusCompleted)
		same(t, "code", gate(`{"on_reject":"fail"}`).is(event.StatusFailed).Error.Code, event.CodeRejected)
		w, _ := withTools(t)
		r := w.runs(steps("a", "- {id: g, type: approval, on_reject: end}\n- {id: x, type: agent, name: a}\n"), "go")
		r.answers(map[string]string{"decision": "reject"})
		r.is(event.StatusCompleted)
		same(t, "with reject",
			len(
				refused(t,
					steps("a", "- {id: x, type: agent, name: a}\n- {id: g, type: approval, on_reject: end, "+
						"reject: x}\n"))), 1)
		same(t, "with a connection",
			len(refused(t, canvas("s -> ok; ok:reject -> n", start(), node("ok", "approval", `{"on_reject":"fail"}`),
				setNode("n", `{"values":{}}`)))), 1)
	}},
	{name: "X-134 prompts of documents with inputs hold expressions", test: func(t *testing.T) {
		doc := withKeys(`"inputs":{"city":null}`, canvas("s -> a -> ok; ok:approve -> b", start(),
			agent("a", `"userPrompt":"About {{ $input.city }}: {{ PREVIOUS_OUTPUT }}"`,
				`"systemPrompt":"For {{ $input.city }}."`),
			node("ok", "approval", `{"prompt":"Send {{ $steps.a.output }}?"}`),
			agent("b", `"userPrompt":"{{ $steps.a.output }}/{{APPROVAL_NOTE}}/{{ size($input.city) }}"`)))
		w, _ := withTools(t)
		r := w.runs(doc, "Ulm")
		same(t, "question", r.show().Waiting[0].Prompt, "Send a said?")
		r.answers(map[string]string{"decision": "approve", "note": "{{ $input.city }}"})
		r.is(event.StatusCompleted)
		same(t, "prompt", w.prompt("a"), `About Ulm: {"city":"Ulm"}`)
		same(t, "system prompt", w.requests[0].System, "For Ulm.")
		same(t, "what is put in is not read again", w.prompt("b"), "a said/{{ $input.city }}/3")
		same(t, "another input",
			len(refused(t, strings.Replace(doc, "About {{ $input.city", "About {{ $input.town", 1))), 1)
		fails(t, withKeys(`"inputs":{}`, canvas("s -> a -> b", start(), agent("a"),
			agent("b", `"userPrompt":"{{ $steps.a.output.gone }}"`))), event.CodeExpression, "has no value")

		said := "inputs: {city: , n: {type: integer, default: 2}}\n" +
			steps("a b", "- {id: x, type: agent, name: a, prompt: \"{{ $input.city }} {{ $input.n + 1 }}\"}\n- {id: "+
				"y, type: agent, name: b, prompt: \"{{ $steps.x.output }}!\"}\n")
		w, _ = withTools(t)
		w.completes(said, "Ulm")
		same(t, "of a step", w.prompt("a"), "Ulm 3")
		same(t, "of the step behind it", w.prompt("b"), "a said!")
		w, _ = withTools(t)
		w.completes(steps("a", "- {type: map, over: [[1], \"two\"], max_concurrency: 1, steps: [{id: x, type: agent, "+
			"name: a, prompt: \"{{ $item_index }}: {{ $item }} of {{ $input }}\"}]}\n"), "go")
		same(t, "in a map", w.requests[0].LastText()+"; "+w.requests[1].LastText(), "0: [1] of go; 1: two of go")
		w, _ = withTools(t)
		w.completes(steps("a", "- {id: x, type: agent, name: a, prompt: \"{{ $input }} {{PREVIOUS_OUTPUT}}\"}\n"), "go")
		same(t, "of a document without inputs", w.prompt("a"), "{{ $input }} go")
	}},
	{name: "X-135 a document of either format says it with the keys of the other", test: func(t *testing.T) {
		for name, doc := range map[string]string{
			"canvas": withKeys(`"inputs":{"city":null},"output":{"v":"{{ $steps.n.output `+
				`}}"},"toolsets":[{"type":"think"}],"permissions":{"ask":["act"]}`,
				canvas("s -> n -> t -> q -> ok; ok:approve -> a; t:error -> ok; q:timeout -> ok; ok:reject -> no",
					start(), setNode("n", `{"values":{"v":["{{ $input.city }}"]},"if":"{{ $input.city != '' }}"}`),
					toolNode("t",
						`{"tool":"act","args":{"v":1},"timeout":"30s","call_timeout":"5s","retry":{"max_attempts":2,`+
							`"backoff":"exponential","on":["network"]}}`),
					node("q", "ask",
						`{"prompt":"Which {{ $input.city `+
							`}}?","options":["a","b"],"deadline":"2h","remind_after":"1h"}`), node("ok", "approval",
						`{"prompt":"Send {{ $steps.n.output }}?","deadline":"1h","on_deadline":"approve"}`),
					agent("a", `"userPrompt":"{{ $input.city }}"`, `"model":"openai/m"`),
					setNode("no", `{"values":{"note":"{{ $steps.ok.note }}","code":"{{ has($steps.t.error) }}"}}`))),
			"steps": "inputs: {city: }\ntoolsets: [{type: think}]\n" + strings.Replace(steps("a", `
- {id: n, type: set, values: {v: "{{ $input.city }}"}}
- {id: t, type: tool, tool: act, args: {v: 1}, on_error: {default: {n: 1}}}
- {id: c, type: workflow, workflow: w@2, input: {v: "{{ $steps.n.output.v }}"}, on_error: continue}
- {id: q, type: ask, prompt: Who?, schema: {type: object}, deadline: 1h, on_deadline: {default: {}}}
- {id: ok, type: approval, prompt: "{{ $steps.n.output.v }}?"}
- {id: a, type: agent, name: a, prompt: "{{ $input.city }} {{PREVIOUS_OUTPUT}}"}
`), "{instruction", "{model: openai/m, instruction", 1),
		} {
			w, _ := load(t, doc)
			to := map[string]string{"canvas": "steps", "steps": "canvas"}[name]
			out, err := format.Convert(w, to)
			if err != nil || len(out.Meaning()) > 0 {
				t.Errorf("%s to %s: %v, %v", name, to, err, out.Meaning())
				continue
			}
			there, _ := load(t, string(out.Document))
			same(t, name+": what it says", parts(there), parts(w))
			same(t, name+": inputs", asJSON([]any{there.Inputs, there.Output, there.Toolsets, there.Permissions}),
				asJSON([]any{w.Inputs, w.Output, w.Toolsets, w.Permissions}))
		}
		w, _ := load(t,
			steps("a", "- {type: sleep, for: 1s}\n- {id: x, type: agent, name: a}\n- {type: end, status: failed}\n"))
		out, err := format.Convert(w, "canvas")
		same(t, "what is lost", asJSON([]any{err, len(out.Meaning())}), "[null,2]")
	}},
}

// parts returns the nodes of a workflow that call no model, by id, and the prompts of agents.
func parts(w *workflow.Workflow) map[string]string {
	out := map[string]string{}
	for _, n := range w.Nodes {
		switch {
		case n.Agent != nil:
			out[n.ID] = asJSON(n.Agent.Prompt)
		case n.Tool != nil, n.Set != nil, n.Wait != nil:
			n.Name = ""
			out[n.ID] = asJSON(n)
		}
	}
	return out
}

func TestCanvasExtensions(t *testing.T) { check(t, canvasExtensions) }
