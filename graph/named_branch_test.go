package graph_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/graph/compat"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
)

// fixedOutput returns a node with a fixed output.
func fixedOutput(id string, output any) graph.Node[state] {
	return graph.NewNode(id, graph.TypeTool, func(context.Context, *graph.Context[state]) (graph.Result[state], error) {
		return graph.Result[state]{Output: output}, nil
	})
}

type builder = graph.Builder[state]

func parallel(branches ...string) graph.ParallelConfig[state] {
	return graph.ParallelConfig[state]{ID: "p", Branches: branches}
}

// TestBranch checks that a branch may hold whatever the main flow may, that what follows the block
// runs once, and that the output of a branch is that of its last node (S2-8, S2-9, S2-57).
func TestBranch(t *testing.T) {
	t.Parallel()
	second := func(v graph.View[state]) bool { return v.State.N == 2 }
	for name, tc := range map[string]struct {
		branch  func(b *builder)
		first   state
		visited string
		output  string // of the branch
	}{
		"chain": {func(b *builder) { b.Then(nothing("x")).Then(fixedOutput("y", 1)) }, state{}, "p, x, y, z", "1"},
		"start": {func(b *builder) { b.Start(fixedOutput("x", 1)) }, state{}, "p, x, z", "1"},
		"if, true": {func(b *builder) {
			b.Then(fixedOutput("x", 0)).If(second).Then(fixedOutput("yes", 1)).Else().Then(fixedOutput("no", 2)).EndIf()
		}, state{N: 2}, "p, x, decision_1, yes, merge_2, z", "1"},
		"if, false": {func(b *builder) {
			b.Then(fixedOutput("x", 0)).If(second).Then(fixedOutput("yes", 1)).Else().Then(fixedOutput("no", 2)).EndIf()
		}, state{}, "p, x, decision_1, no, merge_2, z", "2"},
		"if at first": {func(b *builder) { b.If(second).Then(fixedOutput("yes", 1)).EndIf() }, state{N: 2},
			"p, decision_1, yes, merge_2, z", "1"},
		"config if": {func(b *builder) {
			b.Then(graph.IfConfig[state]{Condition: never, Then: []graph.Node[state]{fixedOutput("i", 0)},
				ElseIf: []graph.ElseIf[state]{{Condition: second, Then: []graph.Node[state]{fixedOutput("e", 1)}}}}).
				Then(
					fixedOutput("y", 3))
		}, state{N: 2}, "p, decision_1, pass_2, decision_3, e, merge_4, merge_5, y, z", "3"},
		"loop at last": {func(b *builder) { b.Loop(graph.LoopConfig[state]{Until: second}, count("l")) }, state{},
			"p, loop_start_1, l, loop_check_2, l, loop_check_2, z", ""},
		"if in if": {func(b *builder) {
			b.Then(fixedOutput("x", 0)).If(second).Then(fixedOutput("yes", 1)).If(second).Then(fixedOutput("deep", 2)).
				EndIf().EndIf()
		}, state{N: 2}, "p, x, decision_1, yes, decision_2, deep, merge_3, merge_4, z", "2"},
		"neither": {func(b *builder) {
			b.Then(fixedOutput("x", 0)).If(second).Then(fixedOutput("yes", 1)).EndIf()
		}, state{}, "p, x, decision_1, merge_2, z", "0"},
		"after a loop": {func(b *builder) {
			b.Loop(graph.LoopConfig[state]{Until: second}, count("l")).Then(fixedOutput("y", 1))
		}, state{}, "p, loop_start_1, l, loop_check_2, l, loop_check_2, y, z", "1"},
		"tool and pass": {func(b *builder) {
			b.Tool(graph.ToolConfig[state, int, int]{ID: "x", Execute: func(context.Context, int) (int, error) {
				return 7, nil
			}})
		}, state{}, "p, x, z", "7"},
		"block": {func(b *builder) {
			b.Parallel(graph.ParallelConfig[state]{ID: "q", Branches: []string{"c", "d"}}).Then(fixedOutput("y", 1)).
				Branch("c", func(b *builder) { b.If(second).Then(nothing("c1")).EndIf() }).
				Branch("d", func(b *builder) { b.Then(nothing("d")) })
		}, state{N: 2}, "p, q, decision_1, d, c1, merge_2, y, z", "1"},
		"decision": {func(b *builder) {
			b.Then(graph.DecisionNode("x", []graph.Route[state]{{When: second, Target: "y"}}, "n")).Node(
				fixedOutput("y", 1)).
				Node(fixedOutput("n", 2))
		}, state{N: 2}, "p, x, y, z", "1"},
		"goto": {func(b *builder) { b.Then(gotoNode("x", "far")).Then(nothing("near")).Node(fixedOutput("far", 1)) },
			state{}, "",
			""},
	} {
		for _, before := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				b := graph.New[state]("t")
				if before {
					b.Branch("a", tc.branch)
				}
				b.Parallel(parallel("a"))
				if !before {
					b.Branch("a", tc.branch)
				}
				var results map[string]json.RawMessage
				b.Then(graph.NewNode("z", graph.TypeTool,
					func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
						raw, _ := c.Output("p")
						var p struct{ Results map[string]json.RawMessage }
						err := json.Unmarshal(raw, &p)
						results = p.Results
						return graph.Result[state]{}, err
					}))
				if name == "goto" { // far has no incoming edge, so it is in the main flow
					run(t, b, tc.first).want("p, x", `goto from "x" to "far" crosses the border of a branch`)
					return
				}
				w := run(t, b, tc.first)
				w.want(tc.visited, "completed")
				if got := string(results["a"]); got != tc.output {
					t.Errorf("output %s, want %s", got, tc.output)
				}
			})
		}
	}
}

