package steps

import (
	"iter"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/workflow"
)

// merge returns the node at which the branches of the condition it join again, or stop (which may
// be "") if they do not join before stop.
//
// It is the first node through which all paths that do not end in a jump pass, provided the
// resulting lists express the same graph again: see fits, deferRisk and strands. If no node
// qualifies, as in documents drawn on the canvas, it is the next node through which all paths to an
// end pass.
func (u *unraveler) merge(f *frame, it *item, stop string) string {
	if f.kind == lanes && u.fits(f, it, stop) { // a branch of a block is one step, so nothing can follow it there
		return stop
	}
	best := map[risk]string{}
	for m := range u.ends(it.node, stop) {
		if dir, ok := u.placed[m]; ok && dir != f.scope() || !u.fits(f, it, m) {
			continue
		}
		r := max(u.deferRisk(f, it, m, stop), u.danglingJump(f, it, m, stop), u.limitAfterMerge(it, m))
		if r == safe {
			return m
		}
		if _, ok := best[r]; !ok {
			best[r] = m
		}
	}
	if m, ok := best[unclear]; ok {
		return m
	}
	if u.fits(f, it, stop) {
		return stop
	}
	if m, ok := best[wrong]; ok {
		return m
	}
	for m := u.after[it.node.ID]; m != "" && m != stop; m = u.after[m] {
		if u.canShareList(it.node, m) {
			return m
		}
	}
	return stop
}

// risk is how likely it is that a list would not express the same graph again.
type risk int

const (
	safe risk = iota
	unclear
	wrong
)

// ends yields the nodes before stop that every path from n reaches unless it ends in a jump, as far
// as the node order shows: the nodes between n and such a node lead only to each other and to that
// node, and no jump after it leads in between.
func (u *unraveler) ends(n *workflow.Node, stop string) iter.Seq[string] {
	return func(yield func(string) bool) {
		limit := len(u.w.Nodes)
		if stop != "" {
			limit = u.pos[stop]
		}
		farthest, latest, open := -1, -1, false
		pass := func(n *workflow.Node) {
			latest = max(latest, u.jumpers[n.ID])
			open = open || u.openPort(n)
			for _, i := range u.out[n.ID] {
				if !u.back[i] {
					farthest = max(farthest, u.pos[u.w.Edges[i].To])
				}
			}
		}
		pass(n)
		latest = -1 // jumps to n itself may come from anywhere
		for q := u.pos[n.ID] + 1; q < limit && farthest >= q && !open; q++ {
			m := &u.w.Nodes[q]
			if u.sideRoot[m.ID] != u.sideRoot[n.ID] || u.inBody(m.ID, n) {
				continue
			}
			if farthest == q && latest < q && u.canShareList(n, m.ID) && !yield(m.ID) {
				return
			}
			pass(m)
		}
	}
}

// canShareList reports whether m can be in the same list as n: it is neither in another block nor
// its join.
func (u *unraveler) canShareList(n *workflow.Node, m string) bool {
	return u.nodes[m].Parent == n.Parent && u.nodes[m].Kind != workflow.KindJoin
}

// fits reports whether the nodes between a choice and m can form its branches: in the list of nodes,
// each branch's nodes precede those of the next, the last branch's precede m, and nodes whose ids name
// their list belong there.
func (u *unraveler) fits(f *frame, it *item, m string) bool {
	own := f.scope() + it.id + "/"
	for id, dir := range u.placed {
		if m != "" && strings.HasPrefix(dir, own) && u.pos[id] >= u.pos[m] {
			return false
		}
	}
	last := u.pos[it.node.ID]
	for _, port := range branchPorts(it.node.Decide) {
		highest := last
		if !u.region(u.target(it.node.ID, port), m, func(id string) bool {
			highest = max(highest, u.pos[id])
			dir, placed := u.placed[id]
			return u.pos[id] > last && (m == "" || u.pos[id] < u.pos[m]) && (!placed || strings.HasPrefix(dir, own))
		}) {
			return false
		}
		last = highest
	}
	return true
}

// deferRisk returns the risk that, if the nodes from m on follow the condition it in f, a condition
// would read a later sibling and thereby become deferred (S4-7). A deferred condition
// comes after the nodes it reads in the list of nodes, so only the other conditions matter. If both
// nodes come later, it is not known whether they become siblings.
func (u *unraveler) deferRisk(f *frame, it *item, m, stop string) risk {
	limit := len(u.w.Nodes)
	if stop != "" {
		limit = u.pos[stop]
	}
	r := safe
	for _, a := range u.ahead {
		n := &u.w.Nodes[a.condition]
		switch {
		case a.read < u.pos[m] || a.read >= limit || n.Parent != it.node.Parent:
		case u.done[n.ID] == it || u.done[n.ID] != nil && slices.Contains(*f.items, u.done[n.ID]):
			return wrong
		case a.condition >= u.pos[m]:
			r = unclear
		}
	}
	return r
}

// danglingJump returns the risk that the nodes from m on, placed in f after the condition it, end
// in a jump that is not allowed there: only branches hold jumps, and only to enclosing lists.
func (u *unraveler) danglingJump(f *frame, it *item, m, stop string) risk {
	if _, ends := u.after[m]; ends {
		return safe // the run can end from here, so not every path ends in a jump
	}
	ends, inside := false, false
	u.region(m, stop, func(id string) bool {
		ends = u.openPort(u.nodes[id]) || u.nodes[id].End != nil
		for _, i := range u.out[id] {
			to := u.w.Edges[i].To
			if u.back[i] {
				inside = inside || u.done[to] == it || slices.Contains(*f.items, u.done[to])
			} else {
				ends = ends || to == stop
			}
		}
		return !ends
	})
	if !ends && (f.kind != branchList || inside) {
		return wrong
	}
	return safe
}

// scope returns the path prefix of the nodes in f whose ids are paths.
func (f *frame) scope() string {
	switch {
	case f.owner == nil:
		return ""
	case f.kind == branchList:
		return f.up.scope() + f.owner.id + "/" + f.port + "/"
	}
	return f.up.scope() + f.owner.id + "/"
}

// maxWork is the maximum total number of nodes visited while searching for the nodes at which
// branches join; no document of this format comes near it.
const maxWork = 20_000_000

// region calls f for id and the nodes reachable from it without passing m, ignoring jumps, until f
// returns false. It reports whether f never returned false and maxWork was not exceeded.
func (u *unraveler) region(id, m string, f func(string) bool) bool {
	if id == "" || id == m {
		return true
	}
	seen := map[string]bool{id: true}
	for queue := []string{id}; len(queue) > 0; {
		id := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if u.work++; u.work > maxWork || !f(id) {
			return false
		}
		for _, i := range u.out[id] {
			if to := u.w.Edges[i].To; !u.back[i] && to != m && !seen[to] {
				seen[to] = true
				queue = append(queue, to)
			}
		}
	}
	return true
}
