package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/graph/compat"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/graphtest"
)

// search is the input of the tool in these tests, found its output.
type search struct {
	Query string `json:"query"`
	Limit int    `json:"limit"`
}

type found struct {
	Hits []string `json:"hits"`
}

// toolsOf returns a Runtime with one tool.
func toolsOf(name string, h graph.ToolHandler) graph.Runtime {
	return graph.Runtime{Tools: graphtest.Tools{name: h}}
}

// TestCustomToolNode checks the fields of a custom tool node, the input of its tool, and the
// destination of the result (S2-0, S2-67).
func TestCustomToolNode(t *testing.T) {
	t.Parallel()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		node graph.CustomToolConfig[state, search, found]
		tool string
		args string
	}{
		"id is the tool's name": {graph.CustomToolConfig[state, search, found]{ID: "t"}, "t", `{"query":"","limit":0}`},
		"named": {graph.CustomToolConfig[state, search, found]{ID: "t", ToolName: "a",
			Args: search{"fixed", 1}}, "a", `{"query":"fixed","limit":1}`},
		"of state, within schema and time": {graph.CustomToolConfig[state, search, found]{
			ID: "t", ToolName: "a", Args: search{"fixed", 1}, ArgsFunc: func(v graph.View[state]) search {
				return search{v.State.Text, 2}
			},
			InputSchema: graph.SchemaOf[search](), Timeout: time.Hour,
		}, "a", `{"query":"it","limit":2}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen graph.ToolContext
			services := toolsOf(tc.tool, func(_ context.Context, args json.RawMessage, c graph.ToolContext) (
				json.RawMessage, error) {
				if string(args) != tc.args {
					t.Errorf("arguments %s, want %s", args, tc.args)
				}
				seen = c
				return json.RawMessage(`{"hits": ["h"], "more": true}`), nil
			})
			b := graph.New[state]("g").Start(tc.node).Then(graph.NewNode("see", graph.TypeTool,
				func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
					if v, _ := c.Output("t"); string(v) != `{"hits":["h"]}` {
						t.Errorf("outputs %s", v)
					}
					return graph.Result[state]{}, nil
				}))
			offering(t, services, b, state{Text: "it"}).want("t, see", "completed")
			want := graph.ToolContext{
				SessionID: "run1", MessageID: seen.MessageID, Agent: "workflow", Directory: dir, NodeID: "t",
				ExecutionID: "run1", State: json.RawMessage(`{"n":0,"text":"it"}`),
			}
			if d := cmp.Diff(seen, want); d != "" || seen.MessageID == "" {
				t.Errorf("context: got - want +\n%s", d)
			}
			tc.node.Output = func(s *state, r found) error {
				s.Log = r.Hits
				return nil
			}
			w := offering(t, services, graph.New[state]("g").Start(tc.node), state{Text: "it"})
			if w.want("t", "completed"); cmp.Diff(w.state().Log, []string{"h"}) != "" {
				t.Errorf("state %+v", w.state())
			}
			if n, _ := compat.Node(compiled(t, graph.New[state]("g").Start(tc.node)), "t"); n.Type != graph.TypeTool ||
				n.Name != tc.node.ToolName {
				t.Errorf("node %+v", n)
			}
		})
	}
}

// TestCustomToolFailures checks that each failure has its own message and type (S2-67, S2-46).
func TestCustomToolFailures(t *testing.T) {
	t.Parallel()
	gives := func(raw string, err error) graph.ToolHandler {
		return func(context.Context, json.RawMessage, graph.ToolContext) (json.RawMessage, error) {
			return json.RawMessage(raw), err
		}
	}
	for name, tc := range map[string]struct {
		runtime  graph.Runtime
		node     graph.CustomToolConfig[state, search, found]
		want     string
		wantType string
	}{
		"no registry": {want: `custom tool node "t" needs a tool registry: Runtime.Tools is not set`, wantType: "func"},
		"not found": {
			runtime: graph.Runtime{Tools: graphtest.Tools{"a": gives("", nil), "b": gives("", nil)}},
			want:    `Custom tool "x" not found in registry. Available tools: a, b`, wantType: "func",
		},
		"none there": {runtime: graph.Runtime{Tools: graphtest.Tools{}},
			want: `Custom tool "x" not found in registry. Available tools: none`, wantType: "func"},
		"nil": {runtime: toolsOf("x", nil), want: `Custom tool "x" not found in registry. Available tools: none`,
			wantType: "func"},
		"schema": {
			runtime: toolsOf("x", gives("{}", nil)),
			node: graph.CustomToolConfig[state, search, found]{
				InputSchema: graph.SchemaJSON(`{"properties":{"query":{"type":"number"}}}`),
			},
			want:     `Tool "x" input validation failed: query: must be a number, not a string`,
			wantType: "schema_validation",
		},
		"tool": {runtime: toolsOf("x", gives("", errAgent)), want: `Custom tool "x" failed: the agent broke`,
			wantType: "node_execution"},
		"panic": {
			runtime: toolsOf("x", func(context.Context, json.RawMessage, graph.ToolContext) (json.RawMessage, error) {
				panic("oops")
			}),
			want: `Custom tool "x" failed: tool "x" panicked: oops`, wantType: "node_execution",
		},
		"result": {
			runtime: toolsOf("x", gives(`{"hits": 5}`, nil)),
			want: `Custom tool "x" failed: decode result: json: cannot unmarshal number into Go struct field ` +
				`found.hits of type []string`, wantType: "node_execution",
		},
		"output": {
			runtime: toolsOf("x", gives(`{}`, nil)),
			node: graph.CustomToolConfig[state, search, found]{Output: func(*state, found) error {
				return errBroken
			}},
			want: `Custom tool "x" failed: it is broken`, wantType: "node_execution",
		},
		"timeout": {
			runtime: toolsOf("x", func(ctx context.Context, _ json.RawMessage, _ graph.ToolContext) (
				json.RawMessage, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}),
			node: graph.CustomToolConfig[state, search, found]{Timeout: 3 * time.Millisecond},
			want: `Tool "x" timed out after 3ms`, wantType: "timeout",
		},
		"a timeout inside": {
			runtime: toolsOf("x", gives("", &graph.TimeoutError{Tool: "inner", After: time.Second})),
			want:    `Custom tool "x" failed: Tool "inner" timed out after 1000ms`, wantType: "timeout",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen error
			var kind string
			tc.node.ID, tc.node.ToolName = "t", "x"
			tc.node.Options = graph.NodeOptions{Retry: once(),
				OnError: graph.OnError(func(err error, _ *graph.Context[state]) graph.ErrorAction[state] {
					seen = err
					return graph.ErrorAction[state]{}
				})}
			b := graph.New[state]("g").Start(tc.node).Catch(graph.NewNode("catch", graph.TypeTool,
				func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
					kind = c.Feedback.ErrorType
					return graph.Result[state]{}, nil
				}))
			offering(t, tc.runtime, b, state{}).want("t, catch", tc.want)
			if kind != tc.wantType {
				t.Errorf("type %q, want %q", kind, tc.wantType)
			}
			schema, node := (*graph.SchemaValidationError)(nil), (*graph.NodeExecutionError)(nil)
			if errors.As(seen, &schema) != (tc.wantType == "schema_validation") || !errors.As(seen, &node) {
				t.Errorf("the error handler got %#v", seen)
			}
		})
	}
}

// TestCustomToolAttempts checks that the message id is the same for all attempts, and that a
// missing result is null (S2-67).
func TestCustomToolAttempts(t *testing.T) {
	t.Parallel()
	var ids []string
	services := toolsOf("t", func(_ context.Context, _ json.RawMessage, c graph.ToolContext) (json.RawMessage, error) {
		ids = append(ids, c.MessageID)
		if len(ids) == 1 {
			return nil, errBroken
		}
		return nil, nil
	})
	if got := outputOf(t, services, graph.CustomToolConfig[state, any, any]{ID: "t", Options: fast(2)},
		"t"); got != "none" {
		t.Errorf("outputs %s", got)
	}
	if len(ids) != 2 || ids[0] != ids[1] || ids[0] == "" {
		t.Errorf("message ids %q", ids)
	}
}

// TestCustomToolCancelled checks that the cancellation of a run reaches the tool, and that the node
// is cancelled, not failed (S2-67).
func TestCustomToolCancelled(t *testing.T) {
	t.Parallel()
	reached, left := make(chan struct{}), make(chan struct{})
	services := toolsOf("t", func(ctx context.Context, _ json.RawMessage, _ graph.ToolContext) (
		json.RawMessage, error) {
		close(reached)
		<-ctx.Done()
		close(left)
		return nil, ctx.Err()
	})
	g := compiled(t, graph.New[state]("g").Start(graph.CustomToolConfig[state, any, any]{ID: "t"}),
		graph.Config{Runtime: services})
	d := open(t, filepath.Join(t.TempDir(), "hocket.db"), g)
	run, err := d.Start(t.Context(), driver.Spec{Workflow: g.Workflow(), Input: event.Value(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	<-reached
	if err := d.Cancel(t.Context(), run, "enough"); err != nil {
		t.Fatal(err)
	}
	if status, _ := settled(t, d, g, run); status != event.StatusCancelled {
		t.Errorf("the run is %s", status)
	}
	<-left
}
