package mcpserver_test

import (
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/api/mcpserver"
)

// TestSuggestedActions checks that a session of the official client can perform every user action
// listed in the last section of the reference document of rounds through tools alone, over
// streamable HTTP and over the standard input of a process (S1-25, S1-40).
func TestSuggestedActions(t *testing.T) {
	t.Parallel()
	for transport, open := range map[string]func(t *testing.T) *client{
		"http":  func(t *testing.T) *client { return newWorld(t, mcpserver.Config{}, echoModel).admin(nil) },
		"stdio": func(t *testing.T) *client { return process(t, nil) },
	} {
		for action, do := range map[string]func(t *testing.T, c *client){
			"Create a workflow with two agents": createTwoAgents, "Fix a failed workflow": fixFailed,
			"Add an agent to my workflow": addAgent, "What went wrong with my run?": whatWentWrong,
		} {
			t.Run(transport+"/"+action, func(t *testing.T) {
				t.Parallel()
				do(t, open(t))
			})
		}
	}
}

// createTwoAgents creates both agents with create_agent, then a workflow with create_workflow, then
// calls update_workflow with nodes, edges and maxRounds.
func createTwoAgents(t *testing.T, c *client) {
	t.Helper()
	first := c.mustCall("create_agent", object{"name": "Agent One", "systemPrompt": "You are One.",
		"model": "openai/fake"})
	second := c.mustCall("create_agent", object{"name": "Agent Two", "systemPrompt": "You are Two.",
		"model": "openai/fake"})
	made := c.mustCall("create_workflow", object{"name": "Two agents talking"})
	if at(t, made, "id") != "two-agents-talking" || len(at(t, made, "document", "nodes").([]any)) != 0 {
		t.Errorf("an empty workflow: %v", made)
	}
	c.mustCall("update_workflow", object{"id": made["id"], "nodes": nodes(first["id"], second["id"]), "edges": cycle,
		"maxRounds": 10})
	run := c.mustCall("execute_workflow", object{"workflowId": made["id"], "input": "Say hello"})
	if run["status"] != "completed" || !strings.Contains(run["output"].(string), "You are Two.") {
		t.Errorf("run: %v", run)
	}
	trail := at(t, c.mustCall("get_run", object{"runId": run["runId"]}), "trail").([]any)
	if len(trail) != 20 || at(t, trail[0], "agentName") != "Agent One" || at(t, trail[19], "agentName") != "Agent Two" {
		t.Errorf("the trail has %d entries: %v", len(trail), trail)
	}
}

// fixFailed diagnoses with get_run, or with list_runs and get_run, inspects the configuration with
// get_workflow and get_agent, and fixes it with update_workflow or update_agent.
func fixFailed(t *testing.T, c *client) {
	t.Helper()
	id := c.pair()
	c.mustCall("update_agent", object{"id": "bob", "systemPrompt": "boom"})
	if run := c.mustCall("execute_workflow", object{"id": id, "input": "x"}); run["status"] != "failed" {
		t.Fatalf("run: %v", run)
	}
	failed := at(t, c.mustCall("list_runs", object{"status": []string{"failed"}, "workflowId": id}), "runs", 0, "id")
	run := c.mustCall("get_run", object{"id": failed})
	trail := run["trail"].([]any)
	last := trail[len(trail)-1].(object)
	mustContain(t, at(t, run, "error", "message").(string), "does not like boom")
	mustContain(t, last["error"].(string), "does not like boom")
	node := at(t, c.mustCall("get_workflow", object{"id": run["targetId"]}), "document", "nodes", 1)
	if at(t, node, "id") != last["nodeId"] || at(t, node, "config", "agentId") != last["agentId"] {
		t.Errorf("the trail ends at %v, the node is %v", last, node)
	}
	if agent := c.mustCall("get_agent", object{"id": last["agentId"]}); at(t, agent, "agent",
		"systemPrompt") != "boom" {
		t.Errorf("agent: %v", agent)
	}
	c.mustCall("update_agent", object{"id": last["agentId"], "systemPrompt": "You are Bob."})
	c.mustCall("update_workflow", object{"id": id, "maxRounds": 1})
	if run := c.mustCall("execute_workflow", object{"id": id, "input": "x"}); run["status"] != "completed" {
		t.Errorf("after the fix: %v", run)
	}
}

// addAgent calls get_workflow(id), then update_workflow with the new node and edges.
func addAgent(t *testing.T, c *client) {
	t.Helper()
	id := c.pair()
	eve := c.mustCall("create_agent", object{"name": "Eve", "systemPrompt": "You are Eve."})
	now := c.mustCall("get_workflow", object{"id": id})
	all := append(at(t, now, "document", "nodes").([]any),
		object{"id": "a3", "type": "agent", "config": object{"agentId": eve["id"]}})
	edges := []object{{"id": "e1", "from": "a1", "to": "a2"}, {"id": "e2", "from": "a2", "to": "a3"},
		{"id": "e3", "from": "a3", "to": "a1"}}
	after := c.mustCall("update_workflow", object{"id": id, "nodes": all, "edges": edges, "etag": now["etag"]})
	if at(t, after, "document", "maxRounds") != 2.0 || at(t, after, "document", "name") != "Talk" {
		t.Errorf("what was not given is not kept: %v", after)
	}
	run := c.mustCall("execute_workflow", object{"id": id, "input": "x"})
	mustContain(t, run["output"].(string), "You are Eve.")
}

// whatWentWrong calls get_run(id) to see output, trail and error.
func whatWentWrong(t *testing.T, c *client) {
	t.Helper()
	id := c.pair()
	started := c.mustCall("execute_workflow", object{"id": id, "input": "boom"})
	run := c.mustCall("get_run", object{"id": started["runId"]})
	if run["status"] != "failed" || run["output"] != nil || at(t, run, "error", "node") != "a1" ||
		at(t, run, "trail", 0, "input") == "" || run["targetType"] != "workflow" {
		t.Errorf("run: %v", run)
	}
	mustContain(t, at(t, run, "trail", 0, "error").(string), "does not like boom")
	events := c.mustCall("run_events", object{"id": started["runId"], "types": []string{"model.failed"}})
	mustContain(t, stringOf(t, at(t, events, "events", 0, "data")), "does not like boom")
}
