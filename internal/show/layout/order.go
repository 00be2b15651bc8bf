package layout

import (
	"cmp"
	"slices"
)

// sweeps is how often the layers are ordered; more sweeps change little.
const sweeps = 24

// order orders the pieces of each layer so that few edges cross: by the medians of their
// neighbours, alternately downwards and upwards, and by swapping neighbours. It keeps the best
// order seen.
func (g *graph) order() {
	g.firstOrder()
	best, crossings := g.snapshot(), g.crossings()
	for i := 0; i < sweeps && crossings > 0; i++ {
		if i%2 == 0 {
			for l := 1; l < len(g.layers); l++ {
				g.sortLayer(l, func(p *piece) []int { return p.up }, i%4 < 2)
			}
		} else {
			for l := len(g.layers) - 2; l >= 0; l-- {
				g.sortLayer(l, func(p *piece) []int { return p.down }, i%4 < 2)
			}
		}
		g.swap()
		if c := g.crossings(); c < crossings {
			best, crossings = g.snapshot(), c
		}
	}
	g.layers = best
	for l := range g.layers {
		g.number(l)
	}
}

// firstOrder sets the initial order by walking down from the topmost nodes, so that connected nodes
// are placed together.
func (g *graph) firstOrder() {
	seen := make([]bool, len(g.pieces))
	roots := make([]int, len(g.nodes))
	for i := range roots {
		roots[i] = i
	}
	slices.SortStableFunc(roots, func(a, b int) int { return cmp.Compare(g.pieces[a].layer, g.pieces[b].layer) })
	for _, root := range roots {
		for stack := []int{root}; len(stack) > 0; {
			p := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if seen[p] {
				continue
			}
			seen[p] = true
			l := g.pieces[p].layer
			g.layers[l] = append(g.layers[l], p)
			for _, d := range slices.Backward(g.pieces[p].down) {
				stack = append(stack, d)
			}
		}
	}
	for l := range g.layers {
		g.number(l)
	}
}

func (g *graph) number(layer int) {
	for i, p := range g.layers[layer] {
		g.pieces[p].pos = i
	}
}

func (g *graph) snapshot() [][]int {
	out := make([][]int, len(g.layers))
	for i, l := range g.layers {
		out[i] = slices.Clone(l)
	}
	return out
}

// sortLayer orders a layer by the medians of the pieces' neighbours; pieces without neighbours keep
// their position. Pieces with equal medians keep their order, or are reversed if flip is set.
func (g *graph) sortLayer(layer int, neighbours func(*piece) []int, flip bool) {
	list := g.layers[layer]
	medians := map[int]float64{}
	var moving []int
	for _, p := range list {
		if m, ok := g.median(neighbours(&g.pieces[p])); ok {
			medians[p] = m
			moving = append(moving, p)
		}
	}
	if flip {
		slices.Reverse(moving)
	}
	slices.SortStableFunc(moving, func(a, b int) int { return cmp.Compare(medians[a], medians[b]) })
	for i, p := range list {
		if _, ok := medians[p]; ok {
			list[i] = moving[0]
			moving = moving[1:]
		}
	}
	g.number(layer)
}

// median returns the weighted median of Gansner et al., "A Technique for Drawing Directed Graphs",
// which leans to the side where neighbours are packed closer.
func (g *graph) median(neighbours []int) (float64, bool) {
	at := make([]int, len(neighbours))
	for i, n := range neighbours {
		at[i] = g.pieces[n].pos
	}
	slices.Sort(at)
	m := len(at) / 2
	switch {
	case len(at) == 0:
		return 0, false
	case len(at)%2 == 1:
		return float64(at[m]), true
	case len(at) == 2:
		return float64(at[0]+at[1]) / 2, true
	}
	left, right := float64(at[m-1]-at[0]), float64(at[len(at)-1]-at[m])
	if left+right == 0 {
		return float64(at[m]), true
	}
	return (float64(at[m-1])*right + float64(at[m])*left) / (left + right), true
}

// swap swaps neighbours of a layer as long as that removes crossings.
func (g *graph) swap() {
	for range 8 {
		better := false
		for l := range g.layers {
			list := g.layers[l]
			for i := 1; i < len(list); i++ {
				a, b := &g.pieces[list[i-1]], &g.pieces[list[i]]
				if len(a.up)*len(b.up)+len(a.down)*len(b.down) > 4000 {
					continue
				}
				now := g.pairs(a.up, b.up) + g.pairs(a.down, b.down)
				then := g.pairs(b.up, a.up) + g.pairs(b.down, a.down)
				if then < now {
					list[i-1], list[i] = list[i], list[i-1]
					a.pos, b.pos = b.pos, a.pos
					better = true
				}
			}
		}
		if !better {
			return
		}
	}
}

// pairs counts the crossings of two neighbours' edges, if the owner of left is placed on the left.
func (g *graph) pairs(left, right []int) int {
	count := 0
	for _, a := range left {
		for _, b := range right {
			if g.pieces[a].pos > g.pieces[b].pos {
				count++
			}
		}
	}
	return count
}

// crossings counts all crossings: between two layers, they are the inversions of the lower ends
// when the edges are sorted by their upper ends.
func (g *graph) crossings() int {
	total := 0
	for l := 0; l+1 < len(g.layers); l++ {
		sums := make([]int, len(g.layers[l+1])+1) // a Fenwick tree
		seen := 0
		for _, p := range g.layers[l] {
			ends := make([]int, 0, len(g.pieces[p].down))
			for _, d := range g.pieces[p].down {
				ends = append(ends, g.pieces[d].pos)
			}
			for _, e := range ends {
				before := 0
				for i := e + 1; i > 0; i -= i & -i {
					before += sums[i]
				}
				total += seen - before
			}
			for _, e := range ends {
				for i := e + 1; i < len(sums); i += i & -i {
					sums[i]++
				}
				seen++
			}
		}
	}
	return total
}
