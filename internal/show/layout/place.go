package layout

import (
	"math"
	"slices"
)

// place sets x and y of every piece.
func (g *graph) place() {
	g.placeX()
	y := 0.0
	gap := float64(LayerGap)
	if g.step == 2 {
		gap = labelGap
	}
	for l, list := range g.layers {
		height := 0.0
		for _, p := range list {
			height = max(height, g.pieces[p].h)
		}
		if l > 0 {
			y += gap
		}
		for _, p := range list {
			g.pieces[p].y = y + height/2
		}
		y += height
	}
}

// placeX aligns long edges and simple paths as far as possible. Four times, from above and below
// and from the left and right, it joins pieces with a median neighbour into blocks and packs the
// blocks; the result is the mean of the two middle values.
func (g *graph) placeX() {
	bad := g.conflicts()
	var results [4][]float64
	for i := range results {
		layers := g.snapshot()
		fromBelow, fromRight := i >= 2, i%2 == 1
		if fromBelow {
			slices.Reverse(layers)
		}
		if fromRight {
			for _, l := range layers {
				slices.Reverse(l)
			}
		}
		x := g.compact(layers, g.alignBlocks(layers, fromBelow, bad))
		if fromRight {
			for p := range x {
				x[p] = -x[p]
			}
		}
		results[i] = x
	}
	g.alignToSmallest(&results)
	for p := range g.pieces {
		four := []float64{results[0][p], results[1][p], results[2][p], results[3][p]}
		slices.Sort(four)
		g.pieces[p].x = (four[1] + four[2]) / 2
	}
}

type pair struct{ a, b int }

// conflicts finds edges that cross a long edge between two of its inner pieces: the long edge stays
// straight and the other one yields.
func (g *graph) conflicts() map[pair]bool {
	bad := map[pair]bool{}
	inner := func(p int) int { // the piece above p in one long edge, or -1
		if g.pieces[p].dummy {
			if u := g.pieces[p].up[0]; g.pieces[u].dummy {
				return u
			}
		}
		return -1
	}
	for l := 1; l < len(g.layers); l++ {
		list := g.layers[l]
		left, scan := 0, 0
		for i, p := range list {
			up := inner(p)
			if up < 0 && i < len(list)-1 {
				continue
			}
			right := len(g.layers[l-1])
			if up >= 0 {
				right = g.pieces[up].pos
			}
			for ; scan <= i; scan++ {
				for _, u := range g.pieces[list[scan]].up {
					if at := g.pieces[u].pos; (at < left || at > right) && inner(list[scan]) < 0 {
						bad[pair{u, list[scan]}] = true
					}
				}
			}
			left = right
		}
	}
	return bad
}

// alignBlocks returns, for every piece, the first piece of its block.
func (g *graph) alignBlocks(layers [][]int, fromBelow bool, bad map[pair]bool) []int {
	root, next := make([]int, len(g.pieces)), make([]int, len(g.pieces))
	at := make([]int, len(g.pieces))
	for p := range g.pieces {
		root[p], next[p] = p, p
	}
	for _, list := range layers {
		for i, p := range list {
			at[p] = i
		}
	}
	for _, list := range layers {
		last := -1
		for _, p := range list {
			near := slices.Clone(g.pieces[p].up)
			if fromBelow {
				near = slices.Clone(g.pieces[p].down)
			}
			if len(near) == 0 {
				continue
			}
			slices.SortStableFunc(near, func(a, b int) int { return at[a] - at[b] })
			for m := (len(near) - 1) / 2; m <= len(near)/2; m++ {
				n := near[m]
				edge := pair{n, p}
				if fromBelow {
					edge = pair{p, n}
				}
				if next[p] == p && last < at[n] && !bad[edge] {
					next[n], root[p], next[p] = p, root[n], root[n]
					last = at[n]
				}
			}
		}
	}
	return root
}

// compact sets x of every block, as far left as its neighbours allow, then as far right as is
// possible without using more room.
func (g *graph) compact(layers [][]int, root []int) []float64 {
	type gap struct {
		to   int
		dist float64
	}
	after := make([][]gap, len(g.pieces))
	before := make([]int, len(g.pieces))
	for _, list := range layers {
		for i := 1; i < len(list); i++ {
			u, v := root[list[i-1]], root[list[i]]
			after[u] = append(after[u], gap{v, g.distance(list[i-1], list[i])})
			before[v]++
		}
	}
	x := make([]float64, len(g.pieces))
	var order []int
	for p := range g.pieces {
		if root[p] == p && before[p] == 0 {
			order = append(order, p)
		}
	}
	for i := 0; i < len(order); i++ {
		for _, a := range after[order[i]] {
			x[a.to] = max(x[a.to], x[order[i]]+a.dist)
			if before[a.to]--; before[a.to] == 0 {
				order = append(order, a.to)
			}
		}
	}
	for _, p := range slices.Backward(order) {
		limit := math.Inf(1)
		for _, a := range after[p] {
			limit = min(limit, x[a.to]-a.dist)
		}
		if !math.IsInf(limit, 1) {
			x[p] = max(x[p], limit)
		}
	}
	for p := range g.pieces {
		x[p] = x[root[p]]
	}
	return x
}

// distance returns the required distance between the centers of two neighbours.
func (g *graph) distance(left, right int) float64 {
	a, b := &g.pieces[left], &g.pieces[right]
	gap := 0.0
	for _, p := range []*piece{a, b} {
		if p.dummy {
			gap += edgeGap / 2.0
		} else {
			gap += NodeGap / 2.0
		}
	}
	return a.w/2 + gap + b.w/2
}

// alignToSmallest shifts the results to align with the narrowest: left-aligned ones to its left
// border, right-aligned ones to its right border.
func (g *graph) alignToSmallest(results *[4][]float64) {
	bounds := func(x []float64) (lo, hi float64) {
		lo, hi = math.Inf(1), math.Inf(-1)
		for p, v := range x {
			lo, hi = min(lo, v-g.pieces[p].w/2), max(hi, v+g.pieces[p].w/2)
		}
		return lo, hi
	}
	smallest, width := 0, math.Inf(1)
	for i, x := range results {
		if lo, hi := bounds(x); hi-lo < width {
			smallest, width = i, hi-lo
		}
	}
	wantLo, wantHi := bounds(results[smallest])
	for i, x := range results {
		lo, hi := bounds(x)
		shift := wantLo - lo
		if i%2 == 1 {
			shift = wantHi - hi
		}
		for p := range x {
			x[p] += shift
		}
	}
}
