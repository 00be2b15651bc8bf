package graph_test

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/graph/compat"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/program"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// counters counts what nodes did, across processes.
type counters struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counters) add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[name]++
}

func (c *counters) all() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.n)
}

// nested returns a graph that pauses twice, three graphs deep. Each node counts its executions.
func nested(t *testing.T, c *counters) *graph.Compiled[state] {
	t.Helper()
	type node = graph.Node[state]
	mark := func(id string) node {
		return graph.Do(id, func(_ context.Context, s *state) error {
			c.add(id)
			s.Log = append(s.Log, id)
			return nil
		})
	}
	ask := func(id string) node {
		return graph.WaitConfig[state]{ID: id, Prompt: id + "?", Input: func(s *state, answer string) error {
			s.Text += answer
			return nil
		}}
	}
	into := func(id string, g *graph.Compiled[state]) node {
		return graph.SubgraphConfig[state, state]{ID: id, Graph: g, Output: func(s *state, last state) error {
			*s = last
			return nil
		}}
	}
	deep := compiled(t, graph.New[state]("deep").Start(mark("d1")).Then(ask("q1")).Then(mark("d2")).Then(ask("q2")).
		Then(mark("d3")))
	mid := compiled(t, graph.New[state]("mid").Start(mark("m1")).Then(into("deep", deep)).Then(mark("m2")))
	top := compiled(t, graph.New[state]("top").Start(mark("t1")).Then(into("mid", mid)).Then(mark("t2")))
	return compiled(t, graph.New[state]("out").Start(mark("o1")).Then(into("top", top)).Then(mark("o2")))
}

// TestPauseInSubgraph checks that a pause three graphs deep pauses the run, and that after an
// answer, with a crash, a snapshot or neither before it, the run continues inside: every counter
// that was 1 is still 1 (P3, S2-66).
func TestPauseInSubgraph(t *testing.T) {
	t.Parallel()
	for _, crash := range []bool{false, true} {
		c := &counters{}
		w := newWorld(t, nested(t, c))
		w.begin(state{})
		for _, q := range []string{"q1", "q2"} {
			waits := w.Run.Waits()
			if w.Run.Status() != event.StatusPaused || len(waits) != 1 || waits[0].Node != "top/mid/deep/"+q ||
				waits[0].Prompt != q+"?" {
				t.Fatalf("%s with %+v\n%s", w.Run.Status(), waits, w.Log())
			}
			if crash {
				w.Crash()
			}
			w.Feed(engine.Answer{Value: enginetest.Text("+" + q)})
			w.Go(nil)
		}
		w.want("o1, top, top/t1, top/mid, top/mid/m1, top/mid/deep, top/mid/deep/d1, top/mid/deep/q1, "+
			"top/mid/deep/d2, top/mid/deep/q2, top/mid/deep/d3, top/mid/m2, top/t2, o2", "completed")
		log := []string{"o1", "t1", "m1", "d1", "d2", "d3", "m2", "t2", "o2"}
		if d := cmp.Diff(w.state(), state{Log: log, Text: "+q1+q2"}); d != "" {
			t.Errorf("state: got - want +\n%s", d)
		}
		for _, id := range log {
			if n := c.all()[id]; n != 1 {
				t.Errorf("%s ran %d times", id, n)
			}
		}
	}
}

