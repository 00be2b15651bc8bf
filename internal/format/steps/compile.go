package steps

import (
	"cmp"
	"slices"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/workflow"
)

// proceed is the user message of a step if the run has no input (S4-3).
const proceed = "Please proceed."

// end is a port that is not connected yet.
type end struct{ node, port string }

// compile converts the steps that were read to the graph, and reports problems that are visible
// only in the whole.
func (r *reader) compile() {
	if r.root == nil {
		return
	}
	nameSteps(r.root)
	r.steps = newIndex(r.root)
	r.arrange(r.root)
	r.aimFollows(r.root)
	r.refuseUntyped()
	r.rejectDuplicateIDs(r.root)
	r.refusePorts(r.root)
	setNodes(r.root)
	r.steps = newIndex(r.root)
	r.root.walk(func(s *step) {
		if s.broken {
			return
		}
		switch s.kind {
		case agentStep:
			r.checkAgentStep(s)
		case conditionStep, switchStep:
			for _, c := range s.cases {
				r.checkCondition(s, c)
			}
		}
	})
	r.checkInstructions()

	c := &compiler{w: r.w, reader: r, taken: map[string]bool{}, closed: map[*step][]*step{}, limits: map[*step]*step{}}
	r.root.walk(func(s *step) { c.taken[s.node] = true })
	c.flow(r.root, nil)
	c.follows(r.root)
	c.sortEdges()
	if slices.ContainsFunc(r.w.Nodes, func(n workflow.Node) bool { return n.Tool != nil }) {
		r.w.Permissions = r.permitted
	}
	c.refuseUnreachable(r.root)
	if r.outputField.value != nil {
		r.w.Output = (&textReader{r: r}).value(r.outputField)
	}
}

// refuseUntyped reports items that would have been jumps if their id were that of an earlier step.
func (r *reader) refuseUntyped() {
	r.root.walk(func(s *step) {
		if s.untyped && s.kind != jump {
			r.checkStep(s, "", nil, false)
		}
	})
}

func (r *reader) checkAgentStep(s *step) {
	if r.hasAgent(s.name) {
		return
	}
	s.broken = true
	d := r.diags.Errorf(s.nameField.value.Span, s.nameField.path, codeUnknownAgent, "%s: agent %q not found in agents",
		s.title(), s.name)
	d.Name = s.name
	d.Hint = r.diags.similar(s.name, r.agentIDs)
}

// compiler converts arranged steps to nodes and edges.
type compiler struct {
	w      *workflow.Workflow
	reader *reader
	taken  map[string]bool // ids of the steps' nodes
	// closed maps a condition or an approval to the first steps of the loops that it closes; limits
	// maps those whose limit has a list to its owner.
	closed map[*step][]*step
	limits map[*step]*step
}

// flow adds the steps of l, starting from ins, and returns the open ends after the last one. A
// first step of the outermost list has no ins.
func (c *compiler) flow(l *list, ins []end) []end {
	for _, s := range l.order {
		if s.broken {
			continue
		}
		if s.kind == jump {
			if s.target != nil {
				c.connect(ins, s.target.node, s.isBackJump(), s)
				if len(ins) > 0 && s.isBackJump() {
					c.close(s.in.owner, s.target)
				}
			}
			ins = nil
			continue
		}
		if c.w.Entry == "" {
			c.w.Entry = s.node
		}
		c.connect(ins, s.node, false, s)
		ins = c.step(s)
	}
	return ins
}

// step adds one step and returns its open ends.
func (c *compiler) step(s *step) []end {
	switch s.kind {
	case parallelStep:
		return c.parallel(s)
	case conditionStep, switchStep:
		return c.decide(s)
	case mapStep:
		return c.addMap(s)
	case agentStep:
	default:
		return c.extension(s)
	}
	n := c.node(s, workflow.KindAgent)
	n.Agent = &workflow.AgentNode{
		Agent:  s.name,
		Prompt: workflow.Prompt{Mode: workflow.PromptContext, Text: proceed},
	}
	if s.prompt != "" { // specific to Hocket: this text is the message, with the previous output inserted
		n.Agent.Prompt = workflow.Prompt{Mode: workflow.PromptTemplate, Text: s.prompt}
	}
	x := c.policies(&n, s)
	if s.prompt != "" {
		x.prompt(&n.Agent.Prompt)
	}
	n.Reads = x.done(c.reader.agentReads[s.name])
	c.add(n, s)
	return []end{{node: s.node}}
}

// decide adds a condition or a switch.
func (c *compiler) decide(s *step) []end {
	n := c.node(s, workflow.KindDecide)
	n.Decide = &workflow.Decide{Else: workflow.PortFalse}
	if s.kind == switchStep {
		n.Decide.Else = PortElse
	}
	for i, a := range s.cases {
		port := workflow.PortTrue
		if s.kind == switchStep {
			port = CasePort(i)
		}
		n.Decide.Cases = append(n.Decide.Cases, workflow.Case{Port: port,
			When: workflow.Condition{Language: workflow.LangExpr, Text: a.cond.text}})
		n.Reads = append(n.Reads, a.cond.reads...)
	}
	slices.Sort(n.Reads)
	n.Reads = slices.Compact(n.Reads)
	c.add(n, s)
	var open []end
	for i, a := range s.cases {
		open = append(open, c.branch(a.then, end{s.node, n.Decide.Cases[i].Port})...)
	}
	no := c.branch(s.no, end{s.node, n.Decide.Else})
	if len(s.reordered) > 0 && s.no != nil && len(s.no.items) > 0 {
		// S4-8 (a): what the condition reads is produced again, then the condition is evaluated
		// again.
		c.connect(no, s.reordered[0].node, true, s)
		if len(no) > 0 {
			c.close(s, s.reordered[0])
		}
		no = nil
	}
	c.limit(s)
	return append(open, no...)
}

