package steps

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/format/lost"
	"github.com/hocket-run/hocket/workflow"
)

// item is a step to be written.
type item struct {
	node     *workflow.Node
	id       string    // short form
	needsID  bool      // the document must state the id
	cases    [][]*item // of a condition or a switch
	no       []*item
	limit    []*item
	children []*item
	target   *item // of a jump
	in       *frame
	// onError and onDeadline are the targets after a failure and after a deadline; nil means none.
	onError, onDeadline *item
}

// frame is a list being filled, with its enclosing lists.
type frame struct {
	items *[]*item
	kind  listKind
	owner *item
	port  string // of a branch: its port in a steps document, whatever the node calls it
	up    *frame
}

// borders reports whether what runs in f is isolated from what runs around it.
func (f *frame) borders() bool { return f.kind == lanes || f.kind == bodyList }

// unraveler turns a graph back into nested lists.
type unraveler struct {
	w           *workflow.Workflow
	nodes       map[string]*workflow.Node
	pos         map[string]int
	placed      map[string]string // paths of the lists named in node ids, by node; "" for the outermost
	out         map[string][]int  // edges by source, in order, except side edges
	ports       map[end][]int     // the same edges by source and port
	side        map[string][]int  // edges expressed by a key of their source: see isSide
	deferred    []func()          // checks deferred until the lists are filled
	back        []bool            // parallel to w.Edges
	sideRoot    map[string]int    // nodes reached only through a side edge, by that edge; 0 for those the entry reaches
	jumpers     map[string]int    // by the target of a jump: the position of the last node that jumps there
	after       map[string]string
	done        map[string]*item
	limited     map[*item]bool // loops whose limit leads to a list, by their first step
	loose       []*item        // nodes that are in no list
	unsupported *lost.List
	work        int
	ahead       []ahead
}

// ahead is a condition that reads a node after it; both are positions in the list of nodes.
type ahead struct{ condition, read int }

// unravel returns the lists of w, and the nodes that fit into no list. Anything that no list can
// express is added to unsupported; the rest is still returned.
func unravel(w *workflow.Workflow, unsupported *lost.List) (items, loose []*item) {
	u := &unraveler{
		w: w, nodes: map[string]*workflow.Node{}, pos: map[string]int{}, placed: map[string]string{},
		out: map[string][]int{}, ports: map[end][]int{}, side: map[string][]int{},
		back: make([]bool, len(w.Edges)), jumpers: map[string]int{}, done: map[string]*item{},
		limited: map[*item]bool{}, unsupported: unsupported,
	}
	for i := range w.Nodes {
		u.nodes[w.Nodes[i].ID] = &w.Nodes[i]
		u.pos[w.Nodes[i].ID] = i
	}
	for i := range w.Nodes {
		n := &w.Nodes[i]
		if !isPath(n) {
			continue
		}
		slash := strings.LastIndex(n.ID, "/") + 1
		u.placed[n.ID] = n.ID[:slash]
		if u.nodes[n.ID[slash:]] != nil { // has no path although its id is not unique: it is in the outermost list
			u.placed[n.ID[slash:]] = ""
		}
	}
	for i, e := range w.Edges {
		if u.nodes[e.From] == nil || u.nodes[e.To] == nil {
			unsupported.Addf("edge", "the edge from %q to %q, which does not join two nodes", e.From, e.To)
			continue
		}
		if u.isSide(u.nodes[e.From], e) {
			u.back[i] = e.Loop
			u.side[e.From] = append(u.side[e.From], i)
			continue
		}
		u.out[e.From] = append(u.out[e.From], i)
		port := end{e.From, e.PortName()}
		u.ports[port] = append(u.ports[port], i)
	}
	u.findBack()
	for i := range w.Nodes {
		for _, id := range w.Nodes[i].Reads {
			if d := w.Nodes[i].Decide; d != nil && !isSwitch(d) && u.pos[id] > i {
				u.ahead = append(u.ahead, ahead{condition: i, read: u.pos[id]})
			}
		}
	}
	for i, e := range w.Edges {
		if u.back[i] {
			u.jumpers[e.To] = max(u.jumpers[e.To], u.pos[e.From])
		}
	}
	u.after = u.postdominators()
	u.findSideParts()
	root := &frame{items: &items, kind: rootList}
	u.fillFrom(root, w.Entry, "")
	u.resolveFailures(root)
	u.collectUnplaced()
	return items, u.loose
}