// TestSubgraph_EmbeddedDriver checks the same as TestPauseInSubgraph on the embedded driver: each
// answer comes from a separate process, which built the graph again (P3, P9).
func TestSubgraph_EmbeddedDriver(t *testing.T) {
	t.Parallel()
	c := &counters{}
	path := filepath.Join(t.TempDir(), "hocket.db")
	g := nested(t, c)
	d := open(t, path, g)
	run, err := d.Start(t.Context(), driver.Spec{Workflow: g.Workflow(), Input: event.Value(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	for i, answer := range []string{"a", "b", ""} {
		status, s := settled(t, d, g, run)
		if err := d.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if i == 2 {
			want := state{Log: []string{"o1", "t1", "m1", "d1", "d2", "d3", "m2", "t2", "o2"}, Text: "ab"}
			if status != event.StatusCompleted || cmp.Diff(s, want) != "" {
				t.Errorf("%s with %+v", status, s)
			}
			break
		}
		if status != event.StatusPaused || cmp.Diff(s, state{Log: []string{"o1"}}) != "" {
			t.Fatalf("%s with %+v", status, s)
		}
		g = nested(t, c)
		d = open(t, path, g)
		if err := d.Answer(t.Context(), run, engine.Answer{Value: enginetest.Text(answer)}); err != nil {
			t.Fatal(err)
		}
	}
	for id, n := range c.all() {
		if n != 1 {
			t.Errorf("%s ran %d times", id, n)
		}
	}
}

// TestSubgraphInLoop checks a subgraph with a parallel block and a question, in a loop: every node
// runs once per iteration, (node, iteration) distinguishes the executions, and the answer of one
// iteration is not used in the next (P15, S2-66).
func TestSubgraphInLoop(t *testing.T) {
	t.Parallel()
	inner := compiled(t, graph.New[state]("round").Parallel(graph.ParallelConfig[state]{Branches: []string{"a", "b"}}).
		Node(note("a")).Node(note("b")).
		Then(graph.WaitConfig[state]{ID: "q", PromptFunc: func(v graph.View[state]) string {
			return fmt.Sprintf("%d?", v.State.N)
		}, Input: func(s *state, answer string) error {
			s.Text += answer
			return nil
		}}).Then(count("c")), graph.Config{Reducers: map[string]graph.Reducer{"log": graph.Append()}})
	w := run(t, graph.New[state]("t").Loop(graph.LoopConfig[state]{Until: func(v graph.View[state]) bool {
		return v.State.N == 3
	}}, graph.SubgraphConfig[state, state]{
		ID: "sub", Graph: inner, Output: func(s *state, last state) error {
			*s = last
			return nil
		},
	}), state{})
	for i := range 3 {
		waits := w.Run.Waits()
		if len(waits) != 1 || waits[0].Prompt != fmt.Sprintf("%d?", i) {
			t.Fatalf("round %d: waits %+v\n%s", i, waits, w.Log())
		}
		w.Crash()
		w.Feed(engine.Answer{Wait: waits[0].ID, Value: enginetest.Text(fmt.Sprint(i))})
		w.Go(nil)
	}
	if w.Run.Status() != event.StatusCompleted {
		t.Fatalf("%s\n%s", w.Run.Status(), w.Log())
	}
	w.CheckPrefixes()
	if d := cmp.Diff(w.state(), state{N: 3, Log: []string{"a", "b", "a", "b", "a", "b"}, Text: "012"}); d != "" {
		t.Errorf("state: got - want +\n%s", d)
	}
	ran := map[string][]int{}
	for _, e := range w.Events {
		if d, ok := e.Data.(*event.StepStarted); ok {
			ran[e.Node] = append(ran[e.Node], d.Iteration)
		}
	}
	for _, node := range []string{"sub", "sub/parallel_1", "sub/a", "sub/b", "sub/q", "sub/c"} {
		if !slices.Equal(ran[node], []int{1, 2, 3}) {
			t.Errorf("%s ran as %v", node, ran[node])
		}
	}
}

// TestSubgraphInBranches checks that subgraphs in branches run concurrently, and that the winner of
// a race cancels what runs inside the other (S2-66, S2-51).
func TestSubgraphInBranches(t *testing.T) {
	t.Parallel()
	inner := compiled(t, graph.New[state]("in").Start(note("x")).Then(note("y")))
	branch := func(id string) graph.Node[state] {
		return graph.SubgraphConfig[state, state]{ID: id, Graph: inner, Output: func(s *state, last state) error {
			s.Log = append(s.Log, id+":"+strings.Join(last.Log, ""))
			return nil
		}}
	}
	for name, tc := range map[string]struct {
		strategy graph.Strategy
		finish   string // in this order
		log      []string
	}{
		"all":  {graph.StrategyAll, "b/x a/x b/y a/y", []string{"a:xy", "b:xy"}},
		"race": {graph.StrategyRace, "b/x b/y", []string{"b:xy"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t,
				compiled(t, graph.New[state]("t").Parallel(graph.ParallelConfig[state]{Branches: []string{"a", "b"},
					Strategy: tc.strategy}).
					Node(branch("a")).Node(branch("b")),
					graph.Config{Reducers: map[string]graph.Reducer{"log": graph.Append()}}))
			w.StartWith(event.RunCreated{Input: event.Value(`{}`)})
			for node := range strings.FieldsSeq(tc.finish) {
				w.finish(node)
			}
			w.Go(nil) // cancelled calls settle
			if w.Run.Status() != event.StatusCompleted || cmp.Diff(w.state().Log, tc.log) != "" {
				t.Errorf("%s with %v\n%s", w.Run.Status(), w.state().Log, w.Log())
			}
			w.CheckPrefixes()
		})
	}
}

// TestSubgraphConflict checks that concurrent writes of two subgraphs in branches, without a
// reducer, are a conflict of the two nodes (S2-66, P7).
func TestSubgraphConflict(t *testing.T) {
	t.Parallel()
	inner := compiled(t, graph.New[state]("in").Start(count("x")))
	branch := func(id string) graph.Node[state] {
		return graph.SubgraphConfig[state, state]{ID: id, Graph: inner, Output: func(s *state, last state) error {
			s.N = last.N
			return nil
		}}
	}
	w := run(t, graph.New[state]("t").Parallel(graph.ParallelConfig[state]{Branches: []string{"a", "b"}}).Node(
		branch("a")).Node(branch("b")), state{})
	if f, ok := w.Events[len(w.Events)-1].Data.(*event.RunFailed); !ok ||
		!strings.HasPrefix(f.Error.Message, `nodes "a" and "b" both changed field "n"`) {
		t.Errorf("no conflict\n%s", w.Log())
	}
}

// TestCancelInSubgraph checks that cancelling the run cancels what runs and what waits inside
// (S2-66).
func TestCancelInSubgraph(t *testing.T) {
	t.Parallel()
	inner := compiled(t, graph.New[state]("in").Start(note("x")).Then(compat.WaitNode[state]("q", "?")).Then(note("y")))
	for name, wait := range map[string]bool{"at work": false, "waiting": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t,
				compiled(t, graph.New[state]("t").Start(graph.SubgraphConfig[state, state]{ID: "sub", Graph: inner}).
					Then(note("z"))))
			w.StartWith(event.RunCreated{Input: event.Value(`{}`)})
			if wait {
				w.finish("sub/x")
			}
			w.Feed(engine.Cancel{Reason: "enough"})
			w.Go(nil)
			cancelled := map[string]bool{}
			for _, e := range w.Events {
				if _, ok := e.Data.(*event.StepCancelled); ok {
					cancelled[e.Node] = true
				}
			}
			want := map[string]bool{"sub": true, "sub/x": true}
			if wait {
				want = map[string]bool{"sub": true, "sub/q": true}
			}
			if w.Run.Status() != event.StatusCancelled || len(w.Run.Waits()) > 0 || cmp.Diff(cancelled, want) != "" {
				t.Errorf("%s, cancelled %v\n%s", w.Run.Status(), cancelled, w.Log())
			}
		})
	}
}

