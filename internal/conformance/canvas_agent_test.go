package conformance_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/service"
)

var canvasAgent = []rule{
	{name: "S0-10 an agent's fields and their defaults", test: func(t *testing.T) {
		w := newWorld(t)
		w.completes(canvas("s -> a -> b", start(), node("a", "agent", `{}`),
			node("b", "agent", `{"agentName":"Writer","systemPrompt":"Be brief.",
			"userPrompt":"Write.","model":"openai/gpt-5-nano","reasoningEffort":"high","tools":{"web_search":true,`+
				`"subagents":false}}`)), "go")
		a, b := w.request("Agent"), w.request("Writer")
		same(t, "default system prompt", a.System, "You are a helpful assistant.")
		same(t, "default model, which is the operator's", a.Model, "fake")
		same(t, "default reasoning effort", a.Params.ReasoningEffort, "low")
		same(t, "default tools", tools(a), []string{})
		same(t, "system prompt", b.System, "Be brief.")
		same(t, "user prompt", b.LastText(), "Write.")
		same(t, "model", b.Model, "gpt-5-nano")
		same(t, "reasoning effort", b.Params.ReasoningEffort, "high")
		same(t, "tools", tools(b), []string{"web_search"})
	}},
	{name: "S0-11 PREVIOUS_OUTPUT is replaced everywhere in both prompts", test: func(t *testing.T) {
		w := newWorld(t)
		w.completes(canvas("s -> a -> b",
			start(),
			agent("a", `"userPrompt":"{{PREVIOUS_OUTPUT}} and {{PREVIOUS_OUTPUT}}; {{ PREVIOUS_OUTPUT }} `+
				`{{previous_output}} {PREVIOUS_OUTPUT}"`),
			agent("b", `"systemPrompt":"Keep {{PREVIOUS_OUTPUT}} {{ PREVIOUS_OUTPUT }}{{APPROVAL_NOTE}}"`,
				`"userPrompt":"<{{PREVIOUS_OUTPUT}}>"`)), "in")
		same(t, "prompt of a", w.prompt("a"), "in and in; {{ PREVIOUS_OUTPUT }} {{previous_output}} {PREVIOUS_OUTPUT}")
		same(t, "prompt of b", w.prompt("b"), "<a said>")
		same(t, "system prompt of b", w.request("b").System, "Keep a said {{ PREVIOUS_OUTPUT }}")
		w = newWorld(t)
		w.says("a", "{{PREVIOUS_OUTPUT}} {{ $input }} $&")
		w.completes(withKeys(`"inputs":{}`, canvas("s -> a -> b", start(), agent("a"),
			agent("b", `"systemPrompt":"{{ $steps.a.output }}|{{PREVIOUS_OUTPUT}}"`))), "in")
		same(t, "references and tokens, in one pass", w.request("b").System,
			"{{PREVIOUS_OUTPUT}} {{ $input }} $&|{{PREVIOUS_OUTPUT}} {{ $input }} $&")
		w = newWorld(t)
		w.plays("p", ask("k", "look it up"), say("done"))
		w.completes(canvas("s -> p:subagent -> k", start(), agent("p", `"tools":{"subagents":true}`),
			agent("k", `"systemPrompt":"Do: {{PREVIOUS_OUTPUT}}"`)), "in")
		same(t, "of a sub-agent", w.request("k").System, "Do: look it up")
		w = newWorld(t)
		w.completes(canvas("s -> a", node("s", "start", `{"initialInput":{"n":1,"t":"é"}}`),
			agent("a", `"userPrompt":"read {{PREVIOUS_OUTPUT}}"`)), "")
		same(t, "an object is shown as JSON", w.prompt("a"), `read {"n":1,"t":"é"}`)
	}},
	{name: "S0-12 an empty user prompt is the previous output", test: func(t *testing.T) {
		w := newWorld(t)
		w.completes(canvas("s -> a -> b -> c -> d", start(), agent("a"), agent("b", `"userPrompt":""`),
			agent("c", `"userPrompt":" \n\t "`), agent("d", `"userPrompt":null`)), "in")
		for _, c := range [][2]string{{"a", "in"}, {"b", "a said"}, {"c", "b said"}, {"d", "c said"}} {
			same(t, "prompt of "+c[0], w.prompt(c[0]), c[1])
		}
	}},
	{name: "S0-13 an output is inserted as it is, once", test: func(t *testing.T) {
		for _, out := range []string{"$&", "$1 $2", "$`x$'", "$$", `\0 \1 {{PREVIOUS_OUTPUT}}`,
			"{{PREVIOUS_OUTPUT}}{{PREVIOUS_OUTPUT}}", "{{ $steps.a.output }}", "%s %d"} {
			w := newWorld(t)
			w.says("a", out)
			w.completes(canvas("s -> a -> b -> c", start(), agent("a"),
				agent("b", `"userPrompt":"[{{PREVIOUS_OUTPUT}}] [{{PREVIOUS_OUTPUT}}]"`), agent("c")), "go")
			same(t, "prompt", w.prompt("b"), "["+out+"] ["+out+"]")
		}
	}},
	{name: "S0-14 the log of an agent", test: func(t *testing.T) {
		w := newWorld(t)
		w.says("Writer", "A draft.")
		r := w.runs(canvas("s -> a", start(),
			node("a", "agent", `{"agentName":"Writer","userPrompt":"Write about {{PREVIOUS_OUTPUT}}."}`)), "cats")
		r.is(event.StatusCompleted)
		same(t, "log", r.logOf("a "), []string{"a step_start Writer agent node", "a start_prompt Write about cats.",
			"a llm_response A draft."})
	}},
	{name: "S0-15 a failed model call is logged once, and other failures as error", test: func(t *testing.T) {
		w := newWorld(t)
		w.plays("a", fail(model.KindServer, "upstream is down"))
		r := w.runs(canvas("s -> a -> b", start(), agent("a"), agent("b")), "go")
		o := r.is(event.StatusFailed)
		same(t, "log", r.log(), []string{"s step_start start node", "a step_start a agent node", "a start_prompt go",
			"a llm_error upstream is down"})
		same(t, "error", asJSON(o.Error), `{"code":"server","message":"upstream is down","node":"a"}`)
		same(t, "asked", w.asked(), []string{"a"})

		w = newWorld(t)
		w.plays("a", turns(20)...)
		r = w.runs(canvas("s -> a", start(), agent("a", `"tools":{"web_search":true}`)), "go")
		o = r.is(event.StatusFailed)
		// Hocket's own entries
		log := slices.DeleteFunc(r.logOf("a "), func(line string) bool { return strings.HasPrefix(line, "a tool_") })
		same(t, "log of a failure that is not the model's", log,
			[]string{"a step_start a agent node", "a start_prompt go", "a error " + o.Error.Message})
	}},
	{name: "S0-16 twenty turns for every agent, trimmed text, a text for no text", test: func(t *testing.T) {
		w := newWorld(t)
		w.plays("a", turns(19)...).says("a", "done")
		w.completes(canvas("s -> a", start(), agent("a", `"tools":{"web_search":true}`)), "go")
		same(t, "calls of an agent that needs 20 turns", len(w.of("a")), 20)

		w = newWorld(t)
		w.plays("a", turns(20)...)
		o := w.runs(canvas("s -> a", start(), agent("a", `"tools":{"web_search":true}`)), "go").is(event.StatusFailed)
		same(t, "calls of an agent that needs 21", len(w.of("a")), 20)
		same(t, "code", o.Error.Code, "max_turns")

		w = newWorld(t)
		w.plays("a", use("subagent_b_b", `{"input":"1"}`), use("subagent_b_b", `{"input":"2"}`)).says("a", "done")
		w.plays("b", turns(19)...).says("b", "one").plays("b", turns(20)...)
		o = w.runs(canvas("s -> a; a:subagent -> b", start(), agent("a", mayAsk),
			agent("b", `"tools":{"web_search":true}`)), "go").is(event.StatusFailed)
		same(t, "calls of a sub-agent, each of its two runs having 20 turns", len(w.of("b")), 40)
		same(t, "code", o.Error.Code, "max_turns")

		for said, want := range map[string]string{"  A reply.\n\n": "A reply.", "": "Model returned no text output.",
			" \n ": "Model returned no text output."} {
			w = newWorld(t)
			w.says("a", said)
			r := w.runs(canvas("s -> a -> b", append([]string{start()}, agents("a b")...)...), "go")
			r.is(event.StatusCompleted)
			same(t, fmt.Sprintf("what follows %q", said), w.prompt("b"), want)
			same(t, "log", r.logOf("a llm_response"), []string{"a llm_response " + want})
			w = newWorld(t)
			w.plays("a", ask("b", "x")).says("a", "done").says("b", said)
			w.completes(canvas("s -> a; a:subagent -> b", start(), agent("a", mayAsk), agent("b")), "go")
			same(t, fmt.Sprintf("what a sub-agent's %q is", said), transcript(w.of("a")[1])[2], "tool: "+want)
		}
	}},
	{name: "S0-17 a missing model is found before the run", test: func(t *testing.T) {
		w := newWorld(t, func(c *service.Config) { c.Env = env(nil) })
		for model, parts := range map[string][]string{
			`"model":"gpt-5.6-sol"`: {"openai", "OPENAI_API_KEY", "--replies", "--model", "OPENAI_BASE_URL"},
			`"model":""`: {"no model is configured", "--replies", "--model", "HOCKET_MODEL",
				"OPENAI_BASE_URL"},
		} {
			wf, _ := load(t, canvas("s -> ok; ok:approve -> a", start(), approval("ok"), agent("a", model)))
			_, err := w.Start(t.Context(), service.StartRequest{Workflow: wf, Input: "go"})
			if service.CodeOf(err) != service.CodeInvalid {
				t.Fatalf("start without a key: %v, want a refusal", err)
			}
			for _, part := range parts {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error does not name %s: %v", part, err)
				}
			}
		}
		w.noRuns()
		// A document without agents needs no key.
		w.completes(canvas("s -> q", start(), gate("q", "equal x")), "go")
	}},
	{name: "S0-18 the state holds outputs by node, and decisions", test: func(t *testing.T) {
		w := newWorld(t)
		r := w.runs(canvas("s -> a -> ok:approve -> b", start(), agent("a"), approval("ok"), agent("b")), "go")
		same(t, "state while paused", asJSON(r.show().State), `{"a":"a said","s":"go"}`)
		r.answers(map[string]any{"decision": "approve", "note": "fine"})
		o := r.is(event.StatusCompleted)
		same(t, "state", asJSON(o.State),
			`{"a":"a said","b":"b said","ok":"a said","ok_approval":{"decision":"approve","note":"fine"},"s":"go"}`)
	}},
	{name: "S0-19 the step_start of every kind of node", test: func(t *testing.T) {
		w := newWorld(t)
		r := w.runs(canvas("s -> q:false -> a -> ok", start(), gate("q"), node("a", "agent", `{"agentName":"Dr. A"}`),
			approval("ok")), "go")
		var got []string
		for _, line := range r.log() {
			if strings.Contains(line, " step_start ") {
				got = append(got, line)
			}
		}
		same(t, "log", got, []string{"s step_start start node", "q step_start condition node",
			"a step_start Dr. A agent node", "ok step_start approval node"})
	}},
}

// turns returns n replies that call a tool, each with different arguments.
func turns(n int) []line {
	var out []line
	for i := range n {
		out = append(out, use("web_search", fmt.Sprintf(`{"query":"%d"}`, i)))
	}
	return out
}

func TestCanvasAgent(t *testing.T) { check(t, canvasAgent) }

func TestCanvasAgentCovered(t *testing.T) {
	covered(t, canvasAgent, "S0-10", "S0-11", "S0-12", "S0-13", "S0-14", "S0-15", "S0-16", "S0-17", "S0-18", "S0-19")
}
