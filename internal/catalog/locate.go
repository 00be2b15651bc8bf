package catalog

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/diag"
)

// Lines tell which row stands where in a document that [Rows.Document] gave.
type Lines struct {
	id     string
	tables []lines
}

// lines are the rows of one table, one line each.
type lines struct {
	name    string
	columns []Column
	first   int // the line of the first row
	rows    []Row
}

// File is the name of the document: `agent_workflows/ID`.
func (l Lines) File() string { return "agent_workflows/" + l.id }

// Locate gives problems of the document as those of rows: the file is `agent_workflow_nodes/ID` or `agent_workflow_edges/ID`, the n-th edge `#n` where it
// has no id, and `agent_workflows/ID` for all else, followed by `.column` where one column is meant. There are no lines then. Problems of other files stay
// as they are.
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

// at names a row, and the column that the last key of path is.
func at(row string, columns []Column, path string) diag.Span {
	key := path[strings.LastIndexByte(path, '.')+1:]
	for _, c := range columns {
		if c.Key == key {
			return diag.Span{File: row + "." + c.Name}
		}
	}
	return diag.Span{File: row}
}
