package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/workflow"
)

// AgentColumns returns the columns of agents.
func AgentColumns() []Column {
	return []Column{
		{"id", "id", text, true}, {"name", "name", text, false}, {"description", "description", text, false},
		{"systemPrompt", "system_prompt", text, false}, {"model", "model", text, false}, {"tools", "tools", raw, false},
		{"definition", "definition", members, false},
	}
}

// definitionColumn is the position of definition in agents.
const definitionColumn = 6

// ownKeys are the keys of agents that have their own columns, in every spelling. They are ignored
// in a definition: the columns take precedence.
var ownKeys = []string{"id", "name", "description", "systemPrompt", "system_prompt", "instruction", "model", "tools"}

// FromAgent returns the row of an agent that was read from a list of agents. definition is a JSON
// object of the keys that have no column. Empty values become NULL.
func FromAgent(a workflow.Agent, definition []byte) Row {
	r := Row{a.ID, a.Name, a.Description, a.System, a.Model, nil, nil}
	for i, v := range r {
		if v == "" && i > 0 {
			r[i] = nil
		}
	}
	if len(a.Tools) > 0 {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(a.Tools) //nolint:errchkjson // texts into a Buffer: neither can fail
		r[5] = string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
	}
	if list, _ := objectOf(string(definition)); len(list) > 0 {
		r[definitionColumn] = string(definition)
	}
	return r
}

// member is a key of a JSON object and its value.
type member struct {
	key   string
	value json.RawMessage
}

// objectOf returns the members of a JSON object in order, or false if the text is not an object.
func objectOf(text string) (out []member, ok bool) {
	if !json.Valid([]byte(text)) {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, false
		}
		m := member{}
		m.key, _ = t.(string)
		if err := d.Decode(&m.value); err != nil {
			return nil, false
		}
		out = append(out, m)
	}
	return out, true
}

// CheckAgent returns the problem of a row whose definition is not a JSON object, and no problem for
// any other row.
func CheckAgent(r Row) diag.List {
	v := plain(r[definitionColumn])
	s, isText := v.(string)
	if _, ok := objectOf(s); v == nil || isText && ok {
		return nil
	}
	var out diag.List
	d := out.Errorf(diag.Span{File: AgentsFile + "/" + r.ID() + ".definition"}, "", CodeBadDefinition,
		"the definition is not a JSON object")
	d.Hint = `write the keys that have no column, such as {"maxIterations": 5}, or NULL`
	return out
}

// CodeBadDefinition is the code for a definition that is not a JSON object.
const CodeBadDefinition = "bad-definition"

// AgentJSON returns an agent as an item of the list that `agents apply` accepts; name, description
// and model are always present.
func AgentJSON(r Row) json.RawMessage {
	r = slices.Clone(r)
	for _, i := range []int{1, 2, 4} {
		if r[i] == nil {
			r[i] = ""
		}
	}
	var b bytes.Buffer
	b.WriteByte('{')
	fields(&b, AgentColumns(), r, "", ",")
	b.Truncate(b.Len() - len(","))
	b.WriteByte('}')
	return b.Bytes()
}

// AgentsFile is the file name of the document that AgentsDocument returns.
const AgentsFile = "agents"

// AgentsDocument returns agents as the document that `agents apply` accepts.
func AgentsDocument(rows []Row) []byte {
	var b bytes.Buffer
	b.WriteString("{\n  \"agents\": [")
	for i, r := range rows {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n    {\n")
		fields(&b, AgentColumns(), r, "      ", ",\n")
		b.Truncate(b.Len() - len(",\n"))
		b.WriteString("\n    }")
	}
	if len(rows) > 0 {
		b.WriteString("\n  ")
	}
	b.WriteString("]\n}\n")
	return b.Bytes()
}

var agentPath = regexp.MustCompile(`^agents\[(\d+)\](\.[^.\[]*)?`)

// LocateAgents converts problems of the document that AgentsDocument returns to problems of rows,
// in the file `agents/ID` or `agents/ID.column`, without lines.
func LocateAgents(rows []Row, list diag.List) diag.List {
	out := make(diag.List, len(list))
	for i, d := range list {
		if d.Span.File == AgentsFile {
			d.Span = diag.Span{File: AgentsFile}
			if m := agentPath.FindStringSubmatch(d.Path); m != nil {
				if n, err := strconv.Atoi(m[1]); err == nil && n < len(rows) {
					row := AgentsFile + "/" + rows[n].ID()
					d.Span = at(row, AgentColumns(), m[2])
					if m[2] != "" && d.Span.File == row {
						d.Span.File += ".definition" // the key has no column
					}
					if m[2] == ".tools" && d.Hint == "" {
						d.Hint = `write a JSON list such as ["search"]`
					}
				}
			}
		}
		out[i] = d
	}
	return out
}

// AgentOf returns the row of an item of AgentsDocument; converting the row back yields the same
// item. It returns an error if the text is not a JSON object.
func AgentOf(item json.RawMessage) (Row, error) {
	list, ok := objectOf(string(item))
	if !ok {
		return nil, errors.New("an agent is not a JSON object")
	}
	columns := AgentColumns()
	r := make(Row, len(columns))
	var rest [][]byte
	for _, m := range list {
		i := slices.IndexFunc(columns[:definitionColumn], func(c Column) bool { return c.Name == m.key })
		switch {
		case i < 0:
			rest = append(rest, slices.Concat(encode(m.key), []byte(":"), m.value))
		case columns[i].kind == raw:
			r[i] = string(m.value)
		default:
			if err := json.Unmarshal(m.value, &r[i]); err != nil {
				return nil, fmt.Errorf("read agent: %w", err)
			}
		}
	}
	if len(rest) > 0 {
		r[definitionColumn] = "{" + string(bytes.Join(rest, []byte(","))) + "}"
	}
	return r, nil
}
