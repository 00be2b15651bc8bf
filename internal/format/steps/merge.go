package steps

import (
	"iter"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/workflow"
)

// merge gives the node at which the branches of the condition it come together again, stop or "" where they do not before that.
//
// It is the first node that all ways pass which do not end in a jump, if the lists that then result say the same graph again: see fits, hoists and strands.
// Where no node fits, as in documents that were drawn, it is the next node that all ways to an end pass.
func (u *unraveler) merge(f *frame, it *item, stop string) string {
	if f.kind == lanes && u.fits(f, it, stop) { // a branch of a block is one step, so nothing can follow it there
		return stop
	}
	best := map[risk]string{}
	for m := range u.ends(it.node, stop) {
		if dir, ok := u.placed[m]; ok && dir != f.scope() || !u.fits(f, it, m) {
			continue
		}
		r := max(u.hoists(f, it, m, stop), u.strands(f, it, m, stop), u.outruns(it, m))
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
		if u.beside(it.node, m) {
			return m
		}
	}
	return stop
}

// risk is how likely it is that a list would not say the graph again.
type risk int

const (
	safe risk = iota
	unclear
	wrong
)

// ends gives the nodes before stop at which every way from n arrives that does not end in a jump, as far as the order of the nodes tells: those
// between n and such a node lead to nodes between them and to it, nowhere else, and no jump behind it leads in between.
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
			if u.apart[m.ID] != u.apart[n.ID] || u.inBody(m.ID, n) {
				continue
			}
			if farthest == q && latest < q && u.beside(n, m.ID) && !yield(m.ID) {
				return
			}
			pass(m)
		}
	}
}

// beside tells whether m can be in the same list as n: not in or at the end of another block.
func (u *unraveler) beside(n *workflow.Node, m string) bool {
	return u.nodes[m].Parent == n.Parent && u.nodes[m].Kind != workflow.KindJoin
}

// fits tells whether the nodes between a condition and m can be in its branches: the true branch's before the false branch's before m in the
// list of nodes, and nodes whose ids name their list there.
func (u *unraveler) fits(f *frame, it *item, m string) bool {
	yes, no := ways(it.node)
	own := f.scope() + it.id + "/"
	for id, dir := range u.placed {
		if m != "" && strings.HasPrefix(dir, own) && u.pos[id] >= u.pos[m] {
			return false
		}
	}
	last := u.pos[it.node.ID]
	for _, port := range []string{yes, no} {
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

// hoists tells whether, with what follows from m on in f behind the condition it, a condition would get a later sibling that it reads: it would be
// made a deferred one (S4-7). A deferred condition comes after what it reads in the list of nodes, so only the others matter. Of two nodes that
// both follow it is not known whether they become siblings.
func (u *unraveler) hoists(f *frame, it *item, m, stop string) risk {
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

// strands tells whether what follows from m on, put into f behind the condition it, ends in a jump that cannot be there: only branches hold
// jumps, and only to lists around them.
func (u *unraveler) strands(f *frame, it *item, m, stop string) risk {
	if _, ends := u.after[m]; ends {
		return safe // the run can end from here, so what follows is not all jumps
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

// scope gives the path of the nodes in f whose ids are paths.
func (f *frame) scope() string {
	switch {
	case f.owner == nil:
		return ""
	case f.kind == branchList:
		return f.up.scope() + f.owner.id + "/" + f.port + "/"
	}
	return f.up.scope() + f.owner.id + "/"
}

// maxWork bounds how many nodes are looked at in search of the places where branches end, all in all: no document of this format comes near it.
const maxWork = 20_000_000

// region calls f for id and the nodes that can be reached from it without passing m, jumps aside, until f gives false. It tells whether f never did.
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