// TestBranchWaits checks that a wait inside a branch pauses the run once nothing else is running,
// and that loop counters in branches are independent (S2-52, S2-77).
func TestBranchWaits(t *testing.T) {
	t.Parallel()
	b := graph.New[state]("t").Parallel(parallel("a", "b")).Then(note("z")).
		Branch("a", func(b *builder) { b.Wait("sure?").Then(changes("a2", func(s *state) { s.Text = "answered" })) }).
		Branch("b", func(b *builder) {
			b.Loop(graph.LoopConfig[state]{Until: func(v graph.View[state]) bool { return v.State.N == 2 }},
				count("l")).If(always).Then(nothing("b2")).EndIf()
		})
	g := compiled(t, b)
	w := newWorld(t, g)
	w.begin(state{})
	w.want("p, wait_1, loop_start_2, l, loop_check_3, l, loop_check_3, decision_4, b2, merge_5", "paused")
	w.Crash()
	w.Feed(engine.Answer{Value: enginetest.Text("yes")})
	w.Go(nil)
	w.want("p, wait_1, loop_start_2, l, loop_check_3, l, loop_check_3, decision_4, b2, merge_5, a2, z", "completed")
	if d := cmp.Diff(w.state(), state{N: 2, Text: "answered", Log: []string{"z"}}); d != "" {
		t.Errorf("got - want +\n%s", d)
	}
	if e := compat.EdgesFrom(g, "p"); len(e) != 3 || e[0].To != "wait_1" || e[0].Label != "parallel-a" ||
		e[1].To != "loop_start_2" || e[2].To != "z" {
		t.Errorf("edges %+v", e)
	}
}

