package layout

import (
	"errors"
	"fmt"
)

// Gaps between things, in points.
const (
	NodeGap  = 26 // between neighbours of a layer
	LayerGap = 40 // between layers
	labelGap = 25 // between a layer of boxes and one of labels
	edgeGap  = 14 // between an edge that passes and its neighbours
)

// maxPieces bounds boxes, labels and pieces of edges, and so time and memory.
const maxPieces = 30000

// ErrTooLarge says that a graph has too many long edges for a picture that anybody could read.
var ErrTooLarge = errors.New("graph is too large to lay out")

// Node is a box.
type Node struct{ W, H float64 }

// Edge leads from one box to another, both as indexes of nodes. FromX and ToX say where it meets them, as distances from their middles; edges
// that meet a box at the same place are spread there. A label has a size.
type Edge struct {
	From, To       int
	FromX, ToX     float64
	LabelW, LabelH float64
}

// Point is a place; y grows downwards.
type Point struct{ X, Y float64 }

// Result gives the middle of every box; for every edge its points, from its beginning to its end, and the middle of its label. Everything
// is in 0…W and 0…H. Between two points of an edge a curve begins and ends upright; points straight below one another are joined by a
// line. The four points of an edge from a box to itself are to be joined by one curve.
type Result struct {
	Nodes  []Point
	Edges  [][]Point
	Labels []Point
	W, H   float64
}

// Layered lays a graph out. Earlier nodes stand further up and left where the edges allow it. Edges that name no node are an error.
func Layered(nodes []Node, edges []Edge) (*Result, error) {
	for i, e := range edges {
		if e.From < 0 || e.From >= len(nodes) || e.To < 0 || e.To >= len(nodes) {
			return nil, fmt.Errorf("edge %d leads from %d to %d among %d nodes", i, e.From, e.To, len(nodes))
		}
	}
	g := &graph{nodes: nodes, edges: edges}
	g.turn()
	g.rank()
	if err := g.cut(); err != nil {
		return nil, err
	}
	g.order()
	g.place()
	return g.route(), nil
}

// graph is a layout under way. A piece is a box, or the part of a long edge in one layer.
type graph struct {
	nodes  []Node
	edges  []Edge
	turned []bool // edges that lead upwards
	layer  []int  // by node
	step   int    // layers from a node to the next: 2 where labels stand between them

	pieces []piece // the nodes first, by index
	layers [][]int // pieces from left to right
	chains [][]int // by edge: its pieces from the upper box to the lower one; nil for an edge from a box to itself
}

type piece struct {
	w, h  float64
	layer int
	pos   int // in the layer
	dummy bool
	up    []int
	down  []int
	x, y  float64
}

// doors gives the places where an edge meets its boxes, the upper one first.
func (g *graph) doors(edge int) (upper, lower float64) {
	e := g.edges[edge]
	if g.turned[edge] {
		return e.ToX, e.FromX
	}
	return e.FromX, e.ToX
}

// ends gives the boxes of an edge, the upper one first.
func (g *graph) ends(edge int) (upper, lower int) {
	e := g.edges[edge]
	if g.turned[edge] {
		return e.To, e.From
	}
	return e.From, e.To
}
