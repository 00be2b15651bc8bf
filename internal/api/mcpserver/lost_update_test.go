package mcpserver_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/hocket-run/hocket/internal/api/mcpserver"
)

// TestLostUpdate checks that a change with the etag of what was read is rejected once something
// else was stored; that without an etag concurrent changes by several callers all take effect; and
// that no two workflows or agents receive the same id (P39).
func TestLostUpdate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcpserver.Config{}, echoModel)
	c := w.admin(nil)
	id := c.pair()
	for get, update := range map[string][2]object{
		"get_workflow": {{"id": id}, {"id": id, "name": "Other"}},
		"get_agent":    {{"id": "ann"}, {"id": "ann", "description": "Other"}},
	} {
		tool := map[string]string{"get_workflow": "update_workflow", "get_agent": "update_agent"}[get]
		args := update[1]
		args["etag"] = c.mustCall(get, update[0])["etag"]
		after := c.mustCall(tool, args)
		if after["etag"] == args["etag"] {
			t.Errorf("%s: the etag stays", tool)
		}
		mustContain(t, c.mustFail("conflict", tool, args), "was changed since it was read", after["etag"].(string))
	}
	c.mustFail("conflict", "update_workflow", object{"id": id, "version": 1, "name": "x"})
	var work sync.WaitGroup
	for i := range 8 {
		work.Go(func() {
			c := w.admin(nil)
			c.mustCall("update_workflow",
				object{"id": id, []string{"name", "description"}[i%2]: fmt.Sprint("at once ", i%2)})
			c.mustCall("create_workflow", object{"name": "Same"})
			c.mustCall("create_agent", object{"name": "Same"})
		})
	}
	work.Wait()
	doc := c.mustCall("get_workflow", object{"id": id})["document"]
	if at(t, doc, "name") != "at once 0" || at(t, doc, "description") != "at once 1" ||
		len(at(t, doc, "nodes").([]any)) != 2 {
		t.Errorf("an update is lost: %v", doc)
	}
	for list, key := range map[string]string{"list_workflows": "workflows", "list_agents": "agents"} {
		n := 0
		for _, x := range c.mustCall(list, object{})[key].([]any) {
			if name := at(t, x, "name"); name == "Same" {
				n++
			}
		}
		if n != 8 {
			t.Errorf("%s: %d of 8", list, n)
		}
	}
}
