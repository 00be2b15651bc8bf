package engine_test

import (
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/expr/celexpr"
	"github.com/hocket-run/hocket/workflow"
)

// TestCompile checks that Compile rejects only what cannot run: a condition that is merely odd runs
// as written.
func TestCompile(t *testing.T) {
	t.Parallel()
	asks := func(text string) func(*workflow.Workflow) {
		return func(w *workflow.Workflow) {
			w.Edges[0].When = &workflow.Condition{Language: workflow.LangExpr, Text: text}
		}
	}
	for name, tc := range map[string]struct {
		change func(*workflow.Workflow)
		want   string // part of the error; "" means no error
	}{
		"as it is":      {func(*workflow.Workflow) {}, ""},
		"odd condition": {asks(`"$steps.a.output" == "yes"`), ""},
		"bad condition": {asks(`"$steps.a.output" ==`), `compile edge 0 from "a" to "b": condition: `},
		"no entry":      {func(w *workflow.Workflow) { w.Entry = "x" }, `entry "x" is not a node`},
		"edge that leads nowhere": {func(w *workflow.Workflow) {
			w.Edges[0].To = "x"
		}, `edge 0 from "a" to "x" names an unknown node`},
		"no agent": {func(w *workflow.Workflow) {
			w.Nodes[0].Agent.Agent = "x"
		}, `compile node "a": no agent`},
		"bad instruction": {func(w *workflow.Workflow) {
			w.Agents[0].Template, w.Agents[0].System = true, "{{ $steps."
		}, `compile agent "a": instruction: `},
		"bad schema": {func(w *workflow.Workflow) {
			w.Agents[0].Output = &workflow.Output{Schema: []byte(`{"type":1}`)}
		}, `compile agent "a": output schema: `},
		"bad condition of a decide": {func(w *workflow.Workflow) {
			w.Nodes[0] = decide("a", workflow.Condition{Language: workflow.LangExpr, Text: "("})
		}, `compile node "a": condition: `},
		"fork without join": {func(w *workflow.Workflow) {
			w.Nodes[0] = workflow.Node{ID: "a", Kind: workflow.KindFork, Fork: &workflow.Fork{Join: "b"}}
		}, `join "b" is not a join node`},
		"unknown sub-flow": {func(w *workflow.Workflow) {
			w.Nodes[0] = workflow.Node{ID: "a", Kind: workflow.KindSubflow, Subflow: &workflow.Subflow{Flow: "f"}}
		}, "workflow not found: f"},
		"bad sub-flow": {func(w *workflow.Workflow) {
			w.Flows = map[string]*workflow.Workflow{"f": {Name: "f", Entry: "x"}}
		},
			`compile workflow "f": entry "x" is not a node`},
		"arguments that are no JSON": {func(w *workflow.Workflow) { w.Nodes[0] = tool("a", `{`) }, "encode workflow"},
		"bad template in arguments": {func(w *workflow.Workflow) {
			w.Nodes[0] = tool("a", `{"x":[{"y":"{{ $steps."}]}`)
		}, "arguments: "},
		"sub-flows without end": {func(w *workflow.Workflow) {
			for range 40 {
				inner := *w
				*w = workflow.Workflow{Name: "outer", Entry: "a", Nodes: inner.Nodes, Agents: inner.Agents,
					Flows: map[string]*workflow.Workflow{"f": &inner}}
			}
		}, "nested more than 16 deep"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := enginetest.Graph(nodes("a", "b"), "a -> b")
			tc.change(w)
			_, err := engine.Compile(w, nil, celexpr.Compiler{})
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func decide(id string, when workflow.Condition) workflow.Node {
	return workflow.Node{ID: id, Kind: workflow.KindDecide,
		Decide: &workflow.Decide{Cases: []workflow.Case{{Port: "out", When: when}}, Else: "out"}}
}

func tool(id, args string) workflow.Node {
	return workflow.Node{ID: id, Kind: workflow.KindTool, Tool: &workflow.ToolNode{Tool: "search", Args: []byte(args)}}
}
