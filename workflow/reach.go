package workflow

import "slices"

// graph holds a workflow's nodes by index, with the connections between them: its edges; from each
// fork to its join, since a fork whose branches end continues there; and from each map to its body.
type graph struct {
	index  map[string]int
	succ   [][]int
	pred   [][]int
	byPort map[port][]int
}

func newGraph(w *Workflow) *graph { return newGraphOf(w, nil, nil) }

// newGraphOf returns the graph of w without edges for which keep returns false and without
// connections through nodes for which cut returns true. A nil keep keeps all edges, and a nil cut
// cuts no nodes.
func newGraphOf(w *Workflow, keep func(Edge) bool, cut func(*Node) bool) *graph {
	g := &graph{
		index: map[string]int{}, succ: make([][]int, len(w.Nodes)), pred: make([][]int, len(w.Nodes)),
		byPort: map[port][]int{},
	}
	for i := range w.Nodes {
		if _, ok := g.index[w.Nodes[i].ID]; !ok {
			g.index[w.Nodes[i].ID] = i
		}
	}
	add := func(from, to int) {
		if cut != nil && (cut(&w.Nodes[from]) || cut(&w.Nodes[to])) {
			return
		}
		g.succ[from] = append(g.succ[from], to)
		g.pred[to] = append(g.pred[to], from)
	}
	for _, e := range w.Edges {
		from, ok1 := g.index[e.From]
		to, ok2 := g.index[e.To]
		if ok1 && ok2 && (keep == nil || keep(e)) {
			add(from, to)
			p := port{e.From, e.PortName()}
			g.byPort[p] = append(g.byPort[p], to)
		}
	}
	for i := range w.Nodes {
		if f := w.Nodes[i].Fork; f != nil {
			if j, ok := g.index[f.Join]; ok {
				add(i, j)
			}
		}
		if m := w.Nodes[i].Map; m != nil {
			if j, ok := g.index[m.Entry]; ok {
				add(i, j)
			}
		}
	}
	return g
}

// reach marks roots and every node reachable from them.
func (g *graph) reach(roots ...int) []bool {
	seen := make([]bool, len(g.succ))
	todo := slices.Clone(roots)
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[n] {
			continue
		}
		seen[n] = true
		todo = append(todo, g.succ[n]...)
	}
	return seen
}

// reachBack marks target and every node from which it can be reached without passing through wall.
func (g *graph) reachBack(target, wall int) []bool {
	seen := make([]bool, len(g.pred))
	todo := []int{target}
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[n] || n == wall {
			continue
		}
		seen[n] = true
		todo = append(todo, g.pred[n]...)
	}
	return seen
}

// cycles returns one shortest cycle for each strongly connected component that has one, starting
// and ending at the component's first node; components are ordered by their first nodes.
func (g *graph) cycles() [][]int {
	part := g.components()
	var out [][]int
	seen := map[int]bool{}
	for n := range g.succ {
		if seen[part[n]] {
			continue
		}
		seen[part[n]] = true
		if c := g.cycleThrough(n, part); c != nil {
			out = append(out, c)
		}
	}
	return out
}

func (g *graph) cycleThrough(start int, part []int) []int {
	from := map[int]int{}
	todo := []int{start}
	for len(todo) > 0 {
		n := todo[0]
		todo = todo[1:]
		for _, s := range g.succ[n] {
			if s == start {
				cycle := []int{start}
				for at := n; at != start; at = from[at] {
					cycle = append(cycle, at)
				}
				cycle = append(cycle, start)
				slices.Reverse(cycle)
				return cycle
			}
			if _, ok := from[s]; !ok && part[s] == part[start] {
				from[s] = n
				todo = append(todo, s)
			}
		}
	}
	return nil
}

// components numbers the strongly connected components (Tarjan's algorithm with an explicit stack,
// since documents may be long chains).
func (g *graph) components() []int {
	type frame struct{ node, next int }
	n := len(g.succ)
	part, order, low := make([]int, n), make([]int, n), make([]int, n)
	for i := range n {
		part[i] = -1
	}
	var stack []int
	count, clock := 0, 0
	for root := range n {
		if order[root] != 0 {
			continue
		}
		clock++
		order[root], low[root] = clock, clock
		stack = append(stack, root)
		for calls := []frame{{node: root}}; len(calls) > 0; {
			f := &calls[len(calls)-1]
			v := f.node
			if f.next < len(g.succ[v]) {
				s := g.succ[v][f.next]
				f.next++
				if order[s] == 0 {
					clock++
					order[s], low[s] = clock, clock
					stack = append(stack, s)
					calls = append(calls, frame{node: s})
				} else if part[s] < 0 {
					low[v] = min(low[v], order[s])
				}
				continue
			}
			calls = calls[:len(calls)-1]
			if len(calls) > 0 {
				p := calls[len(calls)-1].node
				low[p] = min(low[p], low[v])
			}
			if low[v] == order[v] {
				for {
					s := stack[len(stack)-1]
					stack = stack[:len(stack)-1]
					part[s] = count
					if s == v {
						break
					}
				}
				count++
			}
		}
	}
	return part
}