// TestSubgraphPaths checks that a question inside is reported in the base state, and that the model
// of a node inside is found by its path (S2-53, S2-75, S2-79).
func TestSubgraphPaths(t *testing.T) {
	t.Parallel()
	inner := compiled(t, graph.New[state]("in").Start(graph.AskUserConfig[state]{ID: "ask",
		Question: graph.Question{Text: "?"}}), graph.Config{DefaultModel: "m"})
	g := compiled(t, graph.New[state]("t").Start(graph.SubgraphConfig[state, state]{ID: "sub", Graph: inner}))
	w := newWorld(t, g)
	w.begin(state{})
	_, base, err := g.Running().Split(w.folded())
	if err != nil || !base.WaitingForInput || base.WaitNodeID != "sub/ask" || base.AskUserRequestID == "" {
		t.Errorf("base state %+v, %v", base, err)
	}
	for path, want := range map[string]string{"sub/ask": "m", "sub": "", "sub/no": "", "no/ask": "", "": ""} {
		if got := g.Running().Model(path, nil); got != want {
			t.Errorf("the model of %q is %q, want %q", path, got, want)
		}
	}
}

// TestSubgraph_MatchesStandaloneGraph checks that any graph behaves inside another as it does on
// its own: the same nodes in the same order, the same end, the same state, across questions,
// failures, retries and crashes.
func TestSubgraph_MatchesStandaloneGraph(t *testing.T) {
	t.Parallel()
	ran := 0
	rapid.Check(t, func(rt *rapid.T) {
		g, err := drawGraph(rt).Compile()
		if err != nil {
			return
		}
		outer := compiled(t, graph.New[state]("outer").Start(graph.SubgraphConfig[state, state]{
			ID: "sub", Graph: g, Output: func(s *state, last state) error {
				*s = last
				return nil
			}}))
		play := func(g *graph.Compiled[state], most int) (visited, end string, s state) {
			p := program.New(g.Running().Program())
			w := &world{enginetest.New(t, g.Workflow(), p), p}
			w.SkipLaws = rapid.IntRange(0, 3).Draw(rt, "laws") > 0
			w.Func = func(c *engine.CallFunc) *engine.FuncResult {
				r := p.Call(context.Background(), "run1", c, caller{World: w.World})
				return &r
			}
			w.StartWith(event.RunCreated{Input: event.Value(`{}`), Limits: workflow.Limits{MaxSteps: &most}})
			for range 60 {
				w.Go(nil)
				if w.Run.Status().Ended() {
					break
				}
				if rapid.Bool().Draw(rt, "crash") {
					w.Crash()
				}
				w.Feed(engine.Answer{Wait: w.Run.Waits()[0].ID, Value: enginetest.Text("on")})
			}
			end = string(w.Run.Status())
			if f, ok := w.Events[len(w.Events)-1].Data.(*event.RunFailed); ok {
				end = f.Error.Message
			}
			return w.visited(), end, w.state()
		}
		visited, end, s := play(g, 40)
		inVisited, inEnd, inState := play(outer, 41)
		want := "sub"
		for node := range strings.SplitSeq(visited, ", ") {
			if node != "" {
				want += ", sub/" + node
			}
		}
		limit := strings.HasPrefix(end, "Exceeded maximum steps")
		switch {
		case inVisited != want:
			rt.Fatalf("visited %s\ninside  %s", visited, inVisited)
		case limit != strings.HasPrefix(inEnd, "Exceeded maximum steps"),
			!limit && strings.ReplaceAll(inEnd, "sub/", "") != end:
			rt.Fatalf("ends %s, inside %s", end, inEnd)
		case end == "completed" && cmp.Diff(inState, s) != "":
			rt.Fatalf("state %+v, inside %+v", s, inState)
		}
		ran++
	})
	if ran < 5 {
		t.Errorf("only %d graphs ran", ran)
	}
}

// TestTimeoutInSubgraph checks that the run's time limit ends what runs inside (S2-62).
func TestTimeoutInSubgraph(t *testing.T) {
	t.Parallel()
	inner := compiled(t, graph.New[state]("in").Start(note("x")), graph.Config{Timeout: time.Millisecond})
	w := newWorld(t,
		compiled(t, graph.New[state]("t").Start(graph.SubgraphConfig[state, state]{ID: "sub", Graph: inner}),
			graph.Config{Timeout: time.Hour}))
	w.StartWith(event.RunCreated{Input: event.Value(`{}`)})
	w.Fire("timeout")
	w.Go(nil)
	w.want("sub, sub/x", "Graph execution timed out after 3600000ms")
}
