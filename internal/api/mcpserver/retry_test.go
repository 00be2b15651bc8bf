package mcpserver_test

import (
	"testing"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/mcpserver"
)

// TestRetryRun checks that retry_run creates a new run from a failed one, optionally from a step,
// and with another model only for the role edit.
func TestRetryRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcpserver.Config{}, echoModel)
	c := w.admin(nil)
	id := c.pair()
	failed := c.mustCall("execute_workflow", object{"id": id, "input": "boom"})
	if failed["status"] != "failed" {
		t.Fatalf("the run %v", failed)
	}
	out := c.mustCall("retry_run", object{"id": failed["runId"]})
	if out["status"] != "failed" || out["runId"] == failed["runId"] {
		t.Errorf("the retry %v", out)
	}
	done := c.mustCall("execute_workflow", object{"id": id, "input": "go"})
	mustContain(t, c.mustFail("invalid", "retry_run", object{"id": done["runId"]}), "completed")
	mustContain(t, c.mustFail("invalid", "retry_run", object{"id": done["runId"], "from": "nothing"}),
		"did not execute")
	c.mustFail("not_found", "retry_run", object{"id": "nothing"})
	runner := w.connect(w.token(access.RoleRun, false), nil)
	runner.mustFail("forbidden", "retry_run", object{"id": failed["runId"], "model": "openai/other"})
	runner.mustFail("forbidden", "retry_run", object{"id": failed["runId"], "maxSteps": 5})
}
