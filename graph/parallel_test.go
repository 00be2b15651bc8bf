package graph_test

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/randtest"
)

// finish runs the pending call of a node and feeds its result to the run.
func (w *world) finish(node string) {
	w.T.Helper()
	for i, c := range w.Pending {
		if call, ok := c.(*engine.CallFunc); ok && call.Node == node {
			w.Pending = slices.Delete(w.Pending, i, i+1)
			w.Feed(w.Answer(call))
			return
		}
	}
	w.T.Fatalf("%s is not at work\n%s", node, w.Log())
}

func (w *world) atWork() string {
	var out []string
	for _, c := range w.Pending {
		out = append(out, c.(*engine.CallFunc).Node)
	}
	return strings.Join(out, " ")
}

func changes(id string, fn func(*state)) graph.Node[state] {
	return graph.Do(id, func(_ context.Context, s *state) error {
		fn(s)
		return nil
	})
}

// TestStrategies checks what each strategy waits for, and what happens to the other branches
// (S2-51).
func TestStrategies(t *testing.T) {
	t.Parallel()
	ok, bad := nothing, func(id string, _ ...graph.NodeOptions) graph.Node[state] {
		return failingNode(id, -1, graph.NodeOptions{Retry: once()})
	}
	type maker = func(string, ...graph.NodeOptions) graph.Node[state]
	for name, tc := range map[string]struct {
		strategy graph.Strategy
		a, b     maker
		finish   string // in this order
		then     string // still running afterwards
		end      string
	}{
		"all":              {graph.StrategyAll, ok, ok, "b a", "z", ""},
		"default is all":   {"", ok, ok, "b", "a", ""},
		"all, one fails":   {graph.StrategyAll, ok, bad, "b", "a", "it is broken"},
		"race":             {graph.StrategyRace, ok, ok, "b", "a z", ""},
		"race, failed one": {graph.StrategyRace, ok, bad, "b", "a", "it is broken"},
		"any":              {graph.StrategyAny, ok, ok, "a", "b z", ""},
		"any, one fails":   {graph.StrategyAny, ok, bad, "b a", "z", ""},
		"any, all fail":    {graph.StrategyAny, bad, bad, "b a", "", "2 of 2 branches failed; the first: it is broken"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t,
				compiled(t, graph.New[state]("t").Parallel(graph.ParallelConfig[state]{Branches: []string{"a", "b"},
					Strategy: tc.strategy}).
					Then(nothing("z")).Node(tc.a("a")).Node(tc.b("b"))))
			w.StartWith(event.RunCreated{})
			if got := w.atWork(); got != "a b" {
				t.Fatalf("at work %s", got)
			}
			for node := range strings.FieldsSeq(tc.finish) {
				w.finish(node)
			}
			if got := w.atWork(); got != tc.then {
				t.Errorf("at work %q, want %q\n%s", got, tc.then, w.Log())
			}
			w.Go(nil)
			if tc.end == "" {
				w.want("parallel_1, a, b, z", "completed")
			} else {
				w.want("parallel_1, a, b", tc.end)
			}
		})
	}
}

// TestParallel_MaxConcurrency checks that branches run concurrently unless limited, and that what
// follows runs once, after the block (S2-9, S2-62).
func TestParallel_MaxConcurrency(t *testing.T) {
	t.Parallel()
	b := graph.New[state]("t").Start(nothing("s")).Parallel(
		graph.ParallelConfig[state]{Branches: []string{"a", "b", "c"}}).Then(nothing("j")).
		Node(nothing("a"), nothing("a2")).Node(nothing("b")).Node(nothing("c"))
	for name, tc := range map[string]struct {
		most int
		want string
	}{"default": {0, "a b c"}, "one": {1, "a"}, "two": {2, "a b"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, compiled(t, b, graph.Config{MaxConcurrency: tc.most}))
			w.StartWith(event.RunCreated{})
			w.finish("s")
			if got := w.atWork(); got != tc.want {
				t.Errorf("at work %s, want %s", got, tc.want)
			}
			w.Go(nil)
			if got := w.visited(); strings.Count(got, "j") != 1 || !strings.HasSuffix(got, ", j") ||
				w.Run.Status() != event.StatusCompleted {
				t.Errorf("visited %s, %s", got, w.Run.Status())
			}
		})
	}
}

// TestFanOut checks that the targets of a goto run one at a time, or as many as the limit allows
// (S2-30, S2-62).
func TestFanOut(t *testing.T) {
	t.Parallel()
	b := graph.New[state]("t").Start(gotoNode("s", "a", "b", "c")).Node(nothing("a")).Node(nothing("b")).Node(
		nothing("c"))
	for name, tc := range map[string]struct {
		most int
		want string
	}{"default": {0, "a"}, "one": {1, "a"}, "two": {2, "a b"}, "many": {9, "a b c"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, compiled(t, b, graph.Config{MaxConcurrency: tc.most}))
			w.StartWith(event.RunCreated{})
			w.finish("s")
			if got := w.atWork(); got != tc.want {
				t.Errorf("at work %s, want %s", got, tc.want)
			}
			w.Go(nil)
			w.want("s, a, b, c", "completed")
		})
	}
}

