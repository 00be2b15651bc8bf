package catalog

import (
	"strings"

	"github.com/hocket-run/hocket/diag"
)

// Lines tell which row stands where in a document that [Rows.Document] gave.
type Lines struct {
	id           string
	first        map[string]int // the line of the first row, by key
	nodes, edges []Row
}

// File is the name of the document: `agent_workflows/ID`.
func (l Lines) File() string { return "agent_workflows/" + l.id }

// Locate gives problems of the document as those of rows: the file is `agent_workflow_nodes/ID` or `agent_workflow_edges/ID`, the n-th edge `#n`
// where it has no id, and `agent_workflows/ID` for all else. There are no lines then; the path says which key. Problems of other files stay as they are.
func (l Lines) Locate(list diag.List) diag.List {
	out := make(diag.List, len(list))
	for i, d := range list {
		d.Span = l.locate(d.Span)
		related := make([]diag.Related, len(d.Related))
		for j, r := range d.Related {
			related[j] = diag.Related{Span: l.locate(r.Span), Message: r.Message}
		}
		if d.Related = related; len(related) == 0 {
			d.Related = nil
		}
		out[i] = d
	}
	return out
}

func (l Lines) locate(s diag.Span) diag.Span {
	if s.File != l.File() {
		return s
	}
	for _, t := range []struct {
		table, key string
		rows       []Row
	}{{"agent_workflow_edges", "edges", l.edges}, {"agent_workflow_nodes", "nodes", l.nodes}} {
		n := s.Start.Line - l.first[t.key]
		if n < 0 || n >= len(t.rows) {
			continue
		}
		id := t.rows[n].ID()
		if id == "" {
			id = "#" + strings.TrimSpace(string(encode(int64(n+1))))
		}
		return diag.Span{File: t.table + "/" + id}
	}
	return diag.Span{File: l.File()}
}
