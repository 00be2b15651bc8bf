package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/graph/compat"
	"github.com/hocket-run/hocket/internal/engine/event"
)

// piece is the state of inner graphs: one field has the same name as a field of state, the other
// does not.
type piece struct {
	N     int      `json:"n"`
	Words []string `json:"words"`
}

// noteWord returns a node of an inner graph that records a word and counts.
func noteWord(id string) graph.Node[piece] {
	return graph.Do(id, func(_ context.Context, p *piece) error {
		p.N++
		p.Words = append(p.Words, id)
		return nil
	})
}

// compileAny compiles a graph with any state type.
func compileAny[S any](t *testing.T, b *graph.Builder[S], cfg ...graph.Config) *graph.Compiled[S] {
	t.Helper()
	g, err := b.Compile(cfg...)
	if err != nil {
		t.Fatalf("compile: %v", err)
	}
	return g
}

// linked binds names to graphs by their own names.
func linked[S any](t *testing.T, g *graph.Compiled[S], others ...graph.Subgraph) *graph.Compiled[S] {
	t.Helper()
	out, err := g.Link(among(others...))
	if err != nil {
		t.Fatalf("link: %v", err)
	}
	return out
}

func among(graphs ...graph.Subgraph) func(string) (graph.Subgraph, bool) {
	return func(name string) (graph.Subgraph, bool) {
		for _, g := range graphs {
			if g.Name() == name {
				return g, true
			}
		}
		return nil, false
	}
}

type sub = graph.SubgraphConfig[state, piece]

// TestSubgraphMappers checks how the state is passed in and out, for a graph and for a name
// (S2-66).
func TestSubgraphMappers(t *testing.T) {
	t.Parallel()
	inner := compileAny(t, graph.New[piece]("inner").Start(noteWord("x")).Loop(
		graph.LoopConfig[piece]{Until: func(v graph.View[piece]) bool { return v.State.N >= 7 }}, noteWord("y")))
	enter := func(v graph.View[state]) piece { return piece{N: v.State.N + 1, Words: []string{v.State.Text}} }
	leave := func(s *state, p piece) error {
		s.N, s.Text = p.N, strings.Join(p.Words, " ")
		return nil
	}
	for name, tc := range map[string]struct {
		in   func(graph.View[state]) piece
		out  func(*state, piece) error
		want state
		left string
	}{
		"neither": {nil, nil, state{N: 4, Text: "go"}, `{"n":7,"words":["x","y","y"]}`},
		"input":   {enter, nil, state{N: 4, Text: "go"}, `{"n":7,"words":["go","x","y"]}`},
		"output":  {nil, leave, state{N: 7, Text: "x y y"}, ""},
		"both":    {enter, leave, state{N: 7, Text: "go x y"}, ""},
	} {
		for _, named := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, named %t", name, named), func(t *testing.T) {
				t.Parallel()
				c := sub{ID: "sub", Graph: inner, Input: tc.in, Output: tc.out}
				if named {
					c.Graph, c.Name = nil, "inner"
				}
				left := ""
				g := compiled(t, graph.New[state]("t").Start(c).Then(graph.NewNode("z", graph.TypeTool,
					func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
						v, _ := c.Output("sub")
						left = string(v)
						return graph.Result[state]{}, nil
					})))
				if named {
					g = linked(t, g, inner)
				}
				w := newWorld(t, g)
				w.begin(state{N: 4, Text: "go"})
				if w.Run.Status() != event.StatusCompleted {
					t.Fatalf("%s\n%s", w.Run.Status(), w.Log())
				}
				w.CheckPrefixes()
				if d := cmp.Diff(w.state(), tc.want); d != "" || left != tc.left {
					t.Errorf("left %s, want %s; state: got - want +\n%s", left, tc.left, d)
				}
			})
		}
	}
}

