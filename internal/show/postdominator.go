package show

import "slices"

// postDominators returns, for every node, the node where all paths from it meet again (its
// immediate post-dominator), or -1 if they do not meet: paths that end, or that never end, meet
// nowhere. It uses the algorithm of Cooper, Harvey and Kennedy, "A Simple, Fast Dominance
// Algorithm", run backwards from one common end.
func postDominators(succ [][]int) []int {
	n := len(succ)
	end := n
	pred := make([][]int, n+1)
	for from, list := range succ {
		if len(list) == 0 {
			pred[end] = append(pred[end], from)
		}
		for _, to := range list {
			pred[to] = append(pred[to], from)
		}
	}
	order := backwards(pred, end)
	rank := make([]int, n+1) // position in order, -1 for nodes that never reach the end
	for i := range rank {
		rank[i] = -1
	}
	for i, v := range order {
		rank[v] = i
	}
	meet := make([]int, n+1)
	for i := range meet {
		meet[i] = -1
	}
	meet[end] = end
	common := func(a, b int) int {
		for a != b {
			for rank[a] > rank[b] {
				a = meet[a]
			}
			for rank[b] > rank[a] {
				b = meet[b]
			}
		}
		return a
	}
	for changed := true; changed; {
		changed = false
		for _, v := range order[1:] {
			next := succ[v]
			if len(next) == 0 {
				next = []int{end}
			}
			at := -1
			for _, s := range next {
				switch {
				case meet[s] < 0:
				case at < 0:
					at = s
				default:
					at = common(at, s)
				}
			}
			if at != meet[v] {
				meet[v], changed = at, true
			}
		}
	}
	for v := range n {
		if meet[v] == end {
			meet[v] = -1
		}
	}
	return meet[:n]
}

// backwards returns the nodes that can reach end, in reverse postorder of a walk against the edges:
// end first.
func backwards(pred [][]int, end int) []int {
	type frame struct{ node, next int }
	seen := make([]bool, len(pred))
	seen[end] = true
	var post []int
	for stack := []frame{{node: end}}; len(stack) > 0; {
		f := &stack[len(stack)-1]
		if f.next < len(pred[f.node]) {
			p := pred[f.node][f.next]
			f.next++
			if !seen[p] {
				seen[p] = true
				stack = append(stack, frame{node: p})
			}
			continue
		}
		post = append(post, f.node)
		stack = stack[:len(stack)-1]
	}
	slices.Reverse(post)
	return post
}
