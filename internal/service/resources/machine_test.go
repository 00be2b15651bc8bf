package resources_test

import (
	"encoding/json"
	"testing"

	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/service/resources"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

// TestNeedsMachine checks that a run needs its machine if its tools, including those of the
// operator and of a tools file, reach that machine's files or programs, but not for what is in the
// store or at an address.
func TestNeedsMachine(t *testing.T) {
	t.Parallel()
	operator := &config.Config{
		MCPs: map[string]tool.Spec{"local": {Type: tool.TypeMCP, Command: "server"},
			"far": {Type: tool.TypeMCP, Remote: &tool.Remote{URL: "https://mcp.example.com"}}},
		Toolsets: []tool.Spec{{Type: "shell", Name: "sh"}},
	}
	for _, tt := range []struct {
		name, toolset, lists, file string
		want                       bool
	}{
		{name: "no tools"},
		{name: "shell", toolset: `{"type":"shell"}`, want: true},
		{name: "files", toolset: `{"type":"filesystem","path":"."}`, want: true},
		{name: "command", toolset: `{"type":"mcp","command":"server"}`, want: true},
		{name: "address", toolset: `{"type":"mcp","remote":{"url":"https://mcp.example.com"}}`},
		{name: "shared memory", toolset: `{"type":"memory","memory":"team"}`},
		{name: "think", toolset: `{"type":"think"}`},
		{name: "the operator's command", toolset: `{"type":"mcp","ref":"local"}`, want: true},
		{name: "the operator's address", toolset: `{"type":"mcp","ref":"far"}`},
		{name: "the operator's toolset", lists: "sh", want: true},
		{name: "the operator's server by name", lists: "local", want: true},
		{name: "another name", lists: "think"},
		{name: "tools file", file: "toolsets:\n  - type: shell\n", want: true},
		{name: "tools file without programs", file: "toolsets:\n  - type: todo\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := workflow.Agent{ID: "a"}
			if tt.toolset != "" {
				a.Toolsets = []json.RawMessage{json.RawMessage(tt.toolset)}
			}
			if tt.lists != "" {
				a.Tools = []string{tt.lists}
			}
			var f resources.Files
			if tt.file != "" {
				f.Tools, f.ToolsFile = []byte(tt.file), "tools.yaml"
			}
			op := resources.New(resources.Config{Operator: operator})
			if got := op.NeedsMachine(&workflow.Workflow{Agents: []workflow.Agent{a}}, f); got != tt.want {
				t.Errorf("got %t, want %t", got, tt.want)
			}
		})
	}
}
