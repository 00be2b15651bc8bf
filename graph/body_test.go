package graph_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/graph"
)

// TestBodies checks that blocks are nodes: loops, conditionals, parallel blocks and bodies of the
// builder nest arbitrarily, and run like the chain of calls.
func TestBodies(t *testing.T) {
	t.Parallel()
	type st = state
	g := func() *graph.Builder[state] { return graph.New[state]("t") }
	three := func(v graph.View[state]) bool { return v.State.N >= 3 }
	wide := graph.Config{Reducers: map[string]graph.Reducer{"log": graph.Append(), "n": graph.Sum()}}
	for name, tc := range map[string]struct {
		graph *graph.Builder[state]
		want  string
	}{
		"flow":            {g().Then(graph.Flow(note("a"), note("b"))).Then(note("z")), "a, b, z"},
		"if at the start": {g().Then(graph.If(always, note("a"))).Then(note("z")), "decision_1, a, merge_2, z"},
		"if without":      {g().Then(graph.If(never, note("a"))).Then(note("z")), "decision_1, merge_2, z"},
		"otherwise": {g().Then(graph.If(never, note("a")).Otherwise(note("b"), note("c"))),
			"decision_1, b, c, merge_2"},
		"or if": {g().Then(graph.If(never, note("a")).OrIf(always, note("b")).Otherwise(note("c"))),
			"decision_1, pass_2, decision_3, b, merge_4, merge_5"},
		"if in if": {g().Then(graph.If(always, graph.If(always, note("a")))),
			"decision_1, decision_2, a, merge_3, merge_4"},
		"loop": {g().Then(graph.Loop(three, count("a"))).Then(note("z")),
			"loop_start_1, a, loop_check_2, a, loop_check_2, a, loop_check_2, z"},
		"loop at most": {g().Then(graph.Loop(never, count("a")).AtMost(2)),
			"loop_start_1, a, loop_check_2, a, loop_check_2"},
		"loop over if": {g().Then(graph.Loop(three, graph.If(never, note("x")).Otherwise(count("a")))),
			strings.TrimSuffix("loop_start_1"+strings.Repeat(", decision_3, a, merge_4, loop_check_2", 3), ",")},
		"loop in loop": {g().Then(graph.Loop(three, graph.Loop(never, count("a")).AtMost(2))),
			"loop_start_1, loop_start_3, a, loop_check_4, a, loop_check_4, loop_check_2, loop_start_3, a, " +
				"loop_check_4, a, loop_check_4, loop_check_2"},
		"loop of the chain": {g().Loop(graph.LoopConfig[st]{Until: three}, graph.Flow(count("a"), note("b"))),
			"loop_start_1, a, b, loop_check_2, a, b, loop_check_2, a, b, loop_check_2"},
		"body": {g().Then(graph.Body(func(b *graph.Builder[state]) {
			b.Start(note("a")).Then(note("b"))
		})).Then(note("z")), "a, b, z"},
		"body with if": {g().Then(graph.Body(func(b *graph.Builder[state]) {
			b.If(always).Then(note("a")).Else().Then(note("b")).EndIf()
		})).Then(note("z")), "decision_1, a, merge_2, z"},
		"body of a loop": {
			g().Then(graph.Loop(three, graph.Body(func(b *graph.Builder[state]) {
				b.If(always).Then(count("a")).EndIf()
			}))), "loop_start_1, decision_3, a, merge_4, loop_check_2, decision_3, a, merge_4, loop_check_2, " +
				"decision_3, a, merge_4, loop_check_2",
		},
		"body in an if": {g().Then(note("s")).If(always).Then(graph.Body(func(b *graph.Builder[state]) {
			b.Then(note("a")).Then(note("b"))
		})).EndIf(), "s, decision_1, a, b, merge_2"},
		"empty body": {g().Then(note("a")).Then(graph.Body(func(*graph.Builder[state]) {})).Then(note("z")),
			"a, z"},
		"parallel": {g().Then(graph.Parallel("p", note("a"), graph.Flow(note("b"), note("c")))).Then(
			note("z")), "p, a, b, c, z"},
		"parallel in a loop": {g().Then(graph.Loop(never, graph.Parallel("p", note("a"), note("b"))).AtMost(2)),
			"loop_start_1, p, a, b, loop_check_2, p, a, b, loop_check_2"},
		"loop in parallel": {g().Then(graph.Parallel("p", graph.Loop(never, note("a")).AtMost(2), note("b"))),
			"p, loop_start_1, b, a, loop_check_2, a, loop_check_2"},
		"if in parallel": {g().Then(graph.Parallel("p", graph.If(always, note("a")), note("b"))),
			"p, decision_1, b, a, merge_2"},
		"parallel inside": {g().Then(graph.Parallel("p", graph.Parallel("q", note("a"), note("b")), note("c"))),
			"p, q, c, a, b"},
		"without id": {g().Parallel(graph.ParallelConfig[st]{}, note("a"), note("b")), "parallel_1, a, b"},
		"do":         {g().Do("a", func(context.Context, *state) error { return nil }).Then(note("z")), "a, z"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := run(t, tc.graph, state{}, wide)
			w.want(tc.want, "completed")
		})
	}
}

