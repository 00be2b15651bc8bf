package engine_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

func answer(c *engine.CallModel) *engine.ModelResult {
	return enginetest.Reply(enginetest.ReplyTo(c.Node, c.Messages[len(c.Messages)-1].Text.String()))
}

// TestEngine_MatchesReference checks that the engine produces what the slow twin produces, in
// whatever order results arrive; that crashes between any two activations change nothing (D1, D8,
// P4); and that after every activation replay equals live and the open commands follow from the
// state (World checks these).
func TestEngine_MatchesReference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		loops := rapid.IntRange(1, 4).Draw(rt, "loops")
		s := enginetest.DrawShape(rt, 4)
		s.SetLoops(loops)
		want := enginetest.Twin(s, enginetest.Text("go"))
		w := enginetest.New(t, s.Compile(), nil)
		w.SkipLaws = rapid.IntRange(0, 3).Draw(rt, "laws") > 0
		w.Model = answer
		w.Start("go")
		crash := rapid.Bool().Draw(rt, "crash")
		journaled := map[string]bool{}
		for n := 0; ; n++ {
			if n > 2000 {
				rt.Fatalf("no end for %s\n%s", s, w.Log())
			}
			if len(w.Pending) == 0 {
				break
			}
			i := rapid.IntRange(0, len(w.Pending)-1).Draw(rt, "pick")
			c := w.Pending[i]
			w.Pending = append(w.Pending[:i:i], w.Pending[i+1:]...)
			in := w.Answer(c)
			if journaled[engine.CallID(c)] {
				rt.Fatalf("call %s was made again though its result is in the journal (D8)", engine.CallID(c))
			}
			journaled[engine.CallID(c)] = true
			w.Feed(in)
			if crash && rapid.IntRange(0, 9).Draw(rt, "now") == 0 && !w.Run.Status().Ended() {
				w.Crash()
			}
		}
		if want.Failed {
			if w.Run.Status() != event.StatusFailed {
				rt.Fatalf("got %s, want failed: a loop runs too often in %s\n%s", w.Run.Status(), s, w.Log())
			}
			return
		}
		if w.Run.Status() != event.StatusCompleted {
			rt.Fatalf("got %s, want completed: %s\n%s", w.Run.Status(), s, w.Log())
		}
		if got := len(journaled); got != want.Calls {
			rt.Fatalf("made %d calls, twin made %d: %s\n%s", got, want.Calls, s, w.Log())
		}
		if got := w.Run.Output(); expr.Text(got) != expr.Text(want.Output) {
			rt.Fatalf("output %s, twin's %s: %s\n%s", got, want.Output, s, w.Log())
		}
	})
}

// TestJoin_RandomGraphs checks free joins in random graphs with conditions: the run ends, no join
// runs twice, and a join contains everything that reaches it through all of its open paths (P2,
// P5).
func TestJoin_RandomGraphs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(2, 14).Draw(rt, "nodes")
		w := &workflow.Workflow{Entry: "n0"}
		for i := range n {
			id := fmt.Sprintf("n%d", i)
			switch kind := rapid.IntRange(0, 2).Draw(rt, "kind"); {
			case i == 0 || kind == 0:
				w.Agents = append(w.Agents, workflow.Agent{ID: id})
				w.Nodes = append(w.Nodes, workflow.Node{ID: id, Kind: workflow.KindAgent,
					Agent: &workflow.AgentNode{Agent: id, Prompt: workflow.Prompt{Mode: workflow.PromptTemplate}}})
			case kind == 1:
				w.Nodes = append(w.Nodes, workflow.Node{ID: id, Kind: workflow.KindDecide, Decide: &workflow.Decide{
					Cases: []workflow.Case{{Port: "out", When: workflow.Condition{Language: workflow.LangMatch,
						Op: "contains", Text: "yes"}}}, Else: "false"}})
			default:
				w.Nodes = append(w.Nodes, workflow.Node{ID: id, Kind: workflow.KindJoin, Join: &workflow.Join{}})
			}
			if i > 0 {
				from := map[int]bool{}
				most := 1
				if w.Nodes[i].Kind == workflow.KindJoin {
					most = 3
				}
				for range rapid.IntRange(1, most).Draw(rt, "in") {
					j := rapid.IntRange(0, i-1).Draw(rt, "from")
					if from[j] {
						continue
					}
					from[j] = true
					port := "out"
					if w.Nodes[j].Kind == workflow.KindDecide && rapid.Bool().Draw(rt, "else") {
						port = "false"
					}
					w.Edges = append(w.Edges, workflow.Edge{From: fmt.Sprintf("n%d", j), Port: port, To: id})
				}
			}
		}
		world := enginetest.New(t, w, nil)
		world.Model = answer
		world.Start("go")
		world.Go(func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "pick") })
		if world.Run.Status() != event.StatusCompleted {
			rt.Fatalf("got %s\n%s", world.Run.Status(), world.Log())
		}
		ran := map[string]int{}
		for _, e := range world.Events {
			if _, ok := e.Data.(*event.StepStarted); ok {
				ran[e.Node]++
			}
		}
		for node, times := range ran {
			if times > 1 {
				rt.Fatalf("%s ran %d times\n%s", node, times, world.Log())
			}
		}
		// A join ran if and only if an edge into it was taken.
		taken := map[string]int{}
		for _, e := range world.Events {
			if d, ok := e.Data.(*event.EdgeTaken); ok {
				taken[d.To]++
			}
		}
		for i := range w.Nodes {
			if id := w.Nodes[i].ID; (taken[id] > 0) != (ran[id] > 0) {
				rt.Fatalf("%s: %d edges were taken into it, it ran %d times\n%s", id, taken[id], ran[id], world.Log())
			}
		}
	})
}
