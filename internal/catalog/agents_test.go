package catalog_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/catalog"
	_ "github.com/hocket-run/hocket/internal/randtest"
)

// TestAgentsDocument checks that keys of the definition and the columns, which take precedence,
// become members in the order in which they were stored (P29).
func TestAgentsDocument(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		row  catalog.Row
		want string // the agent in the document
		line string // and as returned by AgentJSON
	}{
		"none": {catalog.Row{"a", nil, nil, nil, nil, nil, nil}, `{"id": "a"}`,
			`{"id": "a","name": "","description": "","model": ""}`},
		"an object": {catalog.Row{"a", "A", nil, nil, nil, nil, `{"maxIterations": 5, "x": {"b": 1.50, "a": "<"}}`},
			`{"id": "a", "name": "A", "maxIterations": 5, "x": {"b":1.50,"a":"<"}}`,
			`{"id": "a","name": "A","description": "","model": "","maxIterations": 5,"x": {"b":1.50,"a":"<"}}`},
		"own keys": {
			catalog.Row{"a", nil, nil, "S", nil, nil,
				`{"id":"b","name":"B","instruction":"I","system_prompt":"I","systemPrompt":"I","model":"m",` +
					`"tools":["*"],"addDate":true}`}, `{"id": "a", "systemPrompt": "S", "addDate": true}`,
			`{"id": "a","name": "","description": "","systemPrompt": "S","model": "","addDate": true}`,
		},
		"no object": {catalog.Row{"a", nil, nil, nil, nil, nil, `[1]`}, `{"id": "a", "definition": "[1]"}`,
			`{"id": "a","name": "","description": "","model": "","definition": "[1]"}`},
		"a number": {catalog.Row{"a", nil, nil, nil, nil, nil, int64(7)}, `{"id": "a", "definition": 7}`,
			`{"id": "a","name": "","description": "","model": "","definition": 7}`},
		"empty": {catalog.Row{"a", nil, nil, nil, nil, nil, `{}`}, `{"id": "a"}`,
			`{"id": "a","name": "","description": "","model": ""}`},
		"with blobs": {catalog.Row{"a", nil, nil, nil, nil, nil, []byte(`{"addDate":true}`)},
			`{"id": "a", "addDate": true}`, `{"id": "a","name": "","description": "","model": "","addDate": true}`},
	} {
		text := string(catalog.AgentsDocument([]catalog.Row{c.row}))
		got := strings.NewReplacer("\n      ", " ", "\n    {\n      ", "{", "\n    }", "}", "\n  ", "", "\n",
			"").Replace(text)
		if want := `{"agents": [` + c.want + `]}`; got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
		if got := string(catalog.AgentJSON(c.row)); got != c.line {
			t.Errorf("%s: got %s, want %s", name, got, c.line)
		}
	}
}

// TestAgentsDocument_AnyTable checks that any content of the table agents becomes a JSON document
// with one agent per row, and that an invalid definition is reported with its row (SEC7).
func TestAgentsDocument_AnyTable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		rows := make([]catalog.Row, rapid.IntRange(0, 3).Draw(rt, "agents"))
		for i := range rows {
			rows[i] = drawRow(rt, catalog.AgentColumns(), true)
			rows[i][0] = rapid.String().Draw(rt, "id")
		}
		var doc struct{ Agents []map[string]json.RawMessage }
		text := catalog.AgentsDocument(rows)
		if err := json.Unmarshal(text, &doc); err != nil || len(doc.Agents) != len(rows) {
			rt.Fatalf("%v in\n%s", err, text)
		}
		for i, r := range rows {
			if !json.Valid(catalog.AgentJSON(r)) {
				rt.Fatalf("no JSON: %s", catalog.AgentJSON(r))
			}
			_, isOdd := doc.Agents[i]["definition"]
			if ds := catalog.CheckAgent(r); len(ds) > 0 != isOdd || isOdd && ds[0].Span.File != "agents/"+r.ID()+
				".definition" {
				rt.Fatalf("%v in\n%s", ds, text)
			}
		}
	})
}

// TestLocateAgents checks that a problem is reported with its row and column, and that keys without
// a column are attributed to the definition.
func TestLocateAgents(t *testing.T) {
	t.Parallel()
	rows := []catalog.Row{{"a", nil, nil, nil, nil, nil, nil}, {"b", nil, nil, nil, nil, nil, `{"maxIterations":-1}`}}
	in := diag.List{
		{Span: diag.Span{File: "agents"}, Path: "agents[1].maxIterations"},
		{Span: diag.Span{File: "agents"}, Path: "agents[0].systemPrompt"},
		{Span: diag.Span{File: "agents"}, Path: "agents[1]"},
		{Span: diag.Span{File: "agents"}, Path: "agents[1].params.topP"}, {Span: diag.Span{File: "other"}},
	}
	var got []string
	for _, d := range catalog.LocateAgents(rows, in) {
		got = append(got, d.Span.File)
	}
	if diff := cmp.Diff([]string{"agents/b.definition", "agents/a.systemPrompt", "agents/b", "agents/b.definition",
		"other"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAgentOf checks that a row can be recovered from its item in the document of agents, whatever
// its content (P29).
func TestAgentOf(t *testing.T) {
	t.Parallel()
	rows := []catalog.Row{
		{"a", nil, nil, nil, nil, nil, nil},
		{"b", "Bee <b>", "says \"hm\"", "line\nline", "openai/x", `["one","two"]`,
			`{"maxIterations":7,"params":{"temperature":0.2},"name":"passed over"}`},
		{"c", int64(7), "", 1.5, nil, "no JSON", "no object"},
	}
	var doc struct{ Agents []json.RawMessage }
	want := catalog.AgentsDocument(rows)
	if err := json.Unmarshal(want, &doc); err != nil {
		t.Fatal(err)
	}
	var back []catalog.Row
	for _, item := range doc.Agents {
		r, err := catalog.AgentOf(item)
		if err != nil {
			t.Fatal(err)
		}
		back = append(back, r)
	}
	if got := catalog.AgentsDocument(back); !bytes.Equal(got, want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
	for i := range rows {
		if got, want := catalog.AgentJSON(back[i]), catalog.AgentJSON(rows[i]); !bytes.Equal(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for _, bad := range []string{`[]`, `{"id": `, `"x"`, ``} {
		if r, err := catalog.AgentOf(json.RawMessage(bad)); err == nil {
			t.Errorf("%s gives %v", bad, r)
		}
	}
}
