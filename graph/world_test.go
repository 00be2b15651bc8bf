package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/program"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// state is the state of the graphs in these tests.
type state struct {
	N       int            `json:"n"`
	Log     []string       `json:"log,omitempty"`
	Seen    map[string]int `json:"seen,omitempty"`
	Text    string         `json:"text,omitempty"`
	Counter string         `json:"counter,omitempty"`
}

// world runs a compiled graph on the real engine.
type world struct {
	*enginetest.World
	program *program.Program
}

// caller is the driver.Caller of a world's calls; it records their notes in the world.
type caller struct {
	driver.NoCaller
	*enginetest.World
}

func (c caller) Record(n engine.FuncNote) error { return c.World.Record(n) }

func newWorld(t *testing.T, g *graph.Compiled[state]) *world {
	t.Helper()
	p := program.New(g.Running().Program())
	w := &world{enginetest.New(t, g.Workflow(), p), p}
	w.Func = func(c *engine.CallFunc) *engine.FuncResult {
		r := p.Call(t.Context(), "run1", c, caller{World: w.World})
		return &r
	}
	return w
}

// run compiles a graph and runs it from an initial state until it settles.
func run(t *testing.T, b *graph.Builder[state], first state, cfg ...graph.Config) *world {
	t.Helper()
	w := newWorld(t, compiled(t, b, cfg...))
	w.begin(first)
	return w
}

func compiled(t *testing.T, b *graph.Builder[state], cfg ...graph.Config) *graph.Compiled[state] {
	t.Helper()
	g, err := b.Compile(cfg...)
	if err != nil {
		t.Fatalf("compile: %v", err)
	}
	return g
}

func (w *world) begin(first state) {
	w.T.Helper()
	raw, err := json.Marshal(first)
	if err != nil {
		w.T.Fatal(err)
	}
	w.StartWith(event.RunCreated{Input: raw})
	w.Go(nil)
}

// visited returns the nodes that ran, in the order in which they started.
func (w *world) visited() string {
	var out []string
	for _, e := range w.Events {
		if _, ok := e.Data.(*event.StepStarted); ok && !hidden(w.Plan.Workflow(), e.Node) {
			out = append(out, e.Node)
		}
	}
	return strings.Join(out, ", ")
}

// hidden reports whether the node at a path is one that users do not see.
func hidden(w *workflow.Workflow, path string) bool {
	if n := w.Node(path); n != nil {
		return n.Hidden
	}
	for id, flow := range w.Flows {
		if inside, ok := strings.CutPrefix(path, id+"/"); ok {
			return hidden(flow, inside)
		}
	}
	return false
}

func (w *world) state() state {
	w.T.Helper()
	raw, err := json.Marshal(w.Run.State())
	if err != nil {
		w.T.Fatal(err)
	}
	var s state
	if err := json.Unmarshal(raw, &s); err != nil {
		w.T.Fatalf("state %s: %v", raw, err)
	}
	return s
}

// want checks how the run ended: the nodes visited, and `completed`, `paused` or the failure's
// message.
func (w *world) want(visited, end string) {
	w.T.Helper()
	got := string(w.Run.Status())
	if f, ok := w.Events[len(w.Events)-1].Data.(*event.RunFailed); ok {
		got = f.Error.Message
	}
	if v := w.visited(); v != visited || got != end {
		w.T.Errorf("visited %s; %s\nwant    %s; %s\n%s", v, got, visited, end, w.Log())
	}
	w.CheckPrefixes()
}

// note returns a node that records its own id.
func note(id string, opts ...graph.NodeOptions) graph.Node[state] {
	return graph.Do(id, func(_ context.Context, s *state) error {
		s.Log = append(s.Log, id)
		return nil
	}, opts...)
}

// nothing returns a node that does nothing.
func nothing(id string, opts ...graph.NodeOptions) graph.Node[state] {
	return graph.NewNode(id, graph.TypeTool, func(context.Context, *graph.Context[state]) (graph.Result[state], error) {
		return graph.Result[state]{}, nil
	}, opts...)
}

func count(id string) graph.Node[state] {
	return graph.Do(id, func(_ context.Context, s *state) error {
		s.N++
		return nil
	})
}

// gotoNode returns a node that goes to the given nodes.
func gotoNode(id string, to ...string) graph.Node[state] {
	return graph.NewNode(id, graph.TypeTool, func(context.Context, *graph.Context[state]) (graph.Result[state], error) {
		return graph.Result[state]{Goto: to}, nil
	})
}

var errBroken = errors.New("it is broken")

// failingNode returns a node that fails its first n attempts, or always if n is negative.
func failingNode(id string, n int, opts ...graph.NodeOptions) graph.Node[state] {
	return graph.NewNode(id, graph.TypeTool,
		func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
			if n < 0 || c.Attempt <= n {
				return graph.Result[state]{}, errBroken
			}
			return graph.Result[state]{}, nil
		}, opts...)
}

// once returns a retry policy without retries.
func once() graph.Retry { return graph.Retry{MaxAttempts: 1} }

func always(graph.View[state]) bool { return true }
func never(graph.View[state]) bool  { return false }

// problems returns the diagnostics in err with their lines.
func problems(t *testing.T, err error) []diag.Diagnostic {
	t.Helper()
	var l diag.List
	if !errors.As(err, &l) {
		t.Fatalf("error %v is no list of diagnostics", err)
	}
	return l
}
