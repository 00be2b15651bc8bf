package graph_test

import (
	"context"
	"slices"
	"testing"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
)

// goOn lets functions that ignore the cancellation end.
func (w *world) goOn(nodes ...string) {
	w.T.Helper()
	for _, node := range nodes {
		i := slices.IndexFunc(w.Pending, func(c engine.Command) bool { return c.(*engine.CallFunc).Node == node })
		if i < 0 {
			w.T.Fatalf("%s is not at work\n%s", node, w.Log())
		}
		call := w.Pending[i].(*engine.CallFunc)
		w.Pending = slices.Delete(w.Pending, i, i+1)
		r := w.Func(call)
		r.ID = call.ID
		w.Feed(*r)
	}
}

// TestCancel checks that the steps in progress when a run is cancelled complete first and count,
// for up to 5 s, and that nothing else starts, whatever they return (S2-36, D10).
func TestCancel(t *testing.T) {
	t.Parallel()
	wait := graph.WaitConfig[state]{ID: "a", Prompt: "?"}
	skip := graph.NodeOptions{OnError: graph.OnError(func(error, *graph.Context[state]) graph.ErrorAction[state] {
		return graph.ErrorAction[state]{Action: graph.ActionGoto, Node: "rec"}
	})}
	par := graph.New[state]("t").Parallel(graph.ParallelConfig[state]{Branches: []string{"a", "b"}}).Then(note("z")).
		Node(note("a"), note("a2")).Node(note("b"))
	one := func(n graph.Node[state]) *graph.Builder[state] {
		return graph.New[state]("t").Start(n).Then(note("z")).Node(nothing("rec", graph.NodeOptions{Recovery: true}))
	}
	asks := graph.NewNode("a", graph.TypeTool,
		func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
			c.State.Log = append(c.State.Log, "a")
			return graph.Result[state]{Update: &c.State,
					Signals: []graph.Signal{{Type: graph.SignalHumanInputRequired}}},
				nil
		})
	for name, tc := range map[string]struct {
		graph *graph.Builder[state]
		do    func(*world) // after the cancellation
		want  string       // visited nodes
		ended string       // how the steps ended
		log   int
	}{
		"completes":      {one(note("a")), func(w *world) { w.goOn("a") }, "a", ".a, cancelled", 1},
		"goes elsewhere": {one(gotoNode("a", "rec")), func(w *world) { w.goOn("a") }, "a", ".a, cancelled", 0},
		"asks":           {one(asks), func(w *world) { w.goOn("a") }, "a", ".a, cancelled", 1},
		"fails":          {one(failingNode("a", -1)), func(w *world) { w.goOn("a") }, "a", "!a func, cancelled", 0},
		"error handler":  {one(failingNode("a", -1, skip)), func(w *world) { w.goOn("a") }, "a", ".a, cancelled", 0},
		"catch": {one(failingNode("a", -1)).Catch(nothing("h")), func(w *world) { w.goOn("a") }, "a",
			"!a func, cancelled", 0},
		"stops":             {one(note("a")), func(w *world) { w.Go(nil) }, "a", "xa, cancelled", 0},
		"too slow":          {one(note("a")), func(w *world) { w.Fire("settle") }, "a", "xa, cancelled", 0},
		"crashes meanwhile": {one(note("a")), func(w *world) { w.Crash() }, "a", "xa, cancelled", 0},
		"branches": {par, func(w *world) {
			w.goOn("a", "b")
		}, "parallel_1, a, b", ".a, .b, xparallel_1, cancelled", 0},
		"one branch is slow": {par, func(w *world) { w.goOn("b"); w.Fire("settle") }, "parallel_1, a, b",
			".b, xa, xparallel_1, cancelled", 0},
		"one branch fails": {graph.New[state]("t").Parallel(graph.ParallelConfig[state]{Branches: []string{"a", "b"}}).
			Node(failingNode("a", -1)).Node(note("b")),
			func(w *world) { w.goOn("a", "b") }, "parallel_1, a, b", "!a func, .b, xparallel_1, cancelled", 0},
		"nothing is at work": {one(wait), func(*world) {}, "a", "xa, cancelled", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, compiled(t, tc.graph))
			w.StartWith(event.RunCreated{})
			from := len(w.Events)
			w.Feed(engine.Cancel{Reason: "enough"})
			if name != "nothing is at work" {
				if got := w.Run.Status(); got != event.StatusRunning {
					t.Fatalf("%s before the node is done", got)
				}
				w.Feed(engine.Cancel{Reason: "again"}) // has no effect
			}
			tc.do(w)
			w.want(tc.want, "cancelled")
			if got := w.Trace(from); got != tc.ended && got != "resumed, "+tc.ended {
				t.Errorf("got  %s\nwant %s\n%s", got, tc.ended, w.Log())
			}
			if got := w.state().Log; len(got) != tc.log {
				t.Errorf("log %q", got)
			}
			if d, ok := w.Events[len(w.Events)-1].Data.(*event.RunCancelled); !ok || d.Reason != "enough" {
				t.Errorf("reason %+v", d)
			}
		})
	}
}
