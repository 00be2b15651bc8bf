package routes

import (
	"math"
	"slices"
	"time"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/agents"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// Columns that database tables add; they have no effect on the run.
var (
	rootExtras = []string{"$schema", "version", "metadata", "createdAt", "updatedAt", "created_at", "updated_at"}
	rowExtras  = []string{"description", "metadata", "position", "createdAt", "updatedAt", "created_at", "updated_at"}
)

// reader reads one document.
type reader struct {
	opts  Options
	diags diag.List

	id, name, description string
	owner                 string // the workflow that rows belong to, once known
	conversational        bool
	routing               string // "" is the default
	limits                workflow.Limits
	entry                 string
	handoff               string // id of a node

	entryAt, handoffAt *source.Node // where the document names them
	order              []*node
	nodes              map[string]*node // by id
	names              map[string]*node // by name, the first with that name
	edges              []*edge
	edgeIDs            map[string]*source.Node
	agents             []workflow.Agent // of the document, followed by those that its nodes name
	agentAt            map[string]diag.Span
	unclear            bool // a node has no id, so names may refer to it
	hints              int
}

// maxHints is the maximum number of names that are compared with all others, which is slow in a
// document that is wrong throughout.
const maxHints = 50

// similar returns a hint with the name that was probably meant, or "" if there is none.
func (r *reader) similar(name string, names []string) string {
	if r.hints++; r.hints > maxHints {
		return ""
	}
	return diag.DidYouMean(name, names)
}

func (r *reader) document(root *source.Node) {
	if root == nil {
		return
	}
	outer := root.Fields(&r.diags)
	doc := newRow(&r.diags, outer)
	if w := root.Get("workflow"); w != nil {
		outer.Get("workflow")
		doc.maps = []*source.Fields{w.Fields(&r.diags), outer}
	}
	r.id, r.name, r.description = doc.text("id"), doc.text("name"), doc.str("description")
	r.owner = r.id
	if f, as := doc.at("isConversational"); f != nil {
		r.conversational, _ = f.Bool(as)
	}
	if n := doc.get("routing"); !n.IsNull() {
		r.routing = r.word(doc, "routing", codeBadValue, "routing", routings)
	}
	r.readLimits(doc)
	if n := doc.get("agents"); n != nil {
		r.agents = agents.List(n, &r.diags)
		for _, item := range n.Items {
			if id := item.Get("id"); id != nil && r.agentAt[id.Text] == (diag.Span{}) {
				r.agentAt[id.Text] = item.Span
			}
		}
	}
	nodes, known := r.list(doc, "nodes", true)
	for _, item := range nodes {
		r.node(item)
	}
	edges, _ := r.list(doc, "edges", false)
	for _, item := range edges {
		r.edge(item)
	}
	r.entryAt, r.handoffAt = doc.get("entrypointNodeId"), doc.get("humanHandoff")
	r.unclear = r.unclear || !known
	r.entrypoint(doc)
	r.findHandoff(doc)
	doc.unknown(rootExtras...)
}

// list returns the items of a list of the document, or false if it is missing or not a list, which
// it reports.
func (r *reader) list(doc row, key string, required bool) ([]*source.Node, bool) {
	f, as := doc.at(key)
	if f != nil && !f.Get(as).IsNull() {
		return f.List(as), f.Get(as).Kind == source.List
	}
	if required {
		doc.require(key)
	}
	return nil, !required
}

func (r *reader) readLimits(doc row) {
	steps := defaultSteps
	if n, v, ok := r.integer(doc, "maxSteps", math.MaxInt32); ok && n != nil {
		steps = int(v)
	}
	r.limits.MaxSteps = &steps
	timeout := int64(defaultTimeoutMs)
	if n, v, ok := r.integer(doc, "timeoutMs", math.MaxInt64/int64(time.Millisecond)); ok && n != nil {
		timeout = v
	}
	r.limits.Timeout = workflow.Duration(time.Duration(timeout) * time.Millisecond)
}

// integer reads a number from 0 to most.
func (r *reader) integer(doc row, key string, most int64) (*source.Node, int64, bool) {
	f, as := doc.at(key)
	n := f.Get(as)
	v, ok := f.Int(as)
	switch {
	case ok && v < 0:
		r.diags.Errorf(n.Span, n.Path(), codeBadValue, "%s must not be negative", key)
		return n, 0, false
	case ok && v > most:
		r.diags.Errorf(n.Span, n.Path(), codeBadValue, "%s is too large: at most %d", key, most)
		return n, 0, false
	}
	return n, v, ok
}

// belongs checks that a row belongs to this workflow (S3-20).
func (r *reader) belongs(x row) {
	n, id := x.get("workflowId"), x.text("workflowId")
	switch {
	case id == "" || id == r.owner:
	case r.owner == "":
		r.owner = id // the document has no id, so the first row determines it
	default:
		r.diags.Errorf(n.Span, n.Path(), codeForeignRow, "this row belongs to the workflow %q, not to %q", id, r.owner)
	}
}

// entrypoint finds the node at which the run starts (S3-18).
func (r *reader) entrypoint(doc row) {
	if r.entryAt.IsNull() || r.entryAt.IsScalar() && r.entryAt.Text == "" {
		at := doc.maps[0].Node()
		if at == nil {
			at = doc.maps[len(doc.maps)-1].Node()
		}
		if r.entryAt != nil {
			at = r.entryAt
		}
		if at != nil {
			span := diag.Span{File: at.Span.File, Start: at.Span.Start}
			r.diags.Errorf(span, at.Path(), codeNoEntry,
				"entrypointNodeId is missing").Hint = "set it to the id of the first node"
		}
		return
	}
	id := doc.text("entrypointNodeId")
	n := r.nodes[id]
	switch {
	case id == "":
	case n == nil && !r.unclear:
		d := r.diags.Errorf(r.entryAt.Span, r.entryAt.Path(), codeUnknownEntry, "entrypointNodeId %q is not a node", id)
		d.Hint = r.hintFor(id)
	case n == nil:
	case n.kind == typeExecutor:
		r.diags.Errorf(r.entryAt.Span, r.entryAt.Path(), codeBadEntry,
			"entrypointNodeId %q is a TOOL_EXECUTOR: a run cannot begin with the execution of tool calls", id)
	default:
		r.entry = id
	}
}

// hintFor returns a hint with the node that an id was probably meant for: the node with that name,
// or one with a similar id.
func (r *reader) hintFor(id string) string {
	if n := r.names[id]; n != nil {
		return "the node of that name has the id " + quoted(n.id)
	}
	ids := make([]string, len(r.order))
	for i, n := range r.order {
		ids[i] = n.id
	}
	return r.similar(id, ids)
}

// findHandoff finds the HUMAN node that a run is handed over to (S3-15).
func (r *reader) findHandoff(doc row) {
	wanted := doc.text("humanHandoff")
	if wanted == "" {
		for _, n := range r.order {
			switch {
			case n.name != handoffName:
			case n.kind == typeHuman:
				r.handoff = n.id
				return
			case n.kind != "":
				at := n.at
				d := r.diags.Warnf(at.Span, at.Path(), codeHandoff,
					"the node named %s is of type %s, so nothing is handed over to a person", handoffName, n.kind)
				d.Hint = "its nodeType must be " + typeHuman
			}
		}
		return
	}
	n := r.nodes[wanted]
	if n == nil {
		n = r.names[wanted]
	}
	switch {
	case n == nil && r.unclear:
	case n == nil:
		r.diags.Errorf(r.handoffAt.Span, r.handoffAt.Path(), codeHandoff, "humanHandoff %q is not a node",
			wanted).Hint = r.hintFor(wanted)
	case n.kind != typeHuman && n.kind != "":
		r.diags.Errorf(r.handoffAt.Span, r.handoffAt.Path(), codeHandoff, "humanHandoff %q is of type %s, not %s",
			wanted, n.kind, typeHuman)
	default:
		r.handoff = n.id
	}
}

// workflow builds the graph from what was read.
func (r *reader) workflow(root *source.Node) *workflow.Workflow {
	w := &workflow.Workflow{
		ID: r.owner, Name: r.name, Description: r.description, Format: Format, Entry: r.entry, Nodes: []workflow.Node{},
		Edges:  []workflow.Edge{},
		Agents: r.agents, Limits: r.limits,
		Rules: workflow.Rules{
			SharedConversation: true, Conversational: r.conversational, Handoff: r.handoff,
			StepLimitText: "step limit of {max} reached", // S3-13
		},
		Source: workflow.Source{Nodes: map[string]diag.Span{}, Agents: r.agentAt},
	}
	if root != nil {
		w.Source.File = root.Span.File
	}
	for _, n := range r.order {
		if n.def.Kind != "" {
			w.Nodes = append(w.Nodes, n.def)
			w.Source.Nodes[n.id] = n.at.Span
		}
	}
	end := endID
	for r.nodes[end] != nil {
		end += "_"
	}
	for _, e := range r.edges {
		if e.inert {
			continue
		}
		if e.def.To == "" {
			e.def.To = end
			if !slices.ContainsFunc(w.Nodes, func(n workflow.Node) bool { return n.ID == end }) {
				w.Nodes = append(w.Nodes, workflow.Node{ID: end, Kind: workflow.KindEnd, Hidden: true})
			}
		}
		w.Edges = append(w.Edges, e.def)
		w.Source.Edges = append(w.Source.Edges, e.at.Span)
	}
	return w
}
