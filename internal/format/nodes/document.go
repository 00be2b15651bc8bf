package nodes

import (
	"encoding/json"
	"slices"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/agents"
	"github.com/hocket-run/hocket/internal/format/inputs"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// Document is what a graph declares about its inputs and its output.
type Document struct {
	// Expressions reports that prompts have expressions, because the key inputs is present.
	Expressions bool

	given  []workflow.Input
	names  []string // of inputs, including those with errors
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

// Into stores in w what was read.
func (d *Document) Into(w *workflow.Workflow) {
	w.Inputs, w.Output, w.OutputSchema = d.given, d.output, d.schema
}

// Inputs returns the inputs that were read.
func (d *Document) Inputs() []workflow.Input { return d.given }

// HasInputs reports whether the document has inputs, including those with errors.
func (d *Document) HasInputs() bool { return len(d.names) > 0 }

// Prompt returns the texts of the node id for the prompt at, which may be nil, and reports whether
// it has expressions.
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

// Shared is what a document declares about the tools of its nodes.
type Shared struct {
	toolsets    []json.RawMessage
	permissions []workflow.Permissions
}

// ReadShared reads the keys of [SharedKeys].
func ReadShared(f *source.Fields, diags *diag.List) Shared {
	return Shared{agents.Toolsets(f, diags), agents.Permissions(f.Get("permissions"), diags)}
}

// Into stores in w what was read. Permissions apply to agents' calls as well.
func (s Shared) Into(w *workflow.Workflow) {
	for i := range w.Agents {
		w.Agents[i].Permissions = slices.Concat(s.permissions, w.Agents[i].Permissions)
	}
	w.Toolsets = s.toolsets
	if HasTools(w) {
		w.Permissions = s.permissions
	}
}

// HasTools reports whether nodes of w call tools.
func HasTools(w *workflow.Workflow) bool {
	return slices.ContainsFunc(w.Nodes, func(n workflow.Node) bool { return n.Tool != nil })
}

// Template returns the texts of the node id for its agent's system prompt, which is a template
// (S4-15).
func Template(id string, at *source.Node) *Texts {
	return &Texts{node: id, parts: []stretch{{at, asTemplate}}}
}