// collectUnplaced examines the nodes that are in no list. The nodes after one that could not be
// expressed have not been examined before.
func (u *unraveler) collectUnplaced() {
	behind := map[string]bool{}
	for _, id := range u.roots() {
		behind[id] = true
	}
	for queue := u.roots(); len(queue) > 0; {
		id := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, i := range slices.Concat(u.out[id], u.side[id]) {
			if to := u.w.Edges[i].To; !behind[to] {
				behind[to] = true
				queue = append(queue, to)
			}
		}
	}
	for i := range u.w.Nodes {
		n := &u.w.Nodes[i]
		switch {
		case u.done[n.ID] != nil || n.Kind == workflow.KindStart || n.Kind == workflow.KindEnd && n.End == nil:
		case n.Kind == workflow.KindJoin && n.Join != nil && n.Join.Fork != "":
		case !behind[n.ID]:
			u.unsupported.Nodef(n, "an unreachable node")
		case !writable(n):
			u.unsupported.Nodef(n, "%s", lost.Kind(n))
		default:
			u.loose = append(u.loose, &item{node: n, id: n.ID[strings.LastIndex(n.ID, "/")+1:]})
		}
	}
}

// target returns the first node to which a port leads without a jump.
func (u *unraveler) target(id, port string) string {
	for _, i := range u.ports[end{id, port}] {
		if !u.back[i] {
			return u.w.Edges[i].To
		}
	}
	return ""
}

// isSwitch reports whether a choice is written as a switch rather than as a condition.
func isSwitch(d *workflow.Decide) bool {
	return len(d.Cases) > 1 || len(d.Cases) == 1 && d.Cases[0].Port == CasePort(0)
}

// branchPorts returns the ports of a choice: those of its cases, and the one that is fired if none
// holds.
func branchPorts(d *workflow.Decide) []string {
	var ports []string
	for _, c := range d.Cases {
		ports = append(ports, c.Port)
	}
	if len(ports) == 0 {
		ports = []string{workflow.PortTrue}
	}
	return append(ports, d.Else)
}

// isPath reports whether a node's id names its enclosing lists.
func isPath(n *workflow.Node) bool { return !n.Hidden && strings.Contains(n.ID, "/") }

