package resources

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/kinds"
	"github.com/hocket-run/hocket/workflow"
)

// SEC13: agents of sub-flows, at any depth, have the tools that they list and no others; an id with
// two different grants is rejected, since a call identifies its agent only by id.
func TestGrants(t *testing.T) {
	t.Parallel()
	agent := func(id string, tools ...string) workflow.Agent { return workflow.Agent{ID: id, Tools: tools} }
	think := workflow.Agent{ID: "c", Toolsets: []json.RawMessage{json.RawMessage(`{"type":"think"}`)}}
	here := diag.Span{Start: diag.Pos{Line: 1, Column: 1}}
	node := workflow.Node{ID: "t", Kind: workflow.KindTool, Tool: &workflow.ToolNode{Tool: "build"}}
	for name, tc := range map[string]struct {
		w    *workflow.Workflow
		want map[string]tool.Grant
		err  string
	}{
		"flat": {&workflow.Workflow{Agents: []workflow.Agent{agent("a", "x")}, Nodes: []workflow.Node{node}},
			map[string]tool.Grant{"a": {Names: []string{"x"}}, "": {Names: []string{"build"}}}, ""},
		"nested": {&workflow.Workflow{Agents: []workflow.Agent{agent("a", "x")}, Flows: map[string]*workflow.Workflow{
			"f": {Agents: []workflow.Agent{agent("b", "y")}, Flows: map[string]*workflow.Workflow{
				"g": {Agents: []workflow.Agent{think}, Nodes: []workflow.Node{node}},
			}},
		}}, map[string]tool.Grant{"a": {Names: []string{"x"}}, "b": {Names: []string{"y"}},
			"c": {Toolsets: []tool.Spec{{Type: "think", Span: here}}}, "": {Names: []string{"build"}}}, ""},
		"same agent in two flows": {
			&workflow.Workflow{Agents: []workflow.Agent{agent("a", "x")}, Flows: map[string]*workflow.Workflow{
				"f": {Agents: []workflow.Agent{agent("a", "x")}},
			}}, map[string]tool.Grant{"a": {Names: []string{"x"}}}, ""},
		"two agents of one id": {
			&workflow.Workflow{Agents: []workflow.Agent{agent("a", "x")}, Flows: map[string]*workflow.Workflow{
				"f": {Agents: []workflow.Agent{agent("a", "y")}},
			}}, nil, `agent "a" is defined in several flows, with different tools; give each an id of its own`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := map[string]tool.Grant{}
			err := grants(tc.w, "", got)
			if tc.err != "" {
				if invalid, ok := errors.AsType[*failure.InvalidError](err); !ok || err.Error() != tc.err {
					t.Errorf("%v, %v", err, invalid)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(got, tc.want); d != "" {
				t.Errorf("got - want +\n%s", d)
			}
		})
	}
}

// TestToolsetTypes checks that the service opens exactly the toolset types that are registered
// as supported.
func TestToolsetTypes(t *testing.T) {
	opened := slices.Sorted(maps.Keys(newOpener(Config{Env: func(string) string { return "" }}).types(driver.Info{},
		tool.Type{})))
	if d := cmp.Diff(slices.Sorted(slices.Values(kinds.Names(kinds.Supported()))), opened); d != "" {
		t.Errorf("registered -, opened +\n%s", d)
	}
}
