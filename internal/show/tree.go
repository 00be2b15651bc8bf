package show

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/form"
	"github.com/hocket-run/hocket/workflow"
)

// maxTreeDepth limits the nesting of a tree; deeper parts are drawn below as separate trees.
const maxTreeDepth = 24

// Tree returns w as text for a terminal, without colours. A chain of steps runs downwards; if the
// flow divides, each path is drawn as a branch, and the part where all paths meet again continues
// below them. `↺` leads back to a step on the current path, `→` to one that is drawn elsewhere, `↓`
// means that the path continues below. Sub-agents are listed under their agent. Unreachable steps
// and unused agents follow, then the flows and the branches.
func Tree(w *workflow.Workflow) string {
	t := &tree{}
	title := clean(w.Name)
	if title == "" {
		title = clean(w.ID)
	}
	if title == "" {
		title = "workflow"
	}
	if w.Format != "" {
		title += "  (" + clean(w.Format) + ")"
	}
	if len(w.Schedules) > 0 {
		title += ", " + clean(w.Mode())
	}
	title = strings.Join(append([]string{title}, runWords(w)...), ", ")
	t.write(title)
	t.inputs(w)
	t.workflow(w, map[*workflow.Workflow]bool{})
	return t.b.String()
}

type tree struct{ b strings.Builder }

func (t *tree) write(parts ...string) {
	t.b.WriteString(strings.TrimRight(strings.Join(parts, ""), " "))
	t.b.WriteByte('\n')
}

// inputs writes a line for each input of w: its type, whether it is required, and its description.
func (t *tree) inputs(w *workflow.Workflow) {
	for _, f := range form.Inputs(w.Inputs) {
		words := []string{cmp.Or(clean(f.Type), "any value")}
		for _, v := range f.Enum {
			words = append(words, clean(string(v)))
		}
		if len(f.Enum) > 0 {
			words = []string{strings.Join(words[1:], " | ")}
		}
		switch {
		case f.Default != nil:
			words = append(words, "default "+clean(string(f.Default)))
		case !f.Required:
			words = append(words, "optional")
		}
		line := "input " + clean(f.Name) + "  " + strings.Join(words, ", ")
		if about := clean(cmp.Or(f.Title, f.Description)); about != "" {
			line += " · " + about
		}
		t.write(line)
	}
}

func (t *tree) workflow(w *workflow.Workflow, above map[*workflow.Workflow]bool) {
	if above[w] || len(above) > workflow.MaxFlowDepth {
		t.write("contains itself")
		return
	}
	above[w] = true
	defer delete(above, w)
	s := newSketch(t, w)
	if _, ok := s.index[w.Entry]; ok {
		t.write()
		s.draw(w.Entry)
	}
	s.drawUnreached()
	for _, name := range slices.Sorted(maps.Keys(w.Flows)) {
		if flow := w.Flows[name]; flow != nil {
			t.write()
			t.write("flow ", clean(name))
			t.workflow(flow, above)
		}
	}
	for _, b := range w.Branches {
		if b != nil {
			t.write()
			t.write("branch ", branchTitle(b))
			t.workflow(b, above)
		}
	}
}

// sketch draws the graph of one workflow.
type sketch struct {
	*tree
	*definition
	index           map[string]int
	ways            map[string][]outEdge
	meet            []int
	state           map[string]int
	stops           []string        // where the paths being drawn meet again, innermost last
	ambiguousTitles map[string]bool // titles shared by several nodes
	tooDeep         []string        // nodes that were too deep
	used            map[string]bool // agents already drawn
	pending         []string        // labels on the way to the next line
}

const (
	stateOpen = iota + 1
	stateDone
)

// outEdge is an edge out of a node.
type outEdge struct {
	label  string
	to     string
	branch bool // starts a branch of a fork
	joins  bool // ends the branch that contains the node
}