// TestBodyNames checks that the branches of a block that holds its bodies are named after their
// first nodes, or as the config says.
func TestBodyNames(t *testing.T) {
	t.Parallel()
	merged := func(s *state, results []graph.BranchResult) error {
		for _, r := range results {
			s.Log = append(s.Log, r.Branch+"="+string(r.Output))
		}
		return nil
	}
	w := run(t, graph.New[state]("t").Then(graph.Parallel("p", fixedOutput("a", 1),
		graph.Flow(fixedOutput("b", 2), fixedOutput("c", 3))).
		Into(merged)), state{})
	if got := strings.Join(w.state().Log, " "); got != "a=1 b=3" {
		t.Errorf("got %s", got)
	}
	c := graph.Parallel("p", fixedOutput("a", 1), graph.If(always, fixedOutput("b", 2))).Into(merged)
	c.Branches = []string{"left", "right"}
	if got := strings.Join(run(t, graph.New[state]("t").Then(c), state{}).state().Log, " "); got != "left=1 right=2" {
		t.Errorf("got %s", got)
	}
}

// TestBodyMisuse checks that invalid bodies are reported with the line of the call that added them.
func TestBodyMisuse(t *testing.T) {
	t.Parallel()
	g := func() *graph.Builder[state] { return graph.New[state]("t").Start(nothing("s")) }
	one, two := graph.Parallel("p", nothing("a")), graph.Parallel("p", nothing("a"), nothing("b"))
	one.Branches, two.Branches = []string{"x", "y"}, []string{"x", "x"}
	opts := graph.NodeOptions{}
	for want, b := range map[string]*graph.Builder[state]{
		"Loop body must contain at least one node": g().Then(graph.Loop(always)),
		"Branch 1 of parallel node \"p\" must contain at least one node": g().Then(
			graph.Parallel("p", graph.Flow[state]())),
		"Parallel node \"p\" requires at least one branch":         g().Then(graph.Parallel[state]("p")),
		"Parallel node \"p\" has 2 names of branches and 1 bodies": g().Then(one),
		"Parallel node \"p\" has the duplicate branch \"x\"":       g().Then(two),
		"Parallel node \"p\" waits for 3 of 2 branches": g().Then(
			graph.Quorum("p", 3, nothing("a"), nothing("b"))),
		"Decision \"decision_1\" requires a condition": g().Then(graph.If[state](nil, nothing("a"))),
		"Missing EndIf": g().Then(graph.Body(func(b *graph.Builder[state]) {
			b.If(always).Then(nothing("a"))
		})),
		"Body has no function": g().Then(graph.Body[state](nil)),
		"Cannot use EndIf without a preceding If": g().If(always).Then(
			graph.Body(func(b *graph.Builder[state]) { b.EndIf() })).EndIf(),
		"Error handler: a loop is several nodes; it must be a node that calls a function": g().Catch(
			graph.Loop(always, nothing("a"))),
		"Tool node \"t\" requires an Execute function": g().Then(
			graph.Tool[state, int, int]("t", nil, nil)),
		"Node \"t\" accepts at most one NodeOptions, not 2": g().Then(
			graph.Ask("t", func(graph.View[state]) string { return "?" }, nil, opts, opts)),
		"Node \"a\": Timeout is -1s; it must be between 0 and ten years": g().Then(
			nothing("a", graph.NodeOptions{Timeout: -time.Second})),
		"Sleep node \"z\" has no time":                                g().Sleep("z", 0),
		"Node \"z\": For is -1ns; it must be between 0 and ten years": g().Sleep("z", -1),
		"Sleep node \"z\" takes For or Until, not both": g().Then(
			graph.SleepConfig[state]{ID: "z", For: 1, Until: time.Unix(1, 0)}),
		"Node \"a\": OnError has a function of the type func(error, *graph.Context[int]) graph.ErrorAction[int]; the " +
			"state of the graph is graph_test.state": g().Then(nothing("a", graph.NodeOptions{
			OnError: graph.OnError(func(error, *graph.Context[int]) graph.ErrorAction[int] {
				return graph.ErrorAction[int]{}
			}),
		})),
	} {
		_, err := b.Compile()
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "body_test.go:") {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestTool_ArgumentsAndOutput checks that a node returned by Tool derives its arguments from the
// state and the previous outputs and stores its result next to the state; Into writes it into the
// state, too.
func TestTool_ArgumentsAndOutput(t *testing.T) {
	t.Parallel()
	twice := func(_ context.Context, n int) (int, error) { return 2 * n, nil }
	before := func(node string) func(graph.View[state]) int {
		return func(v graph.View[state]) int {
			n, err := graph.OutputAs[int](v.Outputs(), node)
			if err != nil {
				return v.State.N
			}
			return n
		}
	}
	w := run(t, graph.New[state]("t").Then(graph.Tool("a", before("none"), twice)).
		Then(graph.Tool("b", before("a"), twice).Into(func(s *state, n int) error { s.N = n; return nil })).
		If(func(v graph.View[state]) bool { return v.Text("b") == "20" && v.State.N == 20 }).Then(nothing("seen")).
		EndIf(), state{N: 5})
	w.want("a, b, decision_1, seen, merge_2", "completed")
}
