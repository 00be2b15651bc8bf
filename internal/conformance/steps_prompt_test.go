package conformance_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/hocket-run/hocket/internal/engine/event"
)

// nested is a parallel block in a parallel block, with names that differ from the ids.
const nested = `
- {id: first, type: agent, name: a}
- type: parallel
  id: outer
  steps:
  - {id: left, type: agent, name: b}
  - type: parallel
    id: inner
    steps:
    - {id: one, type: agent, name: c}
    - {id: two, type: agent, name: d}
- {id: last, type: agent, name: e}
`

// contextStep is a step of the step context.
type contextStep struct {
	Output, Agent string
	Steps         map[string]contextStep
	Order         []string
}

// twoForms returns the labels and outputs of the block of prior outputs, and the templates that
// read the same outputs, for the step id of a context.
func twoForms(s contextStep, path, template string) (block, templates []string) {
	for _, id := range s.Order {
		b, t := twoForms(s.Steps[id], path+"/"+id, template+".outputs."+id)
		block, templates = append(block, b...), append(templates, t...)
	}
	if s.Output != "" {
		block = append(block, path+" (agent: "+s.Agent+")", s.Output)
		templates = append(templates, "{{ $steps."+template+".output }}")
	}
	return block, templates
}

var stepsPrompt = []rule{
	{name: "S4-39 the block of prior outputs and the keyed map are two forms of one thing", test: func(t *testing.T) {
		const order = "par_gen outer"
		w := newWorld(t)
		w.says("summarizer", "")
		r := w.runs(instructed("a b c researcher summarizer", "read", blocks), "go")
		r.is(event.StatusCompleted)
		var context map[string]contextStep
		if err := json.Unmarshal([]byte(r.stepContext()), &context); err != nil {
			t.Fatal(err)
		}
		var block, templates, texts []string
		for id := range strings.FieldsSeq(order) {
			b, t := twoForms(context[id], id, id)
			block, templates = append(block, b...), append(templates, t...)
		}
		same(t, "the block", w.prompt("reader"), prior("go", block...))
		for i := 1; i < len(block); i += 2 {
			texts = append(texts, block[i])
		}
		same(t, "outputs", texts, []string{"a said", "b said", "c said", "researcher said"})
		w = newWorld(t)
		w.says("summarizer", "")
		w.completes(instructed("a b c researcher summarizer", strings.Join(templates, " and "), blocks), "go")
		same(t, "the templates", w.request("reader").System, strings.Join(texts, " and "))
	}},
	{name: "S4-3 a step's user message is the block of former outputs and the prompt", test: func(t *testing.T) {
		w := newWorld(t)
		w.says("a", "first\nanswer").says("b", "second")
		w.completes(
			steps("a b c", "- {id: x, type: agent, name: a}\n- {id: y, type: agent, name: b}\n- {id: z, type: agent, "+
				"name: c}\n"), "Translate this.")
		same(t, "first step", w.prompt("a"), "Translate this.")
		same(t, "second step", w.prompt("b"), "--- Prior Step Outputs ---\n\n[x (agent: a)]:\nfirst\nanswer\n\n--- "+
			"End Prior Step Outputs ---\n\nTranslate this.")
		same(t, "third step", w.prompt("c"), "--- Prior Step Outputs ---\n\n[x (agent: a)]:\nfirst\nanswer\n\n[y "+
			"(agent: b)]:\nsecond\n\n--- End Prior Step Outputs ---\n\nTranslate this.")
		same(t, "messages", len(w.request("c").Messages), 1)

		w = newWorld(t)
		w.completes(steps("a b", "- {type: agent, name: a}\n- {type: agent, name: b}\n"), "")
		same(t, "first step without a prompt", w.prompt("a"), "Please proceed.")
		same(t, "second step without a prompt", w.prompt("b"), prior("Please proceed.", "a (agent: a)", "a said"))

		w = newWorld(t)
		w.plays("a", use("think", `{"thought":"hm"}`).saying("first words")).says("a", "last words")
		w.completes("agents:\n  a: {instruction: a, toolsets: [{type: think}]}\n  b: {instruction: b}\n"+
			"workflow: [{type: agent, name: a}, {type: agent, name: b}]\n", "go")
		same(t, "a step after several texts", w.prompt("b"), prior("go", "a (agent: a)", "last words"))

		w = newWorld(t)
		w.completes(steps("a b c d e", nested), "go")
		same(t, "first step", w.prompt("a"), "go")
		for _, who := range []string{"b", "c", "d"} {
			same(t, "step "+who+" of the block", w.prompt(who), prior("go", "first (agent: a)", "a said"))
		}
		same(t, "step after the blocks", w.prompt("e"), prior("go", "first (agent: a)", "a said",
			"outer/left (agent: b)", "b said", "outer/inner/one (agent: c)", "c said", "outer/inner/two (agent: d)",
			"d said"))
	}},
	{name: "S4-4 outputs are in the order of execution, each step once with its latest", test: func(t *testing.T) {
		w := newWorld(t)
		w.says("a", "a1", "a2", "a3").says("b", "b1", "b2", "b3").says("c", "no", "no", "yes")
		w.completes(steps("a b c d", `
- {id: first, type: agent, name: d}
- {id: x, type: agent, name: a}
- {id: y, type: agent, name: b}
- {id: z, type: agent, name: c}
- {type: condition, condition: "{{ $steps.z.output }}", false: x}
- {id: end, type: agent, name: d}
`), "go")
		same(t, "second pass of x", w.prompts("a")[1], prior("go", "first (agent: d)", "d said", "x (agent: a)", "a1",
			"y (agent: b)", "b1", "z (agent: c)", "no"))
		same(t, "second pass of y", w.prompts("b")[1], prior("go", "first (agent: d)", "d said", "x (agent: a)", "a2",
			"y (agent: b)", "b1", "z (agent: c)", "no"))
		same(t, "the end", w.prompts("d")[1], prior("go", "first (agent: d)", "d said", "x (agent: a)", "a3",
			"y (agent: b)", "b3", "z (agent: c)", "yes"))
		for range 20 { // regression: the order once came from a map
			w = newWorld(t)
			w.completes(
				steps("e d c b a z", "- {type: agent, name: e}\n- {type: agent, name: d}\n- {type: agent, name: "+
					"c}\n- {type: agent, name: b}\n- {type: agent, name: a}\n- {type: agent, name: z}\n"), "go")
			same(t, "many steps", w.prompt("z"), prior("go", "e (agent: e)", "e said", "d (agent: d)", "d said",
				"c (agent: c)", "c said", "b (agent: b)", "b said", "a (agent: a)", "a said"))
		}
	}},
	{name: "S4-5 steps with an empty output are left out", test: func(t *testing.T) {
		w := newWorld(t)
		w.says("a", "").says("b", "").says("c", "C").says("d", "")
		r := w.runs(steps("a b c d e", nested), "go")
		r.is(event.StatusCompleted)
		same(t, "step after nothing", w.prompt("b"), "go")
		same(t, "step after one output of four", w.prompt("e"), prior("go", "outer/inner/one (agent: c)", "C"))
		same(t, "context", r.stepContext(),
			`{"first":{"output":"","agent":"a"},"outer":{"steps":{"left":{"output":"","agent":"b"},`+
				`"inner":{"steps":{"one":{"output":"C","agent":"c"},"two":{"output":"","agent":"d"}},"order":["one",`+
				`"two"]}},"order":["left","inner"]},`+
				`"last":{"output":"e said","agent":"e"}}`)
		// A step whose output is now empty does not keep its old output.
		w = newWorld(t)
		w.says("a", "something", "").says("c", "no", "yes")
		w.completes(steps("a c d", `
- {id: x, type: agent, name: a}
- {id: z, type: agent, name: c}
- {type: condition, condition: "{{ $steps.z.output }}", false: x}
- {id: end, type: agent, name: d}
`), "go")
		same(t, "after a second pass without text", w.prompt("d"), prior("go", "z (agent: c)", "yes"))
	}},
	{name: "S4-13 the children of a block are in declared order whatever the finish order", test: func(t *testing.T) {
		for _, order := range permutations(3) {
			w := newWorld(t)
			gates := []chan struct{}{make(chan struct{}), make(chan struct{}), make(chan struct{})}
			for i, who := range []string{"b", "c", "d"} {
				w.plays(who, say(who+"!").behind(gates[i]))
			}
			r := w.begin(steps("a b c d e", nested), "go")
			for _, i := range order {
				synctest.Wait()
				close(gates[i])
			}
			r.is(event.StatusCompleted)
			same(t, "prompt after the block", w.prompt("e"), prior("go", "first (agent: a)", "a said",
				"outer/left (agent: b)", "b!", "outer/inner/one (agent: c)", "c!", "outer/inner/two (agent: d)", "d!"))
			for _, who := range []string{"b", "c", "d"} {
				same(t, "prompt in the block", w.prompt(who), prior("go", "first (agent: a)", "a said"))
			}
		}
	}},
	{name: "S4-37 labels have the path of blocks, and steps of branches their plain id", test: func(t *testing.T) {
		w := newWorld(t)
		w.says("a", "yes")
		w.completes(steps("a b c d e", `
- {id: x, type: agent, name: a}
- type: condition
  condition: "{{ $steps.x.output }}"
  true:
  - {id: in_branch, type: agent, name: b}
  - type: parallel
    id: block
    steps:
    - {id: one, type: agent, name: c}
    - type: parallel
      id: deep
      steps: [{id: two, type: agent, name: d}]
- {id: end, type: agent, name: e}
`), "go")
		same(t, "prompt", w.prompt("e"), prior("go", "x (agent: a)", "yes", "in_branch (agent: b)", "b said",
			"block/one (agent: c)", "c said", "block/deep/two (agent: d)", "d said"))
		// A condition as a child of a block: its steps belong to the block.
		w = newWorld(t)
		w.says("a", "yes")
		w.completes(steps("a b c e", `
- {id: x, type: agent, name: a}
- type: parallel
  id: block
  steps:
  - {id: one, type: agent, name: b}
  - type: condition
    id: check
    condition: "{{ $steps.x.output }}"
    true: [{id: two, type: agent, name: c}]
- {id: end, type: agent, name: e}
`), "go")
		same(t, "prompt after a condition in a block", w.prompt("e"),
			prior("go", "x (agent: a)", "yes", "block/one (agent: b)", "b said", "block/two (agent: c)", "c said"))
	}},
}

func TestStepsPrompt(t *testing.T) { check(t, stepsPrompt) }

func TestStepsPromptCovered(t *testing.T) {
	covered(t, stepsPrompt, "S4-3", "S4-4", "S4-5", "S4-13", "S4-37", "S4-39")
}
