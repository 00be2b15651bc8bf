package tool_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/todo"
	"github.com/hocket-run/hocket/internal/tool/tooltest"
)

// TestSet_ReadOnly checks which tools a toolset with readonly offers, and that one that begins to
// change things is not called any more.
func TestSet_ReadOnly(t *testing.T) {
	t.Parallel()
	ts := tooltest.NewToolset("ts", reader{&tooltest.Tool{Name: "read"}}, &tooltest.Tool{Name: "write"})
	types := tooltest.Types(ts)
	types[tool.TypeTodo], types[tool.TypeWorkflow] = todo.Type(), types["fake"]
	spec := ts.Spec()
	spec.ReadOnly = true
	runs := spec
	runs.Type = tool.TypeWorkflow
	s := set(t, tool.Config{Types: types, Agents: map[string]tool.Grant{
		"a": {Toolsets: []tool.Spec{spec}}, "all": {Toolsets: []tool.Spec{ts.Spec()}},
		"runs": {Toolsets: []tool.Spec{runs}}, "todo": {Toolsets: []tool.Spec{{Type: tool.TypeTodo, ReadOnly: true}}}}})
	for agent, want := range map[string][]string{"a": {"read"}, "all": {"read", "write"}, "runs": {},
		"todo": {"create_todo", "create_todos", "list_todos", "update_todo", "update_todos"}} {
		got := offered(t, s, agent)
		if diff := cmp.Diff(len(want), len(got)); diff != "" || agent == "a" && got[0] != "read" {
			t.Errorf("%s: offered %v, want %v", agent, got, want)
		}
	}
	if _, err := s.Call(t.Context(), tool.Call{Agent: "a", Name: "write"}); kindOf(err) != tool.KindUnknownTool {
		t.Errorf("write: %v", err)
	}
	ts.SetTools(&tooltest.Tool{Name: "read"})
	if _, err := s.Call(t.Context(), tool.Call{Agent: "a", Name: "read"}); kindOf(err) != tool.KindChanged {
		t.Errorf("a tool that may change something now: %v", err)
	}
	if _, err := s.Call(t.Context(), tool.Call{Agent: "all", Name: "read"}); errors.As(err, new(*tool.Error)) {
		t.Errorf("without readonly: %v", err)
	}
	b, err := json.Marshal(spec)
	var again tool.Spec
	if err != nil || json.Unmarshal([]byte(`{"type":"todo","readonly":true}`), &again) != nil || !again.ReadOnly {
		t.Errorf("written as %s, read as %+v (%v)", b, again, err)
	}
}
