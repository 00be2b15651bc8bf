package catalog_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/format/source"
)

func parse(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, text []byte,
) *source.Node {
	t.Helper()
	root, problems := source.Parse("doc", text)
	if root == nil || len(problems) > 0 {
		t.Fatalf("%v in\n%s", problems, text)
	}
	return root
}

// TestFromDocument checks both spellings of keys, keys of the workflow next to or around the rows,
// and values that people leave unquoted (S3-1).
func TestFromDocument(t *testing.T) {
	t.Parallel()
	want := catalog.Rows{
		Workflow: catalog.Row{"w", "7", "d", int64(1), "n", nil, "h", int64(20), int64(5000), `[{"id":"a"}]`},
		Nodes:    []catalog.Row{{"n", "w", "AGENT", "N", "a", nil}, {"h", "w", "HUMAN", nil, nil, "Well?"}},
		Edges:    []catalog.Row{{"1", "w", "n", nil, "CONDITIONAL", "END"}, {nil, "w", "n", "h", "ALWAYS", nil}},
	}
	for name, text := range map[string]string{
		"camel": `{"id": "x", "name": 7, "description": "d", "isConversational": true, "entrypointNodeId": "n", ` +
			`"humanHandoff": "h", "maxSteps": 20, "timeoutMs": 5e3,
  "agents": [{"id": "a"}], "nodes": [{"id": "n", "nodeType": "AGENT", "nodeName": "N", "agentId": "a"}, {"id": "h", ` +
			`"nodeType": "HUMAN", "prompt": "Well?"}],
  "edges": [{"id": 1, "workflowId": "w", "sourceNodeId": "n", "targetNodeId": null, "conditionType": "CONDITIONAL", ` +
			`"conditionValue": "END"},
    {"id": "", "sourceNodeId": "n", "targetNodeId": "h", "conditionType": "ALWAYS"}]}`,
		"snake": `
workflow: {name: 7, description: d, is_conversational: true, entrypoint_node_id: n, human_handoff: h, max_steps: ` +
			`20.0, timeout_ms: 5000}
agents: [{id: a}]
nodes: [{id: n, workflow_id: w, node_type: AGENT, node_name: N, agent_id: a}, {id: h, node_type: HUMAN, prompt: ` +
			`"Well?"}]
edges:
  - {id: 1, source_node_id: n, target_node_id: null, condition_type: CONDITIONAL, condition_value: END}
  - {source_node_id: n, target_node_id: h, condition_type: ALWAYS}
`,
	} {
		got := catalog.FromDocument(parse(t, []byte(text)), "w")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// drawRow draws a row with values that stores may hold, and strings as ids.
func drawRow(t *rapid.T, columns []catalog.Column, anything bool) catalog.Row {
	r := make(catalog.Row, len(columns))
	for i := range r {
		if i < 2 && strings.HasSuffix(strings.ToLower(columns[i].Name), "id") {
			r[i] = rapid.String().Draw(t, columns[i].Name)
			continue
		}
		values := []*rapid.Generator[any]{rapid.Just[any](nil), rapid.String().AsAny()}
		if anything {
			values = append(values, rapid.Int64().AsAny(), rapid.Float64().AsAny(), rapid.SliceOf(rapid.Byte()).AsAny(),
				rapid.Just[any](math.Inf(1)),
				rapid.SampledFrom([]string{"true", "FALSE", "[]", `{"a": [1, "x"]}`, "{", "1e400", "\x00",
					"\xff'\"\\"}).AsAny())
		}
		r[i] = rapid.OneOf(values...).Draw(t, columns[i].Name)
	}
	return r
}

func drawRows(t *rapid.T, anything bool) catalog.Rows {
	r := catalog.Rows{Workflow: drawRow(t, catalog.WorkflowColumns(), anything)}
	for range rapid.IntRange(0, 4).Draw(t, "nodes") {
		r.Nodes = append(r.Nodes, drawRow(t, catalog.NodeColumns(), anything))
	}
	for range rapid.IntRange(0, 4).Draw(t, "edges") {
		r.Edges = append(r.Edges, drawRow(t, catalog.EdgeColumns(), anything))
	}
	return r
}

// TestDocument_AnyRows checks that any table content becomes a JSON document with one row per
// line, and that every location in it maps to a row (SEC7).
func TestDocument_AnyRows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		rows := drawRows(rt, true)
		text, lines := rows.Document()
		if !json.Valid(text) {
			rt.Fatalf("no JSON:\n%s", text)
		}
		root, problems := source.Parse(lines.File(), text)
		if root == nil {
			rt.Fatalf("%v", problems)
		}
		for key, want := range map[string][]catalog.Row{"nodes": rows.Nodes, "edges": rows.Edges} {
			items := root.Get(key).Items
			if len(items) != len(want) {
				rt.Fatalf("%d %s, want %d", len(items), key, len(want))
			}
			for i, item := range items {
				for _, e := range item.Entries {
					at := lines.Locate(diag.List{{Span: e.Value.Span, Path: e.Value.Path()}})[0].Span
					table := "agent_workflow_" + key + "/"
					if !strings.HasPrefix(at.File, table) || at.Start.IsKnown() {
						rt.Fatalf("%s %d stands at %s", key, i, at)
					}
					if id := want[i].ID(); id != "" && !strings.HasPrefix(at.File, table+id+".") {
						rt.Fatalf("%s %q stands at %s", key, id, at)
					}
				}
			}
		}
		elsewhere := diag.Span{File: "agents/x"}
		if got := lines.Locate(diag.List{{Span: elsewhere}})[0].Span; got != elsewhere {
			rt.Fatalf("another file became %s", got)
		}
	})
}

