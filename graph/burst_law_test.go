package graph_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/driver/program"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/workflow"
)

// burstState has a field of each kind that plain functions often have.
type burstState struct {
	N     int                 `json:"n"`
	Text  string              `json:"text,omitempty"`
	Notes []string            `json:"notes"`
	X     float64             `json:"x"`
	By    map[string][]int    `json:"by,omitempty"`
	Deep  *struct{ A, B int } `json:"deep"`
}

func (s *burstState) String() string {
	return fmt.Sprintf("%d %q %q %t %v %v %v %+v", s.N, s.Text, s.Notes, s.Notes == nil, s.X, s.By, s.By == nil,
		s.deep())
}

func (s *burstState) deep() any {
	if s.Deep == nil {
		return nil
	}
	return *s.Deep
}

// burstOps are what a function of a random graph may do. Most only change the state.
var burstOps = []string{"count", "count", "count", "nothing", "append", "append", "edit", "text", "grow", "map", "deep",
	"sleep", "keep", "error", "panic", "exit", "once", "nan", "utf8", "read", "done", "cancel", "touch", "output"}

// burstNode is a node of a random graph: a function, a loop or an if.
type burstNode struct {
	op   string
	n    int
	body []burstNode
	rest []burstNode
}

func drawBurstNodes(t *rapid.T, depth int) []burstNode {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) burstNode {
		n := burstNode{op: rapid.SampledFrom(burstOps).Draw(t, "op"), n: rapid.IntRange(0, 4).Draw(t, "n")}
		if depth > 0 {
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0:
				n.op, n.body = "loop", drawBurstNodes(t, depth-1)
			case 1:
				n.op, n.body, n.rest = "if", drawBurstNodes(t, depth-1), drawBurstNodes(t, depth-1)
			}
		}
		return n
	}), 1, 6).Draw(t, "nodes")
}

// stacks matches the stack traces of panics, which show who called the function.
var stacks = regexp.MustCompile(`"stack":"(\\.|[^"\\])*"`)

// burstWorld is one way to run a graph: what its functions saw is part of the result.
type burstWorld struct {
	log   journal.Log
	drive *embedded.Driver
	run   string
	calls map[string]int
	seen  []string
	kept  []*burstState
	nodes int
}

func (w *burstWorld) seesf(format string, args ...any) {
	w.seen = append(w.seen, fmt.Sprintf(format, args...))
}

func (w *burstWorld) records(ctx context.Context) string {
	recs, err := w.log.Read(ctx, w.run, 0)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, r := range recs {
		fmt.Fprintf(&b, "%d-%d %s\n", r.First, r.Last, stacks.ReplaceAll(r.Data, nil))
	}
	return b.String()
}

func (w *burstWorld) do(n burstNode, id string) func(context.Context, *burstState) error {
	return func(ctx context.Context, s *burstState) error {
		w.calls[id]++
		w.seesf("%s %d: %s", id, w.calls[id], s)
		s.N++
		switch n.op {
		case "nothing":
			s.N--
		case "append":
			s.Notes = append(s.Notes, strings.Repeat("n", 10*n.n), id)
		case "edit":
			if len(s.Notes) > 0 {
				s.Notes[n.n%len(s.Notes)] = id
			}
		case "text":
			s.Text = id
		case "grow":
			s.Text += "more \" text" + id
		case "map":
			if s.By == nil {
				s.By = map[string][]int{}
			}
			s.By[id] = append(s.By[id], n.n)
		case "deep":
			if s.Deep == nil {
				s.Deep = &struct{ A, B int }{}
			}
			s.Deep.A += n.n
		case "sleep":
			time.Sleep(time.Duration(n.n) * 1500 * time.Microsecond)
		case "keep": // what a function keeps stays its own
			w.kept = append(w.kept, s)
			for _, k := range w.kept[:len(w.kept)-1] {
				k.N = -1
				for i := range k.Notes {
					k.Notes[i] = "changed later"
				}
				clear(k.By)
			}
		case "error":
			if w.calls[id]%2 == 1 {
				return errors.New("an error")
			}
		case "panic":
			if w.calls[id]%3 == 1 {
				panic("a panic")
			}
		case "exit":
			if w.calls[id]%2 == 1 {
				runtime.Goexit()
			}
		case "once":
			v, err := graph.Once(ctx, "key", func(context.Context) (int, error) { return s.N, nil })
			w.seesf("once %d %v", v, err)
			return err
		case "nan":
			if s.X = math.NaN(); w.calls[id] > 1 {
				s.X = 1
			}
		case "utf8":
			s.Text = "a\xffb"
		case "read":
			w.seesf("journal %s", w.records(context.WithoutCancel(ctx)))
		case "done":
			select {
			case <-ctx.Done():
				w.seesf("done %v", ctx.Err())
			default:
				w.seesf("continues %v", ctx.Err())
			}
		case "cancel":
			if n.n == 0 {
				w.seesf("cancelled %v", w.drive.Cancel(context.WithoutCancel(ctx), w.run, "as the graph wants"))
			}
		case "touch":
			w.seesf("resumed %v", w.drive.Resume(context.WithoutCancel(ctx), w.run))
		}
		return nil
	}
}

