package steps

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/workflow"
)

// item is a step to be written.
type item struct {
	node     *workflow.Node
	id       string // short
	spoken   bool   // the id must stand in the document
	yes, no  []*item
	children []*item
	target   *item // of a jump
}

// frame is a list that is being filled, with the lists around it.
type frame struct {
	items *[]*item
	kind  listKind
	owner *item
	up    *frame
}

// unraveler turns a graph back into nested lists.
type unraveler struct {
	w      *workflow.Workflow
	nodes  map[string]*workflow.Node
	pos    map[string]int
	out    map[string][]int // edges by source, in order
	back   []bool           // beside w.Edges
	after  map[string]string
	done   map[string]*item
	unsaid *unsaidList
}

// unravel gives the lists of w. What no list can say goes to unsaid; the rest is still given.
func unravel(w *workflow.Workflow, unsaid *unsaidList) []*item {
	u := &unraveler{
		w: w, nodes: map[string]*workflow.Node{}, pos: map[string]int{}, out: map[string][]int{},
		back: make([]bool, len(w.Edges)), done: map[string]*item{}, unsaid: unsaid,
	}
	for i := range w.Nodes {
		u.nodes[w.Nodes[i].ID] = &w.Nodes[i]
		u.pos[w.Nodes[i].ID] = i
	}
	for i, e := range w.Edges {
		if u.nodes[e.From] == nil || u.nodes[e.To] == nil {
			unsaid.add("edge", "the edge from %q to %q, which does not join two nodes", e.From, e.To)
			continue
		}
		u.out[e.From] = append(u.out[e.From], i)
	}
	u.findBack()
	u.after = u.postdominators()
	var items []*item
	u.seq(&frame{items: &items, kind: rootList}, w.Entry, "")
	for i := range w.Nodes {
		if n := &w.Nodes[i]; u.done[n.ID] == nil && n.Kind != workflow.KindJoin && n.Kind != workflow.KindStart && n.Kind != workflow.KindEnd {
			unsaid.node(n, "the node, which no list of steps reaches")
		}
	}
	return items
}

// findBack marks the edges that close a cycle: those that say so, and in graphs that do not say so those to a node on the way from the entry.
func (u *unraveler) findBack() {
	state := map[string]int{}
	type visit struct {
		id   string
		next int
	}
	path := []visit{{id: u.w.Entry}}
	state[u.w.Entry] = 1
	for len(path) > 0 {
		v := &path[len(path)-1]
		edges := u.out[v.id]
		if v.next == len(edges) {
			state[v.id] = 2
			path = path[:len(path)-1]
			continue
		}
		i := edges[v.next]
		v.next++
		switch to := u.w.Edges[i].To; {
		case u.w.Edges[i].Loop || state[to] == 1:
			u.back[i] = true
		case state[to] == 0:
			state[to] = 1
			path = append(path, visit{id: to})
		}
	}
}

// seq fills f with what runs from the node id on until stop, which belongs to a list around f.
func (u *unraveler) seq(f *frame, id, stop string) {
	for id != "" && id != stop {
		n := u.nodes[id]
		if n == nil {
			return
		}
		if u.done[id] != nil {
			u.jump(f, id)
			return
		}
		switch n.Kind {
		case workflow.KindStart, workflow.KindEnd:
			u.done[id] = &item{node: n}
			id = u.follow(f, id, workflow.PortOut, stop)
		case workflow.KindAgent:
			u.append(f, n)
			id = u.follow(f, id, workflow.PortOut, stop)
		case workflow.KindFork:
			it := u.append(f, n)
			join := u.nodes[n.Fork.Join]
			if join == nil {
				u.unsaid.node(n, "a block without its join")
				return
			}
			for _, b := range n.Fork.Branches {
				u.lane(f, it, b.ID, join.ID)
			}
			u.done[join.ID] = it
			id = u.follow(f, join.ID, workflow.PortOut, stop)
		case workflow.KindDecide:
			it := u.append(f, n)
			merge := u.merge(n, stop)
			u.branch(f, it, &it.yes, workflow.PortTrue, merge)
			u.branch(f, it, &it.no, workflow.PortFalse, merge)
			id = merge
		default:
			u.unsaid.node(n, "a node of kind %s", n.Kind)
			return
		}
	}
}

func (u *unraveler) append(f *frame, n *workflow.Node) *item {
	it := &item{node: n, id: n.ID[strings.LastIndex(n.ID, "/")+1:]}
	u.done[n.ID] = it
	*f.items = append(*f.items, it)
	return it
}

// follow gives the node to which the one edge of a port leads, "" where nothing follows or where a jump was written instead.
func (u *unraveler) follow(f *frame, id, port, stop string) string {
	edge := -1
	for _, i := range u.out[id] {
		e := u.w.Edges[i]
		switch {
		case e.PortName() != port:
			u.unsaid.add(nodeAt(id), "the port %q", e.PortName())
		case e.When != nil:
			u.unsaid.add(nodeAt(id), "the guard of the edge to %q", e.To)
		case edge >= 0:
			u.unsaid.add(nodeAt(id), "that %q and %q both follow it without a parallel block", u.w.Edges[edge].To, e.To)
		default:
			edge = i
		}
	}
	if edge < 0 {
		return ""
	}
	return u.enter(f, edge, stop)
}

