package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/tooltest"
)

// withTools returns a world with a tool act that fails if its argument fail is true and otherwise
// returns its arguments.
func withTools(t *testing.T) (*world, *tooltest.Tool) {
	t.Helper()
	act := &tooltest.Tool{Name: "act", Fn: func(_ context.Context, c tool.Call) (tool.Result, error) {
		if strings.Contains(string(c.Arguments), `"fail":true`) {
			return tool.Result{}, errors.New("no route")
		}
		return tool.Result{Text: "done", Structured: c.Arguments}, nil
	}}
	return newWorld(t, func(c *service.Config) { c.Tools = []tool.Tool{act} }), act
}

// yields runs a document with the input go and checks that its run completes with the output want.
func yields(t *testing.T, doc, want string) project.Run {
	t.Helper()
	w, _ := withTools(t)
	o := w.completes(doc, "go")
	same(t, "output", string(o.Output), want)
	return o
}

// fails runs a document with the input go and checks that its run fails with a code.
func fails(t *testing.T, doc, code, message string) {
	t.Helper()
	w, _ := withTools(t)
	o := w.runs(doc, "go").is(event.StatusFailed)
	if o.Error.Code != code || !strings.Contains(o.Error.Message, message) {
		t.Errorf("the run failed with %s, want code %s and %q", asJSON(o.Error), code, message)
	}
}

