package conformance_test

import (
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/engine/event"
)

var stepsPolicies = []rule{
	{name: "X-40 call_timeout bounds each call", test: func(t *testing.T) {
		w, _ := withTools(t)
		w.plays("a", say("late").slow(), say("now"))
		o := w.completes(steps("a", "- {id: x, type: agent, name: a, call_timeout: 0.5s, retry: {max_attempts: 1}}\n"),
			"go")
		same(t, "output", string(o.Output), `"now"`)
		same(t, "calls of models", o.Usage.ModelCalls, 2)
		w.plays("a", say("late").slow())
		failed := w.runs(steps("a", "- {id: x, type: agent, name: a, call_timeout: 0.5s}\n"),
			"go").is(event.StatusFailed)
		same(t, "code", failed.Error.Code, "timeout")
		same(t, "of a block",
			len(
				refused(t,
					steps("a",
						"- {id: p, type: parallel, call_timeout: 1s, steps: [{id: x, type: agent, name: a}]}\n"))), 1)
	}},
	{name: "X-41 limit follows where a loop meets its bound", test: func(t *testing.T) {
		const doc = `agents: {a: {}, b: {}}
workflow:
  max_loop_iterations: 2
  steps:
    - {id: draft, type: agent, name: a, prompt: "draft of {{PREVIOUS_OUTPUT}}"}
    - {id: check, type: condition, condition: "{{ $steps.draft.output == 'good' }}", "false": [{id: note, type: set, ` +
			`values: {n: 1}}, draft], limit: LIMIT}
    - {id: send, type: agent, name: b, prompt: "send {{PREVIOUS_OUTPUT}}"}
    - {type: end, output: "{{ $steps.send.output }}", if: "{{ $input == 'go' }}"}
    - {id: give_up, type: set, values: {given: up}}
`
		with := func(limit string) string { return strings.Replace(doc, "LIMIT", limit, 1) }
		w, _ := withTools(t)
		o := w.completes(
			with("[{id: ask, type: set, values: {last: \"{{ $steps.draft.output }}\", given: "+
				"\"{{PREVIOUS_OUTPUT}}\"}}, send]"), "go")
		same(t, "goes on at another step", string(o.Output), `"b said"`)
		same(t, "drafts", len(w.prompts("a")), 2)
		same(t, "what b was given", w.prompt("b"), `send {"given":{"n":1},"last":"a said"}`)
		same(t, "ends the path", string(yields(t, with("[{type: set, values: {v: 1}}]"), `{"v":1}`).Output), `{"v":1}`)
		same(t, "another step", string(yields(t, with("give_up"), `{"given":"up"}`).Output), `{"given":"up"}`)
		w, _ = withTools(t)
		w.plays("a", say("bad"), say("good"))
		same(t, "a loop that ends", string(w.completes(with("give_up"), "go").Output), `"b said"`)
		gate := "agents: {a: {}}\nworkflow: {max_loop_iterations: 2, steps: [{id: draft, type: agent, name: a}, {id: " +
			"g, type: approval, reject: draft, limit: [{type: end, status: failed, message: \"no draft was good: {{ " +
			"$steps.g.note }}\"}]}]}\n"
		w, _ = withTools(t)
		r := w.runs(gate, "go")
		r.answers(map[string]string{"decision": "reject"})
		r.is(event.StatusPaused) // otherwise the next answer repeats this one
		r.answers(map[string]string{"decision": "reject", "note": "still too long"})
		same(t, "of an approval", r.is(event.StatusFailed).Error.Message, "no draft was good: still too long")
		block := "agents: {a: {}}\nworkflow: {max_loop_iterations: 2, steps: [{id: p, type: parallel, steps: [{id: " +
			"x, type: agent, name: a, budget: {calls: 1}}]}, {id: c, type: condition, condition: \"{{ $input == 'no' " +
			"}}\", \"false\": p, limit: [{type: set, values: {v: 1}}]}]}\n"
		fails(t, block, "node_budget", "") // reaching another limit in the loop does not count as the loop's limit
		for _, bad := range []string{
			"- {id: x, type: agent, name: a}\n- {type: condition, condition: \"{{ $input == 'go' }}\", \"true\": " +
				"[{type: set, values: {a: 1}}], limit: [{type: set, values: {a: 1}}]}\n",
			"- {id: x, type: agent, name: a}\n- {type: condition, condition: \"{{ $input == 'go' }}\", \"true\": x, " +
				"limit: x}\n",
			"- {id: x, type: agent, name: a}\n- {type: condition, condition: \"{{ $input == 'go' }}\", \"true\": x, " +
				"limit: []}\n",
			"- {id: x, type: agent, name: a}\n- {id: c, type: condition, condition: \"{{ $input == 'go' }}\", " +
				"\"true\": x, limit: [{type: end}]}\n- {id: d, type: condition, condition: \"{{ $input == 'go' }}\", " +
				"\"true\": x, limit: [{type: end}]}\n",
		} {
			same(t, bad, len(refused(t, steps("a", bad))), 1)
		}
	}},
	{name: "X-160 the first case that holds is taken", test: func(t *testing.T) {
		const doc = `agents: {a: {}}
workflow:
  max_loop_iterations: 2
  steps:
    - {id: x, type: agent, name: a}
    - type: switch
      cases:
        - {when: "{{ $steps.x.output == 'one' }}", steps: [{id: first, type: set, values: {v: 1}}]}
        - {when: "{{ $steps.x.output.startsWith('o') }}", steps: [{id: second, type: set, values: {v: 2}}]}
        - {when: "{{ $steps.x.output == 'skip' }}"}
        - {when: "{{ $steps.x.output == 'again' }}", steps: x}
      else: [{id: other, type: set, values: {v: 0}}]
      limit: [{type: end, output: given up}]
    - {id: last, type: set, values: {was: "{{PREVIOUS_OUTPUT}}"}}
`
		for reply, want := range map[string]string{
			"one": `{"was":{"v":1}}`, "other": `{"was":{"v":2}}`, "skip": `{"was":"skip"}`, "none": `{"was":{"v":0}}`,
		} {
			w, _ := withTools(t)
			w.plays("a", say(reply))
			same(t, reply, string(w.completes(doc, "go").Output), want)
		}
		w, _ := withTools(t)
		w.plays("a", say("again"), say("one"))
		same(t, "back", string(w.completes(doc, "go").Output), `{"was":{"v":1}}`)
		w.plays("a", say("again"), say("again"), say("again"))
		same(t, "limit", string(w.completes(doc, "go").Output), `"given up"`)
		failing := strings.Replace(doc, "{{ $steps.x.output == 'one' }}", "{{ $steps.x.output.n > 1 }}", 1)
		fails(t, failing, "condition", "")
	}},
}

func TestStepsPolicies(t *testing.T) { check(t, stepsPolicies) }

func TestStepsPoliciesCovered(t *testing.T) { covered(t, stepsPolicies, "X-40", "X-41", "X-160") }
