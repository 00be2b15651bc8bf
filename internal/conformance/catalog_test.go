package conformance_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // other programs write the tables with it

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/service"
)

// apply stores a document, which must be valid, and returns its warnings.
func (w *world) apply(file, doc string, with ...func(*service.ApplyRequest)) []string {
	w.t.Helper()
	q := service.ApplyRequest{Documents: []service.Document{{File: file, Data: []byte(doc)}}}
	for _, change := range with {
		change(&q)
	}
	_, problems, err := w.Apply(w.t.Context(), q)
	if err != nil || problems.HasErrors() {
		w.t.Fatalf("apply %s: %v\n%v", file, err, problems)
	}
	return messages(problems, diag.Warning)
}

func asDraft(q *service.ApplyRequest)    { q.Draft = true }
func asReplaced(q *service.ApplyRequest) { q.Replace = true }

// beginStored starts a run of a stored workflow.
func (w *world) beginStored(id, input string, which service.Which) *run {
	w.t.Helper()
	wf, d, problems, err := w.LoadStored(w.t.Context(), id, which, service.LoadOptions{})
	if err != nil || problems.HasErrors() {
		w.t.Fatalf("load %s: %v\n%v", id, err, problems)
	}
	return w.beginWorkflow(wf, input, func(q *service.StartRequest) { q.Version = d.Version })
}

// version returns the version of a run object, or 0 for null.
func (r *run) version() int {
	r.w.t.Helper()
	if v := r.show().Workflow.Version; v != nil {
		return *v
	}
	return 0
}

