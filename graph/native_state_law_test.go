package graph_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/graph/compat"
	"github.com/hocket-run/hocket/internal/driver/program"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/typed"
)

// TestNativeState_JournalUnchanged checks that the record of a run does not depend on whether its
// functions received states as Go values: whether all of them did, none did, or the run was folded
// again at arbitrary moments (D1, D27).
func TestNativeState_JournalUnchanged(t *testing.T) {
	t.Parallel()
	native, grown := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		reducers := map[string]graph.Reducer{"n": graph.Sum(), "log": graph.Append(), "seen": graph.MergeMap(),
			"text": graph.Last()}
		if rapid.Bool().Draw(rt, "conflicts") {
			reducers = nil
		}
		next, b := 0, graph.New[state]("t")
		drawParts(rt, b, &next, 2)
		if rapid.Bool().Draw(rt, "at once") {
			drawPaths(rt, b)
		}
		c, err := b.Compile(graph.Config{MaxSteps: 60, Reducers: reducers,
			MaxConcurrency: rapid.IntRange(1, 3).Draw(rt, "concurrency")})
		if err != nil {
			rt.Fatal(err)
		}
		order := rapid.SliceOfN(rapid.IntRange(0, 5), 40, 40).Draw(rt, "order")
		folds := rapid.SliceOfN(rapid.IntRange(0, 3), 40, 40).Draw(rt, "folds")
		var logs, ends [3][]byte
		for way := range logs {
			p := program.New(c.Running().Program())
			w := enginetest.New(t, c.Workflow(), p)
			w.Func = func(c *engine.CallFunc) *engine.FuncResult {
				if way == 0 {
					c.State = c.State.WithNative(nil)
				} else if c.State.Native() != nil {
					native++
				}
				r := p.Call(t.Context(), "run1", c, caller{World: w})
				if way == 0 {
					r.Update, r.Grown, r.Native = typed.Whole(r.Update, r.Grown), nil, nil
				}
				grown += len(r.Grown)
				return &r
			}
			next := 0
			pick := func(n int) int {
				next++
				if way == 2 && folds[next%len(folds)] == 0 {
					w.Run = w.Fold(len(w.Events))
				}
				return order[next%len(order)] % n
			}
			first, err := json.Marshal(
				state{
					Log: []string{"a first entry that is long enough for what follows to be stored as what was " +
						"added to it", "so that lists grow"},
				})
			if err != nil {
				rt.Fatal(err)
			}
			w.StartWith(event.RunCreated{Input: first})
			w.Go(pick)
			for range 20 {
				if w.Run.Status() != event.StatusPaused {
					break
				}
				w.Feed(engine.Answer{Wait: w.Run.Waits()[0].ID, Value: enginetest.Text("on")})
				w.Go(pick)
			}
			var b bytes.Buffer
			for _, e := range w.Events {
				raw, err := json.Marshal(e)
				if err != nil {
					rt.Fatal(err)
				}
				fmt.Fprintf(&b, "%s\n", raw)
			}
			logs[way] = b.Bytes()
			if ends[way], err = json.Marshal(w.Run.State()); err != nil {
				rt.Fatal(err)
			}
			if !bytes.Equal(logs[way], logs[0]) || !bytes.Equal(ends[way], ends[0]) {
				rt.Fatalf("way %d\n%s\n%s\nby way of JSON alone\n%s\n%s", way, logs[way], ends[way], logs[0], ends[0])
			}
		}
	})
	wantNative, wantGrown := 200, 20
	if testing.Short() { // rapid draws a fifth of the cases
		wantNative, wantGrown = 40, 2
	}
	if native < wantNative || grown < wantGrown {
		t.Errorf("%d calls got a Go value, %d fields grew", native, grown)
	}
}

// drawParts adds parts of any kind to a graph: functions, inner graphs, waits, failures,
// conditions, loops, and blocks whose branches again have parts.
func drawParts(t *rapid.T, b *graph.Builder[state], next *int, depth int) {
	few := func(v graph.View[state]) bool { return v.State.N%3 != 0 || len(v.State.Log) > 9 }
	for i := range rapid.IntRange(1, 4).Draw(t, "parts") {
		part := rapid.IntRange(0, 9).Draw(t, "part")
		switch {
		case i > 0 && part == 0 && depth > 0:
			*next++
			c := graph.ParallelConfig[state]{ID: fmt.Sprintf("block%d", *next),
				Branches: []string{fmt.Sprintf("l%d", *next), fmt.Sprintf("r%d", *next)}}
			b.Parallel(drawStrategy(t, c))
			for _, name := range c.Branches {
				b.Branch(name, func(b *graph.Builder[state]) { drawParts(t, b, next, depth-1) })
			}
		case i > 0 && part == 1:
			b.Loop(graph.LoopConfig[state]{Until: few, MaxIterations: 3}, drawPart(t, next), drawPart(t, next))
		case i > 0 && part == 2:
			b.If(few).Then(drawPart(t, next)).EndIf()
		default:
			b.Then(drawPart(t, next))
		}
	}
}

// drawPaths adds paths of functions that run concurrently and see one another's changes.
func drawPaths(t *rapid.T, b *graph.Builder[state]) {
	works := func(id string, to ...string) graph.Node[state] {
		work, counts := drawWork(t, id), rapid.Bool().Draw(t, "counts")
		return graph.NewNode(id, graph.TypeTool,
			func(ctx context.Context, c *graph.Context[state]) (graph.Result[state], error) {
				n := c.State.N
				err := work(ctx, &c.State)
				if !counts { // so that paths change different fields, too
					c.State.N = n
				}
				return graph.Result[state]{Update: &c.State, Goto: to}, err
			}, graph.NodeOptions{Retry: once()})
	}
	b.Then(works("fan", "x1", "y1"))
	for _, path := range []string{"x", "y"} {
		b.Node(works(path+"1", path+"2"), works(path+"2", path+"3"), works(path+"3"))
	}
}

func drawPart(t *rapid.T, next *int) graph.Node[state] {
	*next++
	id := fmt.Sprintf("n%d", *next)
	switch rapid.IntRange(0, 12).Draw(t, "kind") {
	case 0:
		return drawSubgraph(t, id)
	case 1:
		return compat.WaitNode[state](id, "?")
	case 2:
		return failingNode(id, rapid.IntRange(-1, 2).Draw(t, "fails"))
	case 3:
		return nothing(id)
	}
	return graph.Do(id, drawWork(t, id), drawHandler(t))
}
