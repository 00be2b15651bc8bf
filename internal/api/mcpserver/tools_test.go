package mcpserver_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/mcpserver"
)

// TestTools checks the whole table of tools with their arguments and roles. The documentation
// includes it (docs/mcp-server.md).
func TestTools(t *testing.T) {
	t.Parallel()
	got := mcpserver.Table()
	path := filepath.Join("..", "..", "..", "docs", "mcp-server.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- tools: go test ./internal/api/mcpserver -update -->\n", "<!-- end of tools -->"
	head, rest, ok := strings.Cut(string(page), begin)
	was, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table of tools", path)
	}
	if *update {
		if err := os.WriteFile(path, []byte(head+begin+got+end+tail), 0o600); err != nil {
			t.Fatal(err)
		}
		was = got
	}
	if diff := cmp.Diff(was, got); diff != "" {
		t.Errorf("the table of %s (-page +tools; -update rewrites it):\n%s", path, diff)
	}
}

// TestAnnounced checks that every tool that the issue names is announced, with descriptions of all
// its arguments and a schema of its result.
func TestAnnounced(t *testing.T) {
	t.Parallel()
	c := newWorld(t, mcpserver.Config{}, echoModel).admin(nil)
	found := map[string]bool{}
	for tl, err := range c.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		found[tl.Name] = true
		if len(tl.Description) < 20 || tl.Title == "" || tl.Annotations == nil || tl.OutputSchema == nil {
			t.Errorf("%s says too little of itself: %+v", tl.Name, tl)
		}
		for name, p := range at(t, tl.InputSchema, "properties").(object) {
			if about, _ := p.(object)["description"].(string); about == "" {
				t.Errorf("%s: %s has no description", tl.Name, name)
			}
		}
	}
	for name := range strings.FieldsSeq("create_agent update_agent get_agent list_agents create_workflow " +
		"update_workflow get_workflow list_workflows execute_workflow list_runs get_run " +
		"validate_workflow resume_run retry_run cancel_run run_events") {
		if !found[name] {
			t.Errorf("unknown tool %s", name)
		}
	}
	if i := c.InitializeResult(); i.ServerInfo.Name != "hocket" || i.ServerInfo.Version != "v0-test" ||
		!strings.Contains(i.Instructions, "update_workflow") {
		t.Errorf("the server says %+v", i)
	}
}

// TestRoles checks the matrix of roles and tools: a role that may not call a tool does not see it,
// and its call is rejected (SEC2).
func TestRoles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcpserver.Config{}, echoModel)
	w.admin(nil).pair()
	edits := "create_agent update_agent delete_agent create_workflow update_workflow delete_workflow control_schedule "
	good := map[string]object{
		"create_agent": {"name": "New"}, "update_agent": {"id": "ann", "description": "x"}, "get_agent": {"id": "ann"},
		"delete_agent": {"id": "new", "force": true}, "list_agents": {},
		"create_workflow": {"name": "New"}, "update_workflow": {"id": "talk", "maxRounds": 1},
		"get_workflow": {"id": "talk"}, "list_workflows": {}, "delete_workflow": {"id": "new"},
		"validate_workflow": {"id": "talk"}, "execute_workflow": {"id": "talk"}, "list_runs": {},
		"control_schedule": {"id": "talk", "control": "pause"},
	}
	for _, role := range access.Roles() {
		c := w.connect(w.token(role, false), nil)
		listed := ""
		for tl, err := range c.Tools(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			listed += tl.Name + " "
		}
		for name := range strings.FieldsSeq(mcpserver.Names()) {
			may := role != access.RoleRun || !strings.Contains(edits, name+" ")
			if strings.Contains(" "+listed, " "+name+" ") != may {
				t.Errorf("%s: the list has or lacks %s", role, name)
			}
			args, ok := good[name]
			if !ok {
				args = object{"id": "no-such-run"}
			}
			res, _ := c.call(name, args)
			if forbidden := strings.HasPrefix(textOf(res), "forbidden: "); forbidden == may {
				t.Errorf("%s calls %s: %s", role, name, textOf(res))
			}
		}
	}
}

