package catalog

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/diag"
)

// Lines maps the lines of a document returned by [Rows.Document] to rows.
type Lines struct {
	id     string
	tables []lines
}

// lines are the rows of one table, one per line.
type lines struct {
	name    string
	columns []Column
	first   int // the line of the first row
	rows    []Row
}

// File returns the name of the document: `agent_workflows/ID`.
func (l Lines) File() string { return "agent_workflows/" + l.id }

// Locate converts problems of the document to problems of rows: the file is
// `agent_workflow_nodes/ID` or `agent_workflow_edges/ID`, with `#n` for the n-th edge if it has no
// id, and `agent_workflows/ID` for everything else, followed by `.column` if the problem concerns
// one column. The results have no lines. Problems of other files are unchanged.
func (l Lines) Locate(list diag.List) diag.List {
	out := slices.Clone(list)
	for i := range out {
		d := &out[i]
		d.Span = l.locate(d.Span, d.Path)
		d.Related = slices.Clone(d.Related)
		for j := range d.Related {
			d.Related[j].Span = l.locate(d.Related[j].Span, "")
		}
	}
	return out
}

func (l Lines) locate(s diag.Span, path string) diag.Span {
	if s.File != l.File() {
		return s
	}
	for _, t := range l.tables {
		if n := s.Start.Line - t.first; n >= 0 && n < len(t.rows) {
			id := t.rows[n].ID()
			if id == "" {
				id = "#" + strconv.Itoa(n+1)
			}
			return at(t.name+"/"+id, t.columns, path)
		}
	}
	return at(l.File(), WorkflowColumns(), path)
}

// at returns a span that names a row, and the column for the last key of path if there is one.
func at(row string, columns []Column, path string) diag.Span {
	key := path[strings.LastIndexByte(path, '.')+1:]
	for _, c := range columns {
		if c.Name == key {
			return diag.Span{File: row + "." + c.Name}
		}
	}
	return diag.Span{File: row}
}
