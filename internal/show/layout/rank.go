package layout

import "slices"

// reverseCycles reverses the edges that close a cycle on a walk over the nodes, starting with those
// that have no incoming edges, in order.
func (g *graph) reverseCycles() {
	out := make([][]int, len(g.nodes))
	in := make([]int, len(g.nodes))
	for i, e := range g.edges {
		if e.From != e.To {
			out[e.From] = append(out[e.From], i)
			in[e.To]++
		}
	}
	g.reversed = make([]bool, len(g.edges))
	const (
		open = 1
		done = 2
	)
	state := make([]int, len(g.nodes))
	type frame struct{ node, next int }
	walk := func(root int) {
		if state[root] != 0 {
			return
		}
		state[root] = open
		for stack := []frame{{node: root}}; len(stack) > 0; {
			f := &stack[len(stack)-1]
			if f.next == len(out[f.node]) {
				state[f.node] = done
				stack = stack[:len(stack)-1]
				continue
			}
			e := out[f.node][f.next]
			f.next++
			switch to := g.edges[e].To; state[to] {
			case 0:
				state[to] = open
				stack = append(stack, frame{node: to})
			case open:
				g.reversed[e] = true
			}
		}
	}
	for n := range g.nodes {
		if in[n] == 0 {
			walk(n)
		}
	}
	for n := range g.nodes {
		walk(n)
	}
}

// rank assigns every node to a layer: each edge leads at least one step down, and nodes are close
// to their neighbours.
func (g *graph) rank() {
	g.step = 1
	for _, e := range g.edges {
		if e.LabelW > 0 {
			g.step = 2
		}
	}
	up, down := make([][]int, len(g.nodes)), make([][]int, len(g.nodes))
	for i, e := range g.edges {
		if e.From == e.To {
			continue
		}
		a, b := g.ends(i)
		down[a] = append(down[a], b)
		up[b] = append(up[b], a)
	}
	order := sorted(up, down)
	g.layer = make([]int, len(g.nodes))
	for _, n := range order {
		for _, u := range up[n] {
			g.layer[n] = max(g.layer[n], g.layer[u]+g.step)
		}
	}
	// Longest paths from the top leave nodes with more outgoing than incoming edges too high.
	for range 4 {
		for _, n := range slices.Backward(order) {
			if len(down[n]) == 0 || len(down[n]) <= len(up[n]) {
				continue
			}
			lowest := g.layer[down[n][0]]
			for _, d := range down[n] {
				lowest = min(lowest, g.layer[d])
			}
			g.layer[n] = max(g.layer[n], lowest-g.step)
		}
		for _, n := range order {
			if len(up[n]) <= len(down[n]) {
				continue
			}
			g.layer[n] = 0
			for _, u := range up[n] {
				g.layer[n] = max(g.layer[n], g.layer[u]+g.step)
			}
		}
	}
}

// sorted returns the nodes ordered so that each one comes after those above it, and otherwise in
// their original order.
func sorted(up, down [][]int) []int {
	waiting := make([]int, len(up))
	var ready, out []int
	for n := range up {
		if waiting[n] = len(up[n]); waiting[n] == 0 {
			ready = append(ready, n)
		}
	}
	for len(ready) > 0 {
		n := ready[0]
		ready = ready[1:]
		out = append(out, n)
		for _, d := range down[n] {
			if waiting[d]--; waiting[d] == 0 {
				ready = append(ready, d)
			}
		}
	}
	return out
}

// splitEdges creates the pieces of the nodes and of the edges between them; the label of an edge is
// its middle piece.
func (g *graph) splitEdges() error {
	count := len(g.nodes)
	for i, e := range g.edges {
		if e.From != e.To {
			a, b := g.ends(i)
			count += g.layer[b] - g.layer[a] - 1
		}
	}
	if count > maxPieces {
		return ErrTooLarge
	}
	g.pieces = make([]piece, len(g.nodes), count)
	top := 0
	for n, v := range g.nodes {
		g.pieces[n] = piece{w: v.W, h: v.H, layer: g.layer[n]}
		top = max(top, g.layer[n])
	}
	g.chains = make([][]int, len(g.edges))
	for i, e := range g.edges {
		if e.From == e.To {
			// Make room for the loop, on both sides to keep the center.
			g.pieces[e.From].w = max(g.pieces[e.From].w, g.nodes[e.From].W+2*(loopW+e.LabelW))
			continue
		}
		a, b := g.ends(i)
		chain := []int{a}
		middle := (g.layer[a] + g.layer[b]) / 2
		if g.step == 2 && middle%2 == g.layer[a]%2 {
			middle-- // labels are between the layers of boxes
		}
		for l := g.layer[a] + 1; l < g.layer[b]; l++ {
			p := piece{layer: l, dummy: true}
			if l == middle && e.LabelW > 0 {
				p.w, p.h = e.LabelW, e.LabelH
			}
			chain = append(chain, len(g.pieces))
			g.pieces = append(g.pieces, p)
		}
		chain = append(chain, b)
		for k := 1; k < len(chain); k++ {
			g.pieces[chain[k-1]].down = append(g.pieces[chain[k-1]].down, chain[k])
			g.pieces[chain[k]].up = append(g.pieces[chain[k]].up, chain[k-1])
		}
		g.chains[i] = chain
	}
	g.layers = make([][]int, top+1)
	return nil
}
