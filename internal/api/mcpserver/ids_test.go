package mcpserver_test

import (
	"testing"
	"unicode/utf8"

	"github.com/hocket-run/hocket/internal/api/mcpserver"
	"github.com/hocket-run/hocket/internal/catalog/catalogtest"
)

// TestIDsByMCP checks that the tools create, show and delete definitions with valid ids, and reject
// invalid ids.
func TestIDsByMCP(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcpserver.Config{}, echoModel)
	c := w.admin(nil)
	for _, id := range catalogtest.GoodIDs() {
		for _, kind := range []string{"agent", "workflow"} {
			c.mustCall("create_"+kind, object{"id": id, "name": "x"})
			c.mustCall("get_"+kind, object{"id": id})
			c.mustCall("delete_"+kind, object{"id": id})
		}
	}
	bad := []any{0, 7.5, true, []any{"a"}, object{"a": 1}}
	for _, id := range catalogtest.BadIDs() {
		// an empty id is derived from the name, and JSON cannot carry other strings
		if id != "" && utf8.ValidString(id) {
			bad = append(bad, id)
		}
	}
	for _, id := range bad {
		for _, tool := range []string{"create_agent", "create_workflow"} {
			c.mustFail("invalid", tool, object{"id": id, "name": "x"})
		}
	}
	if list := c.mustCall("list_agents", object{}); len(list["agents"].([]any)) > 0 {
		t.Errorf("agents are stored: %v", list)
	}
}