func newSketch(t *tree, w *workflow.Workflow) *sketch {
	s := &sketch{
		tree: t, definition: define(w), index: map[string]int{}, ways: map[string][]outEdge{},
		state: map[string]int{}, ambiguousTitles: map[string]bool{}, used: map[string]bool{},
	}
	titles := map[string]bool{}
	for i := range w.Nodes {
		n := &w.Nodes[i]
		if _, ok := s.index[n.ID]; ok {
			continue
		}
		s.index[n.ID] = i
		title := nodeTitle(n)
		s.ambiguousTitles[title] = titles[title]
		titles[title] = true
	}
	for i := range w.Nodes {
		if m := w.Nodes[i].Map; m != nil && s.nodes[m.Entry] != nil {
			s.ways[w.Nodes[i].ID] = append(s.ways[w.Nodes[i].ID],
				outEdge{label: eachItem(m), to: m.Entry, branch: true})
		}
	}
	succ := make([][]int, len(w.Nodes))
	for _, e := range w.Edges {
		from, to := s.nodes[e.From], s.nodes[e.To]
		if from == nil || to == nil {
			continue
		}
		v := outEdge{label: s.edgeLabel(e), to: e.To}
		v.branch = from.Fork != nil && slices.ContainsFunc(from.Fork.Branches, func(b workflow.Branch) bool {
			return b.ID == e.PortName()
		})
		v.joins = to.Join != nil && to.Join.Fork != "" && to.Join.Fork == from.Parent
		s.ways[e.From] = append(s.ways[e.From], v)
		if !v.branch && !v.joins && !bareEnd(to) {
			succ[s.index[e.From]] = append(succ[s.index[e.From]], s.index[e.To])
		}
	}
	for i := range w.Nodes {
		if f := w.Nodes[i].Fork; f != nil {
			if j, ok := s.index[f.Join]; ok {
				succ[i] = append(succ[i], j)
			}
		}
	}
	s.meet = postDominators(succ)
	return s
}

// draw draws the tree that starts at id, then the parts that were too deep in it.
func (s *sketch) draw(id string) {
	s.sequence(id, "", "", 0)
	for len(s.tooDeep) > 0 {
		id := s.tooDeep[0]
		s.tooDeep = s.tooDeep[1:]
		if s.state[id] == 0 {
			s.write()
			s.write("… from ", s.title(id))
			s.sequence(id, "", "", 0)
		}
	}
}

// drawUnreached draws the nodes that are unreachable from the entry, and unused agents.
func (s *sketch) drawUnreached() {
	if id := s.Rules.Handoff; id != "" && s.nodes[id] != nil && s.state[id] == 0 {
		s.write()
		s.write("where a limit is met:")
		s.draw(id)
	}
	heading := false
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if s.state[n.ID] != 0 || n.Hidden {
			continue
		}
		s.write()
		if !heading {
			s.write("not reached from the entry:")
			heading = true
		}
		s.draw(n.ID)
	}
	heading = false
	for i := range s.Agents {
		a := &s.Agents[i]
		if s.used[a.ID] {
			continue
		}
		if !heading {
			s.write()
			s.write("agents that are not used:")
			heading = true
		}
		s.agent(a, "  ", "")
	}
}

// sequence draws the chain that starts at id, with the prefix first on its first line and prefix on
// the others.
func (s *sketch) sequence(id, first, prefix string, depth int) {
	var opened []string
	s.pending = nil
	defer func() {
		for _, id := range opened {
			s.state[id] = stateDone
		}
		s.pending = nil
	}()
	for id != "" {
		if ref := s.reference(id, depth); ref != "" {
			if len(s.stops) == 0 || s.stops[len(s.stops)-1] != id {
				s.connect(prefix)
				s.write(first, ref)
			}
			return
		}
		n := s.nodes[id]
		s.state[id] = stateOpen
		opened = append(opened, id)
		ways, next := s.outEdges(n)
		if !n.Hidden || len(ways) > 0 {
			s.connect(prefix)
			s.node(n, first, prefix, len(ways) > 0 || next.to != "")
			first = prefix
			s.pending = []string{""}
		}
		if len(ways) > 0 {
			s.branches(n, ways, next.to, prefix, depth)
			s.pending = []string{""}
		}
		if next.label != "" {
			s.pending = append(slices.Clip(s.pending), next.label)
		}
		id = next.to
	}
}

// connect draws the line that leads to the next node, with its labels.
func (s *sketch) connect(prefix string) {
	for _, label := range s.pending {
		if label == "" && len(s.pending) > 1 {
			continue
		}
		s.write(prefix, "│ ", label)
	}
	s.pending = nil
}

