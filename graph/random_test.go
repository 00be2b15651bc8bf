package graph_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/graph/compat"
	"github.com/hocket-run/hocket/internal/driver/program"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// drawNode returns a node of any kind whose references are valid, dangling or repeated.
func drawNode(t *rapid.T, next *int) graph.Node[state] {
	*next++
	id := fmt.Sprintf("n%d", *next)
	if rapid.IntRange(0, 30).Draw(t, "odd") == 0 {
		id = rapid.SampledFrom([]string{"", "n1", "decision_1", "a/b"}).Draw(t, "odd id")
	}
	other := func() string { return fmt.Sprintf("n%d", rapid.IntRange(1, *next+2).Draw(t, "other")) }
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0:
		return graph.DecisionNode(id, []graph.Route[state]{
			{When: func(v graph.View[state]) bool { return v.State.N%2 == 0 }, Target: other()},
		}, other())
	case 1:
		return compat.WaitNode[state](id, "?")
	case 2:
		return drawStrategy(t, graph.ParallelConfig[state]{ID: id, Branches: []string{other(), other()}})
	case 3:
		return failingNode(id, rapid.IntRange(-1, 2).Draw(t, "fails"))
	case 4:
		return gotoNode(id, other())
	case 5:
		return drawSubgraph(t, id)
	default:
		return graph.Do(id, drawWork(t, id), drawHandler(t))
	}
}

// drawWork draws what a function changes: only a number, or also growing values.
func drawWork(t *rapid.T, id string) func(context.Context, *state) error {
	kind, text := rapid.IntRange(0, 5).Draw(t, "work"), strings.Repeat(id+" é\n", rapid.IntRange(0, 30).Draw(t, "long"))
	return func(_ context.Context, s *state) error {
		s.N++
		switch kind {
		case 0:
			s.Log = append(s.Log, text)
		case 1:
			s.Text += text
		case 2:
			if s.Seen == nil {
				s.Seen = map[string]int{}
			}
			s.Seen[id]++
		case 3:
			if len(s.Log) > 0 {
				s.Log[s.N%len(s.Log)] = text
			}
		case 4:
			s.Text = "\xff" + id // replaced by JSON
		}
		if s.N%7 == 3 {
			return errBroken
		}
		return nil
	}
}

// drawHandler draws what happens after a failure.
func drawHandler(t *rapid.T) graph.NodeOptions {
	o := graph.NodeOptions{Retry: once()}
	if rapid.Bool().Draw(t, "retried") {
		o.Retry = graph.Retry{}
	}
	if rapid.Bool().Draw(t, "handled") {
		o.OnError = graph.OnError(func(_ error, c *graph.Context[state]) graph.ErrorAction[state] {
			c.State.Log, c.State.N = append(c.State.Log, "skipped"), c.State.N+2
			return graph.ErrorAction[state]{Action: graph.ActionSkip, Fallback: &c.State}
		})
	}
	return o
}

// drawSubgraph draws a node that runs another graph on its own state.
func drawSubgraph(t *rapid.T, id string) graph.Node[state] {
	c, err := graph.New[state]("inner").Start(graph.Do("a", drawWork(t, "a"))).Then(graph.Do("b", drawWork(t, "b"))).
		Compile()
	if err != nil {
		t.Fatal(err)
	}
	s := graph.SubgraphConfig[state, state]{ID: id, Graph: c}
	if rapid.Bool().Draw(t, "back") {
		s.Output = func(s *state, last state) error {
			s.Log, s.N = append(s.Log, last.Text), last.N
			return nil
		}
	}
	return s
}

