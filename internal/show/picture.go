package show

import (
	"maps"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/workflow"
)

// picture is a workflow as boxes and arrows, with cleaned text. Boxes are identified by their
// index.
type picture struct {
	title  string
	entry  int // -1 if there is none
	boxes  []box
	arrows []arrow
	groups []group
}

// style is the style of a box, according to what it represents.
type style string

const (
	styleStart   style = "start"
	styleEnd     style = "end"
	styleAgent   style = "agent"
	styleSub     style = "subagent"
	styleTool    style = "tool"
	styleFunc    style = "func"
	styleDecide  style = "decide"
	styleWait    style = "wait"
	styleFork    style = "fork"
	styleJoin    style = "join"
	styleSubflow style = "subflow"
	stylePoint   style = "point" // a hidden node
)

type box struct {
	title  string
	detail string
	style  style
	group  int // index into groups, -1 for none
	// node is the drawn node, nil for an agent. agent is the agent of an agent node, or the drawn
	// agent. in is the graph that contains it, and flow is the path of flow names that leads to
	// that graph.
	node  *workflow.Node
	agent *workflow.Agent
	in    *workflow.Workflow
	flow  string
}

type arrow struct {
	from, to int
	label    string
	// asks marks an arrow that is not an edge of the run: it leads to an agent that is offered as a
	// tool, or to which an agent may hand over.
	asks bool
	// back marks an arrow to a box that the run has already passed.
	back bool
	// fails marks an arrow that is followed on an error, a limit or a deadline.
	fails bool
	// edge is the arrow's index in the edges of in, or -1 for an arrow that is not an edge; kind
	// then says what it is.
	edge int
	kind LineKind
	in   *workflow.Workflow
}

// group is a frame around a fork, its branches and its join, or around a flow.
type group struct {
	title string
	outer int // the group around it, -1 for none
	// fork and join are boxes; -1 in a flow's group.
	fork, join int
	// of is the node that the frame belongs to, "" for a flow. flow is the path of flow names of
	// the flow that contains the frame, or that is the frame.
	of, flow string
}

func newPicture(w *workflow.Workflow) *picture {
	p := &picture{title: clean(w.Name), entry: -1}
	if p.title == "" {
		p.title = clean(w.ID)
	}
	p.add(w, -1, "", map[*workflow.Workflow]bool{})
	p.markBack()
	return p
}

// add draws w, the flow at the given path of flow names, inside the group outer, then its own
// flows, each in a group.
func (p *picture) add(w *workflow.Workflow, outer int, path string, above map[*workflow.Workflow]bool) {
	if above[w] || len(above) > workflow.MaxFlowDepth {
		return
	}
	above[w] = true
	defer delete(above, w)
	a := &adder{
		picture: p, definition: define(w), outer: outer, path: path,
		index: map[string]int{}, groupOf: map[string]int{}, subs: map[subKey]int{}, used: map[string]bool{},
	}
	a.addGroups()
	a.addNodes()
	a.addEdges()
	if b, ok := a.index[w.Entry]; ok && p.entry < 0 {
		p.entry = b
	}
	for _, name := range slices.Sorted(maps.Keys(w.Flows)) {
		if flow := w.Flows[name]; flow != nil {
			inner := strings.TrimPrefix(path+"/"+name, "/")
			p.groups = append(p.groups, group{title: "flow " + clean(name), outer: outer, fork: -1, join: -1,
				flow: inner})
			p.add(flow, len(p.groups)-1, inner, above)
		}
	}
	for _, b := range w.Branches {
		if b != nil {
			p.groups = append(p.groups, group{title: "branch " + branchTitle(b), outer: outer, fork: -1, join: -1,
				flow: path})
			p.add(b, len(p.groups)-1, path, above)
		}
	}
}

type subKey struct {
	group int
	agent string
}

type adder struct {
	*picture
	*definition
	outer   int
	path    string
	index   map[string]int // box by node id
	groupOf map[string]int // group by fork or map id
	subs    map[subKey]int
	// root is the box of the node whose agents are being drawn; rootAgent is its agent.
	root      int
	rootAgent string
	used      map[string]bool // agents already drawn, as a node or a sub-agent
}

func (a *adder) addGroups() {
	for i := range a.Nodes {
		if n := &a.Nodes[i]; n.Fork != nil || n.Map != nil {
			if _, ok := a.groupOf[n.ID]; !ok {
				a.groupOf[n.ID] = len(a.groups)
				a.groups = append(a.groups, group{outer: a.outer, fork: -1, join: -1, of: n.ID, flow: a.path})
			}
		}
	}
	for i := range a.Nodes {
		n := &a.Nodes[i]
		if g, ok := a.groupOf[n.ID]; ok && (n.Fork != nil || n.Map != nil) {
			// Parents that form a cycle are not frames.
			if up := a.parent(n); up != g && !a.isWithin(up, g) {
				a.groups[g].outer = up
			}
		}
	}
}

// parent returns the group that contains n.
func (a *adder) parent(n *workflow.Node) int {
	if g, ok := a.groupOf[n.Parent]; ok && n.Parent != "" {
		return g
	}
	return a.outer
}

