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
	"github.com/hocket-run/hocket/internal/tool/memory"
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

// TestToolsetArguments checks that the arguments that a type of toolset declares for its tools are
// those of the tools' schemas, so that patterns of permissions are judged by them.
func TestToolsetArguments(t *testing.T) {
	env := func(name string) string { return map[string]string{"BRAVE_API_KEY": "key"}[name] }
	cfg := Config{Env: env, Memory: struct{ memory.Store }{}}
	types := newOpener(cfg).types(driver.Info{}, tool.Type{})
	for _, k := range kinds.Supported() {
		if k.Tools == nil {
			continue
		}
		spec := tool.Spec{Type: k.Name, Name: k.Name, Trusted: true}
		if k.Name == tool.TypeMemory {
			spec.Options = json.RawMessage(`{"memory":"shared"}`)
		}
		set, err := types[k.Name].Open(spec)
		if err != nil && k.Name == tool.TypeFetch {
			continue // only programs with package toolsets have it
		}
		if err != nil {
			t.Fatalf("%s: %v", k.Name, err)
		}
		tools, err := set.Tools(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", k.Name, err)
		}
		got := map[string][]string{}
		for _, one := range tools {
			var schema any
			if err := json.Unmarshal(one.Def().Parameters, &schema); err != nil {
				t.Fatalf("%s: %v", one.Def().Name, err)
			}
			names := []string{}
			properties(schema, &names)
			slices.Sort(names)
			got[one.Def().Name] = slices.Compact(names)
		}
		if d := cmp.Diff(k.Arguments, got); d != "" {
			t.Errorf("%s: declared -, in the schemas +\n%s", k.Name, d)
		}
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	}
}

// properties adds the names of all properties of a schema, at any depth.
func properties(schema any, to *[]string) {
	s, ok := schema.(map[string]any)
	if !ok {
		return
	}
	if p, ok := s["properties"].(map[string]any); ok {
		*to = slices.AppendSeq(*to, maps.Keys(p))
		for _, inside := range p {
			properties(inside, to)
		}
	}
	properties(s["items"], to)
}
