package graph_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
)

// TestRun_NodeOrder checks which nodes run, in which order (S2-3, S2-5, S2-6, S2-24, S2-30, S2-31,
// S2-77).
func TestRun_NodeOrder(t *testing.T) {
	t.Parallel()
	elseIf := func(c1, c2, c3 func(graph.View[state]) bool) *graph.Builder[state] {
		return graph.New[state]("t").Start(note("s")).Then(graph.IfConfig[state]{
			Condition: c1, Then: []graph.Node[state]{note("t")},
			ElseIf: []graph.ElseIf[state]{{c2, []graph.Node[state]{note("e1")}}, {c3, []graph.Node[state]{note("e2")}}},
			Else:   []graph.Node[state]{note("el")},
		}).Then(note("z"))
	}
	g := func() *graph.Builder[state] { return graph.New[state]("t").Start(note("s")) }
	for name, tc := range map[string]struct {
		graph *graph.Builder[state]
		want  string
	}{
		"S2-3 then as start": {graph.New[state]("t").Then(note("a")).Then(note("b")), "a, b"},
		"S2-3 loop as start": {graph.New[state]("t").Loop(graph.LoopConfig[state]{Until: always}, note("a")),
			"loop_start_1, a, loop_check_2"},
		"S2-3 parallel as start": {graph.New[state]("t").Parallel(
			graph.ParallelConfig[state]{Branches: []string{"a"}}).Node(nothing("a")), "parallel_1, a"},
		"S2-5 first": {elseIf(always, never, never), "s, decision_1, t, merge_8, z"},
		"S2-5 second": {elseIf(never, always, never),
			"s, decision_1, pass_2, decision_3, e1, merge_7, merge_8, z"},
		"S2-5 third": {elseIf(never, never, always),
			"s, decision_1, pass_2, decision_3, pass_4, decision_5, e2, merge_6, merge_7, merge_8, z"},
		"S2-5 else": {elseIf(never, never, never),
			"s, decision_1, pass_2, decision_3, pass_4, decision_5, el, merge_6, merge_7, merge_8, z"},
		"S2-6 empty true branch": {g().If(always).EndIf().Then(note("z")), "s, decision_1, merge_2, z"},
		"S2-6 empty true, else": {g().If(always).Else().Then(note("e")).EndIf().Then(note("z")),
			"s, decision_1, merge_2, z"},
		"S2-77 empty else": {g().If(never).Then(note("a")).Else().EndIf().Then(note("z")),
			"s, decision_1, merge_2, z"},
		"no else": {g().If(never).Then(note("a")).EndIf().Then(note("z")),
			"s, decision_1, merge_2, z"},
		"nested if": {g().If(always).Then(note("a")).If(never).Then(note("b")).Else().Then(
			note("c")).EndIf().EndIf().Then(note("z")), "s, decision_1, a, decision_2, c, merge_3, merge_4, z"},
		"S2-31 on after end": {g().End().Then(note("z")), "s, z"},
		"S2-24 loop at the end": {g().Loop(graph.LoopConfig[state]{Until: always}, note("a")),
			"s, loop_start_1, a, loop_check_2"},
		"S2-34 goto wins over edges": {graph.New[state]("t").Start(gotoNode("s", "b")).Then(note("a")).Then(note("b")),
			"s, b"},
		"S2-34 several, each once": {graph.New[state]("t").Start(gotoNode("s", "b", "a", "b")).Node(note("a")).Node(
			note("b"), note("c")), "s, b, a, c"},
		"S2-34 diamond once per path": {
			graph.New[state]("t").Start(gotoNode("s", "a", "b")).Node(gotoNode("a", "j")).Node(
				note("b"), note("j")), "s, a, b, j, j"},
		"decision": {
			g().Then(graph.DecisionNode("d", []graph.Route[state]{{When: never, Target: "x"},
				{When: always, Target: "y"}}, "z")).Node(note("x")).Node(note("y")).Node(note("z")), "s, d, y",
		},
		"decision falls back": {
			g().Then(graph.DecisionNode("d", []graph.Route[state]{{When: never, Target: "x"}}, "z")).Then(note("x")).
				Node(note("z")), "s, d, z",
		},
		"decision, next is not behind": {
			g().Then(graph.DecisionNode("d", []graph.Route[state]{{When: always, Target: "y"}}, "x")).Then(note("x")).
				Node(note("y")), "s, d, y",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, tc.graph, state{}).want(tc.want, "completed")
		})
	}
}