// plainSQL writes to the file of a store as another program would.
func plainSQL(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// rowsOf returns the nodes and edges of a workflow: `n1 n2 | e1 e2`.
func rowsOf(t *testing.T, path, id string) string {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var nodes, edges sql.NullString
	err = db.QueryRowContext(t.Context(), `SELECT
  (SELECT group_concat(id, ' ' ORDER BY rowid) FROM agent_workflow_nodes WHERE "workflowId" = ?1),
  (SELECT group_concat(id, ' ' ORDER BY rowid) FROM agent_workflow_edges WHERE "workflowId" = ?1)`,
		id).Scan(&nodes, &edges)
	if err != nil {
		t.Fatal(err)
	}
	return nodes.String + " | " + edges.String
}

const oneAgent = "agents:\n  %s: {instruction: Go}\nworkflow:\n  - {type: agent, name: %[1]s}\n"

var catalogRules = []rule{
	{name: "S1-6 a workflow that is not there", test: func(t *testing.T) {
		w := newWorld(t)
		_, _, _, err := w.LoadStored(t.Context(), "ghost", service.Which{}, service.LoadOptions{})
		same(t, "error", fmt.Sprint(err), "Workflow not found: ghost")
		w.noRuns()
	}},
	{name: "S3-1 a workflow that plain SQL wrote runs", outside: true, test: func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "hocket.db")
		w := newWorld(t, onDisk(path))
		plainSQL(t, path,
			`INSERT INTO agent_workflow_edges VALUES ('e', 'w', 'n1', 'n2', 'CONDITIONAL', 'Second'), ('d', 'w', `+
				`'n1', 'ghost', 'CONDITIONAL', 'Third')`,
			`INSERT INTO agents (id, name, "systemPrompt") VALUES ('a', 'First', 'You begin.'), ('b', 'Second', `+
				`'You end.')`,
			`INSERT INTO agent_workflow_nodes (id, "workflowId", "nodeType", "nodeName", "agentId") VALUES ('n1', `+
				`'w', `+
				`'AGENT', 'First', 'a'), ('n2', 'w', 'AGENT', 'Second', 'b')`,
			`INSERT INTO agent_workflows (id, name, "entrypointNodeId") VALUES ('w', 'By hand', 'n1')`)
		w.plays("First", route("Second", "")).says("Second", "Done.")
		r := w.beginStored("w", "hi", service.Which{})
		same(t, "output", text(r.is(event.StatusCompleted).Output), "Done.")
		same(t, "ran", r.ran(), "n1 n2")
		same(t, "version", r.version(), 0)
		same(t, "prompt", w.request("Second").System, "You end.")
	}},
	{name: "S3-20 apply changes rows by id and deletes the others, --replace deletes all of them", outside: true,
		test: func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "hocket.db")
			w := newWorld(t, onDisk(path))
			kept := func() (n int) {
				db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)")
				if err != nil {
					t.Fatal(err)
				}
				defer db.Close()
				if err := db.QueryRowContext(t.Context(), `SELECT count(mark) FROM agent_workflow_nodes`).Scan(
					&n); err != nil {
					t.Fatal(err)
				}
				return n
			}
			w.apply("w.json", routes("a b", "a -> b"))
			same(t, "rows", rowsOf(t, path, "w"), "a b | e0")
			plainSQL(t, path, `ALTER TABLE agent_workflow_nodes ADD COLUMN mark TEXT`,
				`UPDATE agent_workflow_nodes SET mark = 'x'`)
			w.apply("w.json", routes("c b", "c:1 -> b; b:2 -> c"))
			same(t, "rows", rowsOf(t, path, "w"), "c b | e0 e1")
			same(t, "rows that were changed in place", kept(), 1)
			w.apply("w.json", routes("c b", "c:1 -> b; b:2 -> c"), asReplaced)
			same(t, "rows", rowsOf(t, path, "w"), "c b | e0 e1")
			same(t, "rows that were changed in place", kept(), 0)
			w.apply("v.json", strings.ReplaceAll(routes("b", ""), `"w"`, `"v"`))
			same(t, "rows of another workflow with an id of this one", rowsOf(t, path, "w"), "c b | e0 e1")
		}},
	{name: "S3-21 agents may come from the catalog, behind all others", test: func(t *testing.T) {
		w := newWorld(t)
		stored := []service.Document{
			{File: "agents.json",
				Data: []byte(`{"agents": [{"id": "a", "systemPrompt": "Stored."}, {"id": "b", "systemPrompt": ` +
					`"Stored too."}]}`)},
		}
		doc := routes("a b", "a -> b", `"agents": [{"id": "a", "systemPrompt": "Mine."}]`)
		_, problems, err := w.Apply(t.Context(), service.ApplyRequest{
			Documents: []service.Document{{File: "w.json", Data: []byte(doc)}}})
		same(t, "errors before the agent is stored", messages(problems, diag.Error), []string{"Agent not found: b"})
		if err != nil {
			t.Error(err)
		}
		if _, problems, err := w.ApplyAgents(t.Context(), service.ApplyAgentsRequest{Documents: stored}); err != nil ||
			len(problems) > 0 {
			t.Fatal(problems, err)
		}
		w.apply("w.json", doc)
		w.beginStored("w", "hi", service.Which{}).is(event.StatusCompleted)
		same(t, "the document's agent wins", w.request("a").System, "Mine.")
		same(t, "the other comes from the catalog", w.request("b").System, "Stored too.")
	}},
	{name: "P9 a run finishes on the definition that it was started with", test: func(t *testing.T) {
		w := newWorld(t)
		doc := canvas("s -> ok; ok:approve -> old", start(), approval("ok"), agent("old"))
		w.apply("w.json", doc)
		r := w.beginStored("w", "go", service.Which{})
		r.is(event.StatusPaused)
		w.apply("w.json", strings.ReplaceAll(doc, "old", "new"))
		w.beginStored("w", "go", service.Which{}).is(event.StatusPaused)
		if err := w.DeleteWorkflow(t.Context(), "w"); err != nil {
			t.Fatal(err)
		}
		r.answers("approve", "ok")
		r.is(event.StatusCompleted)
		same(t, "ran", r.ran(), "s ok old")
		same(t, "version", r.version(), 1)
	}},
	{name: "P29 export, import and export again give the same bytes", test: func(t *testing.T) {
		w := newWorld(t)
		doc := "\ufeff# why\r\n" + strings.ReplaceAll(fmt.Sprintf(oneAgent, "a"), "\n", "\r\n") +
			"# the end, without a line end"
		for _, id := range []string{"first", "second"} {
			w.apply(id+".yaml", doc)
			d, err := w.Definition(t.Context(), id, service.Which{})
			if err != nil {
				t.Fatal(err)
			}
			same(t, "text", string(d.Text), doc)
			doc = string(d.Text)
		}
	}},
	{name: "P38 drafts are apart from what is published, and each run shows its version", test: func(t *testing.T) {
		w := newWorld(t)
		w.apply("w.yaml", fmt.Sprintf(oneAgent, "published"))
		w.apply("w.yaml", fmt.Sprintf(oneAgent, "draft"), asDraft)
		for _, c := range []struct {
			which   service.Which
			ran     string
			version int
		}{{service.Which{}, "published", 1}, {service.Which{Draft: true}, "draft", 2}} {
			r := w.beginStored("w", "go", c.which)
			r.is(event.StatusCompleted)
			same(t, "ran", r.ran(), c.ran)
			same(t, "version", r.version(), c.version)
		}
		if _, _, err := w.Publish(t.Context(), "w", 0); err != nil {
			t.Fatal(err)
		}
		r := w.beginStored("w", "go", service.Which{})
		r.is(event.StatusCompleted)
		same(t, "ran", r.ran(), "draft")
		same(t, "version", r.version(), 2)
	}},
}

func TestCatalog(t *testing.T) { check(t, catalogRules) }

func TestCatalogCovered(t *testing.T) {
	covered(t, catalogRules, "S1-6", "S3-1", "S3-20", "S3-21", "P9", "P29", "P38")
}
