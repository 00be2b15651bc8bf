package conformance_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model"
)

const pair = "- {id: x, type: agent, name: a}\n- {id: y, type: agent, name: b}\n"

// pairContext is the step context of pair as exec prints it.
const pairContext = `--- Step Context ---
{
  "x": {
    "output": "a said",
    "agent": "a"
  },
  "y": {
    "output": "b said",
    "agent": "b"
  }
}
`

var stepsRun = []rule{
	{name: "S4-30 run and exec both run the workflow, or the agent root", outside: true, test: func(t *testing.T) {
		for _, verb := range []string{"run", "exec"} {
			f := newFake(t)
			got := commandLine(t, f, steps("a b", pair), "", verb, "DOC", "Translate this.", "-q")
			same(t, "status of "+verb, got.status, 0)
			same(t, "output of "+verb, got.out, "b said\n")
			same(t, "asked by "+verb, f.asked(), []string{"a", "b"})
			same(t, "prompt with "+verb, f.prompt("a"), "Translate this.")
			for _, args := range [][]string{{verb, "DOC", "-"}, {verb, "DOC"}} {
				f = newFake(t)
				got = commandLine(t, f, steps("a b", pair), "from the pipe", args...)
				same(t, "status", got.status, 0)
				same(t, "prompt from standard input", f.prompt("a"), "from the pipe")
			}
			f = newFake(t)
			commandLine(t, f, steps("a b", pair), "", verb, "DOC")
			same(t, "prompt without input", f.prompt("a"), "Please proceed.")
			f = newFake(t)
			commandLine(t, f, "agents:\n  other: {instruction: o}\n  root: {instruction: r}\n", "", verb, "DOC", "hi")
			same(t, "asked without a workflow", f.asked(), []string{"root"})
			same(t, "prompt without a workflow", f.prompt("root"), "hi")
			f = newFake(t)
			commandLine(t, f, "agents:\n  first: {instruction: o}\n  second: {instruction: r}\n", "", verb, "DOC", "hi")
			same(t, "asked without a workflow and without root", f.asked(), []string{"first"})
			same(t, "status with three arguments", commandLine(t, newFake(t), steps("a b", pair), "", verb, "DOC",
				"one", "two").status, 2)
		}
	}},
	// S4-31: a tool call that needs a person opens a wait, which --approve-all answers; the tests
	// of tool permissions cover this. No call is rejected silently just because nobody can be
	// asked.
	{name: "S4-31 exec prints what the agents say, and the step context beside it, also of a run that failed",
		outside: true,
		test: func(t *testing.T) {
			got := commandLine(t, newFake(t), steps("a b", pair), "", "exec", "DOC", "go", "-q")
			same(t, "standard output", got.out, "b said\n")
			same(t, "standard output with the agents", commandLine(t, newFake(t), steps("a b", pair), "", "exec", "DOC",
				"go").out, "--- Agent: a ---\na said\n\n--- Agent: b ---\nb said\n")
			if !strings.HasSuffix(got.err, pairContext) {
				t.Errorf("standard error is\n%s\nwant at its end\n%s", got.err, pairContext)
			}
			got = commandLine(t, newFake(t), steps("a b", pair), "", "run", "DOC", "go")
			if strings.Contains(got.err+got.out, "Step Context") {
				t.Errorf("run prints the step context:\n%s", got.err)
			}

			f := newFake(t).plays("b", fail(model.KindServer, "upstream is down"))
			got = commandLine(t, f, steps("a b", pair), "", "exec", "DOC", "go")
			same(t, "status of a failed run", got.status, 1)
			same(t, "standard output of a failed run", got.out, "--- Agent: a ---\na said\n")
			_, context, _ := strings.Cut(got.err, "--- Step Context ---\n")
			var steps map[string]json.RawMessage
			if err := json.NewDecoder(strings.NewReader(context)).Decode(&steps); err != nil ||
				string(steps["y"]) != "" ||
				len(steps["x"]) == 0 {
				t.Errorf("context of a failed run: %s, %v", context, err)
			}
			if !strings.Contains(got.err, "upstream is down") {
				t.Errorf("standard error of a failed run:\n%s", got.err)
			}
		}},
	{name: "S4-31 the stream of events is one JSON object a line", outside: true, test: func(t *testing.T) {
		got := commandLine(t, newFake(t), steps("a b", pair), "", "exec", "DOC", "go", "--events")
		same(t, "status", got.status, 0)
		var types []string
		dec := json.NewDecoder(strings.NewReader(got.out))
		for dec.More() {
			var e struct {
				Seq  int
				Type string
			}
			if err := dec.Decode(&e); err != nil {
				t.Fatalf("standard output is no stream of JSON: %v\n%s", err, got.out)
			}
			types = append(types, e.Type)
			same(t, "seq", e.Seq, len(types))
		}
		same(t, "lines", strings.Count(got.out, "\n"), len(types))
		same(t, "first and last", []string{types[0], types[len(types)-1]}, []string{"run.created", "run.completed"})
	}},
	{name: "S4-34 the step context and the output of a block", test: func(t *testing.T) {
		w := newWorld(t)
		w.says("a", "yes").says("b", `say "<hi>" & é`)
		doc := steps("a b c d", `
- {id: x, type: agent, name: a}
- type: condition
  id: check
  condition: "{{ $steps.x.output }}"
  true: [{id: in_branch, type: agent, name: b}]
- type: parallel
  id: par
  steps:
  - {id: one, type: agent, name: c}
  - {id: deep, type: parallel, steps: [{id: two, type: agent, name: d}, {id: three, type: agent, name: c}]}
`)
		r := w.runs(doc, "go")
		o := r.is(event.StatusCompleted)
		const par = `{"steps":{"one":{"output":"c said","agent":"c"},"deep":{"steps":{"two":{"output":"d ` +
			`said","agent":"d"},` +
			`"three":{"output":"c said","agent":"c"}},"order":["two","three"]}},"order":["one","deep"]}`
		same(t, "context", r.stepContext(),
			`{"x":{"output":"yes","agent":"a"},"in_branch":{"output":"say \"<hi>\" & é","agent":"b"},"par":`+par+`}`)
		same(t, "output of the run", string(o.Output), par)
		same(t, "output of the block", string(o.Outputs["par"]), par)

		w = newWorld(t)
		w.plays("d", fail(model.KindServer, "down").slow())
		head, _, _ := strings.Cut(doc, "- {id: x")
		_, block, _ := strings.Cut(doc, "- type: parallel")
		r = w.runs(head+"- type: parallel"+block, "go")
		r.is(event.StatusFailed)
		same(t, "context of a run that failed in a block", r.stepContext(),
			`{"par":{"steps":{"one":{"output":"c said","agent":"c"},`+
				`"deep":{"steps":{"three":{"output":"c `+
				`said","agent":"c"}},"order":["three"]}},"order":["one","deep"]}}`)

		// An output that is JSON stays a string if the agent declares nothing, and becomes a value
		// if it does.
		w = newWorld(t)
		w.says("a", `{"ok": true}`)
		r = w.runs(steps("a", "- {type: agent, name: a}\n"), "go")
		same(t, "a reply", r.stepContext(), `{"a":{"output":"{\"ok\": true}","agent":"a"}}`)
		w = newWorld(t)
		w.says("a", `{"ok": true}`)
		r = w.runs("agents:\n  a:\n    instruction: a\n    structured_output: {name: o, schema: {type: object, "+
			"properties: {ok: {type: boolean}}}}\nworkflow: [{type: agent, name: a}]\n", "go")
		same(t, "a declared output", r.stepContext(), `{"a":{"output":{"ok":true},"agent":"a"}}`)
	}},
	{name: "S4-34 runs show prints the step context of a run of another process", outside: true,
		test: func(t *testing.T) {
			db := filepath.Join(t.TempDir(), "hocket.db")
			f := newFake(t)
			if got := commandLine(t, f, steps("a b", pair), "", "run", "DOC", "go", "--run-id", "one", "--db",
				db); got.status != 0 {
				t.Fatal(got.err)
			}
			got := commandLine(t, f, "", "", "runs", "show", "one", "--context", "--json", "--db", db)
			same(t, "context", compact(t, got.out),
				`{"x":{"output":"a said","agent":"a"},"y":{"output":"b said","agent":"b"}}`)
		}},
}

func compact(t *testing.T, s string) string {
	t.Helper()
	var v json.RawMessage
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatalf("%v in %q", err, s)
	}
	return asJSON(v)
}

func TestStepsRun(t *testing.T) { check(t, stepsRun) }

func TestStepsRunCovered(t *testing.T) { covered(t, stepsRun, "S4-30", "S4-31", "S4-34") }
