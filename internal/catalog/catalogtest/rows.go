package catalogtest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/catalog"
	_ "github.com/hocket-run/hocket/internal/randtest"
)

// routes returns a routes document with rows; nodes are the ids of its nodes, with an edge to each.
func routes(id, text string, nodes ...string) catalog.Put {
	p := doc(id, text)
	p.Format = catalog.FormatRoutes
	p.Rows = &catalog.Rows{Workflow: catalog.Row{id, "Name " + text, nil, int64(1), "n1", "tool", nil, int64(15), nil,
		`[{"id":"a"}]`}}
	if len(nodes) == 0 {
		nodes = []string{"n1", "n2"}
	}
	for _, n := range nodes {
		p.Rows.Nodes = append(p.Rows.Nodes, catalog.Row{n, id, "AGENT", "Node " + text, "a", nil})
		p.Rows.Edges = append(p.Rows.Edges, catalog.Row{"to " + n, id, "n1", n, "CONDITIONAL", n})
	}
	return p
}

func rowsAre(t *testing.T, s catalog.Store, id string, want catalog.Rows) {
	t.Helper()
	got, err := s.Rows(t.Context(), id)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("rows (-want +got): %v\n%s", err, diff)
	}
}

// testRows checks S3-20: rows with the same id are updated, and rows that are not in the document
// are deleted; other workflows may have rows with the same ids.
func testRows(t *testing.T, s catalog.Store) {
	other := routes("other", "one", "n1", "n2", "n3")
	put(t, s, other, "version 1: published 1, draft 0")
	for _, replace := range []bool{false, true} {
		id := fmt.Sprint("w", replace)
		for i, p := range []catalog.Put{routes(id, "one"), routes(id, "two", "n2", "n3"),
			routes(id, "three", "n3", "n1")} {
			p.Replace = replace
			put(t, s, p, fmt.Sprintf("version %d: published %d, draft 0", i+1, i+1))
			rowsAre(t, s, id, *p.Rows)
		}
		same := routes(id, "three", "n3", "n1")
		same.Replace = replace
		put(t, s, same, "version 3: published 3, draft 0, unchanged")
		e, err := s.Entry(t.Context(), id)
		if want := (catalog.Entry{ID: id, Name: "Name three", Format: "routes", Published: 3, HasRows: true,
			Updated: noon}); err != nil || !e.Equal(want) {
			t.Errorf("entry %+v, want %+v, %v", e, want, err)
		}
	}
	rowsAre(t, s, "other", *other.Rows)
}

func testRowOrder(t *testing.T, s catalog.Store) {
	for i, nodes := range [][]string{{"a", "b", "c", "d"}, {"d", "c", "b", "a"}, {"b", "x", "a"},
		{"a", "b", "y", "x", "c"}, {"c", "a"}} {
		p := routes("w", fmt.Sprint(i), nodes...)
		put(t, s, p, fmt.Sprintf("version %d: published %d, draft 0", i+1, i+1))
		rowsAre(t, s, "w", *p.Rows)
		put(t, s, routes(fmt.Sprint("v", i), "one", nodes...), "version 1: published 1, draft 0")
	}
	p := routes("w", "no ids", "a")
	p.Rows.Edges = []catalog.Row{{nil, "w", "a", nil, "CONDITIONAL", "END"}, {"e", "w", "a", "a", "ALWAYS", nil},
		{nil, "w", "a", "b", "ALWAYS", nil}}
	put(t, s, p, "version 6: published 6, draft 0")
	rowsAre(t, s, "w", *p.Rows)
	p.Text = []byte("no ids, turned round")
	slices.Reverse(p.Rows.Edges)
	put(t, s, p, "version 7: published 7, draft 0")
	rowsAre(t, s, "w", *p.Rows)
}

