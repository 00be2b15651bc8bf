package catalogdb_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite" // how other programs write the tables

	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store/postgres"
	"github.com/hocket-run/hocket/internal/store/tables/catalogdb"
	"github.com/hocket-run/hocket/internal/store/tables/tablestest"
)

// TestColumns checks that the tables have the columns of the lists in package catalog, which
// docs/catalog.md documents.
func TestColumns(t *testing.T) {
	t.Parallel()
	one(t, testColumns)
}

func testColumns(t *testing.T, at tablestest.Store, _ *catalogdb.Store, db *sql.DB) {
	names := at.Dialect.Pick(`SELECT group_concat(name, ' ' ORDER BY cid) FROM pragma_table_info(?)`,
		`SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = to_regclass($1) AND `+
			`attnum > 0`)
	for table, columns := range map[string][]catalog.Column{
		"agents": catalog.AgentColumns(), "agent_workflows": catalog.WorkflowColumns(),
		"agent_workflow_nodes": catalog.NodeColumns(), "agent_workflow_edges": catalog.EdgeColumns(),
	} {
		var all string
		if err := db.QueryRowContext(t.Context(), string(names), table).Scan(&all); err != nil {
			t.Fatal(err)
		}
		// not listed by SQLite
		got := slices.DeleteFunc(strings.Fields(all), func(name string) bool { return name == "rowid" })
		var want []string
		for _, c := range columns {
			want = append(want, c.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", table, diff)
		}
	}
}

func chat(text string, nodes ...string) catalog.Put {
	p := catalog.Put{ID: "chat", Format: catalog.FormatRoutes, File: "chat.json", Text: []byte(text),
		At: time.Unix(1, 0)}
	p.Rows = &catalog.Rows{Workflow: catalog.Row{"chat", text, nil, int64(0), nodes[0], nil, nil, nil, nil, nil}}
	for _, n := range nodes {
		p.Rows.Nodes = append(p.Rows.Nodes, catalog.Row{n, "chat", "AGENT", n, "a", nil})
		p.Rows.Edges = append(p.Rows.Edges, catalog.Row{"to " + n, "chat", nodes[0], n, "CONDITIONAL", n})
	}
	return p
}

func store(t *testing.T, s catalog.Store, p catalog.Put) (catalog.Stored, error) {
	t.Helper()
	got, err := s.Put(t.Context(), []catalog.Put{p}, nil)
	if err != nil {
		return catalog.Stored{}, err
	}
	return got[0], nil
}

// TestRowsAfterDelete checks that rows written with SQL under the ID of a deleted workflow are a
// new workflow, with nothing of the old one.
func TestRowsAfterDelete(t *testing.T) {
	t.Parallel()
	one(t, testRowsAfterDelete)
}

func testRowsAfterDelete(t *testing.T, _ tablestest.Store, s *catalogdb.Store, db *sql.DB) {
	if _, err := store(t, s, chat("one", "a")); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), "chat", ""); err != nil {
		t.Fatal(err)
	}
	tablestest.Do(t, db, `INSERT INTO agent_workflows (id, name) VALUES ('chat', 'new')`)
	e, err := s.Entry(t.Context(), "chat")
	want := catalog.Entry{ID: "chat", Name: "new", Format: catalog.FormatRoutes, HasRows: true}
	if diff := cmp.Diff(want, e); err != nil || diff != "" {
		t.Errorf("(-want +got): %v\n%s", err, diff)
	}
}

// TestOtherColumns checks that columns that other programs added keep their values if a row is
// changed in place, and are removed with rows that are replaced (S3-20).
func TestOtherColumns(t *testing.T) {
	t.Parallel()
	one(t, testOtherColumns)
}