// TestLoops checks loops (S2-20 to S2-23, S2-77).
func TestLoops(t *testing.T) {
	t.Parallel()
	three := func(v graph.View[state]) bool { return v.State.N >= 3 }
	most := func(n int) graph.LoopConfig[state] { return graph.LoopConfig[state]{MaxIterations: n} }
	g := func() *graph.Builder[state] { return graph.New[state]("t").Start(nothing("s")) }
	const twice = "s, loop_start_1, a, loop_check_2, a, loop_check_2"
	for name, tc := range map[string]struct {
		graph *graph.Builder[state]
		want  string
		count string // loop_start_1_iteration
	}{
		"S2-23 golden": {g().Loop(graph.LoopConfig[state]{Until: three}, count("body")).Then(nothing("after")),
			"s, loop_start_1, body, loop_check_2, body, loop_check_2, body, loop_check_2, after", "3"},
		"S2-21 zero": {g().Loop(most(graph.Zero), count("a")).Then(nothing("z")),
			"s, loop_start_1, a, loop_check_2, z", "1"},
		"maximum": {g().Loop(most(2), count("a")).Then(nothing("z")), twice + ", z", "2"},
		"S2-22 if behind": {g().Loop(most(2), count("a")).If(always).Then(nothing("t")).EndIf().Then(nothing("z")),
			twice + ", decision_3, t, merge_4, z", "2"},
		"S2-22 loop behind": {g().Loop(most(2), count("a")).Loop(most(1), count("b")).Then(nothing("z")),
			twice + ", loop_start_3, b, loop_check_4, z", "2"},
		"S2-22 parallel": {g().Loop(most(2), count("a")).Parallel(graph.ParallelConfig[state]{
			Branches: []string{"p"},
		}).Then(nothing("z")).Node(nothing("p")), twice + ", parallel_3, p, z", "2"},
		"several in the body": {g().Loop(most(2), count("a"), count("b")).Then(nothing("z")),
			"s, loop_start_1, a, b, loop_check_2, a, b, loop_check_2, z", "2"},
		"parallel in the body": {g().Loop(most(2), graph.ParallelConfig[state]{ID: "p", Branches: []string{"a"}}).Then(
			nothing("z")).Node(nothing("a")), "s, loop_start_1, p, a, loop_check_2, p, a, loop_check_2, z", "2"},
		"in a branch of an if": {g().If(always).Loop(most(1), count("a")).Else().Then(nothing("e")).EndIf().Then(
			nothing("z")), "s, decision_1, loop_start_2, a, loop_check_3, merge_4, z", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := run(t, tc.graph, state{})
			w.want(tc.want, "completed")
			if got := string(w.Run.State()["outputs.loop_start_1_iteration"]); got != tc.count {
				t.Errorf("counter %s, want %s", got, tc.count)
			}
		})
	}
}

// TestLoopBounds checks that a loop without its own maximum ends after 100 iterations, and that
// more than 100 can be requested (S2-20).
func TestLoopBounds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		most int
		want int
	}{"default": {0, 100}, "more": {150, 150}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t,
				compiled(t, graph.New[state]("t").Loop(graph.LoopConfig[state]{MaxIterations: tc.most}, count("a"))))
			w.SkipLaws = true
			w.begin(state{})
			if got := w.state().N; got != tc.want || w.Run.Status() != event.StatusCompleted {
				t.Errorf("%d passes, %s; want %d", got, w.Run.Status(), tc.want)
			}
		})
	}
}

