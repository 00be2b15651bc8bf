package rounds

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/nodes"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// edge is an edge of the document.
type edge struct {
	at   *source.Node
	edge workflow.Edge
}

// title returns the name of an edge for messages.
func (e *edge) title() string {
	if e.edge.ID != "" {
		return fmt.Sprintf("the edge %q", e.edge.ID)
	}
	return fmt.Sprintf("the edge to %q", e.edge.To)
}

// edge adds an edge to the graph, unless the run can never follow it: such edges are left out with
// a warning.
func (g *graph) edge(item *source.Node) {
	r := g.r
	f := item.Fields(&r.diags)
	if f == nil {
		return
	}
	e := &edge{at: item, edge: workflow.Edge{ID: f.Text("id"), Label: f.Text("label")}}
	from, ok1 := g.end(f, "from", "source")
	to, ok2 := g.end(f, "to", "target")
	g.conditions(item, f)
	f.Unknown(diag.Warning, edgeExtras...)
	source.WarnTwice(g.edgeIDs, f.Get("id"), "edge", &r.diags)
	if !ok1 || !ok2 {
		return
	}
	e.edge.From, e.edge.To = from.Text, to.Text
	start := g.nodes[from.Text]
	g.hasEdge = g.hasEdge || start != nil
	if start != nil && start.id != to.Text {
		g.entered[to.Text] = true
	}
	switch {
	case start == nil && g.unclear, start != nil && g.nodes[to.Text] == nil && g.unclear:
		return // it may be a node that was not understood
	case start != nil && !g.port(e, start):
		return
	case start == nil:
		d := r.diags.Warnf(from.Span, from.Path(), codeMissingSource,
			"Edge source %q not found: the edge is never followed", from.Text)
		d.Hint = r.similar(from.Text, g.nodeIDs())
	case g.nodes[to.Text] == nil: // S1-5
		text := missingTarget(to.Text)
		d := r.diags.Warnf(to.Span, to.Path(), codeMissingTarget, "%s: the edge is never followed", text)
		d.Hint = r.similar(to.Text, g.nodeIDs())
		start.def.Notes = append(start.def.Notes, workflow.Note{Port: e.edge.Port, Text: text, Target: to.Text})
	case start.edgeOf(e.edge.Port) != nil: // S1-4
		by := ""
		if e.edge.Port != "" {
			by = " by the handle " + e.edge.Port
		}
		d := r.diags.Warnf(item.Span, item.Path(), codeFanOut,
			"only the first edge that leaves %q%s is followed: %s never is", start.id, by, e.title())
		d.Related = []diag.Related{{Span: start.edgeOf(e.edge.Port).at.Span, Message: "the first edge"}}
	default:
		start.out = append(start.out, e)
		g.edges = append(g.edges, e)
	}
}

// port sets the port of an edge from its handle; it returns false if the node has no such handle
// . The handle of an edge that leaves an agent is ignored.
func (g *graph) port(e *edge, from *node) bool {
	handles := nodes.Handles(&from.def)
	if handles == nil {
		return true
	}
	at := e.at.Get(keySourceHandle)
	handle := ""
	if !at.IsNull() {
		handle = at.Text
	}
	port, ok := nodes.Port(&from.def, handle)
	if e.edge.Port = port; ok {
		return true
	}
	if at.IsNull() {
		at = e.at
	}
	d := g.r.diags.Errorf(at.Span, at.Path(), codeUnknownHandle,
		"an edge from the %s node %q by the handle %q is never followed", nodes.Type(&from.def), from.id, handle)
	if d.Hint = g.r.similar(handle, handles); d.Hint == "" {
		d.Hint = "the handles are " + strings.Join(handles, ", ")
	}
	return false
}

func missingTarget(id string) string { return fmt.Sprintf("Edge target %q not found", id) }

// end reads one end of an edge by its name or by the alias that editors write (S1-1).
func (g *graph) end(f *source.Fields, key, alias string) (*source.Node, bool) {
	n, other := f.Get(key), f.Get(alias)
	switch {
	case n.IsNull() && other.IsNull():
		f.Require(key)
		return nil, false
	case n.IsNull():
		n, key = other, alias
	case !other.IsNull() && n.IsScalar() && other.IsScalar() && n.Text != other.Text:
		d := g.r.diags.Errorf(other.Span, other.Path(), codeTwoNames,
			"%q and %q are two names of one key, with the values %q and %q", key, alias, n.Text, other.Text)
		d.Hint = fmt.Sprintf("remove %q", alias)
	}
	if f.Text(key); !n.IsScalar() {
		return nil, false
	}
	if n.Text == "" {
		g.r.diags.Errorf(n.Span, n.Path(), source.CodeMissingKey, "%q must not be empty", key)
		return nil, false
	}
	return n, true
}

// conditions warns of conditions on edges: the reference document describes none, so they have no
// form that could be read (S1-4).
func (g *graph) conditions(item *source.Node, f *source.Fields) {
	warn := func(e *source.Entry) {
		d := g.r.diags.Warnf(e.KeySpan, e.Value.Path(), codeEdgeCondition,
			"conditions of edges are not read: the edge is followed as if there were no %q", e.Key)
		d.Hint = "use a canvas, routes or steps document for conditions"
	}
	for _, key := range []string{"condition", "conditions", "message_type", "content_contains"} {
		if e := item.Entry(key); e != nil {
			f.Get(key)
			warn(e)
		}
	}
	f.Get("data")
	for _, key := range []string{"condition", "conditions"} {
		if e := item.Get("data").Entry(key); e != nil {
			warn(e)
		}
	}
}

// nodeIDs returns the ids of the nodes, sorted.
func (g *graph) nodeIDs() []string {
	if g.ids == nil {
		g.ids = slices.Sorted(maps.Keys(g.nodes))
	}
	return g.ids
}
