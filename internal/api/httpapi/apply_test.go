package httpapi_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/api/httpapi"
)

// missingAgentDoc refers to an agent that it does not define.
const missingAgentDoc = `{"id": "routed", "entrypointNodeId": "n1", "edges": [],
  "nodes": [{"id": "n1", "workflowId": "routed", "nodeType": "AGENT", "nodeName": "Desk", "agentId": "desk"}]}`

// TestApply checks that either all documents are stored or none, and that problems name the files
// of the request (S1-22, P29).
func TestApply(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	broken := w.do("POST", "/api/v1/workflows/apply", m{"documents": []m{{"file": "a/poem.yaml", "document": poem},
		{"file": "b/broken.yaml", "document": "\nworkflow: 7\n"}}})
	broken.problem(422, "invalid")
	if !strings.Contains(broken.body, `"file":"b/broken.yaml","start":{"line":2`) {
		t.Errorf("the problem has no place: %s", broken.body)
	}
	w.do("GET", "/api/v1/workflows/poem", nil).problem(404, "not_found")

	var got httpapi.Applied
	unknown := func(a answer) {
		t.Helper()
		a.problem(422, "invalid")
		if !strings.Contains(a.body, `"code":"unknown-agent","severity":"error"`) {
			t.Errorf("the agent is not named: %s", a.body)
		}
		w.do("GET", "/api/v1/workflows/routed", nil).problem(404, "not_found")
	}
	for _, draft := range []bool{false, true} {
		unknown(w.do("POST", "/api/v1/workflows/apply", m{"documents": []m{{"file": "a/poem.yaml", "document": poem},
			{"file": "routed.json", "document": missingAgentDoc}}, "draft": draft}))
		unknown(w.do("PUT", "/api/v1/workflows/routed", m{"document": missingAgentDoc, "draft": draft}))
	}
	w.do("GET", "/api/v1/workflows/poem", nil).problem(404, "not_found")
	w.do("POST", "/api/v1/workflows/apply", m{"documents": []m{{"file": "a/poem.yaml", "document": poem}}}).is(200).
		decode(&got)
	if len(got.Workflows) != 1 || got.Workflows[0].ID != "poem" || *got.Workflows[0].Published != 1 {
		t.Errorf("applied %+v", got)
	}
	var versions httpapi.List[httpapi.Version]
	w.do("GET", "/api/v1/workflows/poem/versions", nil).is(200).decode(&versions)
	if len(versions.Items) != 1 || versions.Items[0].File != "poem.yaml" {
		t.Errorf("versions %+v", versions.Items)
	}

	w.do("POST", "/api/v1/workflows/apply", m{"documents": []m{{"file": "routed.json", "document": missingAgentDoc}},
		"agents": m{"file": "desk.yaml", "document": "- {id: desk}\n"}, "draft": true}).is(200).decode(&got)
	if len(got.Diagnostics) != 0 || len(got.Agents) != 1 || got.Agents[0] != "desk" || got.Workflows[0].Version != 1 {
		t.Errorf("with agents %+v", got)
	}
	w.do("POST", "/api/v1/workflows/apply",
		m{"documents": []m{{"file": "x.yaml", "document": poem}, {"file": "y.yaml", "document": poem}}, "id": "z"}).
		problem(422, "invalid")
	w.do("POST", "/api/v1/workflows/apply", m{"documents": []m{}}).problem(422, "invalid")
	w.do("POST", "/api/v1/workflows/apply", m{"documents": []m{{"file": "x.yaml", "document": poem}},
		"format": "stepz"}).problem(422, "invalid")
	for _, path := range []string{"/api/v1/workflows/apply", "/api/v1/agents/apply"} {
		w.withCaller("run", false).do("POST", path, m{"documents": []m{{"file": "x.yaml", "document": "[]"}}}).problem(
			403,
			"forbidden")
	}
}

// TestApplyAgents checks that the lists are stored together or not at all.
func TestApplyAgents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const list = "- {id: desk, name: Desk}\n"
	twice := w.do("POST", "/api/v1/agents/apply",
		m{"documents": []m{{"file": "a.yaml", "document": list}, {"file": "b.yaml", "document": list}}})
	twice.problem(422, "invalid")
	if !strings.Contains(twice.body, `"file":"b.yaml"`) {
		t.Errorf("the problem has no place: %s", twice.body)
	}
	w.do("GET", "/api/v1/agents/desk", nil).problem(404, "not_found")
	var got httpapi.AppliedAgents
	w.do("POST", "/api/v1/agents/apply",
		m{"documents": []m{{"file": "a.yaml", "document": list}, {"file": "b.yaml", "document": "- {id: clerk}\n"}},
			"replace": true}).is(200).decode(&got)
	if strings.Join(got.Agents, " ") != "desk clerk" {
		t.Errorf("stored %v", got.Agents)
	}
}

// TestApplyReadsNoFiles checks that a name in a request is only a name: no file of that name is
// read on the server (SEC16).
func TestApplyReadsNoFiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "agents.yaml")
	if err := os.WriteFile(path, []byte("- {id: canary}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	for _, file := range []string{path, "-"} {
		got := w.do("POST", "/api/v1/workflows/apply", m{"documents": []m{{"file": path, "document": poem}},
			"agents": m{"file": file, "document": ""}})
		if strings.Contains(got.body, "canary") {
			t.Errorf("%s was read: %s", file, got.body)
		}
		w.do("GET", "/api/v1/agents/canary", nil).problem(404, "not_found")
	}
}