// testRowTexts checks SEC7: any content of a document, including ids, is stored unchanged, or
// rejected with the name of its column and nothing stored.
func testRowTexts(t *testing.T, s catalog.Store, refuses func(string) bool) {
	all := []string{"'", `"`, "'); DROP TABLE agents; --", "\x00", "a\x00b", "%", "\\", "ü\u2028🙂", "", "NULL", "\n"}
	texts := slices.DeleteFunc(slices.Clone(all), refuses)
	p := catalog.Put{ID: "'; --", Format: "routes", Text: []byte("x"), At: noon, Rows: &catalog.Rows{}}
	p.Rows.Workflow = catalog.Row{p.ID, texts[2], texts[4], int64(0), texts[0], texts[0], nil, int64(-1),
		int64(1) << 62,
		"no JSON"}
	for i, s := range texts {
		p.Rows.Nodes = append(p.Rows.Nodes, catalog.Row{s, p.ID, s, s, s, s})
		p.Rows.Edges = append(p.Rows.Edges, catalog.Row{fmt.Sprint(s, i), p.ID, s, s, s, s})
	}
	put(t, s, p, "version 1: published 1, draft 0")
	rowsAre(t, s, p.ID, *p.Rows)
	put(t, s, p, "version 1: published 1, draft 0, unchanged")
	for _, s1 := range texts {
		if s1 == "" {
			continue
		}
		if err := s.PutAgents(t.Context(), []catalog.Row{{s1, s1, s1, s1, s1, s1, s1}}, true, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range all {
		if refuses(bad) {
			testRefused(t, s, p, bad)
		}
	}
	got, err := s.Agents(t.Context())
	if err != nil || len(got) != len(texts)-1 {
		t.Fatalf("%d agents, %v", len(got), err)
	}
	for _, r := range got {
		if err := s.DeleteAgent(t.Context(), r.ID(), "", nil); err != nil {
			t.Errorf("agent %q: %v", r.ID(), err)
		}
	}
	if err := s.Delete(t.Context(), p.ID, ""); err != nil {
		t.Error(err)
	}
}

// testRefused checks that a string that the store cannot store is rejected wherever it occurs, and
// that the error names the column.
func testRefused(t *testing.T, s catalog.Store, p catalog.Put, bad string) {
	rows := func(change func(r *catalog.Rows)) catalog.Put {
		q := p
		q.Text, q.Rows = []byte("refused"), &catalog.Rows{Workflow: slices.Clone(p.Rows.Workflow), Nodes: []catalog.Row{
			{"n", p.ID, "AGENT", nil, nil, nil},
		}, Edges: []catalog.Row{{"e", p.ID, "n", nil, "ALWAYS", nil}}}
		change(q.Rows)
		return q
	}
	named := p
	named.Text, named.Name = []byte("refused"), bad
	for column, q := range map[string]catalog.Put{
		"agent_workflows.description":        rows(func(r *catalog.Rows) { r.Workflow[2] = bad }),
		"agent_workflow_nodes.prompt":        rows(func(r *catalog.Rows) { r.Nodes[0][5] = bad }),
		"agent_workflow_nodes.id":            rows(func(r *catalog.Rows) { r.Nodes[0][0] = bad }),
		"agent_workflow_edges.conditionType": rows(func(r *catalog.Rows) { r.Edges[0][4] = bad }),
		"workflow_versions.name":             named,
	} {
		_, err := s.Put(t.Context(), []catalog.Put{q}, nil)
		if e, ok := errors.AsType[*catalog.TextError](err); !ok || e.Column != column || e.Reason == "" {
			t.Errorf("%s with %q: %v", column, bad, err)
		}
	}
	rowsAre(t, s, p.ID, *p.Rows)
	err := s.PutAgents(t.Context(), []catalog.Row{{"x", nil, nil, bad, nil, nil, nil}}, false, nil)
	if e, ok := errors.AsType[*catalog.TextError](err); !ok || e.Column != "agents.systemPrompt" {
		t.Errorf("an agent with %q: %v", bad, err)
	}
	if _, err := s.Entry(t.Context(), bad); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("a workflow of the id %q: %v", bad, err)
	}
	if err := s.DeleteAgent(t.Context(), bad, "", nil); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("an agent of the id %q: %v", bad, err)
	}
}

// testRowsGiveWay checks that a document of another format replaces rows, and that a draft leaves
// them alone.
func testRowsGiveWay(t *testing.T, s catalog.Store) {
	p := routes("w", "one")
	put(t, s, p, "version 1: published 1, draft 0")
	put(t, s, draft(doc("w", "two")), "version 2: published 1, draft 2")
	rowsAre(t, s, "w", *p.Rows)
	put(t, s, doc("w", "three"), "version 3: published 3, draft 2")
	if e, err := s.Entry(t.Context(), "w"); err != nil || e.HasRows || e.Format != "steps" {
		t.Errorf("entry %+v, %v", e, err)
	}
	st, err := s.Publish(t.Context(), catalog.Publication{ID: "w", Version: 1, Rows: p.Rows, At: noon})
	if e := st.Entry; err != nil || !e.HasRows || e.Format != "routes" {
		t.Errorf("published %+v, %v", st, err)
	}
	rowsAre(t, s, "w", *p.Rows)
}

// testLaw checks that random calls have the same results as on a naive model of the versions.
func testLaw(t *testing.T, s catalog.Store, refuses func(string) bool) {
	id := 0
	kept := func(text string) bool { return !refuses(text) }
	rapid.Check(t, func(rt *rapid.T) {
		id++
		w := fmt.Sprint("w", id)
		type twin struct{ published, draft, latest int }
		var (
			m     twin
			texts = map[int]string{}
			rows  *catalog.Rows
		)
		for range rapid.IntRange(1, 12).Draw(rt, "calls") {
			text := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "text")
			isDraft := rapid.Bool().Draw(rt, "draft")
			p := doc(w, text)
			if rapid.Bool().Draw(rt, "rows") {
				p = routes(w, text, rapid.SliceOfNDistinct(rapid.StringN(1, 4, -1).Filter(kept), 1, 4,
					rapid.ID[string]).Draw(rt, "nodes")...)
				p.Format = "steps" // the same text is the same version
			}
			p.Draft, p.Replace = isDraft, rapid.Bool().Draw(rt, "replace")
			got, err := s.Put(t.Context(), []catalog.Put{p}, nil)
			if err != nil {
				rt.Fatal(err)
			}
			n := m.latest + 1
			switch {
			case m.draft > 0 && texts[m.draft] == text:
				n = m.draft
			case m.published > 0 && texts[m.published] == text && (!isDraft || m.draft == 0):
				n = m.published
			}
			texts[n], m.latest = text, max(m.latest, n)
			switch {
			case !isDraft:
				m.published, rows = n, p.Rows
				if m.draft == n {
					m.draft = 0
				}
			case n != m.published:
				m.draft = n
			}
			e := got[0].Entry
			if got[0].Version != n || (twin{e.Published, e.Draft, m.latest}) != m || e.HasRows != (rows != nil) {
				rt.Fatalf("got %+v, want version %d, %+v", got[0], n, m)
			}
			if rows != nil {
				have, err := s.Rows(t.Context(), w)
				if diff := cmp.Diff(rows.Normal(), have); err != nil || diff != "" {
					rt.Fatalf("rows (-want +got): %v\n%s", err, diff)
				}
			}
		}
	})
}