var stepsExtensions = []rule{
	{name: "X-1 documents without extensions compile to what they were", test: func(t *testing.T) {
		w, _ := load(t, steps("a b", pair))
		if text := asJSON(w); strings.Contains(text, "toolsets") || strings.Contains(text, "catch") ||
			strings.Contains(text, `"if"`) {
			t.Errorf("the definition is %s", text)
		}
	}},
	{name: "X-2 each text of a value by itself, with the type of its one expression", test: func(t *testing.T) {
		yields(t, steps("a", `
- {id: n, type: set, values: {three: 3, list: [1, 2]}}
- {type: set, values: {sum: "{{ $steps.n.output.three + 1 }}", all: ["{{ $steps.n.output.list }}", "is {{ `+
			`$steps.n.output.three }}"], plain: true, none: null, json: "{{ '{\"k\": [7]}'.json().k[0] }}"}}
`), `{"all":[[1,2],"is 3"],"json":7,"none":null,"plain":true,"sum":4}`)
		w, _ := withTools(t)
		w.plays("a", say("{{ $input }} and {{ 1 + 1 }}"))
		same(t, "an output is not read again", string(w.completes(steps("a", `
- {id: x, type: agent, name: a}
- {type: set, values: {v: "said {{ $steps.x.output }}"}}
`), "go").Output), `{"v":"said {{ $input }} and {{ 1 + 1 }}"}`)
	}},
	{name: "X-3 a reference without a value fails the step", test: func(t *testing.T) {
		fails(t,
			steps("a", "- {id: x, type: agent, name: a}\n- {type: set, values: {v: \"{{ $steps.x.output.gone }}\"}}\n"),
			event.CodeExpression, "$steps.x.output.gone has no value")
		fails(t, steps("a", "- {type: tool, tool: act, args: {n: \"{{ 1 / 0 }}\"}}\n"), event.CodeExpression,
			"division by zero")
	}},
	{name: "X-4 $steps, $input and the tokens", test: func(t *testing.T) {
		yields(t, steps("a", `
- {id: x, type: agent, name: a}
- {type: set, values: {input: "{{ $input }}", previous: "{{PREVIOUS_OUTPUT}}", step: "{{ $steps.x.output }}"}}
`), `{"input":"go","previous":"a said","step":"a said"}`)
		same(t, "another name", len(refused(t, steps("a", "- {type: set, values: {v: \"{{ $env.HOME }}\"}}\n"))), 1)
	}},
	{name: "X-113 functions of lists, texts and numbers", test: func(t *testing.T) {
		yields(t, steps("a", `
- {id: x, type: set, values: {n: [2, 1.25, 3], t: "b,a"}}
- type: set
  values:
    sum: "{{ $steps.x.output.n.sum() }}"
    span: ["{{ $steps.x.output.n.min() }}", "{{ $steps.x.output.n.max() }}"]
    sorted: "{{ $steps.x.output.t.split(',').sort().join('+') }}"
    rounded: ["{{ round($steps.x.output.n.sum()) }}", "{{ round($steps.x.output.n[1], 1) }}"]
`), `{"rounded":[6,1.3],"sorted":"a+b","span":[1.25,3],"sum":6.25}`)
		w, _ := withTools(t)
		r := w.runs(
			steps("a", "- {id: x, type: set, values: {n: [1, text]}}\n- {type: set, values: {v: \"{{ "+
				"$steps.x.output.n.sum() }}\"}}\n"), "go")
		same(t, "error", r.is(event.StatusFailed).Error.Code, "expression")
	}},
	{name: "X-5 a step is skipped where its condition does not hold", test: func(t *testing.T) {
		o := yields(t, steps("a b", `
- {id: x, type: agent, name: a}
- {id: y, type: agent, name: b, if: "{{ $steps.x.output == 'other' }}"}
- {id: p, type: parallel, if: "{{ has($steps.y.output) }}", steps: [{id: q, type: agent, name: b}, {id: r, type: `+
			`agent, name: b}]}
- {type: set, values: {previous: "{{PREVIOUS_OUTPUT}}", ran: "{{ has($steps.y.output) || `+
			`has($steps.p.outputs.q.output) }}"}}
`), `{"previous":"a said","ran":false}`)
		same(t, "calls of models", o.Usage.ModelCalls, 1)
		yields(t,
			steps("a b", "- {id: x, type: agent, name: a}\n- {id: y, type: agent, name: b, if: \"{{ $input == "+
				"'go' }}\"}\n"), `"b said"`)
	}},
	{name: "X-6 the run goes on after the last retry", test: func(t *testing.T) {
		w, act := withTools(t)
		r := w.runs(steps("a", `
- {id: x, type: agent, name: a}
- {id: t, type: tool, tool: act, args: {fail: true}, retry: {max_attempts: 2, backoff: {initial_delay_seconds: 0}}, `+
			`on_error: continue}
- {id: s, type: set, values: {previous: "{{PREVIOUS_OUTPUT}}", message: "{{ $steps.t.error.message }}", node: "{{ `+
			`$steps.t.error.node }}", out: "{{ has($steps.t.output) }}"}}
`), "go")
		out := string(r.is(event.StatusCompleted).Output)
		if !strings.Contains(out, `"previous":"a said"`) || !strings.Contains(out, "no route") ||
			!strings.Contains(out, `"node":"t","out":false`) {
			t.Errorf("output %s", out)
		}
		same(t, "attempts", len(act.Calls()), 3)
		yields(t,
			steps("a", "- {id: t, type: tool, tool: act, args: {fail: true}, on_error: {default: {got: \"nothing for "+
				"{{ $input }}\"}}}\n"), `{"got":"nothing for go"}`)
		fails(t,
			"agents: {a: {}}\nworkflow: {max_loop_iterations: 2, steps: [{id: x, type: agent, name: a, on_error: "+
				"continue}, {type: condition, condition: \"{{ $input == 'no' }}\", \"false\": x, \"true\": [{type: "+
				"agent, id: z, name: a}]}]}\n", "max_loop_iterations", "")
	}},
	{name: "X-7 a rejection without reject fails the step", test: func(t *testing.T) {
		w, _ := withTools(t)
		r := w.runs(steps("a", "- {id: g, type: approval, prompt: \"Send {{ $input }}?\"}\n- {type: set, values: {d: "+
			"\"{{ $steps.g.decision }}\", n: \"{{ $steps.g.note }}\"}}\n"), "go")
		same(t, "prompt", r.show().Waiting[0].Prompt, "Send go?")
		r.answers(map[string]string{"decision": "approve", "note": "fine"})
		same(t, "answer", string(r.is(event.StatusCompleted).Output), `{"d":"approve","n":"fine"}`)
		r = w.runs(steps("a", "- {id: g, type: approval}\n- {id: x, type: agent, name: a}\n"), "go")
		r.answers(map[string]string{"decision": "reject", "note": "too dear"})
		o := r.is(event.StatusFailed)
		same(t, "code", o.Error.Code, event.CodeRejected)
	}},
	{name: "X-7 the answer to an approval in a parallel step is read behind it", test: func(t *testing.T) {
		for _, block := range []string{"{id: p, type: parallel, steps: [%s, {id: b, type: set, values: {x: 1}}]}",
			"{id: p, type: parallel, steps: [{id: b, type: set, values: {x: 1}}, {id: q, type: parallel, " +
				"steps: [%s, {id: c, type: set, values: {x: 2}}]}]}"} {
			for decision, gate := range map[string]string{
				"approve": "{id: g, type: approval}",
				"reject":  "{id: g, type: approval, reject: [{id: n, type: set, values: {x: 3}}]}",
			} {
				w, _ := withTools(t)
				r := w.runs(steps("a", "- "+fmt.Sprintf(block, gate)+
					"\n- {id: s, type: set, values: {d: \"{{ $steps.g.decision }}\"}}\n"+
					"- {type: condition, condition: \"{{ $steps.g.decision == '"+decision+
					"' && $steps.g.note != '' }}\", "+
					"\"true\": [{type: end, output: \"{{ $steps.s.output.d }}: {{ $steps.g.note }}\"}], "+
					"\"false\": [{type: end}]}\n"),
					"go")
				r.answers(map[string]string{"decision": decision, "note": "so it is"})
				same(t, block, string(r.is(event.StatusCompleted).Output), `"`+decision+`: so it is"`)
			}
			same(t, "a rejection that on_error handles", len(refused(t, steps("a", "- "+
				fmt.Sprintf(block, "{id: g, type: approval, on_error: continue}")+
				"\n- {id: s, type: set, values: {d: \"{{ $steps.g.decision }}\"}}\n"))), 1)
		}
	}},
	{name: "X-8 the answer to a question must match its schema", test: func(t *testing.T) {
		w, _ := withTools(t)
		r := w.runs(
			steps("a", "- {id: q, type: ask, prompt: How many?, schema: {type: object, required: [n], properties: "+
				"{n: {type: integer, maximum: 9}}}}\n"), "go")
		for _, wrong := range []any{"three", map[string]any{"n": 10}, map[string]any{}} {
			if err := r.answer(wrong); err == nil {
				t.Errorf("the answer %v was taken", wrong)
			}
		}
		r.answers(map[string]any{"n": 3})
		same(t, "output", string(r.is(event.StatusCompleted).Output), `{"n":3}`)
	}},
	{name: "X-9 a default is the output at the deadline", test: func(t *testing.T) {
		w, _ := withTools(t)
		r := w.begin(
			steps("a", "- {id: q, type: ask, prompt: Who?, deadline: 2h, on_deadline: {default: {who: \"{{ $input "+
				"}}\"}}}\n"), "go")
		r.waitSettled()
		time.Sleep(3 * time.Hour) // in the bubble's time
		same(t, "output", string(r.is(event.StatusCompleted).Output), `{"who":"go"}`)
	}},
	{name: "X-10 an end has a status and an output", test: func(t *testing.T) {
		yields(t,
			steps("a", "- {type: end, output: {in: \"{{ $input }}\"}, if: \"{{ $input == 'go' }}\"}\n- {id: x, type: "+
				"agent, name: a}\n"), `{"in":"go"}`)
		yields(t,
			steps("a", "- {type: end, output: 1, if: \"{{ $input == 'stop' }}\"}\n- {id: x, type: agent, name: a}\n"),
			`"a said"`)
		fails(t, steps("a", "- {type: end, status: failed, message: \"no {{ $input }}\"}\n"), event.CodeEnded, "no go")
	}},
	{name: "X-11 tool steps have the toolsets and permissions of the document", test: func(t *testing.T) {
		w, act := withTools(t)
		o := w.completes(steps("a", "- {type: tool, tool: act, args: {in: \"{{ $input }}\", n: [1]}}\n"), "go")
		same(t, "structured result", string(o.Output), `{"in":"go","n":[1]}`)
		same(t, "calls", len(act.Calls()), 1)
		same(t, "agent of the call", act.Calls()[0].Agent, "")
		o = w.completes("toolsets: [{type: think}]\nworkflow: [{type: tool, tool: think, args: {thought: \"of {{ "+
			"$input }}\"}}]\nagents: {a: {}}\n", "go")
		if !strings.Contains(string(o.Output), "of go") {
			t.Errorf("text result %s", o.Output)
		}
		r := w.runs("permissions: {ask: [act]}\n"+steps("a", "- {type: tool, tool: act, args: {n: 1}}\n"), "go")
		r.is(event.StatusPaused)
		same(t, "held", len(act.Calls()), 1)
		r.answers(map[string]string{"decision": "approve"})
		same(t, "after approval", string(r.is(event.StatusCompleted).Output), `{"n":1}`)
		_, err := w.Start(t.Context(), service.StartRequest{
			Workflow: first(load(t, steps("a", "- {id: s, type: tool, tool: other}\n"))), Input: "go",
		})
		if err == nil || !strings.Contains(err.Error(), `step "s": no toolset provides the tool "other"`) {
			t.Errorf("a tool that nothing offers: %v", err)
		}
	}},
	{name: "X-12 ids of steps without id", test: func(t *testing.T) {
		yields(t,
			steps("a",
				"- {type: tool, tool: act, args: {n: 1}}\n- {type: tool, tool: act, args: {n: 2}}\n- {type: set, "+
					"values: {a: \"{{ $steps.act.output.n }}\", b: \"{{ $steps.act_2.output.n }}\"}}\n- {type: set, "+
					"values: {c: \"{{ $steps.set.output }}\"}}\n"),
			`{"c":{"a":1,"b":2}}`)
	}},
	{name: "X-13 what follows an approval", test: func(t *testing.T) {
		doc := steps("a b", `
- {id: draft, type: agent, name: a}
- {id: gate, type: approval, prompt: "{{ $steps.draft.output }}?", deadline: 1h, on_deadline: DEADLINE, reject: REJECT}
- {id: send, type: agent, name: b, prompt: "Send {{PREVIOUS_OUTPUT}}. {{APPROVAL_NOTE}}"}
`)
		with := func(deadline, reject string) string {
			return strings.NewReplacer("DEADLINE", deadline, "REJECT", reject).Replace(doc)
		}
		w, _ := withTools(t)
		r := w.runs(with("fail", "[{id: why, type: set, values: {note: \"{{ $steps.gate.note }}\"}}]"), "go")
		r.answers(map[string]string{"decision": "reject", "note": "too long"})
		same(t, "after a rejection", string(r.is(event.StatusCompleted).Output), `{"note":"too long"}`)
		r = w.runs(with("fail", "draft"), "go")
		r.answers(map[string]string{"decision": "reject", "note": "too long"})
		r.is(event.StatusPaused)
		r.answers(map[string]string{"decision": "approve", "note": "now"})
		same(t, "after another draft", string(r.is(event.StatusCompleted).Output), `"b said"`)
		same(t, "what was sent", w.prompt("b"), "Send a said. now")
		for deadline, want := range map[string]event.Status{"fail": event.StatusFailed,
			"approve": event.StatusCompleted, "reject": event.StatusCompleted} {
			w, _ := withTools(t)
			r := w.begin(with(deadline, "[{type: end, output: refused}]"), "go")
			r.waitSettled()
			time.Sleep(2 * time.Hour)
			o := r.is(want)
			if deadline == "reject" {
				same(t, "output", string(o.Output), `"refused"`)
			}
		}
	}},
	{name: "X-14 options and deadlines of questions", test: func(t *testing.T) {
		w, _ := withTools(t)
		doc := steps("a", "- {id: q, type: ask, prompt: Who?, options: [Ann, Ben], deadline: 1h, on_deadline: {goto: "+
			"late}}\n- {type: end, output: \"{{ $steps.q.output }}\"}\n- {id: late, type: set, values: {late: true}}\n")
		r := w.runs(doc, "go")
		if err := r.answer("Carl"); err == nil {
			t.Error("an answer beside the options was taken")
		}
		r.answers("Ben")
		same(t, "output", string(r.is(event.StatusCompleted).Output), `"Ben"`)
		r = w.begin(doc, "go")
		r.waitSettled()
		time.Sleep(2 * time.Hour)
		same(t, "at the deadline", string(r.is(event.StatusCompleted).Output), `{"late":true}`)
	}},
	{name: "X-15 where a failure leads", test: func(t *testing.T) {
		yields(t, steps("a", `
- {id: t, type: tool, tool: act, args: {fail: true}, on_error: {goto: repair}}
- {type: end, output: not reached}
- {id: repair, type: set, values: {code: "{{ $steps.t.error.node }}"}}
`), `{"code":"t"}`)
		fails(t, steps("a", "- {id: t, type: tool, tool: act, args: {fail: true}, on_error: fail}\n"), "failed",
			"no route")
		yields(t, steps("a b", `
- {id: p, type: parallel, on_error: {default: none}, steps: [{id: t, type: tool, tool: act, args: {fail: true}}, `+
			`{id: x, type: agent, name: a}]}
- {type: set, values: {previous: "{{PREVIOUS_OUTPUT}}"}}
`), `{"previous":"none"}`)
		same(t, "out of a branch",
			len(
				refused(t,
					steps("a", "- {id: x, type: agent, name: a}\n- {id: p, type: parallel, steps: [{id: y, type: "+
						"agent, name: a, on_error: {goto: x}}]}\n"))), 1)
	}},
	{name: "X-16 no end inside of a parallel block", test: func(t *testing.T) {
		same(t, "errors",
			len(refused(t,
				steps("a", "- {id: p, type: parallel, steps: [{id: x, type: agent, name: a}, {type: end}]}\n"))), 1)
	}},
	{name: "X-17 parallel blocks that do not wait for all", test: func(t *testing.T) {
		for join, want := range map[string]string{"any": `"b said"`, "race": `"b said"`,
			"quorum, quorum: 1": `"b said"`} {
			w, _ := withTools(t)
			w.plays("a", say("late").slow())
			o := w.completes(
				steps("a b", "- {id: p, type: parallel, join: "+join+
					", steps: [{id: x, type: agent, name: a}, {id: y, type: agent, name: b}]}\n- {type: set, values: "+
					"{y: \"{{ $steps.p.outputs.y.output }}\", x: \"{{ has($steps.p.outputs.x.output) }}\"}}\n"), "go")
			same(t, join, string(o.Output), `{"x":false,"y":`+want+`}`)
		}
		w, _ := withTools(t)
		w.plays("a", say("late").slow())
		same(t, "all",
			string(
				w.completes(
					steps("a b",
						"- {id: p, type: parallel, join: all, steps: [{id: x, type: agent, name: a}, {id: y, type: "+
							"agent, name: b}]}\n- {type: set, values: {x: \"{{ $steps.p.outputs.x.output }}\"}}\n"),
					"go").Output), `{"x":"late"}`)
		// The error names the first failure in declared order, whichever happened first.
		w, _ = withTools(t)
		o := w.runs(
			steps("",
				"- {id: p, type: parallel, join: quorum, quorum: 2, steps: [{id: x, type: condition, condition: "+
					"\"true\", true: [{type: sleep, for: 1s}, {id: x1, type: tool, tool: act, args: {fail: true}}]}, "+
					"{id: y, type: tool, tool: act, args: {fail: true}}, {id: z, type: sleep, for: 1m}]}\n"),
			"go").is(event.StatusFailed)
		same(t, "quorum", *o.Error.Node+": "+o.Error.Message,
			`x1: 2 of 3 branches failed; the first: tool "act" failed: no route`)
	}},
	{name: "X-18 what can be read of a step", test: func(t *testing.T) {
		for _, ref := range []string{"$steps.x.error.code", "$steps.x.decision", "$steps.x.note", "$steps.e.output"} {
			same(t, ref,
				len(refused(t, steps("a", "- {id: x, type: agent, name: a}\n- {type: set, values: {v: \"{{ "+ref+
					" }}\"}}\n- {id: e, type: end}\n"))), 1)
		}
	}},
	{name: "X-19 a timeout bounds a step with all that it does", test: func(t *testing.T) {
		w, _ := withTools(t)
		w.plays("a", say("late").slow())
		w.plays("b", say("late").slow())
		o := w.runs(steps("a", "- {id: x, type: agent, name: a, timeout: 0.5s, retry: {max_attempts: 5}}\n"),
			"go").is(event.StatusFailed)
		same(t, "failure", o.Error.Code+": "+o.Error.Message, "timeout: the step took longer than its timeout of 500ms")
		same(t, "calls of models", o.Usage.ModelCalls, 1)
		yields(t, steps("a", `
- {id: t, type: tool, tool: act, args: {fail: true}, timeout: 90s, retry: {max_attempts: 9, backoff: `+
			`{initial_delay_seconds: 60}}, on_error: continue}
- {type: set, values: {code: "{{ $steps.t.error.code }}"}}
`), `{"code":"timeout"}`)
		w, _ = withTools(t)
		began := time.Now()
		r := w.begin(steps("a b", `
- id: p
  type: parallel
  timeout: 2h
  on_error: {default: late}
  steps: [{id: x, type: agent, name: a}, {id: g, type: approval}]
- {id: y, type: agent, name: b, prompt: "{{PREVIOUS_OUTPUT}}"}
`), "go")
		r.waitSettled()
		r.is(event.StatusPaused)
		time.Sleep(3 * time.Hour) // in the bubble's time
		end := r.is(event.StatusCompleted)
		same(t, "what follows is given", w.prompt("b"), "late")
		same(t, "took", end.EndedAt.Sub(began).Round(time.Minute), 2*time.Hour)
		for _, s := range []string{"{type: sleep, for: 1s", "{type: set, values: {a: 1}", "{type: approval",
			"{type: ask, prompt: Who?", "{type: end"} {
			same(t, s, len(refused(t, steps("a", "- "+s+", timeout: 1s}\n"))), 1)
		}
	}},
	{name: "X-20 a sleep step rests", test: func(t *testing.T) {
		w, _ := withTools(t)
		began := time.Now()
		w.plays("a", say(began.Add(30*time.Hour).UTC().Format(time.RFC3339)))
		r := w.begin(steps("a b", `
- {id: x, type: agent, name: a}
- {type: sleep, for: 36h, if: "{{ $input == 'stop' }}"}
- {type: sleep, for: "{{ 1 + 1 }}h"}
- {type: sleep, until: "{{ $steps.x.output }}"}
- {type: sleep, until: "{{ $steps.x.output }}"}
- {id: y, type: agent, name: b, prompt: "{{PREVIOUS_OUTPUT}}"}
`), "go")
		for r.show().Status == event.StatusRunning {
			time.Sleep(time.Hour) // in the bubble's time
		}
		o := r.is(event.StatusCompleted)
		same(t, "slept", o.EndedAt.Sub(began).Round(time.Minute), 30*time.Hour)
		same(t, "what b was given", w.prompt("b"), began.Add(30*time.Hour).UTC().Format(time.RFC3339))
		same(t, "output", string(o.Output), `"b said"`)
		fails(t, steps("a", "- {id: x, type: agent, name: a}\n- {type: sleep, for: \"{{ $steps.x.output }}\"}\n"),
			event.CodeExpression, `"a said" is not a time such as 90s`)
		fails(t, steps("a", "- {type: sleep, until: \"{{ $input }}\"}\n"), event.CodeExpression,
			`"go" is not a time such as 2026`)
	}},
	{name: "X-21 a signal step waits for a signal", test: func(t *testing.T) {
		w, _ := withTools(t)
		doc := steps("a", "- {id: s, type: signal, signal: paid, deadline: 1h, on_deadline: LATE}\n- {type: end, "+
			"output: \"{{ $steps.s.output }}\"}\n")
		r := w.runs(strings.Replace(doc, "LATE", "fail", 1), "go")
		same(t, "waits for", r.is(event.StatusPaused).Waiting[0].Signal, "paid")
		if err := r.answer("yes"); !errors.Is(err, waits.ErrSignalWait) {
			t.Errorf("an answer of a person: %v", err)
		}
		r.signals("paid", map[string]any{"n": 7})
		same(t, "output", string(r.is(event.StatusCompleted).Output), `{"n":7}`)
		for late, want := range map[string]string{"fail": "", "{default: {n: \"{{ $input }}\"}}": `{"n":"go"}`,
			"{goto: late}": `{"late":true}`} {
			doc := strings.Replace(doc, "LATE", late, 1)
			if strings.Contains(late, "goto") {
				doc += "- {id: late, type: set, values: {late: true}}\n"
			}
			r := w.begin(doc, "go")
			r.waitSettled()
			time.Sleep(2 * time.Hour) // in the bubble's time
			if want == "" {
				same(t, late, r.is(event.StatusFailed).Error.Code, event.CodeDeadline)
			} else {
				same(t, late, string(r.is(event.StatusCompleted).Output), want)
			}
		}
		same(t, "a name with blanks", len(refused(t, steps("a", "- {type: signal, signal: a payment}\n"))), 1)
	}},
	{name: "X-22 the step that waited longest of those that accept the value takes it", test: func(t *testing.T) {
		w, _ := withTools(t)
		r := w.runs(steps("a", `
- {id: min, type: set, values: {n: 3}}
- id: p
  type: parallel
  steps:
    - {id: large, type: signal, signal: paid, filter: "{{ $signal.n > 9 }}"}
    - {id: fit, type: signal, signal: paid, filter: "{{ $signal.n >= $steps.min.output.n && $signal.for == $input `+
			`}}", schema: {type: object, required: [n]}}
    - {id: any, type: signal, signal: paid}
- {type: set, values: {large: "{{ $steps.p.outputs.large.output.n }}", fit: "{{ $steps.p.outputs.fit.output.n }}", `+
			`any: "{{ $steps.p.outputs.any.output }}"}}
`), "go")
		same(t, "who takes 3", r.signals("paid", map[string]any{"n": 3, "for": "go"}).Node, "fit")
		same(t, "who takes what has no n", r.signals("paid", "text").Node, "any")
		same(t, "who takes what none accepts", r.signals("paid", map[string]any{"n": 1}).Node, "")
		same(t, "who takes 10", r.signals("paid", map[string]any{"n": 10}).Node, "large")
		same(t, "output", string(r.is(event.StatusCompleted).Output), `{"any":"text","fit":3,"large":10}`)
	}},
	{name: "X-23 signals that no step takes are kept, first in, first out", test: func(t *testing.T) {
		w, _ := withTools(t)
		r := w.runs(steps("a", `
- {id: q, type: ask, prompt: Go on?}
- {id: one, type: signal, signal: paid, filter: "{{ $signal > 1 }}"}
- {id: two, type: signal, signal: paid}
- {type: set, values: {one: "{{ $steps.one.output }}", two: "{{ $steps.two.output }}"}}
`), "go")
		for n := range 4 {
			same(t, "kept", r.signals("paid", n).Wait, "")
		}
		r.answers("yes")
		same(t, "output", string(r.is(event.StatusCompleted).Output), `{"one":2,"two":0}`)
	}},
	{name: "X-24 signals that are refused, and those that come again", test: func(t *testing.T) {
		w, _ := withTools(t)
		r := w.runs(steps("a",
			"- {type: signal, signal: paid, schema: {type: integer}}\n- {type: signal, signal: sent}\n"), "go")
		for name, c := range map[string]struct {
			signal string
			value  any
			want   error
		}{
			"name":   {"payd", 1, waits.ErrSignalName},
			"schema": {"paid", "x", waits.ErrSignal},
			"size":   {"sent", strings.Repeat("x", waits.MaxSignalBytes), waits.ErrSignal},
		} {
			if _, err := r.signal(c.signal, c.value, ""); !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", name, err, c.want)
			}
		}
		for range 2 {
			out, err := r.signal("paid", 5, "k")
			if err != nil || out.Node != "signal" {
				t.Errorf("the same signal: %+v, %v", out, err)
			}
		}
		if _, err := r.signal("sent", 5, "k"); !errors.Is(err, waits.ErrSignal) {
			t.Errorf("another signal under its key: %v", err)
		}
		r.signals("sent", nil)
		same(t, "output", string(r.is(event.StatusCompleted).Output), `null`)
		if _, err := r.signal("sent", 1, ""); !errors.Is(err, engine.ErrEnded) {
			t.Errorf("after the end: %v", err)
		}
	}},
}

func first[T, U any](v T, _ U) T { return v }

func TestStepsExtensions(t *testing.T) { check(t, stepsExtensions) }

func TestStepsExtensionsCovered(t *testing.T) {
	covered(t, stepsExtensions, "X-1", "X-2", "X-3", "X-4", "X-5", "X-6", "X-7", "X-8", "X-9", "X-10", "X-11", "X-12",
		"X-13", "X-14", "X-15", "X-16", "X-17", "X-18", "X-19", "X-20", "X-21", "X-22", "X-23", "X-24", "X-113")
}