// TestOutputs checks which earlier outputs a node sees (S2-20, S2-37, S2-50, S2-57).
func TestOutputs(t *testing.T) {
	t.Parallel()
	gives := func(id string, v any) graph.Node[state] {
		return graph.NewNode(id, graph.TypeTool,
			func(context.Context, *graph.Context[state]) (graph.Result[state], error) {
				return graph.Result[state]{Output: v}, nil
			})
	}
	var got map[string]json.RawMessage
	w := run(t, graph.New[state]("t").Start(gives("s", "a <b>")).
		Loop(graph.LoopConfig[state]{MaxIterations: 2}, gives("l", map[string]int{"k": 1})).
		Parallel(graph.ParallelConfig[state]{Branches: []string{"x", "y"}}).
		Node(gives("x", 1), gives("x2", 2)).Node(gives("y", 3)).
		Then(graph.NewNode("z", graph.TypeTool,
			func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
				got = c.Outputs()
				if v, ok := c.Output("x2"); !ok || string(v) != "2" {
					t.Errorf("x2 gave %s, %t", v, ok)
				}
				if _, ok := c.Output("ghost"); ok {
					t.Error("a node that does not exist has an output")
				}
				return graph.Result[state]{}, nil
			})), state{})
	w.want("s, loop_start_1, l, loop_check_2, l, loop_check_2, parallel_3, x, y, x2, z", "completed")
	want := map[string]json.RawMessage{
		"s": []byte(`"a <b>"`), "l": []byte(`{"k":1}`), "loop_start_1_iteration": []byte("2"), "x": []byte("1"),
		"x2": []byte("2"), "y": []byte("3"),
		"parallel_3": []byte(`{"_parallel":true,"branches":["x","y"],"strategy":"all","results":{"x":2,"y":3}}`),
	}
	if d := cmp.Diff(got, want, cmp.Transformer("text", func(m json.RawMessage) string { return string(m) })); d != "" {
		t.Errorf("got - want +\n%s", d)
	}
}

// TestBounds checks limits, missing nodes, and cancellation (S2-32, S2-33, S2-35, S2-36, S2-62).
func TestBounds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		graph     *graph.Builder[state]
		most      int
		want, end string
	}{
		"S2-33 goto to itself": {graph.New[state]("t").Start(gotoNode("a", "a")), 5, "a, a, a, a, a",
			"Exceeded maximum steps (5)"},
		"S2-32 last one allowed": {graph.New[state]("t").Start(note("a")).Then(note("b")), 2, "a, b", "completed"},
		"S2-32 none": {graph.New[state]("t").Start(note("a")), graph.Zero, "",
			"Exceeded maximum steps (0)"},
		"S2-35 unknown": {graph.New[state]("t").Start(gotoNode("a", "nope")), 9, "a",
			`Node "nope" not found in graph`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, tc.graph, state{}, graph.Config{MaxSteps: tc.most}).want(tc.want, tc.end)
		})
	}
	t.Run("S2-36 cancelled", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, compiled(t, graph.New[state]("t").Start(note("a")).Then(note("b"))))
		w.StartWith(event.RunCreated{})
		w.Feed(engine.Cancel{Reason: "enough"})
		w.goOn("a")
		w.want("a", "cancelled")
		if got := w.state().Log; len(got) != 1 { // the running node completes first
			t.Errorf("log %q", got)
		}
	})
	t.Run("S2-62 timeout", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, compiled(t, graph.New[state]("t").Start(note("a")), graph.Config{Timeout: 1500e6}))
		w.StartWith(event.RunCreated{})
		w.Fire("timeout")
		w.Go(nil)
		w.want("a", "Graph execution timed out after 1500ms")
	})
}
