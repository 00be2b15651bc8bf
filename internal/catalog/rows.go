package catalog

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hocket-run/hocket/internal/format/source"
)

// Row is a row indexed by column position. A value is nil (NULL), a string, an int64 or a float64,
// or whatever else other programs wrote. Rows created by this package contain only nil, string and
// int64.
type Row []any

// Text returns a column as a string, or "" for NULL.
func (r Row) Text(i int) string {
	s, _ := plain(r[i]).(string)
	return s
}

// ID returns the first column.
func (r Row) ID() string { return r.Text(0) }

// Rows are the table rows of one routes workflow. Nodes and Edges are in document order.
type Rows struct {
	Workflow Row
	Nodes    []Row
	Edges    []Row
}

// Equal reports whether r and o yield the same document.
func (r Rows) Equal(o Rows) bool {
	a, _ := r.Document()
	b, _ := o.Document()
	return bytes.Equal(a, b)
}

// kind is the form of a column in a document.
type kind int

const (
	text    kind = iota
	number       // an integer
	flag         // 0 or 1
	raw          // JSON
	members      // a JSON object whose members appear next to the other columns
)

// Column is a column of a table, named as its key in documents; they may also spell the key in
// snake_case (S3-1).
type Column struct {
	Name     string
	snake    string
	kind     kind
	keepNull bool // NULL is written as null: the key must be present
}

// IsNumber reports whether the column holds integers; other columns hold text.
func (c Column) IsNumber() bool { return c.kind == number || c.kind == flag }

// WorkflowColumns returns the columns of agent_workflows.
func WorkflowColumns() []Column {
	return []Column{
		{"id", "id", text, true}, {"name", "name", text, false}, {"description", "description", text, false},
		{"isConversational", "is_conversational", flag, false}, {"entrypointNodeId", "entrypoint_node_id", text, true},
		{"routing", "routing", text, false}, {"humanHandoff", "human_handoff", text, false},
		{"maxSteps", "max_steps", number, false}, {"timeoutMs", "timeout_ms", number, false},
		{"agents", "agents", raw, false},
	}
}

// NodeColumns returns the columns of agent_workflow_nodes.
func NodeColumns() []Column {
	return []Column{
		{"id", "id", text, true}, {"workflowId", "workflow_id", text, true}, {"nodeType", "node_type", text, true},
		{"nodeName", "node_name", text, false}, {"agentId", "agent_id", text, true}, {"prompt", "prompt", text, false},
	}
}

// EdgeColumns returns the columns of agent_workflow_edges.
func EdgeColumns() []Column {
	return []Column{
		{"id", "id", text, false}, {"workflowId", "workflow_id", text, true},
		{"sourceNodeId", "source_node_id", text, true},
		{"targetNodeId", "target_node_id", text, true}, {"conditionType", "condition_type", text, true},
		{"conditionValue", "condition_value", text, true},
	}
}

// ownerColumn is the position of workflowId in nodes and edges.
const ownerColumn = 1

// FromDocument returns the rows of a routes document that was read without errors, with id as the
// workflow's id. root is the document's tree.
func FromDocument(root *source.Node, id string) Rows {
	maps := []*source.Node{root}
	if w := root.Get("workflow"); w != nil {
		maps = []*source.Node{w, root}
	}
	rows := Rows{Workflow: columnsOf(WorkflowColumns(), maps...)}
	rows.Workflow[0] = id
	list := func(key string, columns []Column) (out []Row) {
		n := find(key, "", maps...)
		if n == nil {
			return nil
		}
		for _, item := range n.Items {
			r := columnsOf(columns, item)
			r[ownerColumn] = id
			out = append(out, r)
		}
		return out
	}
	rows.Nodes, rows.Edges = list("nodes", NodeColumns()), list("edges", EdgeColumns())
	for _, e := range rows.Edges {
		if e[0] == "" {
			e[0] = nil // several edges may have no id
		}
	}
	return rows
}

// find returns the value of a key, in either spelling, from the first map that has it.
func find(key, snake string, maps ...*source.Node) *source.Node {
	for _, m := range maps {
		for _, k := range []string{key, snake} {
			if n := m.Get(k); n != nil {
				return n
			}
		}
	}
	return nil
}

