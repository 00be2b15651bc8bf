package mcpserver_test

import (
	"testing"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/mcpserver"
	"github.com/hocket-run/hocket/internal/service"
)

// TestSignalRun checks that a signal over MCP is delivered to the waiting step or stored, that an
// invalid signal is reported, and that the run keeps waiting. A wait with roles can
// be answered with a token that has one of them, and not by a local client.
func TestSignalRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcpserver.Config{Workflows: []string{"order"}}, echoModel)
	doc := `
workflow:
  - {id: paid, type: signal, signal: paid, schema: {type: object}}
  - {id: sent, type: signal, signal: sent}
  - {id: why, type: ask, prompt: Why?, roles: [edit], schema: {type: object, required: [n], properties: {n: {type: ` +
		`integer}, unit: {type: string, default: m}}}}
`
	if _, problems, err := w.service("default").Apply(t.Context(), service.ApplyRequest{ID: "order",
		Documents: []service.Document{{File: "order.yaml", Data: []byte(doc)}}}); err != nil || problems.HasErrors() {
		t.Fatal(err, problems)
	}
	c := w.connect(w.token(access.RoleRun, false), nil)
	out := c.mustCall("execute_workflow", object{"id": "order"})
	run := out["runId"].(string)
	if wait := at(t, out, "waiting", 0).(object); out["status"] != "paused" || wait["kind"] != "signal" ||
		wait["signal"] != "paid" {
		t.Fatalf("%v", out)
	}
	mustContain(t, c.mustFail("not_found", "signal_run", object{"id": run, "signal": "payd"}), "payd")
	mustContain(t, c.mustFail("invalid", "signal_run", object{"id": run, "signal": "paid", "value": "much"}), "schema")
	for range 2 {
		if o := c.mustCall("signal_run", object{"id": run, "signal": "sent", "value": 5,
			"idempotencyKey": "k1"}); o["wait"] != nil || o["key"] != "k1" {
			t.Errorf("a signal that is kept: %v", o)
		}
	}
	if o := c.mustCall("signal_run",
		object{"id": run, "signal": "paid", "value": object{"amount": 5}}); o["node"] != "paid" || o["wait"] != "w1" {
		t.Errorf("a signal that is taken: %v", o)
	}
	if _, err := w.service("default").Wait(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	out = c.mustCall("get_run", object{"id": run})
	wait := at(t, out, "waiting", 0).(object)
	if wait["kind"] != "question" || at(t, wait, "roles", 0) != "edit" ||
		at(t, wait, "schema", "properties", "unit", "default") != "m" {
		t.Errorf("%v", out)
	}
	answer := object{"id": run, "input": object{"n": "3"}}
	mustContain(t, c.mustFail("forbidden", "resume_run", answer), "edit")
	mustContain(t, w.stdio(access.RoleAdmin, nil).mustFail("forbidden", "resume_run", answer), "edit")
	out = w.connect(w.token(access.RoleAdmin, false), nil).mustCall("resume_run", answer)
	if out["status"] != "completed" || at(t, out, "output", "unit") != "m" {
		t.Errorf("%v", out)
	}
}
