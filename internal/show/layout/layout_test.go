package layout_test

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	_ "github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/internal/show/layout"
)

func boxes(n int) []layout.Node {
	out := make([]layout.Node, n)
	for i := range out {
		out[i] = layout.Node{W: 80, H: 40}
	}
	return out
}

func edges(ends ...int) []layout.Edge {
	var out []layout.Edge
	for i := 0; i+1 < len(ends); i += 2 {
		out = append(out, layout.Edge{From: ends[i], To: ends[i+1]})
	}
	return out
}

func lay(t *testing.T, nodes []layout.Node, edges []layout.Edge) *layout.Result {
	t.Helper()
	r, err := layout.Layered(nodes, edges)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestLayout_Chain(t *testing.T) {
	t.Parallel()
	r := lay(t, boxes(3), edges(0, 1, 1, 2))
	want := &layout.Result{
		Nodes:  []layout.Point{{X: 40, Y: 20}, {X: 40, Y: 100}, {X: 40, Y: 180}},
		Edges:  [][]layout.Point{{{X: 40, Y: 40}, {X: 40, Y: 80}}, {{X: 40, Y: 120}, {X: 40, Y: 160}}},
		Labels: make([]layout.Point, 2), W: 80, H: 200,
	}
	if diff := cmp.Diff(r, want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

func TestLayout_Diamond(t *testing.T) {
	t.Parallel()
	r := lay(t, boxes(4), edges(0, 1, 0, 2, 1, 3, 2, 3))
	if r.Nodes[1].X >= r.Nodes[2].X {
		t.Errorf("the earlier branch stands at %v, right of %v", r.Nodes[1].X, r.Nodes[2].X)
	}
	middle := (r.Nodes[1].X + r.Nodes[2].X) / 2
	if r.Nodes[0].X != middle || r.Nodes[3].X != middle {
		t.Errorf("ends at %v and %v, middle of the branches at %v", r.Nodes[0].X, r.Nodes[3].X, middle)
	}
}

// TestLayout_Cycle checks that an edge that closes a cycle leads up again, to the lower side of its
// target.
func TestLayout_Cycle(t *testing.T) {
	t.Parallel()
	r := lay(t, boxes(3), edges(0, 1, 1, 2, 2, 0))
	back := r.Edges[2]
	first, last := back[0], back[len(back)-1]
	if first.Y != r.Nodes[2].Y-20 || last.Y != r.Nodes[0].Y+20 {
		t.Errorf("the edge back goes from y %v to y %v", first.Y, last.Y)
	}
}

func TestLayout_SelfLoop(t *testing.T) {
	t.Parallel()
	r := lay(t, boxes(3), append(edges(0, 1, 0, 2), layout.Edge{From: 1, To: 1, LabelW: 50, LabelH: 12}))
	loop := r.Edges[2]
	if len(loop) != 4 || loop[0].X != r.Nodes[1].X+40 {
		t.Fatalf("loop: %v", loop)
	}
	if right, neighbour := r.Labels[2].X+25, r.Nodes[2].X-40; right > neighbour {
		t.Errorf("the loop's label ends at %v, the next box begins at %v", right, neighbour)
	}
}

func TestLayout_NoCrossings(t *testing.T) {
	t.Parallel()
	// 0 leads to 1 and 2, which lead to 4 and 3: in document order, the edges would cross.
	r := lay(t, boxes(5), edges(0, 1, 0, 2, 1, 4, 2, 3))
	if (r.Nodes[1].X < r.Nodes[2].X) != (r.Nodes[4].X < r.Nodes[3].X) {
		t.Errorf("edges cross: %v", r.Nodes)
	}
}

func TestLayout_Errors(t *testing.T) {
	t.Parallel()
	if _, err := layout.Layered(boxes(1), edges(0, 1)); err == nil {
		t.Error("an edge to nowhere is accepted")
	}
	// A chain with an edge from every box to the last one: half a million pieces.
	const n = 1000
	var all []layout.Edge
	for i := range n - 1 {
		all = append(all, layout.Edge{From: i, To: i + 1}, layout.Edge{From: i, To: n - 1})
	}
	if _, err := layout.Layered(boxes(n), all); !errors.Is(err, layout.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

// TestRandomGraphs checks that for any graph, boxes and labels do not overlap, everything is
// inside, edges start and end at their boxes, and the same graph gets the same positions.
func TestRandomGraphs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Float64Range(4, 200)
		nodes := make([]layout.Node, rapid.IntRange(1, 14).Draw(t, "nodes"))
		for i := range nodes {
			nodes[i] = layout.Node{W: size.Draw(t, "w"), H: size.Draw(t, "h")}
		}
		edges := make([]layout.Edge, rapid.IntRange(0, 24).Draw(t, "edges"))
		for i := range edges {
			end := rapid.IntRange(0, len(nodes)-1)
			edges[i] = layout.Edge{From: end.Draw(t, "from"), To: end.Draw(t, "to")}
			if rapid.Bool().Draw(t, "label") {
				edges[i].LabelW, edges[i].LabelH = size.Draw(t, "lw"), rapid.Float64Range(4, 40).Draw(t, "lh")
			}
		}
		r, err := layout.Layered(nodes, edges)
		if err != nil {
			t.Fatal(err)
		}
		type rect struct {
			name       string
			x, y, w, h float64
		}
		var rects []rect
		for i, p := range r.Nodes {
			rects = append(rects, rect{"box", p.X, p.Y, nodes[i].W, nodes[i].H})
		}
		for i, p := range r.Labels {
			if edges[i].LabelW > 0 && edges[i].From != edges[i].To {
				rects = append(rects, rect{"label", p.X, p.Y, edges[i].LabelW, edges[i].LabelH})
			}
		}
		const eps = 1e-6
		for i, a := range rects {
			if a.x-a.w/2 < -eps || a.y-a.h/2 < -eps || a.x+a.w/2 > r.W+eps || a.y+a.h/2 > r.H+eps {
				t.Fatalf("%s %d stands outside: %+v in %v x %v", a.name, i, a, r.W, r.H)
			}
			for _, b := range rects[:i] {
				if math.Abs(a.x-b.x) < (a.w+b.w)/2-eps && math.Abs(a.y-b.y) < (a.h+b.h)/2-eps {
					t.Fatalf("overlap: %+v and %+v", a, b)
				}
			}
		}
		for i, path := range r.Edges {
			e := edges[i]
			touches := func(n int, p layout.Point) bool {
				dx, dy := math.Abs(p.X-r.Nodes[n].X), math.Abs(p.Y-r.Nodes[n].Y)
				return dx <= nodes[n].W/2+eps && dy <= nodes[n].H/2+eps &&
					(dx > nodes[n].W/2-eps || dy > nodes[n].H/2-eps)
			}
			if len(path) < 2 || !touches(e.From, path[0]) || !touches(e.To, path[len(path)-1]) {
				t.Fatalf("edge %d from %d to %d runs %v", i, e.From, e.To, path)
			}
		}
		again, err := layout.Layered(nodes, edges)
		if err != nil || cmp.Diff(r, again) != "" {
			t.Fatal("laid out differently the second time")
		}
	})
}