// TestSubgraphMisuse checks that a node accepts either a graph or a name (S2-66).
func TestSubgraphMisuse(t *testing.T) {
	t.Parallel()
	inner := compileAny(t, graph.New[piece]("inner").Start(noteWord("x")))
	for name, tc := range map[string]struct {
		node graph.Node[state]
		want string
	}{
		"both": {sub{ID: "sub", Graph: inner, Name: "inner"},
			`Subgraph node "sub" takes a graph or a name, not both`},
		"neither": {sub{ID: "sub"}, `Subgraph node "sub" requires a graph or the name of one`},
		"no struct": {graph.SubgraphConfig[state, int]{ID: "sub", Name: "x"},
			`Subgraph node "sub": State type int must be a struct that JSON encodes as an object`},
		"bad retry": {
			sub{ID: "sub", Graph: inner, Options: graph.NodeOptions{Retry: graph.Retry{MaxAttempts: graph.Zero}}},
			`Node "sub": MaxAttempts is 0; it counts the first attempt and must be at least 1`,
		},
		"bad schema": {sub{ID: "sub", Graph: inner, Options: graph.NodeOptions{InputSchema: &graph.Schema{}}},
			`The InputSchema of node "sub" is empty; make it with SchemaOf or SchemaJSON`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := graph.New[state]("t").Start(tc.node).Compile()
			if p := problems(t, err); len(p) != 1 || p[0].Message != tc.want || p[0].Span.File != "subgraph_test.go" {
				t.Errorf("got %v, want %s", p, tc.want)
			}
		})
	}
	_, err := graph.New[state]("t").Start(nothing("a")).Catch(sub{ID: "sub", Graph: inner}).Compile()
	if p := problems(t, err); len(p) != 1 ||
		p[0].Message != `Error handler "sub" must be a node that calls a function` {
		t.Errorf("handler: %v", p)
	}
	if info, ok := compat.Node(compileAny(t, graph.New[state]("t").Start(sub{ID: "sub", Graph: inner})), "sub"); !ok ||
		info.Type != graph.TypeSubgraph {
		t.Errorf("info %+v", info)
	}
}

// TestUnknownSubgraph checks that an unknown name fails the node immediately when it runs, and that
// error handlers see the failure (S2-66).
func TestUnknownSubgraph(t *testing.T) {
	t.Parallel()
	build := func(opts graph.NodeOptions) *graph.Builder[state] {
		return graph.New[state]("t").Start(note("s")).Then(sub{ID: "sub", Name: "nowhere", Options: opts}).Then(
			note("z"))
	}
	g := compiled(t, build(graph.NodeOptions{Retry: compat.DefaultRetry()}))
	w := newWorld(t, g)
	w.begin(state{})
	w.want("s, sub", `Cannot resolve workflow "nowhere": No workflow resolver configured. Run the graph with package `+
		`hocket, or link it first.`)
	w = newWorld(t, linked(t, g))
	w.begin(state{})
	w.want("s, sub", "Workflow not found: nowhere")
	handled := compiled(t,
		build(graph.NodeOptions{
			OnError: graph.OnError(func(err error, _ *graph.Context[state]) graph.ErrorAction[state] {
				return graph.ErrorAction[state]{Action: graph.ActionSkip, Fallback: &state{Text: err.Error()}}
			})}))
	w = newWorld(t, linked(t, handled))
	w.begin(state{})
	w.want("s, sub, z", "completed")
	if got := w.state().Text; got != "Workflow not found: nowhere" {
		t.Errorf("the handler saw %q", got)
	}
}

// TestSubgraphRefuses checks that whatever the mappers of a subgraph node, its schemas or the
// schema of the graph reject fails the node.
func TestSubgraphRefuses(t *testing.T) {
	t.Parallel()
	inner := compileAny(t, graph.New[piece]("inner").Start(noteWord("x")))
	little := graph.SchemaJSON(`{"properties": {"n": {"maximum": 1}}}`)
	leave := func(s *state, p piece) error {
		s.N += 10
		return nil
	}
	for name, tc := range map[string]struct {
		node    sub
		cfg     graph.Config
		visited string
		end     string // prefix
	}{
		"input panics": {sub{Input: func(graph.View[state]) piece { panic("oops") }}, graph.Config{}, "sub",
			`function "sub/enter" panicked: oops`},
		"output fails": {sub{Output: func(*state, piece) error { return errBroken }}, graph.Config{}, "sub, sub/x",
			"it is broken"},
		"output panics": {sub{Output: func(*state, piece) error { panic("oops") }}, graph.Config{}, "sub, sub/x",
			`function "sub/leave" panicked: oops`},
		"input schema": {sub{Options: graph.NodeOptions{InputSchema: little}}, graph.Config{}, "sub",
			`Node "sub" input`},
		"output schema": {
			sub{Output: leave,
				Options: graph.NodeOptions{OutputSchema: graph.SchemaJSON(`{"properties": {"n": {"maximum": 5}}}`)}},
			graph.Config{}, "sub, sub/x", `Node "sub" output`,
		},
		"graph schema": {sub{Output: leave}, graph.Config{OutputSchema: little}, "sub, sub/x", "Graph state"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.node.ID, tc.node.Graph = "sub", inner
			w := run(t, graph.New[state]("t").Start(tc.node).Then(note("z")), state{N: 3}, tc.cfg)
			f, ok := w.Events[len(w.Events)-1].Data.(*event.RunFailed)
			if !ok || !strings.HasPrefix(f.Error.Message, tc.end) || f.Error.Node != "sub" ||
				w.visited() != tc.visited || w.state().N != 3 {
				t.Errorf("visited %s, state %+v\n%s", w.visited(), w.state(), w.Log())
			}
			w.CheckPrefixes()
		})
	}
	other := graph.SubgraphConfig[state, struct {
		N string `json:"n"`
	}]{ID: "sub", Name: "inner"}
	w := newWorld(t, linked(t, compiled(t, graph.New[state]("t").Start(other)), inner))
	w.begin(state{N: 3})
	if f, ok := w.Events[len(w.Events)-1].Data.(*event.RunFailed); !ok ||
		!strings.HasPrefix(f.Error.Message, "decode state: json: cannot unmarshal number") {
		t.Errorf("fields of other types were taken over\n%s", w.Log())
	}
}

