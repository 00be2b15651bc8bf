package catalog

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/workflow"
)

// AgentColumns are those of agents.
func AgentColumns() []Column {
	return []Column{
		{"id", "id", text, true}, {"name", "name", text, false}, {"description", "description", text, false},
		{"system_prompt", "systemPrompt", text, false}, {"model", "model", text, false}, {"tools", "tools", raw, false},
	}
}

// FromAgent gives the row of an agent that was read from a list of agents. What is empty is NULL.
func FromAgent(a workflow.Agent) Row {
	r := Row{a.ID, a.Name, a.Description, a.System, a.Model, nil}
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
	return r
}

// AgentsFile is the name of the document of AgentsDocument.
const AgentsFile = "agents"

// AgentsDocument gives agents as the document that `agents apply` takes.
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

// LocateAgents gives problems of the document of AgentsDocument as those of rows, in the file `agents/ID`, or `agents/ID.column`,
// without lines.
func LocateAgents(rows []Row, list diag.List) diag.List {
	out := make(diag.List, len(list))
	for i, d := range list {
		if d.Span.File == AgentsFile {
			d.Span = diag.Span{File: AgentsFile}
			if m := agentPath.FindStringSubmatch(d.Path); m != nil {
				if n, err := strconv.Atoi(m[1]); err == nil && n < len(rows) {
					d.Span = at(AgentsFile+"/"+rows[n].ID(), AgentColumns(), m[2])
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