func (u *unraveler) enter(f *frame, edge int, stop string) string {
	to := u.w.Edges[edge].To
	if u.back[edge] {
		u.jump(f, to)
		return ""
	}
	return to
}

// jump writes a jump at the end of f (S4-18).
func (u *unraveler) jump(f *frame, to string) {
	t := u.done[to]
	if f.kind == branchList && t != nil {
		for at := f; at.up != nil; at = at.up {
			outer := at.up
			if t == at.owner || at.kind != lanes && outer.kind != lanes && slices.Contains(*outer.items, t) {
				t.spoken = true
				*f.items = append(*f.items, &item{target: t})
				return
			}
			if outer.kind == lanes {
				break
			}
		}
	}
	last := "the entry"
	if n := len(*f.items); n > 0 && (*f.items)[n-1].node != nil {
		last = fmt.Sprintf("%q", (*f.items)[n-1].node.ID)
	} else if f.owner != nil {
		last = fmt.Sprintf("%q", f.owner.node.ID)
	}
	u.unsaid.add("edge", "the way from %s to %q: only a condition's branch can go to another step, and only to one of a list around it", last, to)
}

func (u *unraveler) lane(f *frame, it *item, port, join string) {
	var lane []*item
	in := &frame{items: &lane, kind: lanes, owner: it, up: f}
	for _, i := range u.out[it.node.ID] {
		if e := u.w.Edges[i]; e.PortName() == port {
			u.seq(in, u.enter(in, i, join), join)
		}
	}
	if len(lane) != 1 {
		u.unsaid.node(it.node, "the branch %q of %d steps: a branch of a parallel block is one step", port, len(lane))
	} else if lane[0].id != port {
		u.unsaid.node(it.node, "the name %q of the branch of step %q", port, lane[0].id)
	}
	it.children = append(it.children, lane...)
}

func (u *unraveler) branch(f *frame, it *item, items *[]*item, port, merge string) {
	in := &frame{items: items, kind: branchList, owner: it, up: f}
	found := false
	for _, i := range u.out[it.node.ID] {
		e := u.w.Edges[i]
		switch {
		case e.PortName() != workflow.PortTrue && e.PortName() != workflow.PortFalse:
			if port == workflow.PortTrue {
				u.unsaid.node(it.node, "the port %q", e.PortName())
			}
		case e.PortName() != port:
		case e.When != nil:
			u.unsaid.node(it.node, "the guard of the edge to %q", e.To)
		case found:
			u.unsaid.node(it.node, "that the port %q leads to several nodes", port)
		default:
			found = true
			u.seq(in, u.enter(in, i, merge), merge)
		}
	}
	if !found && merge != "" {
		u.unsaid.node(it.node, "that the port %q ends the run while other steps follow", port)
	}
}

// merge gives the node at which the branches of n come together again, stop or "" where they do not before that.
//
// The order of the nodes tells branches from what follows them: all nodes of the branches stand before the node at which they merge. Where no
// node fits, as in documents that were drawn, it is the first one that all ways pass.
func (u *unraveler) merge(n *workflow.Node, stop string) string {
	first := u.after[n.ID]
	own := n.ID + "/"
	for m := first; m != ""; m = u.after[m] {
		if m == stop {
			return stop
		}
		if !strings.HasPrefix(m, own) && u.ordered(n.ID, m) {
			return m
		}
	}
	if first != "" && u.meet(n.ID) {
		return first
	}
	return stop
}

// ordered tells whether every node between n and m stands between them in the list of nodes too.
func (u *unraveler) ordered(n, m string) bool {
	return u.between(n, m, func(id string) bool { return u.pos[id] < u.pos[m] })
}

// between calls f for the nodes that can be reached from n without passing m, until f gives false.
func (u *unraveler) between(n, m string, f func(string) bool) bool {
	seen := map[string]bool{n: true, m: true}
	queue := []string{n}
	for len(queue) > 0 {
		id := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, i := range u.out[id] {
			to := u.w.Edges[i].To
			if u.back[i] || seen[to] {
				continue
			}
			if !f(to) {
				return false
			}
			seen[to] = true
			queue = append(queue, to)
		}
	}
	return true
}

// meet tells whether two ports of n lead to a common node.
func (u *unraveler) meet(n string) bool {
	seen := map[string]bool{}
	for _, i := range u.out[n] {
		if u.back[i] {
			continue
		}
		to := u.w.Edges[i].To
		mine := map[string]bool{to: true}
		u.between(to, "", func(id string) bool { mine[id] = true; return true })
		for id := range mine {
			if seen[id] {
				return true
			}
			seen[id] = true
		}
	}
	return false
}

// postdominators gives for each node the next one that every way to an end passes; no entry where there is none.
//
// Ways that end in a jump back count as no way, since what follows a jump does not depend on the place that it leaves.
// Source: Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm", 2001.
func (u *unraveler) postdominators() map[string]string {
	const exit = ""
	preds := map[string][]string{} // in the reversed graph: who is reached next
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

// openPort tells whether the run may end at n.
func (u *unraveler) openPort(n *workflow.Node) bool {
	ports := map[string]bool{}
	for _, i := range u.out[n.ID] {
		ports[u.w.Edges[i].PortName()] = true
	}
	if n.Kind == workflow.KindDecide {
		return !ports[workflow.PortTrue] || !ports[workflow.PortFalse]
	}
	return len(ports) == 0
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