// TestSubgraphFailures checks who handles a failure inside, and what is passed outward (S2-66,
// S2-7, S2-42).
func TestSubgraphFailures(t *testing.T) {
	t.Parallel()
	catch := func(to ...string) graph.Node[state] {
		return graph.NewNode("h", graph.TypeTool,
			func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
				c.State.Text += fmt.Sprintf("%s:%s:%d/%d ", c.NodeID, c.Feedback.FailedNodeID, c.Feedback.Attempt,
					c.Feedback.MaxAttempts)
				return graph.Result[state]{Update: &c.State, Goto: to}, nil
			})
	}
	onError := func(act graph.ErrorAction[state]) graph.NodeOptions {
		return graph.NodeOptions{OnError: graph.OnError(func(error, *graph.Context[state]) graph.ErrorAction[state] {
			return act
		})}
	}
	again := graph.NodeOptions{Retry: graph.Retry{MaxAttempts: 2, Backoff: time.Second}}
	fails := func(n int) *graph.Builder[state] {
		return graph.New[state]("in").Start(note("a")).Then(failingNode("b", n, graph.NodeOptions{Retry: once()})).Then(
			note("c"))
	}
	leave := func(s *state, last state) error {
		*s = last
		return nil
	}
	for name, tc := range map[string]struct {
		inner     *graph.Builder[state]
		opts      graph.NodeOptions
		outer     func(*graph.Builder[state]) *graph.Builder[state]
		want, end string
		text      string
	}{
		"missing": {fails(-1), graph.NodeOptions{}, nil, "sub, sub/a, sub/b", "it is broken", ""},
		"inside": {fails(-1).Catch(catch()), graph.NodeOptions{}, nil, "sub, sub/a, sub/b, sub/h",
			"it is broken", ""},
		"inside, routes on": {fails(-1).Catch(catch("c")), graph.NodeOptions{}, nil,
			"sub, sub/a, sub/b, sub/h, sub/c, z", "completed", "h:b:1/1 "},
		"outside": {fails(-1), graph.NodeOptions{}, func(b *graph.Builder[state]) *graph.Builder[state] {
			return b.Catch(catch("z"))
		}, "sub, sub/a, sub/b, h, z", "completed", "h:sub/b:1/1 "},
		"outside after retry": {fails(-1), again, func(b *graph.Builder[state]) *graph.Builder[state] {
			return b.Catch(catch("z"))
		}, "sub, sub/a, sub/b, sub/a, sub/b, h, z", "completed", "h:sub/b:2/2 "},
		"both": {fails(-1).Catch(catch()), graph.NodeOptions{},
			func(b *graph.Builder[state]) *graph.Builder[state] { return b.Catch(catch("z")) },
			"sub, sub/a, sub/b, sub/h, h, z", "completed", "h:sub/b:1/1 "},
		"skip": {fails(-1),
			onError(graph.ErrorAction[state]{Action: graph.ActionSkip, Fallback: &state{Text: "skipped"}}), nil,
			"sub, sub/a, sub/b, z", "completed", "skipped"},
		"abort": {fails(-1),
			onError(graph.ErrorAction[state]{Action: graph.ActionAbort, Err: errors.New("no")}), nil,
			"sub, sub/a, sub/b", "no", ""},
		"goto": {fails(-1), onError(graph.ErrorAction[state]{Action: graph.ActionGoto, Node: "r"}),
			func(b *graph.Builder[state]) *graph.Builder[state] {
				return b.Node(note("r", graph.NodeOptions{Recovery: true}))
			}, "sub, sub/a, sub/b, r", "completed", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := graph.New[state]("t").Start(graph.SubgraphConfig[state, state]{ID: "sub", Graph: compiled(t, tc.inner),
				Output: leave, Options: tc.opts}).Then(note("z"))
			if tc.outer != nil {
				b = tc.outer(b)
			}
			w := run(t, b, state{})
			w.want(tc.want, tc.end)
			if got := w.state().Text; got != tc.text {
				t.Errorf("text %q, want %q", got, tc.text)
			}
			for _, e := range w.Events {
				if f, ok := e.Data.(*event.RunFailed); ok && f.Error.Node != "sub/b" && tc.end != "no" {
					t.Errorf("the failure is at %s", f.Error.Node)
				}
			}
		})
	}
}

