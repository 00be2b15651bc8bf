package definition_test

import (
	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/format/formattest"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store"

	"github.com/hocket-run/hocket/internal/service/definition"
	"github.com/hocket-run/hocket/internal/service/failure"

	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite" // the tests write the tables as other programs do

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/catalog"
)

// inMemory returns a catalog that stores nothing permanently.
func inMemory(t *testing.T) *definition.Catalog {
	t.Helper()
	return onStore(&catalog.Memory{})
}

// onDisk returns a catalog backed by a file.
func onDisk(t *testing.T, path string) *definition.Catalog {
	t.Helper()
	home, err := store.Open(t.Context(), path, store.Config{Kind: journal.KindRun})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := home.Close(); err != nil {
			t.Error(err)
		}
	})
	return onStore(home.Catalog)
}

func onStore(s catalog.Store) *definition.Catalog {
	return definition.New(definition.Config{Documents: linked.Kit(), Operator: &config.Config{},
		Env: func(string) string { return "" }}, s)
}

func apply(t *testing.T, s *definition.Catalog, q definition.ApplyRequest) (definition.Applied, diag.List) {
	t.Helper()
	done, problems, err := s.Apply(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return done, problems
}

func applyText(t *testing.T, s *definition.Catalog, file, text string, draft bool) (definition.Applied, diag.List) {
	t.Helper()
	return apply(t, s, definition.ApplyRequest{Documents: []definition.Document{{File: file, Data: []byte(text)}},
		Draft: draft})
}

// corpus returns the documents of the format archives by name.
func corpus(t *testing.T, format string) map[string][]byte {
	t.Helper()
	docs := map[string][]byte{}
	for _, d := range formattest.Documents(t, filepath.Join("..", "..", "format", format, "testdata", "*.txtar")) {
		docs[d.Name] = d.Data
	}
	return docs
}

// TestStoredDocuments checks that every document that its format reads without errors is the same
// workflow after it is stored and read again, routes documents from their rows, and that its text
// is returned byte for byte (S3-20, P29). Other documents are rejected, and nothing is stored.
func TestStoredDocuments(t *testing.T) {
	t.Parallel()
	stored := 0
	for _, format := range []string{"canvas", "rounds", "routes"} {
		for name, text := range corpus(t, format) {
			t.Run(format+"/"+name, func(t *testing.T) {
				s := inMemory(t)
				direct, problems, err := definition.Load(t.Context(), name, text,
					definition.LoadOptions{Formats: linked.Kit().Formats})
				if err != nil {
					t.Fatal(err)
				}
				done, said, err := s.Apply(t.Context(),
					definition.ApplyRequest{Documents: []definition.Document{{File: name, Data: text}}})
				if err != nil {
					t.Fatal(err)
				}
				if said.HasErrors() {
					if entries, err := s.Entries(t.Context()); err != nil || len(entries) != 0 {
						t.Errorf("stored in spite of errors: %v, %v", entries, err)
					}
					return
				}
				id := done.Workflows[0].Entry.ID
				w, d, again, err := s.LoadStored(t.Context(), id, definition.Which{}, definition.LoadOptions{})
				if err != nil || d.Changed || d.Version != 1 || string(d.Text) != string(text) {
					t.Fatalf("definition: changed %v, version %d, %v\n%s", d.Changed, d.Version, err, d.Text)
				}
				if problems.HasErrors() != again.HasErrors() {
					t.Fatalf("problems of the file:\n%v\nof what is stored:\n%v", problems, again)
				}
				if problems.HasErrors() {
					return
				}
				stored++
				direct.ID, direct.Name = w.ID, w.Name // a stored workflow has both
				if diff := cmp.Diff(digest(t, direct), digest(t, w)); diff != "" {
					a, _ := direct.Canonical()
					b, _ := w.Canonical()
					t.Errorf("another workflow (-file +stored):\n%s", cmp.Diff(string(a), string(b)))
				}
			})
		}
	}
	if stored < 30 {
		t.Errorf("only %d documents were stored", stored)
	}
}

func digest(t *testing.T, w interface{ Digest() (string, error) }) string {
	t.Helper()
	d, err := w.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

const (
	hello = "agents:\n  root: {model: openai/gpt-5-mini, instruction: Hello}\nworkflow:\n  - {type: agent, " +
		"name: root}\n"
	lobby = `{"id": "lobby", "name": "Lobby", "entrypointNodeId": "n1", "nodes": [
  {"id": "n1", "workflowId": "lobby", "nodeType": "AGENT", "nodeName": "Desk", "agentId": "desk"}], "edges": []}`
	// whole is lobby with its agent.
	whole = `{"id": "lobby", "name": "Lobby", "entrypointNodeId": "n1", "nodes": [
  {"id": "n1", "workflowId": "lobby", "nodeType": "AGENT", "nodeName": "Desk", "agentId": "desk"}], "edges": [],
  "agents": [{"id": "desk", "name": "Inside"}]}`
	desk = `{"agents": [{"id": "desk", "name": "Desk", "model": "openai/gpt-5-mini"}]}`
)

func applyAgents(t *testing.T, s *definition.Catalog, text string) {
	t.Helper()
	_, problems, err := s.ApplyAgents(t.Context(),
		definition.ApplyAgentsRequest{Documents: []definition.Document{{File: "agents.json", Data: []byte(text)}}})
	if err != nil || len(problems) > 0 {
		t.Fatalf("%v, %v", problems, err)
	}
}

// TestUnresolved checks that a document of any format that names an agent without a definition is
// not stored, published or a draft, and that its error is that of validation (P29). An agent that
// is deleted later is an error when the workflow runs or is published again.
func TestUnresolved(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	for file, text := range map[string]string{
		"lobby.json": lobby,
		"steps.yaml": "workflow:\n  - {type: agent, name: desk}\n",
		"rounds.json": `{"id": "rounds", "maxRounds": 1, "nodes": [{"id": "a", "type": "agent", "config": ` +
			`{"agentId": "desk"}}], "edges": []}`,
	} {
		_, want, err := s.Load(t.Context(), file, []byte(text), definition.LoadOptions{})
		if err != nil || !want.HasErrors() || want[0].Code != "unknown-agent" {
			t.Fatalf("%s: %v, %v", file, want, err)
		}
		for _, draft := range []bool{false, true} {
			done, problems, err := s.Apply(t.Context(), definition.ApplyRequest{Draft: draft,
				Documents: []definition.Document{{File: file, Data: []byte(text)}}})
			if diff := cmp.Diff(want.Error(), problems.Error()); err != nil || len(done.Workflows) > 0 || diff != "" {
				t.Errorf("%s, draft %t: stored %+v, %v (-want +got):\n%s", file, draft, done, err, diff)
			}
		}
	}
	if all, err := s.Entries(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("stored %+v, %v", all, err)
	}
	applyAgents(t, s, desk)
	applyText(t, s, "lobby.json", lobby, false)
	if err := s.DeleteAgent(t.Context(), "desk", true); err != nil {
		t.Fatal(err)
	}
	_, _, problems, err := s.LoadStored(t.Context(), "lobby", definition.Which{}, definition.LoadOptions{})
	if err != nil || !problems.HasErrors() || problems[0].Span.String() != "agent_workflow_nodes/n1.agentId" {
		t.Errorf("got %v, %v", problems, err)
	}
	if _, problems, err := s.Publish(t.Context(), "lobby", 1); err != nil || !problems.HasErrors() {
		t.Errorf("published: %v, %v", problems, err)
	}
	applyAgents(t, s, desk)
	w, d, problems, err := s.LoadStored(t.Context(), "lobby", definition.Which{}, definition.LoadOptions{})
	if err != nil || len(problems) > 0 || w.Agent("desk").Name != "Desk" || d.Version != 1 {
		t.Errorf("got version %d, %v, %v", d.Version, problems, err)
	}
	// The nearest definition takes precedence: the document, then --agents, then the catalog.
	file := filepath.Join(t.TempDir(), "agents.yaml")
	if err := os.WriteFile(file, []byte("agents: [{id: desk, name: Nearer}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	w, _, _, err = s.LoadStored(t.Context(), "lobby", definition.Which{}, definition.LoadOptions{AgentsFile: file})
	if err != nil || w.Agent("desk").Name != "Nearer" {
		t.Errorf("got %+v, %v", w, err)
	}
	applyText(t, s, "lobby.json", whole, false)
	w, _, _, err = s.LoadStored(t.Context(), "lobby", definition.Which{}, definition.LoadOptions{AgentsFile: file})
	if err != nil || w.Agent("desk").Name != "Inside" {
		t.Errorf("got %+v, %v", w, err)
	}
}

// TestDrafts checks that a draft is loaded only on request until it is published, and that its rows
// are written only then (P38).
func TestDrafts(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	ctx := t.Context()
	applyText(t, s, "hello.yaml", hello, true)
	if _, _, _, err := s.LoadStored(ctx, "hello", definition.Which{}, definition.LoadOptions{}); failure.CodeOf(
		err) != failure.CodeInvalid {
		t.Errorf("a draft ran: %v", err)
	}
	if _, d, problems, err := s.LoadStored(ctx, "hello", definition.Which{Draft: true},
		definition.LoadOptions{}); err != nil || d.Version != 1 || len(problems) > 0 {
		t.Errorf("draft: version %d, %v, %v", d.Version, problems, err)
	}
	if e, problems, err := s.Publish(ctx, "hello", 0); err != nil || len(problems) > 0 || e.Published != 1 ||
		e.Draft != 0 {
		t.Fatalf("got %+v, %v, %v", e, problems, err)
	}
	if _, _, err := s.Publish(ctx, "hello", 0); failure.CodeOf(err) != failure.CodeInvalid {
		t.Errorf("published no draft: %v", err)
	}
	applyText(t, s, "hello.yaml", hello+"# more\n", true)
	if _, d, problems, err := s.LoadStored(ctx, "hello", definition.Which{}, definition.LoadOptions{}); err != nil ||
		d.Version != 1 || len(problems) > 0 {
		t.Errorf("published: version %d, %v, %v", d.Version, problems, err)
	}
	// A draft of a document that becomes rows stays text until it is published.
	applyAgents(t, s, desk)
	applyText(t, s, "lobby.json", lobby, true)
	if e, err := s.Entry(ctx, "lobby"); err != nil || e.HasRows {
		t.Errorf("got %+v, %v", e, err)
	}
	if e, problems, err := s.Publish(ctx, "lobby", 0); err != nil || len(problems) > 0 || !e.HasRows {
		t.Errorf("got %+v, %v, %v", e, problems, err)
	}
}

// TestDefinition_ConcurrentStore checks that while another process stores one document after
// another, a read returns one of them, with its own rows and version.
func TestDefinition_ConcurrentStore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hocket.db")
	var both [2]*definition.Catalog
	for i := range both {
		both[i] = onDisk(t, path)
	}
	text := func(n int) string {
		return strings.Replace(strings.Replace(lobby, `"name": "Lobby"`, fmt.Sprintf(`"name": "Lobby %d"`, n), 1),
			`"edges": []`, `"edges": [], "agents": [{"id": "desk"}]`, 1)
	}
	applyText(t, both[0], "lobby.json", text(0), false)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := range 100 {
			_, problems, err := both[0].Apply(t.Context(), definition.ApplyRequest{
				Documents: []definition.Document{{File: "lobby.json", Data: []byte(text(n + 1))}},
			})
			if err != nil || problems.HasErrors() {
				t.Errorf("%v, %v", problems, err)
			}
		}
	}()
	for {
		w, d, problems, err := both[1].LoadStored(t.Context(), "lobby", definition.Which{}, definition.LoadOptions{})
		if err != nil || problems.HasErrors() || d.Changed || w.Name != fmt.Sprintf("Lobby %d", d.Version-1) {
			t.Fatalf("version %d, changed %v, %v, %v, %+v", d.Version, d.Changed, problems, err, w)
		}
		select {
		case <-done:
			if d.Version == 101 {
				return
			}
		default:
		}
	}
}

func TestApplyRefuses(t *testing.T) {
	t.Parallel()
	document := func(file, text string) definition.Document {
		return definition.Document{File: file, Data: []byte(text)}
	}
	for _, tt := range []struct {
		name string
		q    definition.ApplyRequest
		want string // substring of the problem or error
	}{
		{"a document with errors beside a good one", definition.ApplyRequest{
			Documents: []definition.Document{document("a.yaml", hello), document("b.json", "{")},
		}, "b.json"},
		{"two of one id", definition.ApplyRequest{Documents: []definition.Document{document("x/a.yaml", hello),
			document("y/a.yaml", hello)}}, `duplicate id "a", also used by x/a.yaml`},
		{"an id for two", definition.ApplyRequest{Documents: []definition.Document{document("a.yaml", hello),
			document("b.yaml", hello)}, ID: "c"}, "an id or a tag needs exactly one document"},
		{"another id", definition.ApplyRequest{Documents: []definition.Document{document("a.json", whole)}, ID: "c"},
			`the document has the id "lobby", and the request names "c"`},
		{"no name", definition.ApplyRequest{Documents: []definition.Document{document("-", hello)}},
			"its name is not usable as one"},
		{"a path for an id", definition.ApplyRequest{Documents: []definition.Document{document("a.yaml", hello)},
			ID: "../a"}, `invalid id "../a"`},
		{"a row of another workflow (S3-20)",
			definition.ApplyRequest{
				Documents: []definition.Document{
					document("a.json", strings.Replace(lobby, `"workflowId": "lobby"`, `"workflowId": "other"`, 1)),
				},
			}, `this row belongs to the workflow "other", not to "lobby"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := inMemory(t)
			_, problems, err := s.Apply(t.Context(), tt.q)
			said := problems.Error()
			if err != nil {
				said = err.Error()
			}
			if !strings.Contains(said, tt.want) || err == nil && !problems.HasErrors() {
				t.Errorf("got %q, %v", said, err)
			}
			if entries, err := s.Entries(t.Context()); err != nil || len(entries) != 0 {
				t.Errorf("stored: %v, %v", entries, err)
			}
		})
	}
}

// TestDefinitionRefuses checks that ambiguous data written with SQL, and unpublished workflows, are
// rejected.
func TestDefinitionRefuses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hocket.db")
	s := onDisk(t, path)
	applyText(t, s, "hello.yaml", hello, false)
	applyText(t, s, "draft.yaml", hello, true)
	applyAgents(t, s, desk)
	applyText(t, s, "lobby.json", lobby, false)
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, q := range []string{
		`INSERT INTO agent_workflows (id) VALUES ('hello')`, `DELETE FROM agent_workflows WHERE id = 'lobby'`,
		`INSERT INTO agents (id, name) VALUES ('dask', x'ff')`,
		`INSERT INTO agents (id, definition) VALUES ('odd', '["maxIterations"]'), ('odder', '{"maxIterations": -1}')`,
	} {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[string]string{
		"hello": "workflow hello is published as a steps document, and the table agent_workflows has rows of it too; " +
			"delete one of them",
		"draft": "workflow draft is a draft only",
		"lobby": "the rows of workflow lobby were deleted",
	} {
		_, err := s.Definition(t.Context(), id, definition.Which{})
		if err == nil || err.Error() != want || failure.CodeOf(err) != failure.CodeInvalid {
			t.Errorf("%s: got %v", id, err)
		}
	}
	if _, problems, err := s.Publish(t.Context(), "lobby", 1); err != nil || problems.HasErrors() {
		t.Fatal(problems, err)
	}
	if _, err := db.ExecContext(t.Context(), `UPDATE agents SET tools = 'search, fetch' `+
		`WHERE id = 'desk'`); err != nil {
		t.Fatal(err)
	}
	_, _, problems, err := s.LoadStored(t.Context(), "lobby", definition.Which{}, definition.LoadOptions{})
	want := "agent_workflow_nodes/n1.agentId: error: Agent not found: desk (unknown-agent); hint: its row in the " +
		"table agents has errors\n" +
		`agents/desk.tools: error: expected a list, found a string (wrong-type); hint: write a JSON list such as ` +
		`["search"]`
	problems.Sort()
	if diff := cmp.Diff(want, problems.Error()); err != nil || diff != "" {
		t.Errorf("problems (-want +got): %v\n%s", err, diff)
	}
	list, problems, err := s.CatalogAgents(t.Context(), []string{"odd", "odder"})
	want = `agents/odd.definition: error: the definition is not a JSON object (bad-definition); hint: write the keys ` +
		`that have no column, such as {"maxIterations": 5}, or NULL` +
		"\nagents/odder.definition: error: maxIterations must be 0 or more, got -1 (wrong-type)"
	if diff := cmp.Diff(want, problems.Error()); err != nil || diff != "" || len(list) != 1 {
		t.Errorf("%d agents, problems (-want +got): %v\n%s", len(list), err, diff)
	}
}

func TestWorkflowIDs(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"news room.yaml": "news-room", "/tmp/Über uns.v2.yaml": "Über-uns.v2", ".hidden.yaml": "hidden",
		"--x--.yaml": "x", "a/b/c.yml": "c", "plain": "plain",
	} {
		s := inMemory(t)
		done, problems := applyText(t, s, file, hello, false)
		if problems.HasErrors() || done.Workflows[0].Entry.ID != want {
			t.Errorf("%s: got %+v, %v", file, done, problems)
		}
	}
}

// TestNotFound checks the errors for items that do not exist (S1-6).
func TestNotFound(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	ctx := t.Context()
	applyText(t, s, "hello.yaml", hello, false)
	applyAgents(t, s, desk)
	for name, tt := range map[string]struct {
		call func() error
		want string
	}{
		"a typo": {func() error { _, err := s.Definition(ctx, "helo", definition.Which{}); return err },
			`Workflow not found: helo; did you mean "hello"?`},
		"nothing like it": {func() error { return s.DeleteWorkflow(ctx, "zzz") }, "Workflow not found: zzz"},
		"a version": {func() error {
			_, err := s.Definition(ctx, "hello", definition.Which{Version: 7})
			return err
		}, "Version not found: 7 of workflow hello"},
		"an agent": {func() error {
			return s.DeleteAgent(ctx, "dask", false)
		}, `Agent not found: dask; did you mean "desk"?`},
		"agents to show": {func() error { _, err := s.AgentsText(ctx, []string{"zzz"}); return err },
			"Agent not found: zzz"},
		"versions": {func() error { _, err := s.Versions(ctx, "zzz"); return err }, "Workflow not found: zzz"},
		"publish": {func() error {
			_, _, err := s.Publish(ctx, "zzz", 0)
			return err
		}, "Workflow not found: zzz"},
	} {
		err := tt.call()
		if err == nil || err.Error() != tt.want || !errors.Is(err, catalog.ErrNotFound) ||
			failure.CodeOf(err) != failure.CodeNotFound {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