// TestDocumentRoundTrip checks that rows of strings equal the rows of their document.
func TestDocumentRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		rows := drawRows(rt, false).Normal()
		rows.Workflow[3], rows.Workflow[7], rows.Workflow[8], rows.Workflow[9] = int64(1), int64(3), nil, `[{"id":"a"}]`
		id := rows.Workflow.ID()
		for _, list := range [][]catalog.Row{rows.Nodes, rows.Edges} {
			for _, r := range list {
				r[1] = id
			}
		}
		for _, e := range rows.Edges {
			if e[0] == "" {
				e[0] = nil
			}
		}
		text, _ := rows.Document()
		got := catalog.FromDocument(parse(rt, text), id)
		if !got.Equal(rows) {
			again, _ := got.Document()
			rt.Fatalf("(-first +second):\n%s", cmp.Diff(string(text), string(again)))
		}
	})
}

func TestLocate(t *testing.T) {
	t.Parallel()
	rows := catalog.Rows{
		Workflow: catalog.Row{"w", nil, nil, nil, "n", nil, nil, nil, nil, nil},
		Nodes:    []catalog.Row{{"n", "w", "AGENT", nil, "a", nil}},
		Edges:    []catalog.Row{{"e", "w", "n", nil, "ALWAYS", nil}, {nil, "w", "n", nil, "ALWAYS", nil}},
	}
	text, lines := rows.Document()
	root, _ := source.Parse(lines.File(), text)
	for path, want := range map[string]*source.Node{
		"agent_workflows/w.entrypointNodeId":   root.Get("entrypointNodeId"),
		"agent_workflows/w":                    root,
		"agent_workflow_nodes/n.agentId":       root.Get("nodes").Items[0].Get("agentId"),
		"agent_workflow_nodes/n":               root.Get("nodes").Items[0],
		"agent_workflow_edges/e.conditionType": root.Get("edges").Items[0].Get("conditionType"),
		"agent_workflow_edges/#2.targetNodeId": root.Get("edges").Items[1].Get("targetNodeId"),
	} {
		list := diag.List{{Span: want.Span, Path: want.Path(), Related: []diag.Related{{Span: want.Span}}}}
		got := lines.Locate(list)[0]
		if got.Span.String() != path {
			t.Errorf("got %s, want %s", got.Span, path)
		}
		if row, _, _ := strings.Cut(path, "."); got.Related[0].Span.String() != row {
			t.Errorf("related: got %s, want %s", got.Related[0].Span, row)
		}
		if list[0].Span != want.Span || list[0].Related[0].Span != want.Span {
			t.Error("the list that was given is another one now")
		}
	}
}
