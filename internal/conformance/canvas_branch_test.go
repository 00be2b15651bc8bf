package conformance_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

var canvasBranch = []rule{
	{name: "S0-40 branches run at once and there is no join", test: func(t *testing.T) {
		w, hold := newWorld(t), make(chan struct{})
		for _, who := range []string{"a", "b", "c"} {
			w.plays(who, say(strings.ToUpper(who)).behind(hold))
		}
		r := w.begin(canvas("s -> a -> j; s -> b -> j; s -> c -> x; c -> j", append(agents("a b c j x"), start())...),
			"go")
		synctest.Wait()
		same(t, "asked at once", w.askedSorted(), []string{"a", "b", "c"})
		close(hold)
		o := r.is(event.StatusCompleted)
		got := w.prompts("j")
		slices.Sort(got)
		same(t, "prompts of the node behind three branches", got, []string{"A", "B", "C"})
		same(t, "calls", len(w.asked()), 7)
		n := 0
		for _, s := range o.Steps {
			if s.Node == "j" {
				n++
				same(t, "iteration", s.Iteration, n)
			}
		}
		same(t, "steps of the node behind three branches", n, 3)

		// A branch does not wait for a slower one.
		w, hold = newWorld(t), make(chan struct{})
		w.plays("slow", say("slow").behind(hold))
		r = w.begin(canvas("s -> slow; s -> b -> c -> d", append(agents("slow b c d"), start())...), "go")
		synctest.Wait()
		same(t, "asked while one branch is slow", w.askedSorted(), []string{"b", "c", "d", "slow"})
		close(hold)
		r.is(event.StatusCompleted)
	}},
	{name: "S0-41 what becomes ready while an approval waits is queued, and runs after its branch",
		test: func(t *testing.T) {
			w, hold, drain := newWorld(t), make(chan struct{}), make(chan struct{})
			w.plays("b1", say("B1").behind(hold)).plays("c1", say("C1").behind(hold)).plays("a2",
				say("A2").behind(drain))
			doc := canvas("s -> ok:approve -> a1 -> a2; s -> b1 -> b2 -> b3; s -> c1 -> c2 -> c3",
				append(agents("a1 a2 b1 b2 b3 c1 c2 c3"), start(), approval("ok"))...)
			r := w.begin(doc, "go")
			synctest.Wait()
			same(t, "asked beside the approval", w.askedSorted(), []string{"b1", "c1"})
			same(t, "status while calls are in flight", r.show().Status, event.StatusRunning)
			close(hold)
			o := r.is(event.StatusPaused)
			same(t, "asked while paused", w.askedSorted(), []string{"b1", "c1"})
			same(t, "state while paused", asJSON(o.State), `{"b1":"B1","c1":"C1","s":"go"}`)
			r.answers("approve")
			synctest.Wait()
			same(t, "status in the drain", r.show().Status, event.StatusRunning)
			same(t, "asked while the approval's branch goes on", w.asked()[2:], []string{"a1", "a2"})
			close(drain)
			r.is(event.StatusCompleted)
			first := w.asked()[4][:1] // b or c: they are queued in the order in which they ended
			second := map[string]string{"b": "c", "c": "b"}[first]
			same(t, "order after the answer", w.asked()[2:],
				[]string{"a1", "a2", first + "2", first + "3", second + "2",
					second + "3"})
		}},
	{name: "S0-41 an approval that is met on the way is listed at once and holds the rest", test: func(t *testing.T) {
		w := newWorld(t)
		r := w.runs(
			canvas("s -> ok:approve -> a1 -> ok2:approve -> a2; s -> b -> b2 -> b3; s -> c -> ok3:approve -> c2",
				append(agents("a1 a2 b b2 b3 c c2"), start(), approval("ok"), approval("ok2"), approval("ok3"))...),
			"go")
		waiting := func() []string {
			var out []string
			for _, x := range r.is(event.StatusPaused).Waiting {
				out = append(out, x.Node)
			}
			return out
		}
		same(t, "reached while the run pauses", waiting(), []string{"ok", "ok3"})
		r.answers("approve")
		same(t, "reached in the branch of the answer", waiting(), []string{"ok3", "ok2"})
		same(t, "asked before the queue", w.asked()[2:], []string{"a1"})
		r.answers("approve", "ok2")
		same(t, "left", waiting(), []string{"ok3"})
		same(t, "asked with the queue", w.asked()[2:], []string{"a1", "a2", "b2", "b3"})
		r.answers("approve")
		r.is(event.StatusCompleted)
		same(t, "asked last", w.asked()[6:], []string{"c2"})
	}},
	{name: "S0-42 the order of connections does not lose a sibling of an approval", test: func(t *testing.T) {
		edges := []string{"s -> ok", "s -> a", "s -> b"}
		for _, order := range permutations(3) {
			w := newWorld(t)
			var list []string
			for _, i := range order {
				list = append(list, edges[i])
			}
			r := w.runs(canvas(strings.Join(list, ";")+"; a -> a2; b -> b2; ok:approve -> c",
				append(agents("a b a2 b2 c"), start(), approval("ok"))...), "go")
			r.is(event.StatusPaused)
			same(t, fmt.Sprint("asked before the answer, ", list), w.askedSorted(), []string{"a", "b"})
			r.answers("approve")
			r.is(event.StatusCompleted)
			same(t, fmt.Sprint("asked, ", list), w.askedSorted(), []string{"a", "a2", "b", "b2", "c"})
		}
	}},
	{name: "S0-43 neither queued nodes nor approvals are lost", test: func(t *testing.T) {
		const n = 6
		var nodes, edges []string
		nodes = append(nodes, start())
		want := []string{}
		for i := range n {
			gate, after, slow, queued := fmt.Sprint("ok", i), fmt.Sprint("a", i), fmt.Sprint("b", i), fmt.Sprint("q", i)
			nodes = append(nodes, approval(gate), agent(after), agent(slow), agent(queued))
			edges = append(edges, fmt.Sprintf("s -> %s:approve -> %s; s -> %s -> %s", gate, after, slow, queued))
			want = append(want, after, slow, queued)
		}
		slices.Sort(want)
		w := newWorld(t)
		r := w.runs(canvas(strings.Join(edges, ";"), nodes...), "go")
		for i := range n {
			o := r.is(event.StatusPaused)
			same(t, "open waits", len(o.Waiting), n-i)
			same(t, "the one that is asked", *o.CurrentNodeID, fmt.Sprint("ok", i))
			r.answers("approve")
		}
		r.is(event.StatusCompleted)
		same(t, "asked", w.askedSorted(), want)
	}},
	{name: "S0-44 approvals in parallel are answered one after another, or by name in any order",
		test: func(t *testing.T) {
			doc := canvas("s -> x; s -> y; s -> z; x:approve -> ax; x:reject -> rx; y:approve -> ay; y:reject -> ry; "+
				"z:approve -> az; z:reject -> rz; s -> b -> b2",
				append(agents("ax rx ay ry az rz b b2"), start(), approval("x"), approval("y"), approval("z"))...)
			w := newWorld(t)
			r := w.runs(doc, "go")
			for i, c := range []struct {
				at, answer, who string
			}{{"x", "approve", "ax"}, {"y", "reject", "ry"}, {"z", "approve", "az"}} {
				same(t, "current node", *r.is(event.StatusPaused).CurrentNodeID, c.at)
				r.answers(c.answer)
				r.waitSettled()
				same(t, "asked", w.asked()[1:],
					[][]string{{"ax", "b2"}, {"ax", "b2", "ry"}, {"ax", "b2", "ry", "az"}}[i])
			}
			r.is(event.StatusCompleted)
			var asked []string
			for _, line := range r.log() {
				if strings.Contains(line, " wait_input ") || strings.Contains(line, " input_received ") {
					asked = append(asked, strings.Fields(line)[0]+" "+strings.Fields(line)[1])
				}
			}
			same(t, "log of questions and answers", asked, []string{
				"x wait_input", "y wait_input", "z wait_input", "x input_received", "y wait_input", "y input_received",
				"z wait_input", "z input_received",
			})
			// The nodes are answered in every order, with or without a pause after each answer.
			for _, order := range permutations(3) {
				for _, pauses := range []bool{true, false} {
					w := newWorld(t)
					r := w.runs(doc, "go")
					r.is(event.StatusPaused)
					want := []string{"b", "b2"}
					for _, i := range order {
						at, answer := []string{"x", "y", "z"}[i], []string{"approve", "reject", "approve"}[i]
						want = append(want, answer[:1]+at)
						r.answers(answer, at)
						if pauses {
							r.waitSettled()
						}
					}
					r.is(event.StatusCompleted)
					slices.Sort(want)
					same(t, fmt.Sprint("asked, answers in the order ", order), w.askedSorted(), want)
					same(t, fmt.Sprint("decisions, answers in the order ", order), asJSON(r.show().State["y_approval"]),
						`{"decision":"reject","note":""}`)
				}
			}
		}},
	{name: "S0-45 a branch that fails while an approval waits fails the run", test: func(t *testing.T) {
		w, hold := newWorld(t), make(chan struct{})
		w.plays("b", fail(model.KindServer, "down").behind(hold))
		r := w.begin(canvas("s -> ok:approve -> a; s -> b -> c", append(agents("a b c"), start(), approval("ok"))...),
			"go")
		synctest.Wait()
		same(t, "waiting", len(r.show().Waiting), 1)
		wait := r.show().Waiting[0].ID
		close(hold)
		o := r.is(event.StatusFailed)
		same(t, "error", o.Error.Message, "down")
		same(t, "waiting when failed", len(o.Waiting), 0)
		before := asJSON(o)
		if err := r.answer("approve"); err == nil {
			t.Error("the failed run takes an answer")
		}
		if err := w.Answer(t.Context(), r.id, service.AnswerRequest{By: event.LocalBy(event.ChannelProgram),
			Wait: wait, Value: event.Value(`"approve"`)}); service.CodeOf(err) != service.CodeGone {
			t.Errorf("an answer to the closed wait: %v, want it gone", err)
		}
		same(t, "run after the answers", asJSON(r.show()), before)
		same(t, "asked", w.asked(), []string{"b"})
	}},
	{name: "S0-46 a failing branch lets calls in flight finish, and nothing new starts", test: func(t *testing.T) {
		w, first, second := newWorld(t), make(chan struct{}), make(chan struct{})
		w.plays("a", fail(model.KindServer, "down").behind(first)).plays("b", say("B").behind(second)).plays("c",
			use("web_search", `{"query":"x"}`).behind(second))
		r := w.begin(canvas("s -> a -> a2; s -> b -> b2; s -> c -> c2",
			append(agents("a a2 b b2 c2"), start(), agent("c", `"tools":{"web_search":true}`))...), "go")
		synctest.Wait()
		close(first)
		synctest.Wait()
		same(t, "status while a sibling is in flight", r.show().Status, event.StatusRunning)
		_, cut := w.over()
		same(t, "cut off", cut, nil)
		close(second)
		o := r.is(event.StatusFailed)
		same(t, "asked", w.askedSorted(), []string{"a", "b", "c"})
		same(t, "log of the sibling", r.logOf("b "), []string{"b step_start b agent node", "b start_prompt go",
			"b llm_response B"})
		same(t, "state", asJSON(o.State), `{"b":"B","s":"go"}`)
		same(t, "error", o.Error.Message, "down")
	}},
	{name: "S0-47 loops are allowed up to the step guard", test: func(t *testing.T) {
		loop := canvas("s -> a -> q; q:false -> a; q:condition-0 -> b",
			append(agents("a b"), start(), gate("q", "contains stop"))...)
		w := newWorld(t)
		for i := range 30 {
			w.says("a", map[bool]string{true: "stop", false: "again"}[i == 29])
		}
		w.completes(loop, "go")
		same(t, "calls of the loop", len(w.of("a")), 30)
		w = newWorld(t)
		limit := 9
		o := w.runs(loop, "go", func(q *service.StartRequest) { q.Limits = workflow.Limits{MaxSteps: &limit} }).is(
			event.StatusFailed)
		same(t, "code", o.Error.Code, "max_steps")
		same(t, "steps", len(o.Steps), limit)
		w = newWorld(t)
		o = w.runs(canvas("s -> a -> a", start(), agent("a")), "go").is(event.StatusFailed)
		same(t, "code of a loop without an end", o.Error.Code, "max_steps")
		same(t, "steps of a loop without an end", len(o.Steps), 1000)
	}},
	{name: "S0-48 the output is that of the node that finished last, the others are in outputs",
		test: func(t *testing.T) {
			w, a, b := newWorld(t), make(chan struct{}), make(chan struct{})
			w.plays("a", say("A").behind(a)).plays("b", say("B").behind(b))
			r := w.begin(canvas("s -> f -> a; f -> b; f -> c", append(agents("f a b c"), start())...), "go")
			close(b)
			synctest.Wait()
			close(a)
			o := r.is(event.StatusCompleted)
			same(t, "output", text(o.Output), "A")
			same(t, "outputs", asJSON(o.Outputs), `{"a":"A","b":"B","c":"c said","f":"f said","s":"go"}`)
			for _, who := range []string{"a", "b", "c"} {
				same(t, "the branches have the fork's output", w.prompt(who), "f said")
			}
			w = newWorld(t)
			r = w.runs(canvas("s -> w -> ok; s -> b", append(agents("w b"), start(), approval("ok"))...), "go")
			r.is(event.StatusPaused)
			r.answers("approve")
			o = r.is(event.StatusCompleted)
			same(t, "output where the approval ends last", text(o.Output), "w said")
			w = newWorld(t)
			o = w.completes(canvas("s -> nothing", start()), "go")
			same(t, "output of a start alone", text(o.Output), "go")
		}},
}

// permutations returns all orders of the numbers below n.
func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{{}}
	}
	var out [][]int
	for _, p := range permutations(n - 1) {
		for i := range n {
			out = append(out, slices.Insert(slices.Clone(p), i, n-1))
		}
	}
	return out
}

func TestCanvasBranch(t *testing.T) { check(t, canvasBranch) }

func TestCanvasBranchCovered(t *testing.T) {
	covered(t, canvasBranch, "S0-40", "S0-41", "S0-42", "S0-43", "S0-44", "S0-45", "S0-46", "S0-47", "S0-48")
}