// drawGraph makes arbitrary calls of a builder in arbitrary order, and closes what it opened.
func drawGraph(t *rapid.T) *graph.Builder[state] {
	b := graph.New[state]("t")
	next, open := 0, 0
	if rapid.IntRange(0, 9).Draw(t, "begin") > 0 {
		b.Start(count("n1"))
		next = 1
	}
	odd := func(v graph.View[state]) bool { return v.State.N%2 == 1 }
	for range rapid.IntRange(0, 12).Draw(t, "calls") {
		switch rapid.IntRange(0, 13).Draw(t, "call") {
		case 0:
			b.If(odd)
			open++
		case 1:
			b.Else()
		case 2:
			b.EndIf()
			open--
		case 3:
			b.Loop(graph.LoopConfig[state]{Until: odd, MaxIterations: rapid.IntRange(-1, 3).Draw(t, "most")},
				drawNode(t, &next))
		case 4:
			b.Parallel(
				graph.ParallelConfig[state]{Branches: []string{fmt.Sprintf("n%d", next+1), fmt.Sprintf("n%d", next+2)}})
			b.Node(drawNode(t, &next))
			b.Node(drawNode(t, &next))
		case 5:
			b.Node(drawNode(t, &next), drawNode(t, &next))
		case 6:
			b.Then(graph.IfConfig[state]{Condition: odd, Then: []graph.Node[state]{drawNode(t, &next)},
				ElseIf: []graph.ElseIf[state]{{Condition: odd}}})
		case 7:
			b.Catch(drawNode(t, &next))
		case 8:
			b.End()
		case 9, 10:
			drawBlock(t, b, &next, rapid.IntRange(0, 2).Draw(t, "depth"))
		default:
			b.Then(drawNode(t, &next))
		}
	}
	for ; open > 0; open-- {
		b.EndIf()
	}
	return b
}

func drawStrategy(t *rapid.T, c graph.ParallelConfig[state]) graph.ParallelConfig[state] {
	c.Strategy = rapid.SampledFrom([]graph.Strategy{"", graph.StrategyAny, graph.StrategyRace, graph.StrategyQuorum}).
		Draw(t, "strategy")
	if c.Strategy == graph.StrategyQuorum {
		c.Quorum = rapid.IntRange(1, len(c.Branches)).Draw(t, "quorum")
	}
	return c
}

// drawBlock adds a parallel block whose branches hold whatever the main flow may.
func drawBlock(t *rapid.T, b *graph.Builder[state], next *int, depth int) {
	*next++
	c := graph.ParallelConfig[state]{
		ID: fmt.Sprintf("block%d", *next), Branches: []string{fmt.Sprintf("l%d", *next), fmt.Sprintf("r%d", *next)},
	}
	b.Parallel(drawStrategy(t, c))
	odd := func(v graph.View[state]) bool { return v.State.N%2 == 1 }
	for _, name := range c.Branches {
		b.Branch(name, func(b *graph.Builder[state]) {
			for range rapid.IntRange(1, 3).Draw(t, "parts") {
				switch part := rapid.IntRange(0, 4).Draw(t, "part"); {
				case part == 0 && depth > 0:
					drawBlock(t, b, next, depth-1)
				case part == 1:
					b.Loop(graph.LoopConfig[state]{Until: odd, MaxIterations: 2}, drawNode(t, next))
				case part == 2:
					b.Then(drawNode(t, next)).If(odd).Then(drawNode(t, next)).EndIf()
				default:
					b.Then(drawNode(t, next))
				}
			}
		})
	}
}

// TestBuilder_RandomCalls checks that no sequence of calls panics: a graph is either rejected with
// reasons, or is a valid workflow that settles, the same way each time.
func TestBuilder_RandomCalls(t *testing.T) {
	t.Parallel()
	ran := 0
	rapid.Check(t, func(rt *rapid.T) {
		c, err := drawGraph(rt).Compile(graph.Config{MaxSteps: 40})
		if err != nil {
			if len(problems(t, err)) == 0 {
				rt.Fatal("refused without a reason")
			}
			return
		}
		if l := workflow.Validate(c.Workflow()); l.HasErrors() {
			rt.Fatalf("not valid: %v", l)
		}
		ran++
		var logs [2]string
		for i := range logs {
			p := program.New(c.Running().Program())
			w := enginetest.New(t, c.Workflow(), p)
			w.SkipLaws = true
			w.Func = func(c *engine.CallFunc) *engine.FuncResult {
				r := p.Call(t.Context(), "run1", c, caller{World: w})
				return &r
			}
			w.StartWith(event.RunCreated{})
			w.Go(nil)
			for range 50 {
				if w.Run.Status() != event.StatusPaused {
					break
				}
				w.Feed(engine.Answer{Wait: w.Run.Waits()[0].ID, Value: enginetest.Text("on")})
				w.Go(nil)
			}
			if !w.Run.Status().Ended() {
				rt.Fatalf("at rest as %s\n%s", w.Run.Status(), w.Log())
			}
			logs[i] = w.Log()
		}
		if logs[0] != logs[1] {
			rt.Fatalf("two runs differ\n%s\n%s", logs[0], logs[1])
		}
	})
	if ran < 5 {
		t.Errorf("only %d graphs ran", ran)
	}
}
