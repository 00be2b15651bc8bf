package nodes

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/agents"
	"github.com/hocket-run/hocket/internal/format/inputs"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// Document is what a graph says of its inputs and its output.
type Document struct {
	// Expressions: prompts hold expressions, because the key inputs is there.
	Expressions bool

	given  []workflow.Input
	names  []string // of inputs, those with errors too
	output json.RawMessage
	schema json.RawMessage
	texts  *Texts
}

// ReadDocument reads the keys of [DocumentKeys]. f is the map of the document, or of a branch.
func ReadDocument(f *source.Fields, diags *diag.List) *Document {
	d := &Document{texts: &Texts{}}
	if n := f.Get("inputs"); !n.IsNull() {
		d.Expressions = true
		d.names = inputs.Names(n)
		d.given = inputs.Read(n, diags)
	}
	d.schema = inputs.Schema(f.Get("output_schema"), diags)
	if n := f.Get("output"); !n.IsNull() {
		d.output = n.JSON()
		d.texts.parts = append(d.texts.parts, stretch{n, asValue})
	}
	return d
}

// Into sets what was read.
func (d *Document) Into(w *workflow.Workflow) {
	w.Inputs, w.Output, w.OutputSchema = d.given, d.output, d.schema
}

// Inputs gives the inputs that were read.
func (d *Document) Inputs() []workflow.Input { return d.given }

// HasInputs tells whether the document has inputs, those with errors too.
func (d *Document) HasInputs() bool { return len(d.names) > 0 }

// Prompt gives the texts of the node id that are the prompt at, which may be nil, and tells whether it holds expressions.
func (d *Document) Prompt(id string, at *source.Node) (*Texts, bool) {
	t := &Texts{node: id}
	if at == nil || at.Kind != source.String || !HasExpressions(at.Text) {
		return t, false
	}
	read := asPlain
	if d.Expressions {
		read = asValue
	}
	t.parts = append(t.parts, stretch{at, read})
	return t, d.Expressions
}

// HasExpressions tells whether a text has more between double braces than the tokens of prompts, exactly as S0-11 spells them.
func HasExpressions(text string) bool {
	return strings.Contains(strings.NewReplacer("{{PREVIOUS_OUTPUT}}", "", "{{APPROVAL_NOTE}}", "").Replace(text), "{{")
}

// Shared is what a document says of the tools of its nodes.
type Shared struct {
	toolsets    []json.RawMessage
	permissions []workflow.Permissions
}

// ReadShared reads the keys of [SharedKeys].
func ReadShared(f *source.Fields, diags *diag.List) Shared {
	return Shared{agents.Toolsets(f, diags), agents.Permissions(f.Get("permissions"), diags)}
}

// Into sets what was read. Permissions hold for the calls of the agents as well.
func (s Shared) Into(w *workflow.Workflow) {
	for i := range w.Agents {
		w.Agents[i].Permissions = slices.Concat(s.permissions, w.Agents[i].Permissions)
	}
	w.Toolsets = s.toolsets
	if HasTools(w) {
		w.Permissions = s.permissions
	}
}

// HasTools tells whether nodes of w call tools.
func HasTools(w *workflow.Workflow) bool {
	return slices.ContainsFunc(w.Nodes, func(n workflow.Node) bool { return n.Tool != nil })
}

// Template gives the texts of the node id that are its agent's system prompt, which is a template (S4-15).
func Template(id string, at *source.Node) *Texts {
	return &Texts{node: id, parts: []stretch{{at, asTemplate}}}
}