func testOtherColumns(t *testing.T, _ tablestest.Store, s *catalogdb.Store, db *sql.DB) {
	if _, err := store(t, s, chat("one", "a", "b")); err != nil {
		t.Fatal(err)
	}
	tablestest.Do(t, db, `ALTER TABLE agent_workflow_nodes ADD COLUMN x INTEGER`,
		`UPDATE agent_workflow_nodes SET x = 7`)
	sum := func() (n sql.NullInt64) {
		if err := db.QueryRowContext(t.Context(), `SELECT sum(x) FROM agent_workflow_nodes`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if _, err := store(t, s, chat("two", "c", "b", "a")); err != nil {
		t.Fatal(err)
	}
	if n := sum(); n.Int64 != 14 {
		t.Errorf("after a change in place: %v", n)
	}
	p := chat("two", "c", "b", "a")
	p.Replace = true
	if _, err := store(t, s, p); err != nil {
		t.Fatal(err)
	}
	if n := sum(); n.Valid {
		t.Errorf("after a replacement: %v", n)
	}
}

// TestAtomic checks that if a statement fails in the middle, everything is unchanged, for upsert
// and replacement alike (S3-20).
func TestAtomic(t *testing.T) {
	t.Parallel()
	for _, replace := range []bool{false, true} {
		t.Run(fmt.Sprint("replace ", replace), func(t *testing.T) {
			t.Parallel()
			one(t, func(t *testing.T, at tablestest.Store, s *catalogdb.Store, db *sql.DB) {
				testAtomic(t, at, s, db, replace)
			})
		})
	}
}

func testAtomic(t *testing.T, at tablestest.Store, s *catalogdb.Store, db *sql.DB, replace bool) {
	first := chat("one", "a", "b")
	before, err := store(t, s, first)
	if err != nil {
		t.Fatal(err)
	}
	tablestest.Do(t, db, string(at.Dialect.Pick(
		`CREATE TRIGGER refuse BEFORE INSERT ON agent_workflow_edges WHEN new.id = 'to z' BEGIN SELECT raise(ABORT, `+
			`'refused'); END`,
		`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$;
		CREATE TRIGGER refuse BEFORE INSERT ON agent_workflow_edges FOR EACH ROW WHEN (new.id = 'to z') EXECUTE `+
			`FUNCTION refuse()`)))
	p := chat("two", "x", "y", "z", "b")
	p.Replace = replace
	agents := []catalog.Row{{"new", nil, nil, nil, nil, nil, nil}}
	if _, err := s.Put(t.Context(), []catalog.Put{p}, agents); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Fatalf("got error %v", err)
	}
	e, err := s.Entry(t.Context(), "chat")
	if diff := cmp.Diff(before.Entry, e); err != nil || diff != "" {
		t.Errorf("entry (-before +now): %v\n%s", err, diff)
	}
	rows, err := s.Rows(t.Context(), "chat")
	if diff := cmp.Diff(*first.Rows, rows); err != nil || diff != "" {
		t.Errorf("rows (-before +now): %v\n%s", err, diff)
	}
	if v, err := s.Versions(t.Context(), "chat"); err != nil || len(v) != 1 {
		t.Errorf("%d versions, %v", len(v), err)
	}
	if a, err := s.Agents(t.Context()); err != nil || len(a) != 0 {
		t.Errorf("%d agents, %v", len(a), err)
	}
}

// TestWrittenBySQL checks that rows alone make a workflow, whatever types SQLite stores, with
// foreign keys enabled and edges that lead nowhere (S3-8).
func TestWrittenBySQL(t *testing.T) {
	t.Parallel()
	one(t, testWrittenBySQL)
}

func testWrittenBySQL(t *testing.T, at tablestest.Store, s *catalogdb.Store, db *sql.DB) {
	tablestest.Do(t, db, string(at.Dialect.Pick(`PRAGMA foreign_keys = ON`, `SELECT`)), strings.Join([]string{
		`BEGIN`,
		`INSERT INTO agent_workflow_edges VALUES (NULL, 'w', 'n1', 'ghost', 'ALWAYS', NULL), (NULL, 'w', 'n1', NULL, ` +
			`'CONDITIONAL', 'END')`,
		string(at.Dialect.Pick(`INSERT INTO agent_workflow_nodes ("workflowId", id, "nodeType", "agentId") VALUES `+
			`('w', `+
			`'n2', 'AGENT', 7), ('w', 'n1', 'AGENT', x'6162')`,
			`INSERT INTO agent_workflow_nodes ("workflowId", id, "nodeType", "agentId") VALUES ('w', 'n2', `+
				`'AGENT', 7), `+
				`('w', 'n1', 'AGENT', 'ab')`)),
		string(at.Dialect.Pick(`INSERT INTO agent_workflows (id, name, "isConversational", "maxSteps", "timeoutMs") `+
			`VALUES ('w', 12.5, 'true', '20', 'soon')`,
			`INSERT INTO agent_workflows (id, name, "isConversational", "maxSteps", "timeoutMs") VALUES ('w', `+
				`12.5, 1, `+
				`'20', 7)`)), `COMMIT`,
	}, "; "))
	entries, err := s.Entries(t.Context())
	if diff := cmp.Diff([]catalog.Entry{{ID: "w", Name: "12.5", Format: "routes", HasRows: true}},
		entries); err != nil || diff != "" {
		t.Errorf("entries (-want +got): %v\n%s", err, diff)
	}
	if v, err := s.Versions(t.Context(), "w"); err != nil || len(v) != 0 {
		t.Errorf("versions %v, %v", v, err)
	}
	rows, err := s.Rows(t.Context(), "w")
	if err != nil {
		t.Fatal(err)
	}
	got, _ := rows.Document()
	want := `{
  "id": "w",
  "name": "12.5",
  "isConversational": true,
  "entrypointNodeId": null,
  "maxSteps": 20,
  "timeoutMs": ` + string(at.Dialect.Pick(`"soon"`, `7`)) + `,
  "nodes": [
    {"id": "n2", "workflowId": "w", "nodeType": "AGENT", "agentId": "7"},
    {"id": "n1", "workflowId": "w", "nodeType": "AGENT", "agentId": "ab"}
  ],
  "edges": [
    {"workflowId": "w", "sourceNodeId": "n1", "targetNodeId": "ghost", "conditionType": "ALWAYS", ` +
		`"conditionValue": null},
    {"workflowId": "w", "sourceNodeId": "n1", "targetNodeId": null, "conditionType": "CONDITIONAL", ` +
		`"conditionValue": "END"}
  ]
}
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
	// A row may be replaced without deleting the others.
	tablestest.Do(t, db,
		string(at.Dialect.Pick(`INSERT OR REPLACE INTO agent_workflows (id, name) VALUES ('w', 'again')`,
			`BEGIN; DELETE FROM agent_workflows; INSERT INTO agent_workflows (id, name) VALUES ('w', `+
				`'again'); COMMIT`)))
	if rows, err = s.Rows(t.Context(), "w"); err != nil || len(rows.Nodes) != 2 || len(rows.Edges) != 2 {
		t.Errorf("rows %v, %v", rows, err)
	}
	if err := s.Delete(t.Context(), "w", ""); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"agent_workflows", "agent_workflow_nodes", "agent_workflow_edges"} {
		var n int
		if err := db.QueryRowContext(t.Context(), `SELECT count(*) FROM `+table).Scan(&n); err != nil || n != 0 {
			t.Errorf("%s has %d rows, %v", table, n, err)
		}
	}
}

// TestDamagedText checks that a text that differs from what was stored is not returned (P17).
func TestDamagedText(t *testing.T) {
	t.Parallel()
	one(t, testDamagedText)
}

func testDamagedText(t *testing.T, _ tablestest.Store, s *catalogdb.Store, db *sql.DB) {
	if _, err := store(t, s, chat("one", "a")); err != nil {
		t.Fatal(err)
	}
	tablestest.Do(t, db, `UPDATE workflow_versions SET text = 'two'`)
	v, err := s.Version(t.Context(), "chat", 1)
	if _, isCorrupt := errors.AsType[*journal.CorruptError](err); !isCorrupt || v.Text != nil {
		t.Errorf("got %q, %v", v.Text, err)
	}
}

// TestStore_ConcurrentWriters runs two handles and a program that constantly write the same rows,
// and checks that no caller gets a busy error (P10).
func TestStore_ConcurrentWriters(t *testing.T) {
	t.Parallel()
	tablestest.One(t, postgres.Catalog, testBusy)
}

func testBusy(t *testing.T, at tablestest.Store) {
	s := []*catalogdb.Store{catalogdb.New(at.Open(t)), catalogdb.New(at.Open(t))}
	db := at.SQL(t)
	ctx, stop := context.WithCancel(t.Context())
	held := make(chan struct{})
	go func() {
		defer close(held)
		for ctx.Err() == nil {
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				return
			}
			_, _ = tx.ExecContext(ctx,
				`INSERT INTO agents (id) VALUES ('busy') ON CONFLICT (id) DO UPDATE SET name = 'x'`)
			_, _ = tx.ExecContext(ctx, `UPDATE agent_workflow_nodes SET prompt = 'busy'`)
			_ = tx.Commit()
		}
	}()
	errs := make(chan error)
	for i := range 2 {
		go func() {
			var all error
			for j := range 30 {
				_, err := s[i].Put(t.Context(), []catalog.Put{chat(fmt.Sprint(i, j), "a", "b")}, nil)
				all = errors.Join(all, err)
			}
			errs <- all
		}()
	}
	if err := errors.Join(<-errs, <-errs); err != nil {
		t.Error(err)
	}
	stop()
	<-held
	versions, err := s[0].Versions(t.Context(), "chat")
	if err != nil || len(versions) != 60 || !slices.IsSortedFunc(versions, func(a, b catalog.Version) int {
		return a.Number - b.Number
	}) {
		t.Errorf("%d versions, %v", len(versions), err)
	}
}
