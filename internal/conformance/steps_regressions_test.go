package conformance_test

import (
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
)

// stepsFound holds regression tests for bugs found by TestExtensions_MatchesReference.
var stepsFound = []rule{
	{name: "X-3 arguments that cannot be made are not made otherwise by a retry", test: func(t *testing.T) {
		for _, key := range []string{`args: {n: "{{ $steps.x.output.gone }}"}`,
			`args: {n: 1}, if: "{{ $steps.x.output.gone > 1 }}"`} {
			w, act := withTools(t)
			w.runs(steps("a", "- {id: x, type: set, values: {v: 1}}\n- {id: t, type: tool, tool: act, "+key+
				", retry: {max_attempts: 2}}\n"), "go").is(event.StatusFailed)
			same(t, "calls with "+key, len(act.Calls()), 0)
		}
	}},
	{name: "X-6 bounds of the run are not skipped with an item", test: func(t *testing.T) {
		for _, word := range []string{"skip", "collect"} {
			fails(t, "agents: {a: {}}\nworkflow: {max_loop_iterations: 2, steps: [{type: map, over: [1, 2], "+
				"on_item_error: "+word+", on_error: continue, steps: [{id: x, type: set, values: {v: 1}}, "+
				"{type: condition, condition: \"{{ $input == 'no' }}\", \"false\": x, \"true\": [{type: set, id: z, "+
				"values: {v: 2}}]}]}]}\n", event.CodeMaxLoopIterations, "items[0]: ")
		}
	}},
	{name: "X-7 the answer to an approval that its deadline decided, and after a rejection that is handled",
		test: func(t *testing.T) {
			w, _ := withTools(t)
			const rest = "- {id: s, type: set, values: {d: \"{{ $steps.g.decision }}\", n: \"{{ $steps.g.note }}\"}}\n"
			r := w.begin(steps("a", "- {id: g, type: approval, deadline: 1h, on_deadline: approve}\n"+rest), "go")
			r.waitSettled()
			time.Sleep(2 * time.Hour) // in the bubble's time
			same(t, "at the deadline", string(r.is(event.StatusCompleted).Output), `{"d":"approve","n":""}`)
			r = w.runs(steps("a", "- {id: g, type: approval, on_error: continue}\n"+rest), "go")
			r.answers(map[string]string{"decision": "reject", "note": "too dear"})
			same(t, "rejected", string(r.is(event.StatusCompleted).Output), `{"d":"reject","n":"too dear"}`)
			r = w.runs("agents: {a: {}}\nworkflow: {max_loop_iterations: 1, steps: [{id: g, type: approval, "+
				"reject: [g], "+
				"limit: [{id: s, type: set, values: {n: \"{{ $steps.g.note }}\"}}]}]}\n", "go")
			r.answers(map[string]string{"decision": "reject", "note": "too dear"})
			same(t, "at the limit of its loop", string(r.is(event.StatusCompleted).Output), `{"n":"too dear"}`)
		}},
	{name: "X-14 what was not answered in time has no output", test: func(t *testing.T) {
		for _, s := range []string{"type: ask, prompt: Who?", "type: signal, signal: paid"} {
			w, _ := withTools(t)
			r := w.begin(
				steps("a", "- {id: q, "+s+", deadline: 1h, on_deadline: {goto: late}}\n- {id: late, type: set, "+
					"values: {out: \"{{ has($steps.q.output) }}\", previous: \"{{PREVIOUS_OUTPUT}}\"}}\n"), "go")
			r.waitSettled()
			time.Sleep(2 * time.Hour) // in the bubble's time
			same(t, s, string(r.is(event.StatusCompleted).Output), `{"out":false,"previous":"go"}`)
		}
	}},
	{name: "X-6 a bound of the run is not made up for by another branch", test: func(t *testing.T) {
		loop := "{id: c, type: condition, condition: \"true\", true: [{id: x, type: set, values: {a: 1}}, {id: y, " +
			"type: tool, tool: act, args: {fail: true}, on_error: {goto: x}}]}"
		for _, join := range []string{"any", "quorum, quorum: 1"} {
			w, _ := withTools(t)
			o := w.runs(steps("", "- {id: p, type: parallel, join: "+join+", on_error: continue, steps: ["+loop+
				", {id: z, type: sleep, for: 1m}]}\n"), "go").is(event.StatusFailed)
			same(t, join, o.Error.Code, event.CodeMaxLoopIterations)
		}
	}},
	{name: "X-35 the list with failures is that of a map that collects, not of one around it",
		test: func(t *testing.T) {
			yields(t,
				steps("a", "- {id: m, type: map, over: [1], on_error: continue, steps: [{type: map, over: [2], "+
					"on_item_error: collect, steps: [{id: t, type: tool, tool: act, args: {fail: true}}]}]}\n"+
					"- {type: set, values: {previous: \"{{PREVIOUS_OUTPUT}}\", out: \"{{ has($steps.m.output) "+
					"}}\"}}\n"),
				`{"out":false,"previous":"go"}`)
		}},
	{name: "X-41 a limit is for its own loop, not for one inside of the step that begins it", test: func(t *testing.T) {
		fails(t, "agents: {a: {}}\nworkflow: {max_loop_iterations: 2, steps: [{id: m, type: map, over: [1], steps: "+
			"[{id: x, type: set, values: {v: 1}}, "+
			"{type: condition, condition: \"{{ $input == 'no' }}\", \"false\": x, \"true\": [{type: set, id: z, "+
			"values: {v: 2}}]}]}, "+
			"{type: condition, condition: \"{{ $input == 'no' }}\", \"true\": m, limit: [{type: set, id: l, values: "+
			"{v: 3}}]}, {type: set, id: y, values: {v: 4}}]}\n", event.CodeMaxLoopIterations, "items[0]: ")
	}},
	{name: "X-55 an end that is skipped does not say the output", test: func(t *testing.T) {
		yields(t,
			"output: {all: 1}\n"+steps("a", "- {id: x, type: set, values: {v: 1}}\n- {type: end, output: {v: 2}, if: "+
				"\"{{ $input == 'stop' }}\"}\n"), `{"all":1}`)
	}},
}

func TestStepsRegressions(t *testing.T) { check(t, stepsFound) }

func TestStepsRegressionsCovered(t *testing.T) {
	covered(t, stepsFound, "X-3", "X-6", "X-7", "X-14", "X-35", "X-41", "X-55")
}
