package lost

import (
	"fmt"
	"slices"

	"github.com/hocket-run/hocket/workflow"
)

// String gives `node "x": the timeout of 30s`.
func (l Loss) String() string { return l.At + ": " + l.What }

// List is what a writer could not say, each thing once, in the order in which it was met.
type List []Loss

// Addf notes what is lost at a place.
func (l *List) Addf(at, format string, args ...any) {
	one := Loss{At: at, What: fmt.Sprintf(format, args...)}
	if !slices.Contains(*l, one) {
		*l = append(*l, one)
	}
}

// Nodef is Addf at a node.
func (l *List) Nodef(n *workflow.Node, format string, args ...any) {
	l.Addf(Node(n.ID), format, args...)
}

// Edgef is Addf at an edge.
func (l *List) Edgef(e workflow.Edge, format string, args ...any) { l.Addf(Edge(e), format, args...) }

// Concurrent tells whether more than one step of a workflow can be under way at a time: a port leads to several nodes, or there is a fork.
func Concurrent(w *workflow.Workflow) bool {
	type out struct{ from, port string }
	seen := map[out]bool{}
	for _, e := range w.Edges {
		k := out{e.From, e.PortName()}
		if seen[k] {
			return true
		}
		seen[k] = true
	}
	return slices.ContainsFunc(w.Nodes, func(n workflow.Node) bool { return n.Fork != nil })
}