// TestBranch_GotoAcrossBranches checks that a node cannot go into another branch of its block,
// through its own goto or that of its error handler.
func TestBranch_GotoAcrossBranches(t *testing.T) {
	t.Parallel()
	leave := graph.NodeOptions{OnError: graph.OnError(func(error, *graph.Context[state]) graph.ErrorAction[state] {
		return graph.ErrorAction[state]{Action: graph.ActionGoto, Node: "y"}
	})}
	for name, x := range map[string]graph.Node[state]{
		"goto": graph.NewNode("x", graph.TypeTool,
			func(context.Context, *graph.Context[state]) (graph.Result[state], error) {
				return graph.Result[state]{Goto: []string{"y"}}, nil
			}, graph.NodeOptions{Retry: once()}),
		"error handler": failingNode("x", -1, leave),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := run(t, graph.New[state]("t").Parallel(parallel("a", "b")).Branch("a", func(b *builder) { b.Then(x) }).
				Branch("b", func(b *builder) { b.Then(nothing("y", graph.NodeOptions{Recovery: true})) }), state{})
			w.want("p, x, y", `goto from "x" to "y" crosses the border of a branch`)
			if f := w.Events[len(w.Events)-1].Data.(*event.RunFailed); f.Error.Code != "no_route" {
				t.Errorf("failure %+v", f.Error)
			}
		})
	}
}

// TestBranchProblems checks that errors in branches are reported at the call that caused them.
func TestBranchProblems(t *testing.T) {
	t.Parallel()
	some := func(id string) func(*builder) { return func(b *builder) { b.Then(nothing(id)) } }
	p := func(branches ...string) *builder { return graph.New[state]("t").Parallel(parallel(branches...)) }
	for name, tc := range map[string]struct {
		graph *builder
		code  string
		text  string
	}{
		"no name": {p("a").Branch("a", some("a")).Branch("", some("b")), "empty-id", "Branch has no name"},
		"twice": {p("a").Branch("a", some("a")).Branch("a", some("b")), "duplicate-branch",
			`Branch "a" already exists`},
		"nothing in it": {p("a").Node(nothing("a")).Branch("b", func(*builder) {}), "empty-branch",
			`Branch "b" must contain at least one node`},
		"no function": {p("a").Node(nothing("a")).Branch("b", nil), "empty-branch",
			`Branch "b" must contain at least one node`},
		"unused": {p("a").Node(nothing("a")).Branch("b", some("x")), "unused-branch",
			`Branch "b" is not part of a parallel node`},
		"other node": {p("a").Branch("a", some("x")).Node(nothing("a")), "duplicate-branch",
			`Branch "a" has the ID of a node that is not its first node`},
		"open if": {p("a").Branch("a", func(b *builder) { b.Then(nothing("x")).If(always).Then(nothing("y")) }),
			"open-if", "Missing EndIf"},
		"else outside": {graph.New[state]("t").Start(nothing("s")).If(always).Parallel(parallel("a")).Branch("a",
			func(b *builder) {
				b.Then(nothing("x")).Else()
			}).EndIf(), "else-without-if", "Cannot use Else without a preceding If"},
		"if in an if": {p("a").Branch("a", func(b *builder) { b.If(always).If(always).EndIf().EndIf() }),
			"if-without-node", "Cannot use If without a preceding node. Use Start first."},
		"two branches": {p("a", "b").Branch("a", func(b *builder) { b.Then(graph.DecisionNode[state]("x", nil, "y")) }).
			Branch("b", some("y")), "two-places",
			`Node "y" is both`},
		"out of it": {p("a").Branch("a", func(b *builder) { b.Then(graph.DecisionNode[state]("x", nil, "z")) }).Then(
			nothing("z")), "two-places", `Node "z" is both`},
		"two blocks": {p("a").Branch("a", some("a")).Then(graph.ParallelConfig[state]{ID: "q",
			Branches: []string{"a"}}), "two-places", `Node "a" is both`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := tc.graph.Compile()
			for _, d := range problems(t, err) {
				if d.Code == tc.code && strings.HasPrefix(d.Message, tc.text) && d.Span.File == "named_branch_test.go" {
					return
				}
			}
			t.Errorf("not told: %v", err)
		})
	}
}