// findBack marks the edges that close a cycle: those marked as loops, or in graphs without such
// marks those to a node on the path from the entry.
func (u *unraveler) findBack() {
	state := map[string]int{}
	type visit struct {
		id   string
		next int
	}
	var path []visit
	roots := u.roots()
	for len(path)+len(roots) > 0 {
		if len(path) == 0 { // the first node of a body has no incoming path
			if id := roots[0]; state[id] == 0 {
				state[id] = 1
				path = append(path, visit{id: id})
			}
			roots = roots[1:]
			continue
		}
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

// roots returns the nodes that need no incoming edge: the entry, and the entries of maps.
func (u *unraveler) roots() []string {
	ids := []string{u.w.Entry}
	for i := range u.w.Nodes {
		if m := u.w.Nodes[i].Map; m != nil {
			ids = append(ids, m.Entry)
		}
	}
	return ids
}

// inBody reports whether a node is in a map that does not enclose n.
func (u *unraveler) inBody(id string, n *workflow.Node) bool {
	for at := u.nodes[u.nodes[id].Parent]; at != nil; at = u.nodes[at.Parent] {
		if at.Map != nil && !u.isAround(at, n) {
			return true
		}
	}
	return false
}

func (u *unraveler) isAround(block, n *workflow.Node) bool {
	for at := u.nodes[n.Parent]; at != nil; at = u.nodes[at.Parent] {
		if at == block {
			return true
		}
	}
	return false
}

// fillFrom fills f with the nodes from id up to stop, which belongs to an enclosing list.
func (u *unraveler) fillFrom(f *frame, id, stop string) {
	for id != "" && id != stop {
		n := u.nodes[id]
		if n == nil {
			return
		}
		if u.done[id] != nil {
			u.jump(f, id)
			return
		}
		switch {
		case n.Kind == workflow.KindStart || n.Kind == workflow.KindEnd && n.End == nil:
			u.done[id] = &item{node: n}
			id = u.follow(f, id, workflow.PortOut)
			continue
		case !writable(n):
			return // reported by collectUnplaced
		}
		switch n.Kind {
		case workflow.KindWait:
			it := u.append(f, n)
			if n.Wait.Kind == workflow.WaitApproval {
				u.deferred = append(u.deferred, func() { u.rejected(it) })
				id = u.follow(f, id, workflow.PortApprove)
			} else {
				id = u.follow(f, id, workflow.PortOut)
			}
		case workflow.KindFork:
			it := u.append(f, n)
			join := u.nodes[n.Fork.Join]
			if join == nil {
				u.unsupported.Nodef(n, "a block without its join")
				return
			}
			for _, b := range n.Fork.Branches {
				u.lane(f, it, b.ID, join.ID)
			}
			u.done[join.ID] = it
			id = u.follow(f, join.ID, workflow.PortOut)
		case workflow.KindMap:
			it := u.append(f, n)
			u.fillFrom(&frame{items: &it.children, kind: bodyList, owner: it, up: f}, n.Map.Entry, "")
			id = u.follow(f, id, workflow.PortOut)
		case workflow.KindDecide:
			it := u.append(f, n)
			merge := u.merge(f, it, stop)
			ports := branchPorts(n.Decide)
			it.cases = make([][]*item, len(ports)-1)
			for i, port := range ports {
				in := &frame{kind: branchList, owner: it, up: f}
				switch last := i == len(it.cases); {
				case last && isSwitch(n.Decide):
					in.items, in.port = &it.no, PortElse
				case last:
					in.items, in.port = &it.no, workflow.PortFalse
				case isSwitch(n.Decide):
					in.items, in.port = &it.cases[i], CasePort(i)
				default:
					in.items, in.port = &it.cases[i], workflow.PortTrue
				}
				u.branch(in, port, merge)
			}
			id = merge
		default:
			u.append(f, n)
			id = u.follow(f, id, workflow.PortOut)
		}
	}
}

func (u *unraveler) append(f *frame, n *workflow.Node) *item {
	it := &item{node: n, id: n.ID[strings.LastIndex(n.ID, "/")+1:], in: f}
	u.done[n.ID] = it
	*f.items = append(*f.items, it)
	return it
}

// follow returns the node to which the only edge of a port leads, or "" if nothing follows or a
// jump was written instead.
func (u *unraveler) follow(f *frame, id, port string) string {
	edge := -1
	for _, i := range u.out[id] {
		e := u.w.Edges[i]
		switch {
		case e.PortName() != port:
			u.unsupported.Addf(lost.Node(id), "%s", after(e.PortName()))
		case e.When != nil:
			u.unsupported.Addf(lost.Node(id), "the guard of the edge to %q", e.To)
		case edge >= 0:
			u.unsupported.Addf(lost.Node(id), "that %q and %q both follow it without a parallel block",
				u.w.Edges[edge].To,
				e.To)
		default:
			edge = i
		}
	}
	if edge < 0 {
		return ""
	}
	return u.enter(f, edge)
}

func (u *unraveler) enter(f *frame, edge int) string {
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
				t.needsID = true
				*f.items = append(*f.items, &item{target: t})
				return
			}
			if outer.borders() {
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
	u.unsupported.Addf("edge",
		"the way from %s to %q: in steps documents a branch of a condition alone goes to a step "+
			"elsewhere, as back to an earlier one, and only to one of a list around it", last, to)
}

func (u *unraveler) lane(f *frame, it *item, port, join string) {
	var lane []*item
	in := &frame{items: &lane, kind: lanes, owner: it, up: f}
	for _, i := range u.out[it.node.ID] {
		if e := u.w.Edges[i]; e.PortName() == port {
			u.fillFrom(in, u.enter(in, i), join)
		}
	}
	if len(lane) != 1 {
		u.unsupported.Nodef(it.node, "the branch %q of %d steps: a branch of a parallel block is one step", port,
			len(lane))
	} else if lane[0].id != port {
		u.unsupported.Nodef(it.node, "the name %q of the branch of step %q", port, lane[0].id)
	}
	it.children = append(it.children, lane...)
}

// branch fills in with the nodes that start at a port of its condition.
func (u *unraveler) branch(in *frame, port, merge string) {
	it := in.owner
	found := false
	for _, i := range u.ports[end{it.node.ID, port}] {
		e := u.w.Edges[i]
		switch {
		case e.When != nil:
			u.unsupported.Nodef(it.node, "the guard of the edge to %q", e.To)
		case found:
			u.unsupported.Nodef(it.node, "that several steps begin where %s", leads(port))
		default:
			found = true
			u.fillFrom(in, u.enter(in, i), merge)
		}
	}
	if !found && merge != "" {
		u.unsupported.Nodef(it.node, "that the run ends where %s, while other steps follow", leads(port))
	}
}
