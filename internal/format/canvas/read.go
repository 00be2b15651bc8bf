package canvas

import (
	"encoding/json"
	"fmt"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/inputs"
	"github.com/hocket-run/hocket/internal/format/nodes"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// Keys that editors write for themselves; they have no effect on the run.
var (
	rootExtras = []string{"$schema", "version", "viewport", "zoom", "pan", "offset", "metadata", "createdAt",
		"updatedAt"}
	nodeExtras = []string{
		"x", "y", "width", "height", "position", "positionAbsolute", "selected", "dragging", "resizing", "zIndex",
		"style", "className", "measured",
		"draggable", "selectable", "connectable", "deletable", "sourcePosition", "targetPosition",
	}
	dataExtras = []string{"label", "title", "description", "collapsed", "expanded", "color", "icon", "width",
		"height", "selected"}
	connectionExtras = []string{"type", "animated", "selected", "style", "className", "markerStart", "markerEnd",
		"zIndex", "data"}
)

func (r *reader) document(root *source.Node) {
	if root == nil {
		r.doc = nodes.ReadDocument(nil, &r.diags)
		return
	}
	var f *source.Fields
	if root.Kind == source.Map {
		f = root.Fields(&r.diags)
	}
	list, ok1 := r.list(root, f, "nodes")
	connections, ok2 := r.list(root, f, "connections")
	r.id, r.name, r.description = f.Text("id"), f.Text("name"), f.Text("description")
	r.labels = inputs.Labels(f.Get("labels"), &r.diags)
	r.concurrency = inputs.Concurrency(f.Get("concurrency"), &r.diags)
	r.doc, r.shared = nodes.ReadDocument(f, &r.diags), nodes.ReadShared(f, &r.diags)
	r.scheduled(f)
	f.Unknown(diag.Warning, rootExtras...)
	for _, item := range list {
		r.node(item)
	}
	if ok1 {
		r.starts(root.Get("nodes"))
	}
	if !ok1 || !ok2 {
		return
	}
	for _, item := range connections {
		r.connection(item)
	}
	r.subagents()
	r.joins()
	r.notes()
}

// list returns a list of the document; a document without its two lists is not a canvas document
// (S0-1).
func (r *reader) list(root *source.Node, f *source.Fields, key string) ([]*source.Node, bool) {
	n := f.Get(key)
	if n != nil && n.Kind == source.List {
		return n.Items, true
	}
	at, path, hint := root, "", fmt.Sprintf("%q is missing; it must be a list", key)
	switch {
	case root.Kind != source.Map:
		hint = fmt.Sprintf("a canvas document is a map with the lists \"nodes\" and \"connections\", not %s", root.Kind)
		if key != "nodes" {
			return nil, false // reported once
		}
	case n != nil:
		at, path = n, n.Path()
		hint = fmt.Sprintf("%q must be a list, not %s", key, n.Kind)
	}
	span := diag.Span{File: at.Span.File, Start: at.Span.Start}
	r.diags.Errorf(span, path, codeInvalidGraph, "Invalid workflow graph payload").Hint = hint
	return nil, false
}

// starts checks that there is one start node (S0-3).
func (r *reader) starts(list *source.Node) {
	var first *node
	for _, n := range r.order {
		if n.kind != typeStart {
			continue
		}
		if first == nil {
			first = n
			continue
		}
		d := r.diags.Errorf(n.at.Span, n.at.Path(), codeManyStarts,
			"a workflow has exactly one start node; %q is another one after %q", n.id, first.id)
		d.Related = []diag.Related{{Span: first.at.Span, Message: "the first start node"}}
	}
	if first == nil && !r.unclear {
		span := diag.Span{File: list.Span.File, Start: list.Span.Start}
		r.diags.Errorf(span, list.Path(), codeNoStart,
			"No start node found in workflow graph").Hint = `add a node of type "start"`
	}
}

// workflow builds the graph from what was read.
func (r *reader) workflow(root *source.Node) *workflow.Workflow {
	w := &workflow.Workflow{
		ID: r.id, Name: r.name, Description: r.description, Format: Format, Labels: r.labels, Schedules: r.schedules,
		Concurrency: r.concurrency,
		Nodes:       []workflow.Node{}, Edges: []workflow.Edge{},
		Rules: workflow.Rules{OnFailure: workflow.FailDrain, HoldWhilePaused: true,
			DefaultInput: json.RawMessage(`""`)},
		Source: workflow.Source{Nodes: map[string]diag.Span{}, Agents: map[string]diag.Span{}},
	}
	if root != nil {
		w.Source.File = root.Span.File
	}
	for _, n := range r.order {
		if n.agent != nil {
			w.Agents = append(w.Agents, *n.agent)
			w.Source.Agents[n.id] = n.at.Span
		}
		if n.kind == typeStart && w.Entry == "" {
			w.Entry = n.id
			w.Rules.DefaultInput = n.input
		}
		if n.parent == "" && n.def.Kind != "" {
			w.Nodes = append(w.Nodes, n.def)
			w.Source.Nodes[n.id] = n.at.Span
			r.texts = append(r.texts, n.texts...)
		}
	}
	for _, l := range r.links {
		w.Edges = append(w.Edges, l.edge)
		w.Source.Edges = append(w.Source.Edges, l.at.Span)
	}
	r.addJoins(w)
	r.extend(w)
	return w
}

// extend adds the extensions of the document.
func (r *reader) extend(w *workflow.Workflow) {
	r.doc.Into(w)
	r.shared.Into(w)
	if start := r.nodes[w.Entry]; start != nil && r.doc.HasInputs() && string(start.input) != `""` {
		e := start.at.Get("data").Entry("initialInput")
		r.diags.Warnf(e.KeySpan, e.Value.Path(), codeNoEffect,
			"initialInput has no effect in a document with inputs").Hint = "give the inputs defaults"
	}
	nodes.Settle(w, false, func(id string) *source.Node { return r.nodes[id].at.Get("data") }, &r.diags)
	r.doc.Check(w, r.texts, r.unclear, &r.diags)
}