func columnsOf(columns []Column, maps ...*source.Node) Row {
	r := make(Row, len(columns))
	for i, c := range columns {
		n := find(c.Name, c.snake, maps...)
		switch {
		case n.IsNull():
		case c.kind == raw:
			r[i] = string(n.JSON())
		case c.kind == flag:
			r[i] = int64(0)
			if on, _ := n.Bool(); on {
				r[i] = int64(1)
			}
		case c.kind == number:
			if v, ok := n.Int(); ok {
				r[i] = v
			} else if v, ok := n.Float(); ok {
				r[i] = int64(v)
			}
		default:
			r[i] = n.Text
		}
	}
	return r
}

// plain converts a column value to nil, int64, float64 or string.
func plain(v any) any {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return v
}

// Document returns the rows as a routes document in JSON, with each row of nodes and edges on a
// separate line, for [Lines.Locate]. Values that other programs wrote are kept as they are, whether
// or not the document can run.
func (r Rows) Document() ([]byte, Lines) {
	var b bytes.Buffer
	b.WriteString("{\n")
	fields(&b, WorkflowColumns(), r.Workflow, "  ", ",\n")
	at := Lines{id: r.Workflow.ID(), tables: []lines{
		{name: "agent_workflow_nodes", columns: NodeColumns(), rows: r.Nodes},
		{name: "agent_workflow_edges", columns: EdgeColumns(), rows: r.Edges},
	}}
	for i, key := range []string{"nodes", "edges"} {
		l := &at.tables[i]
		b.WriteString("  \"" + key + "\": [")
		l.first = bytes.Count(b.Bytes(), []byte("\n")) + 2
		for j, row := range l.rows {
			if j > 0 {
				b.WriteByte(',')
			}
			b.WriteString("\n    {")
			fields(&b, l.columns, row, "", ", ")
			b.Truncate(b.Len() - len(", "))
			b.WriteByte('}')
		}
		if len(l.rows) > 0 {
			b.WriteString("\n  ")
		}
		b.WriteByte(']')
		if i == 0 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString("}\n")
	return b.Bytes(), at
}

// fields writes `"key": value` for each column, with indent before and end after it.
func fields(b *bytes.Buffer, columns []Column, r Row, indent, end string) {
	for i, c := range columns {
		v := plain(r[i])
		if v == nil && !c.keepNull {
			continue
		}
		if s, isText := v.(string); c.kind == members && isText {
			if list, ok := objectOf(s); ok {
				for _, m := range list {
					if !slices.Contains(ownKeys, m.key) {
						b.WriteString(indent)
						b.Write(encode(m.key))
						b.WriteString(": ")
						_ = json.Compact(b, m.value) // it is valid JSON
						b.WriteString(end)
					}
				}
				continue
			}
		}
		b.WriteString(indent)
		b.Write(encode(c.Name))
		b.WriteString(": ")
		b.Write(value(c, v))
		b.WriteString(end)
	}
}

// value returns a column as JSON, with the type that its key has in documents if the column's value
// can be converted to it.
func value(c Column, v any) []byte {
	switch s, isText := v.(string); {
	case c.kind == flag && (v == int64(0) || isText && strings.EqualFold(s, "false")):
		return []byte("false")
	case c.kind == flag && (v == int64(1) || isText && strings.EqualFold(s, "true")):
		return []byte("true")
	case c.kind == raw && isText && json.Valid([]byte(s)):
		var b bytes.Buffer
		_ = json.Compact(&b, []byte(s)) // it is valid JSON
		return b.Bytes()
	case c.kind == text && v != nil && !isText:
		v = strings.Trim(string(encode(v)), `"`) // a number without quotes
	}
	return encode(v)
}

// encode returns nil, a string or a number as JSON; a number without a JSON form, such as infinity,
// becomes a string with its name.
func encode(v any) []byte {
	if f, ok := v.(float64); ok {
		if s := strconv.FormatFloat(f, 'g', -1, 64); !json.Valid([]byte(s)) {
			v = s
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return []byte("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Normal returns the rows in the form in which stores keep them.
func (r Rows) Normal() Rows {
	all := func(rows []Row) (out []Row) {
		for _, row := range rows {
			out = append(out, row.Normal())
		}
		return out
	}
	return Rows{r.Workflow.Normal(), all(r.Nodes), all(r.Edges)}
}

// Normal returns the row in the form in which stores keep it: strings are valid UTF-8, so that they
// are read back as they were written.
func (r Row) Normal() Row {
	out := slices.Clone(r)
	for i, v := range out {
		if s, ok := v.(string); ok && !utf8.ValidString(s) {
			out[i] = strings.ToValidUTF8(s, "\ufffd")
		}
	}
	return out
}