// TestArguments checks that errors for invalid arguments name the field and say what to do.
func TestArguments(t *testing.T) {
	t.Parallel()
	c := newWorld(t, mcpserver.Config{}, echoModel).admin(nil)
	c.pair()
	for i, tc := range []struct {
		tool string
		args any
		code string
		says []string
	}{
		{"create_agent", object{}, "invalid", []string{`lacks "name"`}},
		{"create_agent", object{"name": 5}, "invalid", []string{"name: must be a string, not a number"}},
		{"create_agent", object{"name": ""}, "invalid", []string{"name: must not be empty"}},
		{"create_agent", object{"name": "x", "tools": "search"}, "invalid", []string{"tools: must be a list"}},
		{"create_agent", object{"id": "ann", "name": "x"}, "conflict",
			[]string{"the agent ann exists", "update_agent"}},
		{"update_agent", object{"name": "x"}, "invalid", []string{"id: missing or empty", "agentId"}},
		{"update_agent", object{"id": "zed", "name": "x"}, "not_found", []string{"Agent not found: zed"}},
		{"get_agent", object{"id": "an"}, "not_found", []string{`did you mean "ann"?`}},
		{"get_agent", object{"id": "ann", "agentId": "bob"}, "invalid", []string{"both name the same thing"}},
		{"delete_agent", object{"id": "ann"}, "conflict", []string{"talk"}},
		{"create_workflow", object{"title": "x"}, "invalid",
			[]string{`lacks "name"`, `"title"`, "it takes name, id, description"}},
		{"create_workflow", object{"id": "a/b", "name": "x"}, "invalid", []string{`invalid id "a/b"`}},
		{"create_workflow", object{"id": "talk", "name": "x"}, "conflict", []string{"the workflow talk exists"}},
		{"update_workflow", object{"id": "talk", "node": []any{}}, "invalid",
			[]string{`"node"`, `did you mean "nodes"?`}},
		{"update_workflow", object{"id": "talk"}, "invalid", []string{"nothing to change"}},
		{"update_workflow", object{"id": "talk", "nodes": "[]"}, "invalid",
			[]string{"nodes: must be a list, not a string"}},
		{"update_workflow", object{"id": "talk", "maxRounds": nil}, "invalid",
			[]string{"the cycle a1 -> a2 -> a1 never ends", "missing-max-rounds", "hint: "}},
		{"update_workflow", object{"id": "talk", "nodes": []object{{"id": "a1", "type": "agnt"}}}, "invalid",
			[]string{"nodes[0].type", "No handler for workflow node type agnt", `did you mean "agent"?`}},
		{"update_workflow", object{"id": "talk", "executionMode": "interval"}, "invalid", []string{"schedule"}},
		{"update_workflow", object{"id": "talk", "document": object{}, "nodes": []any{}}, "invalid",
			[]string{"document: replaces the whole workflow"}},
		{"update_workflow", object{"id": "talk", "format": "steps"}, "invalid", []string{"format: "}},
		{"update_workflow",
			object{"id": "talk", "document": "agents:\n  a: {name: A}\nworkflow:\n  - {type: agnt, name: a}\n"},
			"invalid", []string{"talk:4:", "workflow[0]", "hint: "}},
		{"update_workflow", object{"id": "talk", "document": object{"id": "other", "nodes": []any{}, "edges": []any{}}},
			"invalid", []string{`its id is "other"`}},
		{"update_workflow", object{"id": "tolk", "name": "x"}, "not_found", []string{`did you mean "talk"?`}},
		{"validate_workflow", object{}, "invalid",
			[]string{"id: missing; give the id of a stored workflow, or a document"}},
		{"execute_workflow", object{"id": "talk", "branchId": "nope"}, "invalid", []string{"nope"}},
		{"execute_workflow", object{"id": "talk", "waitSeconds": 9999}, "invalid", []string{"waitSeconds: "}},
		{"execute_workflow", object{"workflowId": "nope"}, "not_found", []string{"Workflow not found: nope"}},
		{"list_runs", object{"status": []string{"done"}}, "invalid", []string{"status.0: "}},
		{"list_runs", object{"cursor": "'; drop table runs"}, "invalid", []string{"cursor"}},
		{"list_runs", object{"workflow": "x"}, "invalid", []string{`"workflow"`, `did you mean "workflowId"?`}},
		{"get_run", object{"runId": "nope"}, "not_found", []string{"unknown run nope", "list_runs"}},
		{"run_events", object{"id": "nope"}, "not_found", []string{"unknown run nope"}},
		{"cancel_run", object{"id": "nope"}, "not_found", []string{"unknown run nope"}},
		{"resume_run", object{"id": "nope"}, "not_found", []string{"unknown run nope"}},
	} {
		mustContain(t, c.mustFail(tc.code, tc.tool, tc.args), tc.says...)
		if t.Failed() {
			t.Fatalf("case %d: %s %v", i, tc.tool, tc.args)
		}
	}
	if now := c.mustCall("get_workflow", object{"id": "talk"}); now["version"] != 2.0 ||
		fmt.Sprint(at(t, now, "document", "maxRounds")) != "2" {
		t.Errorf("refused calls changed the workflow: %v", now)
	}
}
