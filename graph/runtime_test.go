package graph_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/graphtest"
	"github.com/hocket-run/hocket/internal/program"
)

// offering compiles a graph and runs it like a program that provides services.
func offering(t *testing.T, services any, b *graph.Builder[state], first state, cfg ...graph.Config) *world {
	t.Helper()
	w := newWorld(t, compiled(t, b, cfg...))
	w.Func = func(c *engine.CallFunc) *engine.FuncResult {
		r := w.program.With(&program.Services{Runtime: services}).Call(t.Context(), "run1", c, caller{World: w.World})
		return &r
	}
	w.begin(first)
	return w
}

// capturesContext returns a node that copies out its context.
func capturesContext(id string, into *graph.Context[state], opts ...graph.NodeOptions) graph.Node[state] {
	return graph.NewNode(id, graph.TypeTool,
		func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
			*into = *c
			return graph.Result[state]{}, nil
		}, opts...)
}

// fills returns a node that reports the context window usage, in percent.
func fills(id string, percent float64) graph.Node[state] {
	return graph.NewNode(id, graph.TypeTool, func(context.Context, *graph.Context[state]) (graph.Result[state], error) {
		return graph.Result[state]{Usage: &graph.ContextWindowUsage{InputTokens: 10, OutputTokens: 20, MaxTokens: 100,
			UsagePercentage: percent}}, nil
	})
}

// TestRuntime checks that the graph's own runtime takes precedence, field by field, that nil fields
// come from the program, and that fields that are nil there, too, stay nil (S2-71).
func TestRuntime(t *testing.T) {
	t.Parallel()
	mine, theirs := graphtest.Tools{"a": nil}, graphtest.Tools{"b": nil}
	offered := graph.Runtime{Tools: theirs, ClientProvider: func(string) graph.Client { return nil }}
	for name, tc := range map[string]struct {
		own       graph.Runtime
		services  any
		wantTools graph.ToolRegistry
		wantOther bool
	}{
		"nothing":          {},
		"from the program": {services: offered, wantTools: theirs, wantOther: true},
		"own wins":         {own: graph.Runtime{Tools: mine}, services: offered, wantTools: mine, wantOther: true},
		"own alone":        {own: graph.Runtime{Tools: mine}, wantTools: mine},
		"foreign services": {services: "something else"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen graph.Context[state]
			offering(t, tc.services, graph.New[state]("g").Start(capturesContext("n", &seen)), state{},
				graph.Config{Runtime: tc.own}).want("n", "completed")
			if d := cmp.Diff(seen.Runtime.Tools, tc.wantTools,
				cmp.Comparer(func(a, b graph.ToolHandler) bool { return true })); d != "" {
				t.Errorf("tools: got - want +\n%s", d)
			}
			if (seen.Runtime.ClientProvider != nil) != tc.wantOther || seen.Runtime.Subagents != nil ||
				seen.Runtime.Registry != nil {
				t.Errorf("runtime %+v", seen.Runtime)
			}
		})
	}
}

// TestModelOfContext checks that the model is the node's, else the run's, else the graph's, and
// that `inherit` and empty fall through (S2-79).
func TestModelOfContext(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ node, run, graph, want string }{
		"none":         {"", ``, "", ""},
		"own":          {"p/own", `"p/run"`, "p/all", "p/own"},
		"run":          {"", `"p/run"`, "p/all", "p/run"},
		"inherits run": {"inherit", `"p/run"`, "p/all", "p/run"},
		"empty":        {"", `""`, "p/all", "p/all"},
		"inherit":      {"inherit", `"inherit"`, "p/all", "p/all"},
		"all inherit":  {"inherit", ``, "inherit", ""},
		"no text":      {"", `7`, "p/all", "p/all"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen graph.Context[state]
			b := graph.New[state]("g").Start(capturesContext("n", &seen, graph.NodeOptions{Model: tc.node}))
			w := newWorld(t, compiled(t, b, graph.Config{DefaultModel: tc.graph}))
			first := map[string]json.RawMessage{}
			if tc.run != "" {
				first[program.FieldModel] = json.RawMessage(tc.run)
			}
			raw, err := json.Marshal(first)
			if err != nil {
				t.Fatal(err)
			}
			w.StartWith(event.RunCreated{Input: raw})
			w.Go(nil)
			w.want("n", "completed")
			if seen.Model != tc.want {
				t.Errorf("got %q, want %q", seen.Model, tc.want)
			}
		})
	}
}

// TestContextWindowUsage checks that nodes see the last reported usage, and the graph's threshold,
// 45 by default (S2-70), and that the usage is separate from the state (S2-75).
func TestContextWindowUsage(t *testing.T) {
	t.Parallel()
	var before, after, joined graph.Context[state]
	b := graph.New[state]("g").
		Start(capturesContext("before", &before)).
		Then(fills("f", 30)).
		Then(capturesContext("after", &after)).
		Parallel(graph.ParallelConfig[state]{Branches: []string{"a", "b"}}).
		Node(fills("a", 50)).Node(fills("b", 40)).
		Then(capturesContext("joined", &joined))
	w := run(t, b, state{})
	w.want("before, f, after, parallel_1, a, b, joined", "completed")
	if before.ContextWindowUsage != nil || before.ContextWindowThreshold != 45 {
		t.Errorf("first node: %+v, %v", before.ContextWindowUsage, before.ContextWindowThreshold)
	}
	want := graph.ContextWindowUsage{InputTokens: 10, OutputTokens: 20, MaxTokens: 100, UsagePercentage: 30}
	if d := cmp.Diff(after.ContextWindowUsage, &want); d != "" {
		t.Errorf("after the node: got - want +\n%s", d)
	}
	if joined.ContextWindowUsage == nil || joined.ContextWindowUsage.UsagePercentage != 40 {
		t.Errorf("after two branches: %+v, want that of the last", joined.ContextWindowUsage)
	}
	if raw := string(w.Run.State()[program.FieldUsage]); raw !=
		`{"inputTokens":10,"outputTokens":20,"maxTokens":100,"usagePercentage":40}` {
		t.Errorf("beside the state: %s", raw)
	}
	run(t, graph.New[state]("g").Start(capturesContext("n", &before)), state{},
		graph.Config{ContextWindowThreshold: 70})
	if before.ContextWindowThreshold != 70 {
		t.Errorf("threshold %v", before.ContextWindowThreshold)
	}
	for _, p := range []float64{-1, 101} {
		_, err := graph.New[state]("g").Start(nothing("n")).Compile(graph.Config{ContextWindowThreshold: p})
		if l := problems(t, err); len(l) != 1 || l[0].Code != "bad-limit" {
			t.Errorf("threshold %v: %v", p, err)
		}
	}
}