// TestReducers checks that concurrent changes are merged by the field's reducer, in declared order
// regardless of which finishes first, and that without a reducer they are an error (P7, D5, D27).
func TestReducers(t *testing.T) {
	t.Parallel()
	add := func(k string, n int) func(*state) {
		return func(s *state) {
			s.N += n
			s.Log = append(s.Log, k)
			s.Seen = map[string]int{k: n}
			if s.Text < k {
				s.Text = k
			}
		}
	}
	all := map[string]graph.Reducer{
		"n": graph.Sum(), "log": graph.Append(), "seen": graph.MergeMap(),
		"text": graph.Reduce(func(_, mine, theirs string) string { return max(mine, theirs) }),
	}
	b := graph.New[state]("t").Parallel(graph.ParallelConfig[state]{Branches: []string{"a", "b", "c"}}).
		Node(changes("a", add("a", 1))).Node(changes("b", add("b", 2))).Node(changes("c", add("c", 3)))
	want := state{N: 16, Log: []string{"0", "a", "b", "c"}, Seen: map[string]int{"a": 1, "b": 2, "c": 3}, Text: "c"}
	for seed := range randtest.Seeds(6) {
		t.Run(fmt.Sprint("order ", seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, compiled(t, b, graph.Config{Reducers: all}))
			w.StartWith(event.RunCreated{Input: event.Value(`{"n": 10, "log": ["0"], "seen": {"gone": 1}}`)})
			w.Go(rand.New(rand.NewSource(int64(seed))).Intn)
			if d := cmp.Diff(w.state(), want); d != "" || w.Run.Status() != event.StatusCompleted {
				t.Errorf("%s, got - want +\n%s", w.Run.Status(), d)
			}
		})
	}
	for _, field := range []string{"n", "log", "seen", "text"} {
		t.Run("without reducer for "+field, func(t *testing.T) {
			t.Parallel()
			some := map[string]graph.Reducer{}
			for k, r := range all {
				if k != field {
					some[k] = r
				}
			}
			run(t, b, state{}, graph.Config{Reducers: some}).want("parallel_1, a, b, c",
				fmt.Sprintf("nodes %q and %q both changed field %q at the same time; declare how it is merged", "a",
					"b", field))
		})
	}
	t.Run("last", func(t *testing.T) {
		t.Parallel()
		set := func(id string, n int) graph.Node[state] { return changes(id, func(s *state) { s.N = n }) }
		w := run(t, graph.New[state]("t").Parallel(graph.ParallelConfig[state]{Branches: []string{"a", "b"}}).Node(
			set("a", 1)).Node(set("b", 2)), state{},
			graph.Config{Reducers: map[string]graph.Reducer{"n": graph.Last()}})
		if got := w.state().N; got != 2 {
			t.Errorf("n is %d, want 2", got)
		}
	})
	t.Run("different fields", func(t *testing.T) {
		t.Parallel()
		w := run(t, graph.New[state]("t").Parallel(graph.ParallelConfig[state]{Branches: []string{"a", "b"}}).
			Node(count("a")).Node(changes("b", func(s *state) { s.Text = "b" })), state{N: 4, Counter: "kept"})
		if d := cmp.Diff(w.state(), state{N: 5, Text: "b", Counter: "kept"}); d != "" {
			t.Errorf("got - want +\n%s", d)
		}
	})
}

// TestZeroedFields checks that a field omitted by omitempty is written as its zero value, and that
// an unchanged field is not written (D27).
func TestZeroedFields(t *testing.T) {
	t.Parallel()
	w := run(t, graph.New[state]("t").Start(changes("a", func(s *state) { s.Text, s.Log = "", nil })),
		state{N: 1, Text: "x", Log: []string{"y"}})
	if d := cmp.Diff(w.state(), state{N: 1}); d != "" {
		t.Errorf("got - want +\n%s", d)
	}
	for _, e := range w.Events {
		if d, ok := e.Data.(*event.FuncReturned); ok && (len(d.Update) != 2 || string(d.Update["text"]) != "null") {
			t.Errorf("written %s", d.Update)
		}
	}
}

