package conformance_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/engine/event"
)

// laterStepCondition is example 2 of the reference document with short names: its condition reads a
// later step.
const laterStepCondition = `
- {id: gen, type: agent, name: generator}
- {id: trans, type: agent, name: translator}
- id: qa_check
  type: condition
  condition: "{{ $steps.qa.output.is_approved }}"
  true: [{id: pub, type: agent, name: publisher}]
  false: [{id: back_to_trans, type: agent, name: translator}]
- {id: qa, type: agent, name: qa_agent}
- {id: end, type: agent, name: closer}
`

const (
	approved = `{"is_approved": true}`
	denied   = `{"is_approved": false}`
)

func judgedSteps() string {
	return steps("generator translator qa_agent publisher closer", laterStepCondition)
}

var stepsCondition = []rule{
	{name: "S4-7 a condition that reads a later step runs it first, once", test: func(t *testing.T) {
		w := newWorld(t)
		w.says("qa_agent", approved)
		r := w.runs(judgedSteps(), "go")
		r.is(event.StatusCompleted)
		same(t, "asked", w.asked(), []string{"generator", "translator", "qa_agent", "publisher", "closer"})
		same(t, "prompt behind", w.prompt("closer"), prior("go", "gen (agent: generator)", "generator said",
			"trans (agent: translator)", "translator said",
			"qa (agent: qa_agent)", approved, "pub (agent: publisher)", "publisher said"))
		// Two conditions that read one later step, and a condition that reads two.
		w = newWorld(t)
		w.says("a", "yes").says("b", "yes")
		w.completes(steps("a b c d e", `
- {type: condition, condition: "{{ $steps.x.output }}", true: [{type: agent, name: c}]}
- {type: condition, condition: "{{ $steps.y.output }}", true: [{type: agent, name: d}]}
- {id: x, type: agent, name: a}
- {id: y, type: agent, name: b}
- {type: agent, name: e}
`), "go")
		same(t, "asked by two conditions", w.asked(), []string{"a", "c", "b", "d", "e"})
		w = newWorld(t)
		w.says("a", "yes").says("b", "no")
		w.completes(steps("a b c d e", `
- type: condition
  condition: $steps.y.output == "no" && $steps.x.output == "yes"
  true: [{type: agent, name: c}]
- {type: agent, name: d}
- {id: x, type: agent, name: a}
- {id: y, type: agent, name: b}
- {type: agent, name: e}
`), "go")
		same(t, "asked by one condition of two steps", w.asked(), []string{"a", "b", "c", "d", "e"})
	}},
	{name: "S4-8 a rejection runs the judge again, and a repeated id goes back", test: func(t *testing.T) {
		w := newWorld(t)
		w.says("qa_agent", denied, approved).says("translator", "first", "second")
		w.completes(judgedSteps(), "go")
		same(t, "asked with one rejection", w.asked(), []string{"generator", "translator", "qa_agent", "translator",
			"qa_agent", "publisher", "closer"})
		same(t, "second translation", w.prompts("translator")[1], prior("go", "gen (agent: generator)",
			"generator said", "trans (agent: translator)", "first", "qa (agent: qa_agent)", denied))
		same(t, "second judgement", w.prompts("qa_agent")[1], prior("go", "gen (agent: generator)", "generator said",
			"trans (agent: translator)", "first",
			"qa (agent: qa_agent)", denied, "back_to_trans (agent: translator)", "second"))
		w = newWorld(t)
		w.says("qa_agent", denied, denied, denied, approved)
		w.completes(judgedSteps(), "go")
		same(t, "asked with three rejections", len(w.asked()), 11)

		for _, target := range []string{"[{id: trans}]", "[{id: trans, type: agent, name: translator}]"} {
			w = newWorld(t)
			w.says("qa_agent", denied, approved)
			w.completes(steps("generator translator qa_agent publisher", `
- {id: gen, type: agent, name: generator}
- {id: trans, type: agent, name: translator}
- {id: qa, type: agent, name: qa_agent}
- {type: condition, condition: "{{ $steps.qa.output.is_approved }}", false: `+target+`}
- {type: agent, name: publisher}
`), "go")
			same(t, "asked with a way back to "+target, w.asked(),
				[]string{"generator", "translator", "qa_agent", "translator", "qa_agent", "publisher"})
		}
	}},
	{name: "S4-9 a loop runs as often as its limit, and the next time fails", test: func(t *testing.T) {
		back := func(limit string) string {
			return steps("generator translator qa_agent", "\n  "+limit+`
  steps:
  - {id: gen, type: agent, name: generator}
  - {id: trans, type: agent, name: translator}
  - {id: qa, type: agent, name: qa_agent}
  - {type: condition, condition: "{{ $steps.qa.output.is_approved }}", false: trans}
`)
		}
		for limit, n := range map[string]int{"": 100, "max_loop_iterations: 2": 2, "max_loop_iterations: 1": 1} {
			w := newWorld(t)
			for range n {
				w.says("qa_agent", denied)
			}
			o := w.runs(back(limit), "go").is(event.StatusFailed)
			same(t, "error", asJSON(o.Error),
				fmt.Sprintf(`{"code":"max_loop_iterations","message":"workflow: max loop iterations exceeded (step: `+
					`trans, limit: %d)","node":"trans"}`, n))
			same(t, "translations", len(w.of("translator")), n)
			w = newWorld(t)
			for range n - 1 {
				w.says("qa_agent", denied)
			}
			w.says("qa_agent", approved)
			w.completes(back(limit), "go")
			same(t, "translations up to the limit", len(w.of("translator")), n)
		}
		w := newWorld(t)
		long := "\n"
		for i := range 14 {
			long += fmt.Sprintf("- {id: s%d, type: agent, name: translator}\n", i)
		}
		w.acts = func(int) line { return say(denied) }
		o := w.runs(steps("translator qa_agent", long+`- {id: qa, type: agent, name: qa_agent}
- {type: condition, condition: "{{ $steps.qa.output.is_approved }}", false: s0}
`), "go").is(event.StatusFailed)
		same(t, "error of a loop that needs more steps than a run has by default", o.Error.Message,
			"workflow: max loop iterations exceeded (step: s0, limit: 100)")
		w = newWorld(t)
		for range 3 {
			w.says("qa_agent", denied)
		}
		o = w.runs(steps("generator translator qa_agent publisher closer", "  max_loop_iterations: 3\n  steps:"+
			strings.ReplaceAll(laterStepCondition, "\n", "\n  ")), "go").is(event.StatusFailed)
		same(t, "error where the judge comes later", o.Error.Message,
			"workflow: max loop iterations exceeded (step: qa, limit: 3)")
	}},
	{name: "S4-10 what counts as true, what as false, and what as neither", test: func(t *testing.T) {
		const whole, path = "{{ $steps.x.output }}", "{{ $steps.x.output.ok }}"
		for _, c := range []struct{ condition, said, want string }{
			{whole, "true", "yes"}, {whole, " TRUE\n", "yes"}, {whole, "Yes", "yes"}, {whole, "1", "yes"},
			{whole, "false", "no"}, {whole, "No ", "no"}, {whole, "0", "no"}, {whole, "FALSE", "no"},
			{whole, "", ""}, {whole, "maybe", ""}, {whole, "yes.", ""}, {whole, "yes, I think", ""}, {whole, "2", ""},
			{whole, "null", ""}, {whole, approved, ""},
			{path, `{"ok":true}`, "yes"}, {path, `{"ok":false}`, "no"}, {path, `{"ok":" Yes "}`, "yes"},
			{path, `{"ok":"0"}`, "no"},
			{path, `{"ok":1}`, ""}, {path, `{"ok":0}`, ""}, {path, `{"ok":null}`, ""}, {path, `{"ok":"good"}`, ""},
			{path, `{"ok":[]}`, ""}, {path, `{}`, ""},
			{path, "true", ""}, {path, "not JSON", ""}, {path, `[true]`, ""},
		} {
			w := newWorld(t)
			w.says("a", c.said)
			r := w.runs(
				steps("a yes no", "- {id: x, type: agent, name: a}\n- {id: check, type: condition, condition: \""+
					c.condition+"\", true: [{type: agent, name: \"yes\"}], false: [{type: agent, name: \"no\"}]}\n"),
				"go")
			o := r.show()
			if c.want != "" {
				same(t, "asked after "+c.said, w.asked(), []string{"a", c.want})
				continue
			}
			same(t, "status after "+c.said, o.Status, event.StatusFailed)
			if o.Error != nil && !strings.Contains(o.Error.Message, `condition did not resolve to boolean: "`+
				c.condition+`"`) {
				t.Errorf("error after %q: %s", c.said, o.Error.Message)
			}
			same(t, "asked after "+c.said, w.asked(), []string{"a"})
		}
	}},
	{name: "S4-18 a branch may name the step to go back to, or its place", test: func(t *testing.T) {
		doc := func(branch string) string {
			return steps("a b q e", `
- {id: first, type: agent, name: a}
- {id: second, type: agent, name: b}
- {id: judge, type: agent, name: q}
- {id: check, type: condition, condition: "{{ $steps.judge.output }}", false: `+branch+`}
- {type: agent, name: e}
`)
		}
		for branch, want := range map[string]string{
			"second": "a b q b q e", "[second]": "a b q b q e", "1": "a b q b q e", "[1]": "a b q b q e",
			"0": "a b q a b q e", "first": "a b q a b q e",
			"judge": "a b q q e", "2": "a b q q e",
		} {
			w := newWorld(t)
			w.says("q", "no", "yes")
			w.completes(doc(branch), "go")
			same(t, "asked with the branch "+branch, strings.Join(w.asked(), " "), want)
		}
		w := newWorld(t)
		w.says("q", "no", "yes")
		w.completes(doc("[{id: fix, type: agent, name: e}, second]"), "go")
		same(t, "asked with a step before the way back", strings.Join(w.asked(), " "), "a b q e b q e")
		w = newWorld(t)
		w.says("a", "yes").says("q", "no", "yes")
		w.completes(steps("a b q e", `
- {id: first, type: agent, name: a}
- type: condition
  condition: "{{ $steps.first.output }}"
  true:
  - {id: inner, type: agent, name: b}
  - {id: judge, type: agent, name: q}
  - {type: condition, condition: "{{ $steps.judge.output }}", false: 0, true: [{type: agent, name: e}]}
`), "go")
		same(t, "a place counts in the list of the condition", strings.Join(w.asked(), " "), "a b q b q e")
		for _, branch := range []string{"nothere", "[nothere]", "9", "-1", "1.5"} {
			if got := refused(t, doc(branch)); len(got) != 1 {
				t.Errorf("errors of the branch %s: %q, want one", branch, got)
			}
		}
		if got := refused(t, doc("nothere")); !slices.ContainsFunc(got, func(s string) bool {
			return strings.Contains(s, "nothere")
		}) {
			t.Errorf("errors: %q, want one that names the target", got)
		}
	}},
	{name: "S4-35 each loop counts for itself", test: func(t *testing.T) {
		const two = `  max_loop_iterations: 3
  steps:
  - {id: outside, type: agent, name: o}
  - {id: outer, type: agent, name: a}
  - {id: inner, type: agent, name: b}
  - {id: p, type: agent, name: p}
  - {type: condition, condition: "{{ $steps.p.output }}", false: inner}
  - {id: q, type: agent, name: q}
  - {type: condition, condition: "{{ $steps.q.output }}", false: outer}
  - {id: end, type: agent, name: e}
`
		w := newWorld(t)
		// The inner loop runs three times in each of three outer passes.
		w.says("p", "no", "no", "yes", "no", "no", "yes", "no", "no", "yes").says("q", "no", "no", "yes")
		w.completes(steps("o a b p q e", two), "go")
		same(t, "executions", []int{len(w.of("o")), len(w.of("a")), len(w.of("b")), len(w.of("e"))}, []int{1, 3, 9, 1})
		w = newWorld(t)
		w.says("p", "yes", "no", "no", "no").says("q", "no")
		o := w.runs(steps("o a b p q e", two), "go").is(event.StatusFailed)
		same(t, "inner loop in the second pass", o.Error.Message,
			"workflow: max loop iterations exceeded (step: inner, limit: 3)")
		w = newWorld(t)
		w.says("p", "yes", "yes", "yes").says("q", "no", "no", "no")
		o = w.runs(steps("o a b p q e", two), "go").is(event.StatusFailed)
		same(t, "outer loop", o.Error.Message, "workflow: max loop iterations exceeded (step: outer, limit: 3)")
		// A loop in a branch of a parallel block.
		w = newWorld(t)
		w.says("b", "no", "no", "yes").says("c", "no", "yes", "yes").says("q", "no", "yes")
		w.completes(steps("a b c e q", `  max_loop_iterations: 3
  steps:
  - type: parallel
    id: p
    steps:
    - {id: x, type: agent, name: a}
    - type: condition
      condition: "true"
      true:
      - {id: inner, type: agent, name: b}
      - {type: condition, condition: "{{ $steps.inner.output }}", false: inner, true: [{id: y, type: agent, name: e}]}
  - {id: c, type: agent, name: c}
  - {type: condition, condition: "{{ $steps.c.output }}", false: c}
  - {id: q, type: agent, name: q}
  - {type: condition, condition: "{{ $steps.q.output }}", false: c}
`), "go")
		same(t, "executions in a block and behind it", []int{len(w.of("a")), len(w.of("b")), len(w.of("e")),
			len(w.of("c"))}, []int{1, 3, 1, 3})
		// Steps outside loops and retries are not counted.
		w = newWorld(t)
		w.plays("a", fail("server", "down"), fail("server", "down"), fail("server", "down"), say("A"),
			fail("server", "down"), say("A"))
		w.says("q", "no", "yes")
		w.completes(steps("a b q", `  max_loop_iterations: 2
  steps:
  - {type: agent, name: b}
  - {type: agent, name: b}
  - {type: agent, name: b}
  - {id: again, type: agent, name: a, retry: {max_attempts: 3}}
  - {id: q, type: agent, name: q}
  - {type: condition, condition: "{{ $steps.q.output }}", false: again}
`), "go")
		same(t, "calls with retries", len(w.of("a")), 6)
	}},
}

func TestStepsCondition(t *testing.T) { check(t, stepsCondition) }

func TestStepsConditionCovered(t *testing.T) {
	covered(t, stepsCondition, "S4-7", "S4-8", "S4-9", "S4-10", "S4-18", "S4-35")
}
