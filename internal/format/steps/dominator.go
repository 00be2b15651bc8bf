package steps

import (
	"slices"

	"github.com/hocket-run/hocket/workflow"
)

// postdominators returns, for each node, the next node that every path to an end passes through; a
// node without one has no entry.
//
// Paths that end in a jump back do not count, since what follows a jump does not depend on the
// place that it leaves. Source: Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm",
// 2001.
func (u *unraveler) postdominators() map[string]string {
	const exit = ""
	preds := map[string][]string{} // predecessors in the reversed graph: the nodes reached next
	var rev = map[string][]string{}
	for i := range u.w.Nodes {
		id := u.w.Nodes[i].ID
		open := u.openPort(&u.w.Nodes[i])
		for _, e := range u.out[id] {
			if !u.back[e] {
				to := u.w.Edges[e].To
				preds[id] = append(preds[id], to)
				rev[to] = append(rev[to], id)
			}
		}
		if open {
			preds[id] = append(preds[id], exit)
			rev[exit] = append(rev[exit], id)
		}
	}
	order, number := reversePostorder(rev, exit)
	doms := map[string]string{exit: exit}
	for changed := true; changed; {
		changed = false
		for _, id := range order[1:] {
			best, found := "", false
			for _, p := range preds[id] {
				if _, ok := doms[p]; !ok {
					continue
				}
				if !found {
					best, found = p, true
					continue
				}
				for a, b := best, p; ; {
					if a == b {
						best = a
						break
					}
					if number[a] > number[b] {
						a = doms[a]
					} else {
						b = doms[b]
					}
				}
			}
			if old, ok := doms[id]; found && (!ok || old != best) {
				doms[id] = best
				changed = true
			}
		}
	}
	delete(doms, exit)
	return doms
}

// openPort reports whether the run may end at n because nothing follows; what follows an end step
// does not depend on it, as with a jump.
func (u *unraveler) openPort(n *workflow.Node) bool {
	ports := map[string]bool{}
	for _, i := range u.out[n.ID] {
		ports[u.w.Edges[i].PortName()] = true
	}
	if n.Kind == workflow.KindDecide {
		return slices.ContainsFunc(branchPorts(n.Decide), func(port string) bool { return !ports[port] })
	}
	if n.Wait != nil && n.Wait.Kind == workflow.WaitApproval {
		return !ports[workflow.PortApprove]
	}
	return len(ports) == 0 && n.End == nil
}

func reversePostorder(next map[string][]string, root string) ([]string, map[string]int) {
	type visit struct {
		id string
		i  int
	}
	seen := map[string]bool{root: true}
	var post []string
	for path := []visit{{id: root}}; len(path) > 0; {
		v := &path[len(path)-1]
		if v.i == len(next[v.id]) {
			post = append(post, v.id)
			path = path[:len(path)-1]
			continue
		}
		to := next[v.id][v.i]
		v.i++
		if !seen[to] {
			seen[to] = true
			path = append(path, visit{id: to})
		}
	}
	slices.Reverse(post)
	number := make(map[string]int, len(post))
	for i, id := range post {
		number[id] = i
	}
	return post, number
}
