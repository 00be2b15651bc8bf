package conformance_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
)

var stepsMaps = []rule{
	{name: "X-30 a map runs its steps for each item of a list", test: func(t *testing.T) {
		yields(t, steps("a", `
- {id: n, type: set, values: {list: [1, {k: v}, "x"]}}
- {type: map, over: "{{ $steps.n.output.list }}", steps: [{type: tool, tool: act, args: {v: "{{ $item }}"}}]}
`), `[{"v":1},{"v":{"k":"v"}},{"v":"x"}]`)
		yields(t, steps("a", "- {type: map, over: [], steps: [{id: x, type: agent, name: a}]}\n"), `[]`)
		yields(t,
			steps("a", "- {type: map, over: [\"{{ $input }}\", 2], steps: [{type: set, values: {v: \"{{ $item "+
				"}}\"}}]}\n"), `[{"v":"go"},{"v":2}]`)
		fails(t, steps("a", "- {type: map, over: \"{{ $input }}\", steps: [{id: x, type: agent, name: a}]}\n"),
			event.CodeExpression, "a map needs a list")
		fails(t, steps("a", "- {type: map, over: ["+strings.Repeat("1, ", 10_000)+
			"1], steps: [{id: x, type: agent, name: a}]}\n"), event.CodeMaxItems, "at most 10000")
	}},
	{name: "X-31 $item, $item_index, as, and what the first step is given", test: func(t *testing.T) {
		yields(t, steps("a", `
- id: rows
  type: map
  over: [[1, 2], [3]]
  as: row
  steps:
    - type: map
      over: "{{PREVIOUS_OUTPUT}}"
      steps: [{type: set, values: {at: "{{ $row_index }}.{{ $item_index }}", v: "{{ $item }}", of: "{{ $row }}"}}]
`), `[[{"at":"0.0","of":[1,2],"v":1},{"at":"0.1","of":[1,2],"v":2}],[{"at":"1.0","of":[3],"v":3}]]`)
		w, _ := withTools(t)
		w.completes(steps("a", "- {type: map, over: [two], steps: [{id: x, type: agent, name: a}]}\n"), "go")
		same(t, "what the agent is sent", w.prompt("a"), "two")
		same(t, "outside",
			len(refused(t,
				steps("a", "- {type: map, over: \"{{ $item }}\", steps: [{id: x, type: agent, name: a}]}\n"))), 1)
	}},
	{name: "X-32 each item is a scope of its own", test: func(t *testing.T) {
		yields(t, steps("a", `
- {id: base, type: set, values: {v: 10}}
- id: m
  type: map
  over: [1, 2]
  steps:
    - {id: in, type: set, values: {v: "{{ $steps.base.output.v + $item }}"}}
    - {id: out, type: set, values: {v: "{{ $steps.in.output.v * 2 }}"}}
`), `[{"v":22},{"v":24}]`)
		same(t, "outside", len(refused(t, steps("a", `
- {id: m, type: map, over: [1], steps: [{id: in, type: set, values: {v: 1}}]}
- {type: set, values: {v: "{{ $steps.in.output.v }}"}}
`))), 1)
	}},
	{name: "X-33 the output is a list in the order of the items", test: func(t *testing.T) {
		yields(t, steps("a", `
- id: m
  type: map
  over: [3, 1, 2]
  steps:
    - {id: x, type: sleep, for: "{{ $item }}s"}
    - {id: y, type: set, values: {v: "{{ $item }}"}, if: "{{ $item != 1 }}"}
`), `[{"v":3},1,{"v":2}]`)
	}},
	{name: "X-34 max_concurrency items are at work", test: func(t *testing.T) {
		// with twelve items
		for key, want := range map[string]time.Duration{"": 2 * time.Hour, "max_concurrency: 3,": 4 * time.Hour} {
			w, _ := withTools(t)
			began := time.Now()
			r := w.begin(steps("a", "- {type: map, "+key+
				" over: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], steps: [{type: sleep, for: 1h}]}\n"), "go")
			for r.show().Status == event.StatusRunning {
				time.Sleep(time.Minute) // in the bubble's time
			}
			same(t, "took", r.is(event.StatusCompleted).EndedAt.Sub(began).Round(time.Minute), want)
		}
	}},
	{name: "X-35 what the failure of an item does", test: func(t *testing.T) {
		doc := func(keys string) string {
			return steps("a", `
- {id: m, type: map, over: [1, 2, 3, 4], `+keys+
				`steps: [{type: tool, tool: act, args: {v: "{{ $item }}", fail: "{{ $item_index % 2 == 1 }}"}}]}
- {type: set, values: {list: "{{PREVIOUS_OUTPUT}}", error: "{{ has($steps.m.error) ? $steps.m.error.code : '' }}"}}
`)
		}
		const failed = `{"error":{"code":"failed","message":"tool \"act\" failed: no route","node":"act"}}`
		fails(t,
			strings.Replace(doc("max_concurrency: 1, "),
				"error: \"{{ has($steps.m.error) ? $steps.m.error.code : '' }}\"", "a: 1", 1), "failed",
			"items[1]: tool \"act\" failed: no route")
		plain := func(keys string) string {
			return strings.Replace(doc(keys), "error: \"{{ has($steps.m.error) ? $steps.m.error.code : '' }}\"",
				"error: none", 1)
		}
		yields(t, plain("on_item_error: skip, "),
			`{"error":"none","list":[{"fail":false,"v":1},null,{"fail":false,"v":3},null]}`)
		fails(t, plain("on_item_error: collect, "), event.CodeItemsFailed,
			"2 of 4 items failed; the first, items[1]: tool \"act\" failed: no route")
		yields(t, doc("on_item_error: collect, on_error: continue, "),
			`{"error":"items_failed","list":[{"fail":false,"v":1},`+failed+`,{"fail":false,"v":3},`+failed+`]}`)
		yields(t, doc("on_error: {default: [0]}, "), `{"error":"failed","list":[0]}`)
	}},
	{name: "X-36 an item that has ended is not done again", test: func(t *testing.T) {
		w, _ := withTools(t)
		w.plays("a", say("one"), down(), say("two"), say("three"))
		o := w.completes(
			steps("a", "- {type: map, over: [1, 2, 3], max_concurrency: 1, retry: {max_attempts: 1}, steps: [{id: x, "+
				"type: agent, name: a}]}\n"), "go")
		same(t, "output", string(o.Output), `["one","two","three"]`)
		var asked []string
		for _, c := range w.of("a") {
			asked = append(asked, c.Messages[len(c.Messages)-1].Text.String())
		}
		same(t, "items", strings.Join(asked, " "), "1 2 2 3")
	}},
	{name: "X-37 nothing inside of a map ends the run or leaves it", test: func(t *testing.T) {
		same(t, "end", len(refused(t, steps("a", "- {type: map, over: [1], steps: [{type: end}]}\n"))), 1)
		same(t, "goto",
			len(
				refused(t,
					steps("a", "- {id: x, type: agent, name: a}\n- {type: map, over: [1], steps: [{type: set, "+
						"values: {a: 1}, on_error: {goto: x}}]}\n"))), 1)
		yields(t, steps("a", `
- type: map
  over: [0, 1]
  steps:
    - {id: n, type: set, values: {v: "{{ has($steps.n.output) ? $steps.n.output.v + 1 : $item }}"}}
    - {type: condition, condition: "{{ $steps.n.output.v < 3 }}", true: n}
`), `[{"v":3},{"v":3}]`)
	}},
	{name: "X-38 each item may take steps of its own", test: func(t *testing.T) {
		w, _ := withTools(t)
		o := w.completes(steps("a", "- {type: map, over: ["+strings.Repeat("1, ", 1_499)+
			"1], steps: [{type: set, values: {v: 1}}]}\n"), "go")
		same(t, "items", strings.Count(string(o.Output), "v"), 1_500)
	}},
}

func TestStepsMaps(t *testing.T) { check(t, stepsMaps) }

func TestStepsMapsCovered(t *testing.T) {
	covered(t, stepsMaps, "X-30", "X-31", "X-32", "X-33", "X-34", "X-35", "X-36", "X-37", "X-38")
}
