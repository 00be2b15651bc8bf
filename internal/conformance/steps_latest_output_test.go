package conformance_test

import (
	"context"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
)

// again is a condition in a parallel block in a loop, with the agents w, f, g and j; j answers no,
// then yes.
const again = `
- {id: write, type: agent, name: w}
- id: par
  type: parallel
  steps:
  - id: deep
    type: condition
    condition: '{{ $steps.write.output != "" }}'
    true: [{id: facts, type: agent, name: f}, {id: polish, type: agent, name: g}]
- {id: judge, type: agent, name: j}
- {id: ok, type: condition, condition: "{{ $steps.judge.output }}", false: write}
`

// latestOutputs checks S4-4 and D5 when a loop enters a block again: one output per step, the
// latest visible one.
var latestOutputs = []rule{
	{name: "S4-4 a step of a branch that runs again is shown once, with its new output", test: func(t *testing.T) {
		w := newWorld(t)
		w.says("f", "OLD", "NEW").says("g", "P1", "P2").says("j", "no", "yes")
		w.completes(steps("w f g j", again), "go")
		same(t, "pass 1", w.prompts("g")[0], prior("go", "write (agent: w)", "w said", "facts (agent: f)", "OLD"))
		same(t, "pass 2", w.prompts("g")[1], prior("go", "write (agent: w)", "w said", "par/facts (agent: f)", "NEW",
			"par/polish (agent: g)", "P1", "judge (agent: j)", "no"))
		same(t, "the step itself", w.prompts("f")[1], prior("go", "write (agent: w)", "w said", "par/facts (agent: f)",
			"OLD", "par/polish (agent: g)", "P1", "judge (agent: j)", "no"))
		same(t, "behind the block", w.prompts("j")[1], prior("go", "write (agent: w)", "w said", "par/facts (agent: f)",
			"NEW", "par/polish (agent: g)", "P2", "judge (agent: j)", "no"))
	}},
	{name: "S4-4, S4-5 an empty new output leaves no old one", test: func(t *testing.T) {
		w := newWorld(t)
		w.says("f", "OLD", "").says("g", "P1", "P2").says("j", "no", "yes")
		w.completes(steps("w f g j", again), "go")
		same(t, "pass 2", w.prompts("g")[1], prior("go", "write (agent: w)", "w said", "par/polish (agent: g)", "P1",
			"judge (agent: j)", "no"))
	}},
	{name: "S4-4, D5 blocks inside of blocks", test: func(t *testing.T) {
		w := newWorld(t)
		w.says("f", "OLD", "NEW").says("g", "P1", "P2").says("j", "no", "yes")
		block := "  - {id: outer, type: parallel, steps: [{id: side, type: agent, name: s}, {id: inner, type: " +
			"parallel, steps: [" +
			"{type: condition, condition: '{{ $steps.write.output != \"\" }}', true: [{id: facts, type: agent, name: " +
			"f}, {id: polish, type: agent, name: g}]}]}]}\n"
		before, _, _ := strings.Cut(again, "  - id: deep")
		_, after, _ := strings.Cut(again, "- {id: judge")
		doc := before + block + "- {id: judge" + after
		w.completes(steps("w f g j s", doc), "go")
		same(t, "pass 2", w.prompts("g")[1], prior("go", "write (agent: w)", "w said", "par/outer/side (agent: s)",
			"s said",
			"par/outer/inner/facts (agent: f)", "NEW", "par/outer/inner/polish (agent: g)", "P1", "judge (agent: j)",
			"no"))
	}},
	{name: "D5 templates and conditions in a branch read the latest outputs, by every path", test: func(t *testing.T) {
		w := newWorld(t)
		w.says("f", "OLD", "NEW").says("g", "P1", "P2").says("j", "no", "yes")
		prompt := "a {{ $steps.facts.output }}"
		for _, read := range []string{"par.outputs.facts.output", "par.output.steps.facts.output",
			"par.outputs.polish.output", "polish.output"} {
			prompt += " {{ has($steps." + read + ") ? $steps." + read + ` : "" }}`
		}
		doc := strings.Replace("inputs: {}\n"+steps("w f g j", again), "{id: polish, type: agent, name: g}",
			"{id: polish, type: agent, name: g, prompt: '"+prompt+"'}", 1)
		w.completes(doc, "go")
		same(t, "pass 1", w.prompts("g")[0], "a OLD OLD OLD  ")
		same(t, "pass 2", w.prompts("g")[1], "a NEW NEW NEW P1 P1")

		// The same in blocks inside of blocks.
		w = newWorld(t)
		w.says("f", "F")
		w.completes(strings.Replace(steps("w f", `
- {id: write, type: agent, name: w}
- id: par
  type: parallel
  steps:
  - {id: side, type: agent, name: w}
  - id: inner
    type: parallel
    steps:
    - id: deep
      type: condition
      condition: '{{ $steps.write.output != "" }}'
      true: [{id: facts, type: agent, name: f}, {id: polish, type: agent, name: g}]
`), "agents:", "agents:\n  g: {model: openai/fake, instruction: 'a {{ $steps.par.outputs.inner.outputs.facts.output "+
			"}}'}", 1), "go")
		same(t, "of its own branch", w.of("g")[0].System, "a F")

		// A condition in the branch reads a step of the branch.
		w = newWorld(t)
		w.says("f", "no", "yes").says("j", "no", "yes")
		doc = strings.Replace(again, "{id: polish, type: agent, name: g}",
			"{type: condition, condition: '{{ $steps.facts.output }}', true: [{id: polish, type: agent, name: g}]}", 1)
		r := w.runs(steps("w f g j", doc), "go")
		r.is(event.StatusCompleted)
		same(t, "calls of the true branch", len(w.prompts("g")), 1)
	}},
	{name: "S4-34 the step context of a block that was cut short has the latest outputs of its branches",
		test: func(t *testing.T) {
			w := newWorld(t)
			w.says("f", "OLD", "NEW").plays("g", say("P1"), fail(model.KindServer, "down")).says("j", "no")
			r := w.runs(steps("w f g j", again), "go")
			r.is(event.StatusFailed)
			same(t, "context", r.stepContext(),
				`{"write":{"output":"w `+
					`said","agent":"w"},"par":{"steps":{"facts":{"output":"NEW","agent":"f"},"polish":{"output":"P1",`+
					`"agent":"g"}},`+
					`"order":["facts","polish"]},"judge":{"output":"no","agent":"j"}}`)
		}},
	{name: "S4-4, D1 a fork and another process go on with the same prompts", test: func(t *testing.T) {
		w := newWorld(t, onDisk(t.TempDir()+"/store.db"))
		w.says("f", "OLD", "NEW").says("g", "P1", "P2").says("j", "no", "yes")
		r := w.runs(steps("w f g j", again), "go")
		want := inputs(r.is(event.StatusCompleted).Steps)
		for _, e := range r.recorded().Events {
			if _, ended := e.Data.(*event.StepCompleted); !ended || e.Node != "facts" && e.Node != "polish" {
				continue
			}
			w = w.restart()
			r.w = w
			id, err := w.Fork(t.Context(), r.id, e.Seq, service.ForkRights{})
			if err != nil {
				t.Fatal(err)
			}
			w.replies = func(q model.Request, _ int) line { // repeats the reply to the same prompt
				for i, line := range want {
					if node, input, _ := strings.Cut(line, ": "); input == q.LastText() &&
						map[string]string{"write": "w", "facts": "f", "polish": "g", "judge": "j"}[node] == q.Agent {
						return say(text(r.show().Steps[i].Output))
					}
				}
				t.Errorf("after event %d agent %s is sent what it was never sent: %s", e.Seq, q.Agent, q.LastText())
				return say("no")
			}
			fork := &run{w, id}
			if err := w.Resume(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			same(t, "fork", inputs(fork.is(event.StatusCompleted).Steps), want)
		}
	}},
	{name: "D5 functions of Go graphs see the outputs of their own branch, whatever a former pass left",
		test: func(t *testing.T) {
			for range 8 { // map order is random
				var seen []string
				facts := does("facts", func(_ context.Context, c *gContext) (gResult, error) {
					return gResult{Output: c.State.N}, nil
				})
				polish := does("polish", func(_ context.Context, c *gContext) (gResult, error) {
					out, _ := c.Output("facts")
					seen = append(seen, string(out))
					return gResult{}, nil
				})
				b := newGraph().Loop(upTo(3), counts("count"), gParallel{ID: "par", Branches: []string{"in"}}).Branch(
					"in",
					func(b *gBuilder) {
						b.Parallel(gParallel{ID: "inner", Branches: []string{"deep"}}).Branch("deep",
							func(b *gBuilder) {
								b.Start(facts).Then(polish)
							})
					})
				play(t, b, sheet{})
				same(t, "seen", seen, []string{"1", "2", "3"})
			}
		}},
}

// inputs returns the inputs of the steps of a run, one `node: input` line per step.
func inputs(list []project.Step) []string {
	out := []string{}
	for _, s := range list {
		out = append(out, s.Node+": "+text(s.Input))
	}
	return out
}

func TestLatestOutputs(t *testing.T) { check(t, latestOutputs) }