// outEdges returns the edges that are drawn as branches of n, and the one that continues below
// them.
func (s *sketch) outEdges(n *workflow.Node) (branches []outEdge, next outEdge) {
	all := s.ways[n.ID]
	if f := n.Fork; f != nil {
		if _, ok := s.index[f.Join]; ok && f.Join != n.ID {
			next.to = f.Join
		}
		return all, next
	}
	// its body and its continuation
	if n.Map != nil && len(all) == 2 && all[0].branch && all[1].label == "" && !all[1].joins {
		return all[:1], all[1]
	}
	if len(all) == 1 && !all[0].branch {
		if all[0].joins {
			return nil, outEdge{}
		}
		return nil, all[0]
	}
	if m := s.meet[s.index[n.ID]]; m >= 0 && len(all) > 0 {
		if id := s.Nodes[m].ID; s.state[id] == 0 && !slices.Contains(s.stops, id) {
			next.to = id
		}
	}
	return all, next
}

func (s *sketch) branches(n *workflow.Node, ways []outEdge, next, prefix string, depth int) {
	defer func(stops []string) { s.stops = stops }(s.stops)
	if m := s.meet[s.index[n.ID]]; n.Fork != nil && m >= 0 {
		s.stops = append(slices.Clip(s.stops), s.Nodes[m].ID) // its error edges may lead to the target of its join
	}
	hasNext := s.continues(next)
	if next != "" {
		s.stops = append(slices.Clip(s.stops), next)
	}
	for i, v := range ways {
		mark, below := "├─ ", "│  "
		if !hasNext && i == len(ways)-1 {
			mark, below = "└─ ", "   "
		}
		ref := s.reference(v.to, depth+1)
		switch {
		case v.joins:
			ref = "↓"
		case v.to == next && next != "":
			ref = "↓"
		}
		switch {
		case ref != "":
			s.write(prefix, mark, strings.TrimSpace(v.label+" "+ref))
		case v.label == "":
			s.sequence(v.to, prefix+mark, prefix+below, depth+1)
		default:
			s.write(prefix, mark, v.label)
			s.sequence(v.to, prefix+below, prefix+below, depth+1)
		}
	}
}

// continues reports whether anything is drawn on this level from id on.
func (s *sketch) continues(id string) bool {
	for range len(s.Nodes) {
		n := s.nodes[id]
		if n == nil {
			return false
		}
		if ways := s.ways[id]; !n.Hidden || len(ways) > 1 {
			return len(s.stops) == 0 || s.stops[len(s.stops)-1] != id
		} else if len(ways) == 0 || ways[0].joins {
			return false
		} else {
			id = ways[0].to
		}
	}
	return false
}

func (s *sketch) node(n *workflow.Node, first, prefix string, hasNext bool) {
	if n.Hidden {
		s.write(first, "·")
		return
	}
	title := s.title(n.ID)
	words := s.detail(n)
	if words == strings.ToLower(title) {
		words = ""
	}
	s.write(first, appearanceOf(n.Kind).symbol, " ", title, "  ", words)
	if n.Agent == nil {
		return
	}
	s.used[n.Agent.Agent] = true
	if a := s.agents[n.Agent.Agent]; a != nil {
		line := "   "
		if hasNext {
			line = "│  "
		}
		s.subagents(a, prefix+line, map[string]bool{a.ID: true})
	}
}

// subagents draws the agents that a may call or hand over to, each once, under the first agent that
// names it. A hand-off to an agent that is already drawn gets a line of its own.
func (s *sketch) subagents(a *workflow.Agent, prefix string, seen map[string]bool) {
	draw := func(id, verb string, again bool) {
		target := s.agents[id]
		if target == nil || len(prefix) > 300 {
			return
		}
		if seen[id] {
			if again {
				s.write(prefix, "┄ ", verb, agentTitle(target))
			}
			return
		}
		seen[id] = true
		s.agent(target, prefix, verb)
		s.subagents(target, prefix+"  ", seen)
	}
	for _, sub := range a.Subagents {
		draw(sub.Agent, "may ask ", false)
	}
	for _, id := range a.Handoffs {
		draw(id, "may hand over to ", true)
	}
}

func (s *sketch) agent(a *workflow.Agent, prefix, verb string) {
	s.used[a.ID] = true
	s.write(prefix, "┄ ", verb, agentTitle(a), "  ", joined(modelWords(a)))
}
