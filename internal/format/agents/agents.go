// Package agents reads lists of agents: the file of `--agents`, the body of `agents apply`, and the
// key `agents` inside documents that refer to their agents by id.
//
// It does not know any workflow format, does not look up agents, and does not know which models and
// tools exist.
//
// The form is `{"agents": [{"id", "name", "systemPrompt", "model", "tools": ["name", …]}]}`, JSON
// or YAML, plus all keys of [Keys]. Only the id is required. A system prompt is sent as written:
// the format that uses an agent determines whether it is a template.
package agents

import (
	"slices"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// Codes of this package's diagnostics.
const (
	CodeDuplicate = "duplicate-agent"
	CodeNoAgents  = "no-agents"
)

// Read reads the file of `--agents`; the list may stand alone, as printed by `agents list --json`.
// Everything that could be read is returned even if the list contains errors; an agent without an
// id is left out.
func Read(file string, data []byte) ([]workflow.Agent, diag.List) {
	root, diags := source.Parse(file, data)
	if root == nil {
		return nil, diags
	}
	if root.Kind == source.List {
		out := List(root, &diags)
		diags.Sort()
		return out, diags
	}
	f := root.Fields(&diags)
	if f == nil {
		diags[len(diags)-1].Hint = `the form is {"agents": [{"id": "…", "name": "…", "systemPrompt": "…", "model": ` +
			`"…", "tools": ["…"]}]}`
		return nil, diags
	}
	var out []workflow.Agent
	if n := f.Require("agents"); n != nil {
		out = List(n, &diags)
		if len(out) == 0 && !diags.HasFaults() {
			diags.Warnf(n.Span, n.Path(), CodeNoAgents, "the list of agents is empty")
		}
	}
	f.Unknown(diag.Warning)
	diags.Sort()
	return out, diags
}

// List reads the value of a key `agents`. Problems are added to diags.
func List(n *source.Node, diags *diag.List) []workflow.Agent {
	if n.IsNull() {
		return nil
	}
	if n.Kind != source.List {
		d := diags.Errorf(n.Span, n.Path(), source.CodeWrongType, "agents must be a list, found %s", n.Kind)
		d.Hint = "write one map with an id for each agent"
		return nil
	}
	var out []workflow.Agent
	first := map[string]diag.Span{}
	for _, item := range n.Items {
		a, at, ok := read(item, diags)
		if !ok {
			continue
		}
		if span, twice := first[a.ID]; twice {
			d := diags.Errorf(at, item.Path()+".id", CodeDuplicate, "agent id %q is used twice", a.ID)
			source.Twice(d, span, "agent with this id")
			d.Hint = "give one of them another id"
			continue
		}
		first[a.ID] = at
		out = append(out, a)
	}
	return slices.Clip(out)
}

// read reads one agent and returns the position of its id; false means that it has none.
func read(item *source.Node, diags *diag.List) (workflow.Agent, diag.Span, bool) {
	f := item.Fields(diags)
	if f == nil {
		return workflow.Agent{}, diag.Span{}, false
	}
	prompt := view{f: f}.key("systemPrompt", "system_prompt", "instruction")
	a := workflow.Agent{Name: f.Str("name"), System: f.Str(prompt), Model: f.Str("model"), Tools: f.Strs("tools")}
	id := f.Require("id")
	if id != nil {
		a.ID = f.Text("id")
		if a.ID == "" && id.IsScalar() {
			diags.Errorf(id.Span, id.Path(), source.CodeMissingKey, "the id of an agent is empty")
		}
	}
	Common(f, diags, &a)
	view{f, diags, a.ID}.subagents(&a)
	f.Unknown(diag.Warning, Names(true, true)...)
	if a.ID == "" {
		return a, item.Span, false
	}
	return a, id.Span, true
}
