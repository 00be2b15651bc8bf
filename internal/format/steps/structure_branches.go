package steps

import (
	"slices"

	"github.com/hocket-run/hocket/internal/format/lost"
	"github.com/hocket-run/hocket/workflow"
)

// writable reports whether there is a type of step for a node's kind.
func writable(n *workflow.Node) bool {
	switch n.Kind {
	case workflow.KindAgent, workflow.KindFork, workflow.KindDecide, workflow.KindTool, workflow.KindSet,
		workflow.KindSleep, workflow.KindMap, workflow.KindWait:
		return true
	case workflow.KindEnd:
		return n.End != nil
	}
	return false
}

// isSide reports whether an edge is expressed by a key of its source rather than by the order of a
// list: an edge for a failure, a deadline or a rejection, and the edge parallel to an approval's
// that is followed if the step is skipped.
func (u *unraveler) isSide(n *workflow.Node, e workflow.Edge) bool {
	approval := n.Wait != nil && n.Wait.Kind == workflow.WaitApproval
	switch e.PortName() {
	case workflow.PortError:
		return n.Catch != nil && n.Catch.Port == workflow.PortError
	case workflow.PortTimeout:
		return n.Wait != nil
	case workflow.PortLimit:
		return u.isHeader(n.ID)
	case workflow.PortReject:
		return approval
	case workflow.PortOut:
		return approval && slices.ContainsFunc(u.w.Edges, func(o workflow.Edge) bool {
			return o.From == e.From && o.To == e.To && o.PortName() == workflow.PortApprove
		})
	}
	return false
}

// findSideParts finds the nodes that only a rejection, a failure or a deadline leads to: where they
// end implies nothing about the surrounding lists.
func (u *unraveler) findSideParts() {
	u.sideRoot = map[string]int{}
	queue := u.roots()
	in := map[string]bool{}
	for _, id := range queue {
		in[id] = true
	}
	for at := 0; at < len(queue); at++ {
		for _, i := range u.out[queue[at]] {
			if to := u.w.Edges[i].To; !in[to] {
				in[to], u.sideRoot[to] = true, u.sideRoot[queue[at]]
				queue = append(queue, to)
			}
		}
		if at+1 < len(queue) {
			continue
		}
		for i, e := range u.w.Edges { // the next part
			if in[e.From] && !in[e.To] && slices.Contains(u.side[e.From], i) {
				in[e.To], u.sideRoot[e.To] = true, i+1
				queue = append(queue, e.To)
				break
			}
		}
	}
}

// sideEdge returns the only side edge of a port, or -1 if there is none.
func (u *unraveler) sideEdge(id, port string) int {
	found := -1
	for _, i := range u.side[id] {
		e := u.w.Edges[i]
		switch {
		case e.PortName() != port:
		case e.When != nil:
			u.unsupported.Addf(lost.Node(id), "the guard of the edge to %q", e.To)
		case found >= 0:
			u.unsupported.Addf(lost.Node(id), "that several steps begin where %s", leads(port))
		default:
			found = i
		}
	}
	return found
}

// rejected fills the list of the steps that follow a rejection.
func (u *unraveler) rejected(it *item) {
	edge := u.sideEdge(it.node.ID, workflow.PortReject)
	if edge < 0 {
		return
	}
	in := &frame{items: &it.no, kind: branchList, owner: it, port: workflow.PortReject, up: it.in}
	if id := u.enter(in, edge); id != "" {
		u.fillFrom(in, id, "")
	}
}

// resolveFailures resolves the targets of failures and deadlines. Nodes that nothing else leads to
// are appended to the outermost list.
func (u *unraveler) resolveFailures(root *frame) {
	for to := ""; ; {
		for len(u.deferred) > 0 {
			next := u.deferred[0]
			u.deferred = u.deferred[1:]
			next()
		}
		if u.limits() {
			continue
		}
		before := to
		if to = u.unlisted(); to == "" || to == before {
			break // collectUnplaced reports what cannot be written
		}
		u.fillFrom(root, to, "")
	}
	u.unlimited()
	for i := range u.w.Nodes {
		id := u.w.Nodes[i].ID
		if it := u.done[id]; it != nil && it.in != nil {
			it.onError, it.onDeadline = u.aim(it, workflow.PortError), u.aim(it, workflow.PortTimeout)
		}
	}
}

// unlisted returns a node that is in no list and is the target of a failure or a deadline of a
// listed node, or "" if there is none.
func (u *unraveler) unlisted() string {
	for i := range u.w.Nodes {
		if u.done[u.w.Nodes[i].ID] == nil {
			continue
		}
		for _, k := range u.side[u.w.Nodes[i].ID] {
			if e := u.w.Edges[k]; u.done[e.To] == nil && (e.PortName() == workflow.PortError ||
				e.PortName() == workflow.PortTimeout) {
				return e.To
			}
		}
	}
	return ""
}

// aim returns the step to which a side edge at port leads, or nil; the step must be in an enclosing
// list.
func (u *unraveler) aim(it *item, port string) *item {
	edge := u.sideEdge(it.node.ID, port)
	if edge < 0 {
		return nil
	}
	t := u.done[u.w.Edges[edge].To]
	for at, own := it.in, it; at != nil && t != nil; at, own = at.up, at.owner {
		if t == own || at.kind != lanes && slices.Contains(*at.items, t) {
			t.needsID = true
			return t
		}
		if at.borders() {
			break
		}
	}
	u.unsupported.Addf(lost.Node(it.node.ID), "that %s is %q: a step can go to one of a list around it", after(port),
		u.w.Edges[edge].To)
	return nil
}
