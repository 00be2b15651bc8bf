package steps

import (
	"slices"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/lost"
	"github.com/hocket-run/hocket/workflow"
)

// close records that a branch of s leads back to header, so that s closes the loop that starts
// there.
func (c *compiler) close(s, header *step) {
	if !slices.Contains(c.closed[s], header) {
		c.closed[s] = append(c.closed[s], header)
	}
}

// limit adds the steps that follow when a loop closed by s reaches its limit. The path ends where
// they end.
func (c *compiler) limit(s *step) {
	if s.limit.empty() {
		return
	}
	var ins []end
	for _, h := range c.closed[s] {
		c.checkLimit(s, h)
		c.limits[h] = s
		ins = append(ins, end{h.node, workflow.PortLimit})
	}
	if r := c.reader; len(ins) == 0 && !r.diags.HasFaults() {
		r.diags.Errorf(s.span(), s.path()+".limit", codeBadStep,
			"%s: limit requires a branch that leads back to an earlier step", s.title()).Hint =
			"it follows where the loop that this step closes meets max_loop_iterations"
	}
	c.flow(s.limit, ins)
}

// checkLimit reports a loop that already has a limit, and a limit list that leads back to the first
// step of its loop, whose limit remains reached.
func (c *compiler) checkLimit(s, h *step) {
	r := c.reader
	if other := c.limits[h]; other != nil {
		d := r.diags.Errorf(s.span(), s.path()+".limit", codeBadStep, "%s: the loop to %s has a limit already",
			s.title(), h.title())
		d.Hint, d.Related = "write one of them", []diag.Related{{Span: other.span(), Message: "the other limit"}}
	}
	s.limit.walk(func(t *step) {
		if t.kind == jump && t.target == h {
			r.diags.Errorf(t.span(), t.path(), codeBadStep,
				"%s: limit leads to the first step of its loop, whose bound is met", t.title())
		}
	})
}

// isHeader reports whether a counted loop starts at the node id.
func (u *unraveler) isHeader(id string) bool {
	return slices.ContainsFunc(u.w.Edges, func(e workflow.Edge) bool { return e.Loop && e.To == id })
}

// limits fills the limit list of one more loop. It reports whether there was one that can be
// written.
func (u *unraveler) limits() bool {
	for i := range u.w.Nodes {
		head := u.done[u.w.Nodes[i].ID]
		if head == nil || u.limited[head] || len(u.side[head.node.ID]) == 0 {
			continue
		}
		edge := u.sideEdge(head.node.ID, workflow.PortLimit)
		if edge < 0 {
			continue
		}
		it := u.closes(head, u.w.Edges[edge].To)
		if it == nil {
			continue
		}
		u.limited[head] = true
		in := &frame{items: &it.limit, kind: branchList, owner: it, port: workflow.PortLimit, up: it.in}
		switch id := u.enter(in, edge); {
		case id == "":
		case len(it.limit) > 0:
			if it.limit[0].node == nil || it.limit[0].node.ID != id {
				u.unsupported.Addf(lost.Node(head.node.ID), "that %s is %q", after(workflow.PortLimit), id)
			}
		case u.done[id] != nil:
			u.jump(in, id)
		default:
			u.fillFrom(in, id, "")
		}
		return true
	}
	return false
}

// closes returns the step that has a branch leading back to head, or nil if there is none. If there
// are several, it returns the one whose branches are directly followed by the node to, otherwise
// the first.
func (u *unraveler) closes(head *item, to string) *item {
	var found *item
	for i := range u.w.Nodes {
		it := u.done[u.w.Nodes[i].ID]
		if it == nil || it.in == nil || i != u.pos[it.node.ID] || !slices.ContainsFunc(append(it.cases, it.no),
			func(l []*item) bool {
				return slices.ContainsFunc(l, func(t *item) bool { return t.target == head })
			}) {
			continue
		}
		if u.lastOf(it)+1 == u.pos[to] {
			return it
		}
		if found == nil {
			found = it
		}
	}
	return found
}

// lastOf returns the position of the last node of a step, including the lists nested in it.
func (u *unraveler) lastOf(it *item) int {
	if it.target != nil {
		return 0
	}
	last := u.pos[it.node.ID]
	if f := it.node.Fork; f != nil {
		last = max(last, u.pos[f.Join])
	}
	for _, list := range append(it.cases, it.children, it.no, it.limit) {
		for _, t := range list {
			last = max(last, u.lastOf(t))
		}
	}
	return last
}

// unlimited records the loop limits that lead to a node no step can express.
func (u *unraveler) unlimited() {
	for i := range u.w.Nodes {
		if it := u.done[u.w.Nodes[i].ID]; it != nil && !u.limited[it] && u.isHeader(it.node.ID) {
			if edge := u.sideEdge(it.node.ID, workflow.PortLimit); edge >= 0 {
				u.unsupported.Addf(lost.Node(it.node.ID), "that %s is %q", after(workflow.PortLimit),
					u.w.Edges[edge].To)
			}
		}
	}
}

// limitAfterMerge reports wrong if a jump between a condition and m closes a loop and the steps
// that follow the loop's limit come after m: they belong in a list of that condition or of a later
// one.
func (u *unraveler) limitAfterMerge(it *item, m string) risk {
	for i, e := range u.w.Edges {
		if u.back[i] && u.pos[e.From] >= u.pos[it.node.ID] && u.pos[e.From] < u.pos[m] {
			for _, k := range u.side[e.To] {
				if l := u.w.Edges[k]; l.PortName() == workflow.PortLimit && u.pos[l.To] > u.pos[m] &&
					u.sideRoot[l.To] != u.sideRoot[it.node.ID] {
					return wrong
				}
			}
		}
	}
	return safe
}