// TestSubgraphRetry checks that a Retry of a subgraph node reruns all of it from a newly created
// initial state (S2-66, S2-40).
func TestSubgraphRetry(t *testing.T) {
	t.Parallel()
	tries := 0
	inner := compileAny(t,
		graph.New[piece]("inner").Start(noteWord("x")).Then(graph.Do("y", func(_ context.Context, p *piece) error {
			if tries++; tries == 1 {
				return errBroken
			}
			return nil
		}, graph.NodeOptions{Retry: once()})))
	w := run(t, graph.New[state]("t").Start(sub{
		ID: "sub", Graph: inner, Options: graph.NodeOptions{Retry: graph.Retry{MaxAttempts: 2}},
		Output: func(s *state, p piece) error {
			s.Log = p.Words
			return nil
		},
	}), state{N: 4})
	w.want("sub, sub/x, sub/y, sub/x, sub/y", "completed")
	if d := cmp.Diff(w.state(), state{N: 4, Log: []string{"x"}}); d != "" || w.delays() != "1s" {
		t.Errorf("delays %s; state: got - want +\n%s", w.delays(), d)
	}
}

// TestSubgraphMaxSteps checks that steps inside count toward the run's MaxSteps, whatever the inner
// graph would allow on its own (S2-32, S2-66).
func TestSubgraphMaxSteps(t *testing.T) {
	t.Parallel()
	inner := compileAny(t, graph.New[piece]("inner").Start(noteWord("x")).Then(noteWord("y")).Then(noteWord("z")),
		graph.Config{MaxSteps: 1})
	for most, end := range map[int]string{3: "Exceeded maximum steps (3)", 4: "completed"} {
		w := run(t, graph.New[state]("t").Start(sub{ID: "sub", Graph: inner}), state{}, graph.Config{MaxSteps: most})
		visited := "sub, sub/x, sub/y, sub/z"
		if most == 3 {
			visited = "sub, sub/x, sub/y"
		}
		w.want(visited, end)
	}
}

// TestSubgraph_InheritedModelAndRuntime checks that nodes inside use the model of the node, else of
// the outer graph, else of their own graph, and the outer runtime if they have none (S2-79, S2-71).
func TestSubgraph_InheritedModelAndRuntime(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		node, outer, inner string // models of the subgraph node, the outer graph, the inner graph
		own, want          string
	}{
		"nothing":       {"", "", "", "", ""},
		"inner default": {"", "", "i", "", "i"},
		"parent":        {"", "o", "i", "", "o"},
		"node":          {"n", "o", "i", "", "n"},
		"inherit":       {"inherit", "o", "i", "inherit", "o"},
		"own":           {"n", "o", "i", "x", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var model string
			var tools graph.ToolRegistry
			innermost := compileAny(t, graph.New[piece]("innermost").Start(graph.NewNode("x", graph.TypeAgent,
				func(_ context.Context, c *graph.Context[piece]) (graph.Result[piece], error) {
					model, tools = c.Model, c.Runtime.Tools
					return graph.Result[piece]{}, nil
				}, graph.NodeOptions{Model: tc.own})), graph.Config{DefaultModel: tc.inner})
			between := compileAny(t,
				graph.New[piece]("between").Start(graph.SubgraphConfig[piece, piece]{ID: "in", Graph: innermost}))
			var registry noTools
			w := run(t, graph.New[state]("t").Start(
				sub{ID: "sub", Graph: between, Options: graph.NodeOptions{Model: tc.node}}), state{},
				graph.Config{DefaultModel: tc.outer, Runtime: graph.Runtime{Tools: registry}})
			w.want("sub, sub/in, sub/in/x", "completed")
			if model != tc.want || tools != registry {
				t.Errorf("model %q, want %q; tools %v", model, tc.want, tools)
			}
		})
	}
}

// noTools is a registry without tools.
type noTools struct{}

func (noTools) Get(string) (graph.ToolHandler, bool) { return nil, false }
func (noTools) Names() []string                      { return nil }
