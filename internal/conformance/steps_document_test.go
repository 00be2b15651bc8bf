package conformance_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/engine/event"
)

// loop returns a document in which a checker sends a worker back until it says yes; limits precede
// the steps.
func loop(limits string) string {
	return steps("worker checker", "\n  "+limits+`
  steps:
  - {id: work, type: agent, name: worker}
  - {id: check, type: agent, name: checker}
  - type: condition
    condition: "{{ $steps.check.output }}"
    false: work
`)
}

// executions runs loop with a checker that always says no, and returns how often the worker ran and
// the error message.
func executions(t *testing.T, limits string) (n int, message string) {
	t.Helper()
	w := newWorld(t)
	for range 200 {
		w.says("checker", "no")
	}
	o := w.runs(loop(limits), "go").is(event.StatusFailed)
	return len(w.of("worker")), o.Error.Message
}

var stepsDocument = []rule{
	{name: "S4-1 the workflow is a list of steps, or a map around one with limits", test: func(t *testing.T) {
		for _, workflow := range []string{
			"- {type: agent, name: a}\n- {type: agent, name: b}\n",
			"  steps:\n  - {type: agent, name: a}\n  - {type: agent, name: b}\n",
			"  max_loop_iterations: 3\n  steps:\n  - {type: agent, name: a}\n  - {type: agent, name: b}\n",
		} {
			w := newWorld(t)
			w.completes(steps("a b", workflow), "go")
			same(t, "asked", w.asked(), []string{"a", "b"})
		}
		for limits, want := range map[string]int{"max_loop_iterations: 3": 3, "max_loop_iterations: 0": 100,
			"max_loop_iterations: -5": 100, "": 100} {
			n, message := executions(t, limits)
			same(t, "executions with "+limits, n, want)
			same(t, "error with "+limits, message,
				fmt.Sprintf("workflow: max loop iterations exceeded (step: work, limit: %d)", want))
		}
	}},
	{name: "S4-2 the texts of broken steps", test: func(t *testing.T) {
		for _, c := range []struct{ workflow, text string }{
			{"- {type: agent}\n", `workflow step[0]: agent step requires name`},
			{"- {type: agent, name: \"\"}\n", `workflow step[0]: agent step requires name`},
			{"- {type: agent, name: translator}\n", `workflow step[0]: agent "translator" not found in agents`},
			{"- {type: agent, name: a}\n- {type: condition, true: [{type: agent, name: a}]}\n",
				`workflow step[1]: condition step requires condition`},
			{"- {type: condition, true: [{type: agent, name: a}]}\n",
				`workflow step[0]: condition step requires condition`},
			{"- {type: x}\n", `workflow step[0]: unknown type "x"`},
			{"- {type: Agent, name: a}\n", `workflow step[0]: unknown type "Agent"`},
			{"- {name: a}\n", `workflow step[0]: unknown type ""`},
			{"  []\n", `workflow: no steps configured`},
			{"  steps: []\n", `workflow: no steps configured`},
			{"  max_loop_iterations: 3\n", `workflow: no steps configured`},
		} {
			same(t, "errors of "+c.workflow, refused(t, steps("a b", c.workflow)), []string{c.text})
		}
	}},
	{name: "S4-6 a step without id has its agent's name for one", test: func(t *testing.T) {
		w := newWorld(t)
		r := w.runs(steps("a b", `
- {type: agent, name: a}
- {type: agent, name: b}
- {type: agent, name: a}
- type: parallel
  id: p
  steps:
  - {type: agent, name: a}
  - {type: agent, name: b}
- {type: agent, name: b}
`), "go")
		r.is(event.StatusCompleted)
		prompts := w.prompts("b")
		same(t, "prompt of the last step", prompts[len(prompts)-1], prior("go",
			"a (agent: a)", "a said", "b (agent: b)", "b said", "a_2 (agent: a)", "a said", "p/a_3 (agent: a)",
			"a said", "p/b_2 (agent: b)", "b said"))
		// The example of the reference document keeps all outputs.
		w = newWorld(t)
		r = w.runs(steps("generator translator publisher",
			"- {type: agent, name: generator}\n- {type: agent, name: translator}\n- {type: agent, name: publisher}\n"),
			"go")
		r.is(event.StatusCompleted)
		same(t, "context", r.stepContext(), `{"generator":{"output":"generator said","agent":"generator"},`+
			`"translator":{"output":"translator said","agent":"translator"},"publisher":{"output":"publisher `+
			`said","agent":"publisher"}}`)
	}},
	{name: "S4-11 a condition must name steps that there are", test: func(t *testing.T) {
		for _, condition := range []string{"{{ $steps.nothere.output.ok }}",
			"{{ $steps.a.output == 'x' || $steps.nothere.output == 'y' }}", "{{ $steps.p.outputs.nothere.output }}"} {
			got := refused(t, steps("a b", `
- {type: agent, name: a}
- {type: parallel, id: p, steps: [{type: agent, name: b}]}
- {type: condition, condition: "`+condition+`", true: [{type: agent, name: a}]}
`))
			if !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "nothere") }) {
				t.Errorf("errors of %s: %q, want one that names the step", condition, got)
			}
		}
	}},
	{name: "S4-17 what a condition reads is checked against the declared output", test: func(t *testing.T) {
		doc := func(output, condition string) string {
			return `
agents:
  qa_agent:
    instruction: Judge.
` + output + `  b: {instruction: b}
workflow:
- {id: qa, type: agent, name: qa_agent}
- {type: condition, condition: "` + condition + `", true: [{type: agent, name: b}]}
`
		}
		const declared = `    structured_output:
      name: verdict
      schema: {type: object, properties: {is_approved: {type: boolean}, word: {type: string}, notes: {type: array, ` +
			`items: {type: string}}}, required: [is_approved], additionalProperties: false}
`
		load(t, doc(declared, "{{ $steps.qa.output.is_approved }}"))
		load(t, doc(declared, "{{ $steps.qa.output.word }}"))
		for _, c := range []struct{ condition, path string }{
			{"{{ $steps.qa.output.is_aproved }}", "is_aproved"}, {"{{ $steps.qa.output.is_approved.deep }}",
				"is_approved.deep"}, {"{{ $steps.qa.output.notes }}", "notes"},
		} {
			got := refused(t, doc(declared, c.condition))
			for _, part := range []string{"qa", "qa_agent", c.path} {
				if len(got) == 0 || !strings.Contains(got[0], `"`+part+`"`) {
					t.Errorf("errors of %s: %q, want one that names %q", c.condition, got, part)
				}
			}
		}
		undeclared := doc("", "{{ $steps.qa.output.is_approved }}")
		_, problems := load(t, undeclared)
		if warnings := messages(problems, diag.Warning); len(warnings) != 1 ||
			!strings.Contains(warnings[0], "structured_output") || problems[0].Hint == "" {
			t.Errorf("warnings without structured_output: %v, want one with a hint", problems)
		}
		for reply, want := range map[string][]string{
			`{"is_approved": true}`: {"qa_agent", "b"},
			"Here you are:\n```json\n{\"is_approved\": true}\n```\nBye.": {"qa_agent", "b"},
			"```\n{\"is_approved\": false}\n```":                         {"qa_agent"},
		} {
			w := newWorld(t)
			w.says("qa_agent", reply)
			w.completes(undeclared, "go")
			same(t, "asked after "+reply, w.asked(), want)
		}
		w := newWorld(t)
		w.says("qa_agent", `{"is_approved": true, "word": "x", "notes": []}`)
		w.completes(doc(declared, "{{ $steps.qa.output.is_approved }}"), "go")
		if q := w.request("qa_agent"); q.Schema == nil || !strings.Contains(string(q.Schema.JSON), "is_approved") {
			t.Errorf("the model was asked with the schema %v", q.Schema)
		}
	}},
	{name: "S4-19 an override wins, and nothing below zero counts", test: func(t *testing.T) {
		for limits, want := range map[string]int{
			"max_loop_iterations: 3\n  overrides: {max_loop_iterations: 5}":  5,
			"max_loop_iterations: 5\n  overrides: {max_loop_iterations: 3}":  3,
			"overrides: {max_loop_iterations: 4}":                            4,
			"max_loop_iterations: 3\n  overrides: {max_loop_iterations: 0}":  3,
			"max_loop_iterations: 3\n  overrides: {max_loop_iterations: -1}": 3,
			"max_loop_iterations: -3\n  overrides: {max_loop_iterations: 6}": 6,
			"max_loop_iterations: 0\n  overrides: {}":                        100,
		} {
			n, _ := executions(t, limits)
			same(t, "executions with "+limits, n, want)
		}
		if got := refused(t, loop("overrides: {max_loops: 3}")); len(got) != 1 ||
			!strings.Contains(got[0], "max_loops") {
			t.Errorf("errors of another key: %q", got)
		}
	}},
	{name: "S4-32 versions, the order of agents, and unknown keys", test: func(t *testing.T) {
		const rest = "agents:\n  z: {instruction: z}\n  a: {instruction: a}\n  m: {instruction: m}\nworkflow: " +
			"[{type: agent, name: a}]\n"
		for v := range 16 {
			load(t, fmt.Sprintf("version: %q\n", fmt.Sprint(v))+rest)
		}
		wf, _ := load(t, rest)
		var ids []string
		for _, a := range wf.Agents {
			ids = append(ids, a.ID)
		}
		same(t, "agents", ids, []string{"z", "a", "m"})
		for _, v := range []string{`"16"`, `"v1"`, `"1.0"`} {
			refused(t, "version: "+v+"\n"+rest)
		}
		for _, workflow := range []string{
			"- {type: agent, name: a, time_limit: 3}\n", "- {type: agent, name: a, retry: {attempts: 3}}\n",
			"  max_loops: 3\n  steps: [{type: agent, name: a}]\n",
			"- {type: agent, name: a, condition: \"true\"}\n",
			"- {type: parallel, parallel: true, steps: [{type: agent, name: a}]}\n",
		} {
			refused(t, steps("a", workflow))
		}
	}},
	{name: "S4-33 keys that YAML takes for booleans", test: func(t *testing.T) {
		for _, keys := range [][3]string{{"true", "false", "on"}, {`"true"`, `"false"`, `"on"`},
			{`'true'`, `'false'`, `'on'`}} {
			for said, want := range map[string][]string{"yes": {"a", "b"}, "no": {"a", "c", "c", "c"}} {
				w := newWorld(t)
				w.says("a", said)
				for range 2 {
					w.plays("c", fail("timeout", "late"))
				}
				w.says("c", "C")
				w.completes(steps("a b c", `
- {type: agent, name: a}
- type: condition
  condition: "{{ $steps.a.output }}"
  `+keys[0]+`: [{type: agent, name: b}]
  `+keys[1]+`:
  - type: agent
    name: c
    retry: {max_attempts: 2, `+keys[2]+`: [timeout]}
`), "go")
				same(t, fmt.Sprint("asked with the keys ", keys), w.asked(), want)
			}
		}
	}},
	{name: "S4-38 a missing branch goes on", test: func(t *testing.T) {
		for _, branches := range []string{"true: [{type: agent, name: b}]", "true: [{type: agent, name: b}], false: []",
			"true: [{type: agent, name: b}], false:"} {
			for said, want := range map[string][]string{"yes": {"a", "b", "c"}, "no": {"a", "c"}} {
				w := newWorld(t)
				w.says("a", said)
				w.completes(
					steps("a b c", "- {type: agent, name: a}\n- {type: condition, condition: \"{{ "+
						"$steps.a.output }}\", "+branches+"}\n- {type: agent, name: c}\n"), "go")
				same(t, said+" with "+branches, w.asked(), want)
			}
		}
		w := newWorld(t)
		w.says("a", "no")
		w.completes(
			steps("a b", "- {type: agent, name: a}\n- {type: condition, condition: \"{{ $steps.a.output }}\", false: "+
				"[{type: agent, name: b}]}\n"), "go")
		same(t, "asked in a false branch at the end", w.asked(), []string{"a", "b"})
		for _, branches := range []string{"", ", true: [], false: []", ", true: , false: "} {
			same(t, "errors without branches",
				len(
					refused(t,
						steps("a b", "- {type: agent, name: a}\n- {type: condition, condition: \"{{ "+
							"$steps.a.output }}\""+branches+"}\n"))), 1)
		}
	}},
}

func TestStepsDocument(t *testing.T) { check(t, stepsDocument) }

func TestStepsDocumentCovered(t *testing.T) {
	covered(t, stepsDocument, "S4-1", "S4-2", "S4-6", "S4-11", "S4-17", "S4-19", "S4-32", "S4-33", "S4-38")
}