// isWithin reports whether group g is top or is inside it.
func (a *adder) isWithin(g, top int) bool {
	for ; g >= 0; g = a.groups[g].outer {
		if g == top {
			return true
		}
	}
	return false
}

func (a *adder) addNodes() {
	for i := range a.Nodes {
		n := &a.Nodes[i]
		if _, ok := a.index[n.ID]; ok {
			continue
		}
		b := box{title: nodeTitle(n), detail: a.detail(n), style: styleOf(n), group: a.parent(n), node: n,
			in: a.Workflow, flow: a.path}
		if n.Agent != nil {
			b.agent = a.agents[n.Agent.Agent]
		}
		if b.detail == b.title {
			b.detail = ""
		}
		switch {
		case n.Fork != nil:
			b.group = a.groupOf[n.ID]
			a.groups[b.group].fork = len(a.boxes)
		case n.Join != nil && n.Join.Fork != "":
			if g, ok := a.groupOf[n.Join.Fork]; ok {
				b.group = g
				a.groups[g].join = len(a.boxes)
			}
		}
		a.index[n.ID] = len(a.boxes)
		a.boxes = append(a.boxes, b)
		if n.Agent != nil {
			a.used[n.Agent.Agent] = true
			a.root, a.rootAgent = a.index[n.ID], n.Agent.Agent
			a.addSubagents(a.root, b.group, n.Agent.Agent)
		}
	}
	// Agents that no node or agent uses are part of the document too.
	a.rootAgent = ""
	for i := range a.Agents {
		if agent := &a.Agents[i]; !a.used[agent.ID] {
			a.subagent(a.outer, agent, "agent, not used")
		}
	}
}

// addSubagents draws the agents that the agent of a box may call or hand over to, each once per
// frame.
func (a *adder) addSubagents(from, group int, agent string) {
	owner := a.agents[agent]
	if owner == nil {
		return
	}
	for _, s := range owner.Subagents {
		target := a.agents[s.Agent]
		if target == nil {
			continue
		}
		a.arrows = append(a.arrows, arrow{from: from, to: a.subagent(group, target, "sub-agent"), asks: true, edge: -1,
			kind: LineSubagent})
	}
	for _, id := range owner.Handoffs {
		target := a.agents[id]
		if target == nil {
			continue
		}
		to := a.root
		if id != a.rootAgent {
			to = a.subagent(group, target, "agent")
		}
		a.arrows = append(a.arrows, arrow{from: from, to: to, label: "hands over", asks: true, edge: -1,
			kind: LineHandoff})
	}
}

func (a *adder) subagent(group int, agent *workflow.Agent, words string) int {
	k := subKey{group, agent.ID}
	if b, ok := a.subs[k]; ok {
		return b
	}
	b := len(a.boxes)
	a.subs[k] = b
	a.used[agent.ID] = true
	a.boxes = append(a.boxes,
		box{title: agentTitle(agent), detail: joined(append([]string{words}, modelWords(agent)...)), style: styleSub,
			group: group, agent: agent, in: a.Workflow, flow: a.path})
	a.addSubagents(b, group, agent.ID)
	return b
}

func (a *adder) addEdges() {
	for i := range a.Nodes {
		if m := a.Nodes[i].Map; m != nil {
			if to, ok := a.index[m.Entry]; ok {
				a.arrows = append(a.arrows, arrow{from: a.index[a.Nodes[i].ID], to: to, label: eachItem(m), edge: -1,
					kind: LineItem})
			}
		}
	}
	for i, e := range a.Edges {
		from, ok1 := a.index[e.From]
		to, ok2 := a.index[e.To]
		if !ok1 || !ok2 {
			continue
		}
		port := e.PortName()
		a.arrows = append(a.arrows, arrow{
			from: from, to: to, label: a.edgeLabel(e), back: e.Loop,
			fails: port == workflow.PortError || port == workflow.PortLimit || port == workflow.PortTimeout,
			edge:  i, kind: LineRun, in: a.Workflow,
		})
	}
}

func styleOf(n *workflow.Node) style {
	if n.Hidden && n.Kind != workflow.KindEnd {
		return stylePoint
	}
	return appearanceOf(n.Kind).style
}

// markBack marks arrows that lead back to a box on the current path of a walk in document order.
func (p *picture) markBack() {
	out := make([][]int, len(p.boxes))
	for i, a := range p.arrows {
		out[a.from] = append(out[a.from], i)
	}
	const (
		open = 1
		done = 2
	)
	state := make([]int, len(p.boxes))
	type frame struct{ box, next int }
	for i := -1; i < len(p.boxes); i++ {
		root := i
		if i < 0 {
			root = p.entry // first, wherever it is in the document
		}
		if root < 0 || state[root] != 0 {
			continue
		}
		state[root] = open
		for stack := []frame{{box: root}}; len(stack) > 0; {
			f := &stack[len(stack)-1]
			if f.next == len(out[f.box]) {
				state[f.box] = done
				stack = stack[:len(stack)-1]
				continue
			}
			a := &p.arrows[out[f.box][f.next]]
			f.next++
			switch state[a.to] {
			case 0:
				state[a.to] = open
				stack = append(stack, frame{box: a.to})
			case open:
				a.back = true
			}
		}
	}
}
