package conformance_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/engine/event"
)

// instructed returns a document whose last agent, reader, has an instruction; workflow holds the
// steps before it.
func instructed(names, instruction, workflow string) string {
	return strings.Replace(steps(names, workflow), "workflow:\n", "  reader: {instruction: "+asJSON(instruction)+
		"}\nworkflow:\n", 1)
}

// blocks holds the parallel blocks of the reference document, and a reader.
const blocks = `
- type: parallel
  id: par_gen
  steps:
  - {id: gen_1, type: agent, name: a}
  - {id: gen_2, type: agent, name: b}
- type: parallel
  id: outer
  steps:
  - {type: agent, name: c}
  - type: parallel
    id: inner
    steps:
    - {type: agent, name: researcher}
    - {type: agent, name: summarizer}
- {type: agent, name: reader}
`

// systemOf runs blocks with an instruction and returns the system prompt sent to the reader's
// model.
func systemOf(t *testing.T, instruction string) string {
	t.Helper()
	w := newWorld(t)
	w.says("b", `{"title":"T","list":["x",{"n":2}],"ok":true}`)
	w.completes(instructed("a b c researcher summarizer", instruction, blocks), "go")
	return w.request("reader").System
}

var stepsTemplate = []rule{
	{name: "S4-14 the outputs of blocks are read by id and by place", test: func(t *testing.T) {
		for template, want := range map[string]string{
			"{{ $steps.par_gen.outputs.gen_1.output }}":                                "a said",
			"{{ $steps.par_gen.outputs[0].output }}":                                   "a said",
			"{{ $steps.par_gen.outputs[1].output.title }}":                             "T",
			"{{ $steps.par_gen.outputs.gen_2.output.list[1].n }}":                      "2",
			"{{ $steps.outer.outputs.inner.outputs.researcher.output }}":               "researcher said",
			"{{ $steps.outer.outputs[1].outputs[1].output }}":                          "summarizer said",
			"{{$steps.outer.outputs.c.output}} and {{ $steps.outer.outputs.c.agent }}": "c said and c",
		} {
			same(t, template, systemOf(t, "Read "+template+"!"), "Read "+want+"!")
		}
		for condition, want := range map[string]string{
			"{{ $steps.par_gen.outputs.gen_2.output.ok }}": "yes", "{{ $steps.par_gen.outputs[1].output.ok }}": "yes",
			"{{ $steps.outer.outputs.inner.outputs.researcher.output }}": "no",
		} {
			w := newWorld(t)
			w.says("b", `{"ok":true}`).says("researcher", "no")
			w.completes(steps("a b c researcher summarizer reader yes no", blocks+`- {type: condition, condition: "`+
				condition+`", true: [{type: agent, name: "yes"}], false: [{type: agent, name: "no"}]}
`), "go")
			asked := w.asked()
			same(t, condition, asked[len(asked)-1], want)
		}
	}},
	{name: "S4-15 templates work in instructions; an unknown step, a token and a reference without a value are errors",
		test: func(t *testing.T) {
			const flow = `
- {type: agent, name: a}
- {id: first, type: agent, name: reader, on_error: continue}
- {id: later, type: agent, name: b}
- {id: last, type: agent, name: reader}
`
			w := newWorld(t)
			w.says("b", `{"x":[1, 2]}`)
			w.completes(instructed("a b", "<{{ $steps.a.output }}|{{ $steps.later.output }}|{{ $steps.later.output.x "+
				"}}>",
				flow), "go")
			same(t, "instructions", len(w.of("reader")), 1) // nothing was sent by the step that failed
			same(t, "instruction", w.request("reader").System, `<a said|{"x":[1, 2]}|[1,2]>`)
			w = newWorld(t)
			o := w.runs(instructed("a b", "<{{ $steps.a.output.no.path }}>", flow), "go").is(event.StatusFailed)
			same(t, "code", o.Error.Code, event.CodeExpression)
			same(t, "message", o.Error.Message,
				"instruction of agent reader: {{ $steps.a.output.no.path }}: $steps.a.output.no.path has no value")
			same(t, "readers", len(w.of("reader")), 0)
			same(t, "a prompt is no place for templates", newTemplatePrompt(t), "say {{ $steps.a.output }}")
			for _, instruction := range []string{"{{ $steps.nothere.output }}",
				"{{ $steps.par_gen.outputs.nothere.output }}",
				"{{ $steps.outer.outputs.inner.outputs.nothere.output }}", "{{ $steps.a.nothing }}", "{{TOKEN}}",
				"{{PREVIOUS_OUTPUT}}", "{{ has($steps.a.output) }}"} {
				if got := refused(t, instructed("a b c researcher summarizer", instruction, blocks)); len(got) != 1 {
					t.Errorf("errors of %s: %q, want one", instruction, got)
				}
			}
			for instruction, want := range map[string]string{
				"Keep {{ this }} and {TOKEN} and { $steps.a.output } and {{}}.": "Keep {{ this }} and {TOKEN} and " +
					"{ $steps.a.output } and {{}}.",
			} {
				same(t, "no template", systemOf(t, instruction), want)
			}
			got := refused(t, instructed("a", "{{ $steps.nothere.output }}",
				"- {type: agent, name: a}\n- {type: agent, name: reader}\n"))
			if !slices.ContainsFunc(got, func(s string) bool {
				return strings.Contains(s, "nothere") && strings.Contains(s, "reader")
			}) {
				t.Errorf("errors: %q, want one that names the step and the agent", got)
			}
		}},
	{name: "S4-15 a template in a branch of a block reads the branch, and no other one", test: func(t *testing.T) {
		w := newWorld(t)
		w.plays("reader", say("R").slow()) // the other branch has ended
		w.completes(
			instructed("a b c", "[{{ $steps.pre.output }}][{{ $steps.first.output }}][{{ $steps.p.order }}]", `
- {id: pre, type: agent, name: a}
- type: parallel
  id: p
  steps:
  - {id: x, type: agent, name: b}
  - type: condition
    condition: "{{ $steps.pre.output == 'a said' }}"
    true: [{id: first, type: agent, name: c}, {type: agent, name: c}, {id: second, type: agent, name: reader}]
`), "go")
		same(t, "instruction", w.request("reader").System, `[a said][c said][["first","c"]]`)
		same(t, "prompt", w.prompt("reader"), prior("go", "pre (agent: a)", "a said", "first (agent: c)", "c said",
			"c (agent: c)", "c said"))
	}},
	{name: "S4-16 an output is never a template", test: func(t *testing.T) {
		for _, said := range []string{"{{ $steps.b.output }}", "{{ $steps.nothere.output }}", "{{", "$steps.b.output",
			"{{{{ $steps.b.output }}}}"} {
			w := newWorld(t)
			w.says("a", said).says("b", "secret")
			w.completes(instructed("a b", "[{{ $steps.a.output }}][{{ $steps.b.output }}]",
				"- {type: agent, name: b}\n- {type: agent, name: a}\n- {type: agent, name: reader}\n"), said)
			same(t, "instruction", w.request("reader").System, "["+said+"][secret]")
			same(t, "prompt", w.prompt("reader"), prior(said, "b (agent: b)", "secret", "a (agent: a)", said))
		}
		w := newWorld(t)
		w.says("a", "{{ $steps.b.output }}").says("b", "true")
		o := w.runs(
			steps("a b c", "- {type: agent, name: b}\n- {type: agent, name: a}\n- {type: condition, condition: \"{{ "+
				"$steps.a.output }}\", true: [{type: agent, name: c}]}\n"), "go").is(event.StatusFailed)
		same(t, "an output in a condition", strings.Contains(o.Error.Message, "did not resolve to boolean"), true)
	}},
	{name: "S4-36 the order and the map of a block can be read", test: func(t *testing.T) {
		const outputs = `{"gen_1":{"output":"a ` +
			`said","agent":"a"},"gen_2":{"output":"{\"title\":\"T\",\"list\":[\"x\",{\"n\":2}],\"ok\":true}",` +
			`"agent":"b"}}`
		for template, want := range map[string]string{
			"{{ $steps.par_gen.order }}":                         `["gen_1","gen_2"]`,
			"{{ $steps.par_gen.order[0] }}":                      "gen_1",
			"{{ $steps.par_gen.order[1] }}":                      "gen_2",
			"{{ $steps.par_gen.outputs }}":                       outputs,
			"{{ $steps.outer.outputs.inner.researcher.output }}": "researcher said",
			"{{ $steps.outer.outputs.inner.order }}":             `["researcher","summarizer"]`,
			"{{ $steps.par_gen.outputs.gen_1 }}":                 `{"output":"a said","agent":"a"}`,
		} {
			same(t, template, systemOf(t, template), want)
		}
	}},
}

// newTemplatePrompt returns the first message of a run whose input looks like a template.
func newTemplatePrompt(t *testing.T) string {
	t.Helper()
	w := newWorld(t)
	w.completes(steps("a", "- {type: agent, name: a}\n"), "say {{ $steps.a.output }}")
	return w.prompt("a")
}

func TestStepsTemplate(t *testing.T) { check(t, stepsTemplate) }

func TestStepsTemplateCovered(t *testing.T) {
	covered(t, stepsTemplate, "S4-14", "S4-15", "S4-16", "S4-36")
}
