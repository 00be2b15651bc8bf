package compat

import (
	"slices"

	"github.com/hocket-run/hocket/graph"
)

// Shape is a graph whose nodes and edges can be read: a *[graph.Builder], as far as it is built, or
// a *[graph.Compiled].
type Shape interface {
	Nodes() []graph.NodeInfo
	Edges() []graph.Edge
}

// Node returns the node with the given id; the second result is false if there is none.
func Node(g Shape, id string) (graph.NodeInfo, bool) {
	nodes := g.Nodes()
	i := slices.IndexFunc(nodes, func(n graph.NodeInfo) bool { return n.ID == id })
	if i < 0 {
		return graph.NodeInfo{}, false
	}
	return nodes[i], true
}

// EdgesFrom returns the edges that leave a node, in the order in which they were added; nil if
// there are none.
func EdgesFrom(g Shape, id string) []graph.Edge {
	return pick(g, func(e graph.Edge) bool { return e.From == id })
}

// EdgesTo returns the edges that lead to a node, in the order in which they were added; nil if
// there are none.
func EdgesTo(g Shape, id string) []graph.Edge {
	return pick(g, func(e graph.Edge) bool { return e.To == id })
}

func pick(g Shape, keep func(graph.Edge) bool) []graph.Edge {
	var out []graph.Edge
	for _, e := range g.Edges() {
		if keep(e) {
			out = append(out, e)
		}
	}
	return out
}