// TestMerge checks that Merge receives the branches that count, in declared order, and the state
// with their changes (S2-57).
func TestMerge(t *testing.T) {
	t.Parallel()
	gives := func(id string) graph.Node[state] {
		return graph.NewNode(id, graph.TypeTool,
			func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
				if id == "a" {
					c.State.N = 7
				}
				return graph.Result[state]{Output: id, Update: &c.State}, nil
			})
	}
	for name, tc := range map[string]struct {
		strategy graph.Strategy
		first    string
		want     state
		end      string
	}{
		"all":   {graph.StrategyAll, "b", state{N: 7, Log: []string{`a="a"`, `b="b"`}, Text: "7"}, "completed"},
		"race":  {graph.StrategyRace, "b", state{Log: []string{`b="b"`}, Text: "0"}, "completed"},
		"any":   {graph.StrategyAny, "a", state{N: 7, Log: []string{`a="a"`}, Text: "7"}, "completed"},
		"fails": {graph.StrategyAll, "a", state{}, "it is broken"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, compiled(t, graph.New[state]("t").Parallel(graph.ParallelConfig[state]{
				Branches: []string{"a", "b"}, Strategy: tc.strategy,
				Merge: func(s *state, results []graph.BranchResult) error {
					if name == "fails" {
						return errBroken
					}
					s.Text = fmt.Sprint(s.N)
					for _, r := range results {
						s.Log = append(s.Log, r.Branch+"="+string(r.Output))
					}
					return nil
				},
			}).Node(gives("a")).Node(gives("b"))))
			w.StartWith(event.RunCreated{})
			w.finish(tc.first)
			w.Go(nil)
			w.want("parallel_1, a, b", tc.end)
			if d := cmp.Diff(w.state(), tc.want); d != "" {
				t.Errorf("got - want +\n%s", d)
			}
		})
	}
}

// TestResults checks that without a mapper the results are in the outputs, for race and any only
// those of the winner, whatever the other branches had done before (S2-57).
func TestResults(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		strategy graph.Strategy
		finish   []string
		want     string
	}{
		"all": {"", []string{"a", "b", "b2"},
			`{"_parallel":true,"branches":["a","b"],"strategy":"all","results":{"a":1,"b":3}}`},
		"race": {graph.StrategyRace, []string{"b", "a"},
			`{"_parallel":true,"branches":["a","b"],"strategy":"race","results":{"a":1}}`},
		"any": {graph.StrategyAny, []string{"b", "b2"},
			`{"_parallel":true,"branches":["a","b"],"strategy":"any","results":{"b":3}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got string
			var others []string
			w := newWorld(t,
				compiled(t, graph.New[state]("t").Parallel(
					graph.ParallelConfig[state]{ID: "p", Branches: []string{"a", "b"}, Strategy: tc.strategy}).
					Node(fixedOutput("a", 1)).Branch("b", func(b *builder) {
					b.Then(fixedOutput("b", 2)).If(always).Then(fixedOutput("b2", 3)).EndIf()
				}).
					Then(graph.NewNode("z", graph.TypeTool,
						func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
							raw, _ := c.Output("p")
							got = string(raw)
							for id := range c.Outputs() {
								others = append(others, id)
							}
							return graph.Result[state]{}, nil
						}))))
			w.StartWith(event.RunCreated{})
			for _, node := range tc.finish {
				w.finish(node)
			}
			w.Go(nil)
			if got != tc.want || w.Run.Status() != event.StatusCompleted {
				t.Errorf("%s: got %s, want %s", w.Run.Status(), got, tc.want)
			}
			if tc.strategy == graph.StrategyRace && (slices.Contains(others, "b") || !slices.Contains(others, "a")) {
				t.Errorf("outputs of %v are seen", others)
			}
		})
	}
}

// TestNestedBlocks checks blocks inside blocks, and gotos inside a branch.
func TestNestedBlocks(t *testing.T) {
	t.Parallel()
	par := func(id string, branches ...string) graph.ParallelConfig[state] {
		return graph.ParallelConfig[state]{ID: id, Branches: branches}
	}
	var outputs []string
	w := run(t, graph.New[state]("t").Then(par("p", "a", "q")).
		Then(graph.NewNode("z", graph.TypeTool,
			func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
				for id, v := range c.Outputs() {
					outputs = append(outputs, id+"="+string(v))
				}
				return graph.Result[state]{}, nil
			})).
		Node(gotoNode("a", "a3"), nothing("a2"), graph.NewNode("a3", graph.TypeTool,
			func(context.Context, *graph.Context[state]) (graph.Result[state], error) {
				return graph.Result[state]{Output: 3}, nil
			})).
		Node(par("q", "x", "y"), nothing("q2")).Node(nothing("x")).Node(graph.NewNode("y", graph.TypeTool,
		func(context.Context, *graph.Context[state]) (graph.Result[state], error) {
			return graph.Result[state]{Output: "deep"}, nil
		})), state{})
	w.want("p, a, q, x, y, a3, q2, z", "completed")
	slices.Sort(outputs)
	want := []string{
		"a3=3", `p={"_parallel":true,"branches":["a","q"],"strategy":"all","results":{"a":3}}`,
		`q={"_parallel":true,"branches":["x","y"],"strategy":"all","results":{"y":"deep"}}`, `y="deep"`,
	}
	if d := cmp.Diff(outputs, want); d != "" {
		t.Errorf("got - want +\n%s", d)
	}
	run(t, graph.New[state]("t").Then(par("p", "a")).Node(gotoNode("a", "out")).Node(nothing("out")), state{}).
		want("p, a", `goto from "a" to "out" crosses the border of a branch`)
}
