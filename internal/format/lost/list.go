package lost

import (
	"fmt"
	"slices"

	"github.com/hocket-run/hocket/workflow"
)

// String returns `node "x": the timeout of 30s`.
func (l Loss) String() string { return l.At + ": " + l.What }

// List is what a writer could not express, each item once, in the order in which it was found.
type List []Loss

// Addf records a loss at a location.
func (l *List) Addf(at, format string, args ...any) {
	one := Loss{At: at, What: fmt.Sprintf(format, args...)}
	if !slices.Contains(*l, one) {
		*l = append(*l, one)
	}
}

// Nodef is Addf for a node.
func (l *List) Nodef(n *workflow.Node, format string, args ...any) {
	l.Addf(Node(n.ID), format, args...)
}

// Edgef is Addf for an edge.
func (l *List) Edgef(e workflow.Edge, format string, args ...any) { l.Addf(Edge(e), format, args...) }

// Concurrent reports whether more than one step of a workflow can be running at a time: a port
// leads to several nodes, or there is a fork.
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
