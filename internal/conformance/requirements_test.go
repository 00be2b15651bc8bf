package conformance_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
)

// nodeStates returns the final state of every node as `node status runs`.
func nodeStates(r *run) []string {
	r.w.t.Helper()
	rec := r.recorded()
	var out []string
	for _, n := range project.Fold(r.id, rec.Workflow, rec.Events).Nodes() {
		out = append(out, fmt.Sprintf("%s %s %d", n.Node, n.Status, n.Runs))
		if n.Status == project.NodeSkipped && n.Reason == "" {
			r.w.t.Errorf("no reason is told why %s was skipped", n.Node)
		}
	}
	return out
}

var requirements = []rule{
	{name: "P1 every branch gets its own answer, once, in every order, also while siblings run",
		test: func(t *testing.T) {
			var edges, nodes []string
			nodes = append(nodes, start())
			for _, x := range []string{"1", "2", "3", "4"} {
				nodes = append(nodes, agent("w"+x), approval("g"+x), agent("y"+x), agent("n"+x))
				edges = append(edges, fmt.Sprintf("s -> w%s -> g%s; g%s:approve -> y%s; g%s:reject -> n%s", x, x, x, x,
					x,
					x))
			}
			doc := canvas(strings.Join(edges, ";"), nodes...)
			for i, order := range permutations(4) {
				w, last := newWorld(t), make(chan struct{})
				// the fourth branch is still running when the first answers arrive
				w.plays("w4", say("w4 said").behind(last))
				r := w.begin(doc, "go")
				synctest.Wait()
				var want []string
				for n, k := range order {
					if k == 3 {
						close(last)
						synctest.Wait()
					}
					at, answer, who := fmt.Sprint("g", k+1), "approve", fmt.Sprint("y", k+1)
					if (i+k)%2 == 0 {
						answer, who = "reject", fmt.Sprint("n", k+1)
					}
					if o := r.show(); o.Status.Ended() || len(o.Waiting) == 0 {
						t.Fatalf("order %v: the run is %s before answer %d", order, o.Status, n+1)
					}
					want = append(want, who)
					for !slices.ContainsFunc(r.show().Waiting, func(x project.Waiting) bool { return x.Node == at }) {
						r.waitSettled() // its writer was queued behind an approval (S0-41)
					}
					r.answers(answer, at)
				}
				r.is(event.StatusCompleted)
				slices.Sort(want)
				var got []string
				for _, who := range w.askedSorted() {
					if who[0] != 'w' {
						got = append(got, who)
					}
				}
				same(t, fmt.Sprint("asked behind the answers in the order ", order), got, want)
				same(t, "answers", len(events[*event.WaitAnswered](r)), 4)
			}
		}},
	{name: "P2 a branch that is not taken leaves no node behind and no join hanging", test: func(t *testing.T) {
		w := newWorld(t)
		w.says("a", "no")
		r := w.runs(steps("a b c d", `
- {id: x, type: agent, name: a}
- type: parallel
  id: p
  steps:
  - {id: one, type: agent, name: b}
  - {id: check, type: condition, condition: "{{ $steps.x.output }}", true: [{id: two, type: agent, name: c}]}
- {id: end, type: agent, name: d}
`), "go")
		r.is(event.StatusCompleted)
		same(t, "nodes", nodeStates(r), []string{"x succeeded 1", "p succeeded 1", "one succeeded 1",
			"check succeeded 1", "two skipped 0", "end succeeded 1"})
		same(t, "prompt behind the join", w.prompt("d"), prior("go", "x (agent: a)", "no", "p/one (agent: b)",
			"b said"))

		w = newWorld(t)
		r = w.runs(canvas("s -> q; q:condition-0 -> a -> b; q:false -> c -> d; b -> d",
			append(agents("a b c d"), start(), gate("q", "equal x"))...), "go")
		r.is(event.StatusCompleted)
		got := nodeStates(r)
		slices.Sort(got)
		same(t, "nodes of a canvas", got, []string{"a skipped 0", "b skipped 0", "c succeeded 1", "d succeeded 1",
			"q succeeded 1", "s succeeded 1"})

		w = newWorld(t)
		w.plays("c", down().slow())
		r = w.runs(canvas("s -> a -> b; s -> c -> d; s -> ok:approve -> e",
			append(agents("a b c d e"), start(), approval("ok"))...), "go")
		r.is(event.StatusFailed)
		got = nodeStates(r)
		slices.Sort(got)
		same(t, "nodes of a run that failed", got, []string{"a succeeded 1", "b skipped 0", "c failed 1", "d skipped 0",
			"e skipped 0", "ok cancelled 1", "s succeeded 1"})
	}},
	{name: "P3 nothing that is done is done again after a restart", outside: true, test: func(t *testing.T) {
		w := newWorld(t, onDisk(filepath.Join(t.TempDir(), "hocket.db")))
		w.plays("p", ask("k", "check")).says("p", "P")
		w.plays("k", ask("m", "deeper")).says("k", "K")
		r := w.runs(canvas("s -> p -> q:false -> ok:approve -> z -> ok2:approve -> e; p:subagent -> k; k:subagent -> "+
			"m; s -> b -> b2",
			start(), agent("p", mayAsk), agent("k", mayAsk), agent("m"), gate("q"), approval("ok"), agent("z"),
			approval("ok2"), agent("e"), agent("b"), agent("b2")), "go")
		r.is(event.StatusPaused)
		for range 2 {
			asked := w.asked()
			w = w.restart()
			r = &run{w, r.id}
			if err := w.Resume(t.Context(), r.id); err != nil {
				t.Fatal(err)
			}
			r.waitSettled()
			same(t, "asked after a restart and a resume without an answer", w.asked(), asked)
			r.answers("approve")
			r.waitSettled()
		}
		o := r.is(event.StatusCompleted)
		counts := map[string]int{}
		for _, who := range w.asked() {
			counts[who]++
		}
		same(t, "calls", counts, map[string]int{"p": 2, "k": 2, "m": 1, "z": 1, "e": 1, "b": 1, "b2": 1})
		for _, s := range o.Steps {
			same(t, "executions of "+s.Node, s.Iteration, 1)
		}
	}},
	{name: "P8 who approves approves one call, which is made once, and who rejects none, by every door, over " +
		"restarts, three levels deep", outside: true, test: heldEverywhere},
	{name: "P13 what siblings finished stays, and retry is the same inside and outside of a block",
		test: func(t *testing.T) {
			w := newWorld(t)
			w.plays("b", down().slow())
			r := w.runs(
				steps("a b c", "- {type: parallel, id: p, steps: [{id: x, type: agent, name: a}, {id: y, type: "+
					"agent, name: b}]}\n- {type: agent, name: c}\n"), "go")
			o := r.is(event.StatusFailed)
			same(t, "context", r.stepContext(), `{"p":{"steps":{"x":{"output":"a said","agent":"a"}},"order":["x"]}}`)
			same(t, "output of the sibling", text(o.Outputs["x"]), "a said")

			const policy = "retry: {max_attempts: 2, backoff: exponential, on: [server]}"
			for where, doc := range map[string]string{
				"outside": steps("a", "- {id: x, type: agent, name: a, "+policy+"}\n"),
				"inside": steps("a b", "- type: parallel\n  id: p\n  steps: [{id: x, type: agent, name: a, "+policy+
					"}, {id: y, type: agent, name: b}]\n"),
			} {
				for _, failures := range [][]line{{}, {down()}, {down(), down()}, {down(), down(), down()},
					{fail(model.KindAuth, "no")}} {
					w := newWorld(t)
					w.plays("a", failures...).plays("a", say("A"))
					begin := time.Now()
					o := w.runs(doc, "go").show()
					succeeds := len(failures) < 3 && (len(failures) == 0 || failures[0].fail.Kind == model.KindServer)
					same(t, where+" status", o.Status == event.StatusCompleted, succeeds)
					want := min(len(failures)+1, 3)
					if !succeeds && len(failures) == 1 {
						want = 1
					}
					same(t, where+" calls", len(w.of("a")), want)
					same(t, where+" seconds", time.Since(begin),
						[]time.Duration{0, time.Second, 3 * time.Second}[want-1])
				}
			}
		}},
	{name: "P16 dead ends are found in the document", test: func(t *testing.T) {
		for what, workflow := range map[string]string{
			"an unknown target": "- {id: x, type: agent, name: a}\n- {type: condition, condition: \"{{ " +
				"$steps.x.output }}\", false: nothere}\n",
			"a step behind a way back": "- {id: x, type: agent, name: a}\n- {type: condition, condition: \"{{ " +
				"$steps.x.output }}\", false: [x, {type: agent, name: b}]}\n",
			"a condition without a text": "- {id: x, type: agent, name: a}\n- {type: condition, condition: \" \", " +
				"false: [{type: agent, name: b}]}\n",
			"a cycle that nothing leads on": "- {id: x, type: agent, name: a}\n- {type: condition, condition: \"{{ " +
				"$steps.x.output }}\", true: x, false: x}\n- {type: agent, name: b}\n",
		} {
			if got := refused(t, steps("a b", workflow)); len(got) == 0 {
				t.Errorf("%s is accepted", what)
			}
		}
		// In canvas documents it is a warning: S0-6, S0-25, S0-32 and S0-47 take precedence.
		for _, c := range []struct{ connections, code string }{
			{"s -> a", "unreachable-node"}, {"s -> a -> b -> a", "unbounded-cycle"},
			{"s -> a -> b -> ghost", "missing-target"},
		} {
			_, problems := load(t, canvas(c.connections, start(), agent("a"), agent("b")))
			if !slices.ContainsFunc(problems, func(d diag.Diagnostic) bool {
				return d.Code == c.code && d.Severity == diag.Warning
			}) {
				t.Errorf("warnings of %s: %v, want one with the code %s", c.connections, problems, c.code)
			}
		}
	}},
	{name: "P24 the same decision a hundred times is one, another one is refused", test: func(t *testing.T) {
		w := newWorld(t)
		r := w.runs(gated(), "go")
		wait := r.show().Waiting[0].ID
		errs := make([]error, 100)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() {
				errs[i] = w.Answer(t.Context(), r.id, service.AnswerRequest{By: event.LocalBy(event.ChannelProgram),
					Wait: wait, Value: event.Value(`"approve"`)})
			})
		}
		wg.Wait()
		for _, err := range errs {
			if err != nil {
				t.Fatalf("one of the same decisions: %v", err)
			}
		}
		r.is(event.StatusCompleted)
		same(t, "asked", w.asked(), []string{"w", "yes"})
		same(t, "answers", len(events[*event.WaitAnswered](r)), 1)
		if err := w.Answer(t.Context(), r.id, service.AnswerRequest{By: event.LocalBy(event.ChannelProgram),
			Wait: wait, Value: event.Value(`"reject"`)}); service.CodeOf(err) != service.CodeConflict {
			t.Errorf("the opposite decision: %v, want a conflict", err)
		}
		w = newWorld(t)
		r = w.runs(gated(), "go")
		wait = r.show().Waiting[0].ID
		if err := w.Cancel(t.Context(), r.id, "enough"); err != nil {
			t.Fatal(err)
		}
		if err := w.Answer(t.Context(), r.id, service.AnswerRequest{By: event.LocalBy(event.ChannelProgram),
			Wait: wait, Value: event.Value(`"approve"`)}); service.CodeOf(err) != service.CodeGone {
			t.Errorf("a decision on a cancelled run: %v, want it gone", err)
		}
		same(t, "asked", w.asked(), []string{"w"})
	}},
	{name: "P25 values of different types are never compared in silence", test: func(t *testing.T) {
		doc := func(output, condition string) string {
			return "agents:\n  a:\n    instruction: a\n" + output + "  yes: {instruction: \"y\"}\n  no: " +
				"{instruction: \"n\"}\nworkflow:\n- {id: x, type: agent, name: a}\n" +
				"- {type: condition, condition: " + asJSON(condition) +
				", true: [{type: agent, name: \"yes\"}], false: [{type: agent, name: \"no\"}]}\n"
		}
		const declared = "    structured_output: {name: o, schema: {type: object, properties: {flag: {type: " +
			"boolean}, n: {type: integer}, s: {type: string}}, required: [flag, n, s]}}\n"
		for _, condition := range []string{`$steps.x.output.flag == "false"`, `$steps.x.output.n == "200"`,
			`$steps.x.output.s == 200`, `$steps.x.output.s == false`, `$steps.x.output.n`} {
			if got := refused(t, doc(declared, condition)); len(got) != 1 {
				t.Errorf("errors of %s: %q, want one", condition, got)
			}
			if condition == `$steps.x.output.n` {
				continue
			}
			w := newWorld(t)
			w.says("a", `{"flag":false,"n":200,"s":"200"}`)
			o := w.runs(doc("", condition), "go").is(event.StatusFailed)
			same(t, "code of "+condition, o.Error.Code, "condition")
			same(t, "asked by "+condition, w.asked(), []string{"a"})
		}
		for condition, want := range map[string]string{`$steps.x.output.flag == false`: "yes",
			`$steps.x.output.n == 200`: "yes", `$steps.x.output.s == "200"`: "yes", `$steps.x.output.flag`: "no"} {
			for _, output := range []string{declared, ""} {
				w := newWorld(t)
				w.says("a", `{"flag":false,"n":200,"s":"200"}`)
				w.completes(doc(output, condition), "go")
				same(t, "asked by "+condition, w.asked(), []string{"a", want})
			}
		}
		w := newWorld(t)
		w.says("a", `{"flag":"false","n":200,"s":"200"}`, `{"flag":false,"n":200,"s":"200"}`)
		o := w.completes(doc(declared, `$steps.x.output.flag`), "go")
		same(t, "a declared boolean arrives as one", string(o.Outputs["x"]), `{"flag":false,"n":200,"s":"200"}`)
		same(t, "calls until it did", len(w.of("a")), 2)
	}},
	{name: "P27 agents that repeat themselves come to an end, by default, in every format, with every sub-agent and " +
		"hand-off", test: func(t *testing.T) {
		for name, doc := range map[string]string{
			"steps":  "agents: {a: {instruction: a}}\n",
			"canvas": canvas("s -> a", start(), `{"id":"a","type":"agent","data":{"agentName":"a"}}`),
			"rounds": `{"nodes":[{"id":"n","type":"agent","config":{"agentId":"a"}}],"edges":[],"agents":[{"id":"a"}]}`,
		} {
			w := newWorld(t)
			w.plays("a", slices.Repeat([]line{use("x", `{"q":1}`)}, 12)...)
			o := w.runs(doc, "go").is(event.StatusFailed)
			same(t, name+": code", o.Error.Code, event.CodeNoProgress)
			same(t, name+": model calls", len(w.of("a")), 5)
			same(t, name+": output", string(o.Output), "") // P30
		}
		handing := "agents:\n  a: {instruction: a, handoffs: [b]}\n  b: {instruction: b, handoffs: [a]}\n"
		w := newWorld(t)
		w.plays("a", slices.Repeat([]line{use("handoff", `{"agent":"b"}`)}, 12)...)
		w.plays("b", slices.Repeat([]line{use("handoff", `{"agent":"a"}`)}, 12)...)
		o := w.runs(handing, "go").is(event.StatusFailed)
		same(t, "handing to and fro", o.Error.Code, event.CodeNoProgress)
		same(t, "model calls", len(w.of("a"))+len(w.of("b")), 11)
		asking := "agents:\n  a: {instruction: a, sub_agents: [b], max_consecutive_tool_calls: 3}\n  b: " +
			"{instruction: b}\n"
		w = newWorld(t)
		w.plays("a", slices.Repeat([]line{use("transfer_task_b", `{"input":"again"}`)}, 12)...)
		w.says("b", "no", "no", "no", "no")
		o = w.runs(asking, "go").is(event.StatusFailed)
		same(t, "asking again and again", o.Error.Code, event.CodeNoProgress)
		same(t, "asked", len(w.of("b")), 2)
		w = newWorld(t)
		var others []line
		for n := range 60 {
			others = append(others, use("x", fmt.Sprintf(`{"q":%d}`, n)))
		}
		w.plays("a", others...)
		o = w.runs("agents: {a: {instruction: a}}\n", "go").is(event.StatusFailed)
		same(t, "always another call", o.Error.Code, event.CodeMaxTurns)
		same(t, "model calls by default", len(w.of("a")), 50)
	}},
	{name: "P30 the text of a failure is the input of no step", test: func(t *testing.T) {
		w := newWorld(t)
		w.plays("a", fail(model.KindServer, "out of order"))
		r := w.runs(canvas("s -> a -> b; a -> q; q:false -> b; a -> ok",
			append(agents("a b"), start(), gate("q", "contains order"), approval("ok"))...), "go")
		o := r.is(event.StatusFailed)
		same(t, "asked", w.asked(), []string{"a"})
		same(t, "outputs", asJSON(o.Outputs), `{"s":"go"}`)
		same(t, "state", asJSON(o.State), `{"s":"go"}`)
		same(t, "output", string(o.Output), "")
		same(t, "output of the step", string(o.Steps[1].Output), "")
		w = newWorld(t)
		w.plays("b", fail(model.KindServer, "out of order"))
		r = w.runs(steps("a b c", "- {type: agent, name: a}\n- {type: agent, name: b}\n- {type: agent, name: c}\n"),
			"go")
		r.is(event.StatusFailed)
		same(t, "asked", w.asked(), []string{"a", "b"})
		same(t, "context", r.stepContext(), `{"a":{"output":"a said","agent":"a"}}`)
		// A successful retry hides the failure from later steps.
		w = newWorld(t)
		w.plays("a", fail(model.KindServer, "out of order"), say("A"))
		w.completes(steps("a b", "- {type: agent, name: a, retry: {max_attempts: 1}}\n- {type: agent, name: b}\n"),
			"go")
		same(t, "prompt behind a retry", w.prompt("b"), prior("go", "a (agent: a)", "A"))
		same(t, "second attempt", transcript(w.of("a")[1]), []string{"user: go"})
	}},
}

func TestRequirements(t *testing.T) { check(t, requirements) }

func TestRequirementsCovered(t *testing.T) {
	covered(t, requirements, "P1", "P2", "P3", "P8", "P13", "P16", "P24", "P25", "P27", "P30")
}
