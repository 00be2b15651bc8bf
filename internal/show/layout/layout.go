package layout

import (
	"errors"
	"fmt"
)

// Gaps between elements, in points.
const (
	NodeGap  = 26 // between neighbours of a layer
	LayerGap = 40 // between layers
	labelGap = 25 // between a layer of boxes and one of labels
	edgeGap  = 14 // between a passing edge and its neighbours
)

// maxPieces is the maximum number of boxes, labels and edge pieces; it bounds time and memory.
const maxPieces = 30000

// ErrTooLarge is returned when a graph has too many long edges for a readable picture.
var ErrTooLarge = errors.New("graph is too large to lay out")

// Node is a box.
type Node struct{ W, H float64 }

// Edge leads from one box to another, given as indexes of nodes. FromX and ToX are where it meets
// the boxes, as distances from their centers; edges that meet a box at the same point are spread
// out there. LabelW and LabelH are the size of the label.
type Edge struct {
	From, To       int
	FromX, ToX     float64
	LabelW, LabelH float64
}

// Point is a position; y grows downwards.
type Point struct{ X, Y float64 }

// Result holds the center of every box and, for every edge, its points from start to end and the
// center of its label. Everything is in 0…W and 0…H. A curve between two points of an edge starts
// and ends vertically; points directly below one another are joined by a line. The four points of
// an edge from a box to itself must be joined by one curve.
type Result struct {
	Nodes  []Point
	Edges  [][]Point
	Labels []Point
	W, H   float64
}

// Layered lays out a graph. Earlier nodes are placed further up and to the left if the edges allow
// it. It returns an error if an edge names a node that does not exist.
func Layered(nodes []Node, edges []Edge) (*Result, error) {
	for i, e := range edges {
		if e.From < 0 || e.From >= len(nodes) || e.To < 0 || e.To >= len(nodes) {
			return nil, fmt.Errorf("edge %d leads from %d to %d among %d nodes", i, e.From, e.To, len(nodes))
		}
	}
	g := &graph{nodes: nodes, edges: edges}
	g.reverseCycles()
	g.rank()
	if err := g.splitEdges(); err != nil {
		return nil, err
	}
	g.order()
	g.place()
	return g.route(), nil
}

// graph is a layout in progress. A piece is a box, or the part of a long edge in one layer.
type graph struct {
	nodes    []Node
	edges    []Edge
	reversed []bool // edges that lead upwards, by edge
	layer    []int  // by node
	step     int    // layers from a node to the next; 2 if labels are between them

	pieces []piece // the nodes first, by index
	layers [][]int // pieces from left to right
	chains [][]int // by edge: its pieces from the upper to the lower box; nil for an edge from a box to itself
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

// attachPoints returns the points where an edge meets its boxes, the upper one first.
func (g *graph) attachPoints(edge int) (upper, lower float64) {
	e := g.edges[edge]
	if g.reversed[edge] {
		return e.ToX, e.FromX
	}
	return e.FromX, e.ToX
}

// ends returns the boxes of an edge, the upper one first.
func (g *graph) ends(edge int) (upper, lower int) {
	e := g.edges[edge]
	if g.reversed[edge] {
		return e.To, e.From
	}
	return e.From, e.To
}