// branch adds one branch; a missing or empty branch continues with the next step (S4-38).
func (c *compiler) branch(l *list, in end) []end {
	if l == nil {
		return []end{in}
	}
	return c.flow(l, []end{in})
}

func (c *compiler) parallel(s *step) []end {
	join := c.joinID(s)
	n := c.node(s, workflow.KindFork)
	n.Fork = &workflow.Fork{Join: join, Until: cmp.Or(s.more.join, workflow.UntilAll), Quorum: s.more.quorum,
		OnFailure: workflow.FailFast, Shape: workflow.ShapeSteps}
	if n.Fork.Until != workflow.UntilAll {
		c.w.Rules.HideLosers = true // a losing branch is not in the block's output
	}
	n.Reads = c.policies(&n, s).done(nil)
	children := slices.DeleteFunc(slices.Clone(s.children.items), func(t *step) bool { return t.broken })
	for _, child := range children {
		n.Fork.Branches = append(n.Fork.Branches, workflow.Branch{ID: child.id})
	}
	c.add(n, s)
	var open []end
	for _, child := range children {
		c.connect([]end{{s.node, child.id}}, child.node, false, child)
		open = append(open, c.step(child)...)
	}
	c.add(workflow.Node{ID: join, Kind: workflow.KindJoin, Parent: n.Parent, Hidden: true,
		Join: &workflow.Join{Fork: s.node}}, s)
	c.connect(open, join, false, s)
	return []end{{node: join}}
}

// joinID returns the id of a block's hidden join, which no step's path has.
func (c *compiler) joinID(s *step) string {
	id := s.node + "/join"
	for c.taken[id] {
		id += "_"
	}
	return id
}

func (c *compiler) node(s *step, k workflow.Kind) workflow.Node {
	n := workflow.Node{ID: s.node, Kind: k, Retry: s.retry, Budget: s.budget}
	if s.node != s.id {
		n.Name = s.id
	}
	if b := s.block(); b != nil {
		n.Parent = b.node
	}
	return n
}

func (c *compiler) add(n workflow.Node, s *step) {
	c.w.Nodes = append(c.w.Nodes, n)
	c.w.Source.Nodes[n.ID] = s.span()
}

func (c *compiler) connect(from []end, to string, loop bool, at *step) {
	for _, e := range from {
		c.w.Edges = append(c.w.Edges, workflow.Edge{From: e.node, Port: e.port, To: to, Loop: loop})
		c.w.Source.Edges = append(c.w.Source.Edges, at.span())
	}
}

// isBackJump reports whether a jump creates a loop: its target is, or precedes, the step whose branch
// contains the jump.
func (s *step) isBackJump() bool {
	for at := s.in.owner; at != nil; at = at.in.owner {
		if at.in == s.target.in {
			return at.in.place[s.target] <= at.in.place[at]
		}
	}
	return true
}

// sortEdges sorts edges by their sources, and edges of one source by its ports, regardless of the
// order in which the document closes its branches.
func (c *compiler) sortEdges() {
	pos := map[string]int{}
	rank := map[end]int{}
	for i, n := range c.w.Nodes {
		pos[n.ID] = i
		rank[end{n.ID, workflow.PortLimit}] = len(c.w.Edges)
		if n.Decide != nil {
			for j, k := range n.Decide.Cases {
				rank[end{n.ID, k.Port}] = j
			}
			rank[end{n.ID, n.Decide.Else}] = len(n.Decide.Cases)
		}
		if n.Fork != nil {
			for j, b := range n.Fork.Branches {
				rank[end{n.ID, b.ID}] = j
			}
		}
	}
	order := make([]int, len(c.w.Edges))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := c.w.Edges[i], c.w.Edges[j]
		return cmp.Or(cmp.Compare(pos[a.From], pos[b.From]),
			cmp.Compare(rank[end{a.From, a.Port}], rank[end{b.From, b.Port}]))
	})
	edges, spans := make([]workflow.Edge, len(order)), make([]diag.Span, len(order))
	for i, j := range order {
		edges[i], spans[i] = c.w.Edges[j], c.w.Source.Edges[j]
	}
	c.w.Edges, c.w.Source.Edges = edges, spans
}

// refuseUnreachable reports unreachable steps, only the first of each list, and jumps that follow
// jumps.
func (c *compiler) refuseUnreachable(root *list) {
	if c.reader.diags.HasFaults() {
		return // what is missing may lead there
	}
	next := map[string][]string{}
	for _, e := range c.w.Edges {
		next[e.From] = append(next[e.From], e.To)
	}
	for i := range c.w.Nodes {
		if n := &c.w.Nodes[i]; n.Map != nil {
			next[n.ID] = append(next[n.ID], n.Map.Entry)
		}
	}
	reached := map[string]bool{c.w.Entry: true}
	for queue := []string{c.w.Entry}; len(queue) > 0; {
		id := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, to := range next[id] {
			if !reached[to] {
				reached[to] = true
				queue = append(queue, to)
			}
		}
	}
	root.lists(func(l *list) {
		if l.owner != nil && !reached[l.owner.node] {
			return
		}
		for i, s := range l.order {
			dead := s.kind != jump && !reached[s.node] || s.kind == jump && i > 0 && l.order[i-1].kind == jump
			if !dead {
				continue
			}
			c.reader.diags.Errorf(s.span(), s.path(), codeUnreachable, "%s: this step is unreachable", s.title()).Hint =
				"the step before it always continues elsewhere"
			return
		}
	})
}
