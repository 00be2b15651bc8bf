package layout

import (
	"cmp"
	"math"
	"slices"
)

// loopW is how far an edge from a box to itself sticks out.
const loopW = 30

// maxSpread is the maximum distance between two edges that meet a box on the same side.
const maxSpread = 16

// route builds the result: it routes the edges through their pieces and moves everything to
// positive coordinates.
func (g *graph) route() *Result {
	r := &Result{Nodes: make([]Point, len(g.nodes)), Edges: make([][]Point, len(g.edges)),
		Labels: make([]Point, len(g.edges))}
	for n := range g.nodes {
		r.Nodes[n] = Point{g.pieces[n].x, g.pieces[n].y}
	}
	out, in := g.spread()
	top, bottom := g.bands()
	for i, e := range g.edges {
		chain := g.chains[i]
		if chain == nil {
			r.Edges[i], r.Labels[i] = g.loop(e)
			continue
		}
		upperX, lowerX := g.attachPoints(i)
		var path []Point
		add := func(x, y float64) {
			if p := (Point{x, y}); len(path) == 0 || path[len(path)-1] != p {
				path = append(path, p)
			}
		}
		for k, id := range chain {
			p := g.pieces[id]
			switch {
			case k == 0:
				x := p.x + upperX + out[i]
				add(x, p.y+p.h/2)
				add(x, bottom[p.layer])
			case k == len(chain)-1:
				x := p.x + lowerX + in[i]
				add(x, top[p.layer])
				add(x, p.y-p.h/2)
			default:
				add(p.x, top[p.layer])
				add(p.x, bottom[p.layer])
				if p.w > 0 {
					r.Labels[i] = Point{p.x, p.y}
				}
			}
		}
		if g.reversed[i] {
			slices.Reverse(path)
		}
		r.Edges[i] = path
	}
	g.fit(r)
	return r
}

// bands returns the upper and lower border of each layer.
func (g *graph) bands() (top, bottom []float64) {
	top, bottom = make([]float64, len(g.layers)), make([]float64, len(g.layers))
	for l, list := range g.layers {
		top[l], bottom[l] = math.Inf(1), math.Inf(-1)
		for _, p := range list {
			top[l] = min(top[l], g.pieces[p].y-g.pieces[p].h/2)
			bottom[l] = max(bottom[l], g.pieces[p].y+g.pieces[p].h/2)
		}
	}
	return top, bottom
}

// spread returns the offset of each edge's start and end from the point where it meets its box, so
// that edges that meet a box at one point are spread out in the order in which they continue.
func (g *graph) spread() (out, in []float64) {
	out, in = make([]float64, len(g.edges)), make([]float64, len(g.edges))
	type end struct {
		edge int
		door float64
		x    float64
	}
	below, above := make([][]end, len(g.nodes)), make([][]end, len(g.nodes))
	for i, chain := range g.chains {
		if chain == nil {
			continue
		}
		a, b := chain[0], chain[len(chain)-1]
		upperX, lowerX := g.attachPoints(i)
		below[a] = append(below[a], end{i, upperX, g.pieces[chain[1]].x})
		above[b] = append(above[b], end{i, lowerX, g.pieces[chain[len(chain)-2]].x})
	}
	apply := func(ends []end, width float64, to []float64) {
		slices.SortStableFunc(ends, func(a, b end) int {
			return cmp.Or(cmp.Compare(a.door, b.door), cmp.Compare(a.x, b.x))
		})
		for len(ends) > 0 {
			n := 1
			for n < len(ends) && ends[n].door == ends[0].door {
				n++
			}
			gap := min(maxSpread, max(0, width-2*math.Abs(ends[0].door))*0.6/float64(n))
			for k, e := range ends[:n] {
				to[e.edge] = (float64(k) - float64(n-1)/2) * gap
			}
			ends = ends[n:]
		}
	}
	for n := range g.nodes {
		apply(below[n], g.nodes[n].W, out)
		apply(above[n], g.nodes[n].W, in)
	}
	return out, in
}

// loop returns the points and the label position of an edge from a box to itself, on the box's
// right side.
func (g *graph) loop(e Edge) ([]Point, Point) {
	p := g.pieces[e.From]
	right := p.x + g.nodes[e.From].W/2
	dy := min(p.h/4, 12)
	path := []Point{{right, p.y + dy}, {right + loopW, p.y + dy}, {right + loopW, p.y - dy}, {right, p.y - dy}}
	return path, Point{right + loopW + e.LabelW/2, p.y}
}

// fit moves everything to 0…W, 0…H.
func (g *graph) fit(r *Result) {
	lo, hi := Point{math.Inf(1), math.Inf(1)}, Point{math.Inf(-1), math.Inf(-1)}
	see := func(x, y, w, h float64) {
		lo.X, lo.Y = min(lo.X, x-w/2), min(lo.Y, y-h/2)
		hi.X, hi.Y = max(hi.X, x+w/2), max(hi.Y, y+h/2)
	}
	for _, p := range g.pieces {
		see(p.x, p.y, p.w, p.h)
	}
	for i, path := range r.Edges {
		for _, p := range path {
			see(p.X, p.Y, 0, 0)
		}
		if e := g.edges[i]; e.LabelW > 0 {
			see(r.Labels[i].X, r.Labels[i].Y, e.LabelW, e.LabelH)
		}
	}
	if math.IsInf(lo.X, 1) {
		return
	}
	move := func(p *Point) { p.X, p.Y = p.X-lo.X, p.Y-lo.Y }
	for i := range r.Nodes {
		move(&r.Nodes[i])
	}
	for i := range r.Edges {
		for k := range r.Edges[i] {
			move(&r.Edges[i][k])
		}
		if g.edges[i].LabelW > 0 {
			move(&r.Labels[i])
		}
	}
	r.W, r.H = hi.X-lo.X, hi.Y-lo.Y
}