func (w *burstWorld) add(b *graph.Builder[burstState], nodes []burstNode) {
	for _, n := range nodes {
		w.nodes++
		id := fmt.Sprintf("n%d", w.nodes)
		switch n.op {
		case "loop":
			b.Then(graph.Loop(func(v graph.View[burstState]) bool { return v.State.N%7 == n.n },
				graph.Body(func(b *graph.Builder[burstState]) { w.add(b, n.body) })).AtMost(n.n + 1))
		case "if":
			b.Then(graph.If(func(v graph.View[burstState]) bool { return v.State.N%2 == n.n%2 },
				graph.Body(func(b *graph.Builder[burstState]) { w.add(b, n.body) })).Otherwise(
				graph.Body(func(b *graph.Builder[burstState]) { w.add(b, n.rest) })))
		case "output":
			b.Then(graph.NewNode(id, graph.TypeTool, func(_ context.Context, c *graph.Context[burstState]) (
				graph.Result[burstState], error) {
				w.seesf("%s %s %s", id, c.Input, &c.State)
				c.State.N++
				return graph.Result[burstState]{Update: &c.State, Output: id}, nil
			}))
		default:
			b.Then(graph.Do(id, w.do(n, id), graph.NodeOptions{Retry: graph.Retry{MaxAttempts: 2}}))
		}
	}
}

// runBurst runs a graph and returns what was recorded and seen.
func runBurst(t *testing.T, nodes []burstNode, stepByStep bool, steps int) string {
	m := journal.NewMemory()
	home := m.Open(journal.KindServe)
	w := &burstWorld{log: home, run: "run", calls: map[string]int{}}
	b := graph.New[burstState]("random")
	b.Then(graph.Do("first", w.do(burstNode{op: "count"}, "first")))
	w.add(b, nodes)
	g, err := b.Compile(graph.Config{MaxSteps: steps})
	if err != nil {
		t.Fatal(err)
	}
	d, err := embedded.New(embedded.Config{Store: home, StepByStep: stepByStep,
		Program: func(*workflow.Workflow) (driver.Program, error) { return nil, nil }})
	if err != nil {
		t.Fatal(err)
	}
	w.drive = d
	_, err = d.Start(t.Context(), driver.Spec{Run: w.run, Workflow: g.Workflow(),
		Program: program.New(g.Running().Program()),
		Input:   []byte(`{"n":0,"notes":["first"],"x":1.5,"deep":null}`)})
	if err != nil {
		t.Fatal(err)
	}
	st, err := d.Wait(t.Context(), w.run)
	w.seesf("status %v %v", st, err)
	head, err := home.Head(t.Context(), w.run)
	w.seesf("head %d %v %v %v %v", head.LastSeq, head.Updated, head.Ended, head.Outcome, err)
	w.seesf("records\n%s", w.records(t.Context()))
	if err := d.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := home.Close(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(w.seen, "\n")
}

// TestBursts_SameJournal checks that runs of random graphs are recorded the same, byte for byte, with
// bursts and without, and that their functions see the same.
func TestBursts_SameJournal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		nodes := drawBurstNodes(rt, 2)
		steps := rapid.SampledFrom([]int{0, 0, 0, 3, 7, 20}).Draw(rt, "steps")
		var got, want string
		synctest.Test(t, func(t *testing.T) { want = runBurst(t, nodes, true, steps) })
		synctest.Test(t, func(t *testing.T) { got = runBurst(t, nodes, false, steps) })
		one, other := strings.Split(got, "\n"), strings.Split(want, "\n")
		for i := range min(len(one), len(other)) {
			if one[i] != other[i] {
				rt.Fatalf("line %d with bursts:\n%s\nwithout:\n%s", i, one[i], other[i])
			}
		}
		if len(one) != len(other) {
			rt.Fatalf("%d lines with bursts, %d without", len(one), len(other))
		}
	})
}
