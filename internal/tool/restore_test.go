package tool_test

import (
	"encoding/json"
	"testing"

	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/think"
	"github.com/hocket-run/hocket/internal/tool/todo"
	"github.com/hocket-run/hocket/internal/tool/tooltest"
)

// TestRestore checks that state is restored to the tool that the calling agent knew under the name
// of the call, and that nothing else is opened (D1).
func TestRestore(t *testing.T) {
	t.Parallel()
	server := fake("server", "create_todo", "x")
	config := func(opened *tooltest.Toolset) tool.Config {
		types := tooltest.Types(opened)
		types[tool.TypeTodo], types[tool.TypeThink] = todo.Type(), think.Type()
		return tool.Config{
			Extra: []tool.Spec{{Type: tool.TypeTodo, Name: "team", Shared: true}, opened.Spec()},
			Agents: map[string]tool.Grant{
				// team_create_todo, server_create_todo
				"clash": {Names: []string{"*"}},
				// create_todo
				"plain": {Names: []string{"team"}},
				// its own list
				"own": {Toolsets: []tool.Spec{{Type: tool.TypeTodo}, {Type: tool.TypeThink}}},
				// no todos
				"none": {Names: []string{"x"}, Toolsets: []tool.Spec{{Type: tool.TypeThink, Name: "think"}}},
			},
			Types: types,
		}
	}
	live := set(t, config(server))
	var finished []tool.Finished
	do := func(s *tool.Set, agent, name, args, key string) string {
		t.Helper()
		c := tool.Call{Agent: agent, Name: name, Arguments: json.RawMessage(args), Key: key}
		r, err := s.Call(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if s == live {
			finished = append(finished, tool.Finished{Call: c, Result: r})
		}
		return r.Text
	}
	do(live, "clash", "team_create_todo", `{"description":"one"}`, "1")
	do(live, "clash", "server_create_todo", `{}`, "2")
	do(live, "plain", "create_todo", `{"description":"two"}`, "3")
	do(live, "own", "create_todo", `{"description":"mine"}`, "4")
	do(live, "own", "think", `{"thought":"hm"}`, "5")
	// A journaled call of an agent or tool that no longer exists is not an error.
	journal := append([]tool.Finished{{Call: tool.Call{Agent: "gone", Name: "create_todo"}},
		{Call: tool.Call{Agent: "none", Name: "create_todo"},
			Result: tool.Result{Text: `{"todos":[{"id":"todo_9"}],"revision":99}`}}}, finished...)

	fresh := fake("server", "create_todo", "x")
	restored := set(t, config(fresh))
	if err := restored.Restore(t.Context(), journal); err != nil {
		t.Fatal(err)
	}
	if fresh.Opened() != 0 {
		t.Error("restoring opened a toolset without state")
	}
	for _, tc := range []struct{ agent, name, args string }{
		{"clash", "list_todos", `{}`}, {"plain", "list_todos", `{}`}, {"own", "list_todos", `{}`},
		{"own", "think", `{"thought":"so"}`},
	} {
		want := do(live, tc.agent, tc.name, tc.args, "z"+tc.agent+tc.name)
		if got := do(restored, tc.agent, tc.name, tc.args, "z"+tc.agent+tc.name); got != want {
			t.Errorf("%s %s:\n got %s\nwant %s", tc.agent, tc.name, got, want)
		}
	}
}
