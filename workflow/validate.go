package workflow

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/diag"
)

const (
	// MaxFlowDepth is the maximum nesting depth of flows.
	MaxFlowDepth = 16
	// MaxBlockDepth is the maximum nesting depth of forks and maps.
	MaxBlockDepth = 64
)

// Validate reports everything that prevents w from running, all of it as errors, sorted by
// position. A workflow without errors has the invariants that the package comment lists. Validate
// never panics, whatever w contains, and takes time proportional to the size of w.
//
// Spans come from w.Source; messages identify nodes and agents by ID, so that they are useful even
// for a workflow without a document. Flows and branches are validated too; their messages begin
// with the flow's name or the branch's ID.
//
// The codes are stable: no-nodes, no-entry, unknown-entry, entry-in-branch, empty-id,
// duplicate-node, duplicate-agent, unknown-node, unknown-agent, unknown-kind, missing-spec,
// foreign-spec, missing-name, unknown-word, bad-condition, bad-json, negative-limit,
// decide-without-cases, empty-port, subagent-self, subagent-cycle, subagent-tool, handoff-self,
// handoff-twice, bad-command, bad-file, fork-without-branches, duplicate-branch,
// branch-without-edge, branch-target, bad-quorum, fork-join, join-fork, bad-parent,
// blocks-too-deep, edge-crosses-branch, bad-handoff, unknown-flow, flow-recursion, flow-too-deep,
// empty-branch, duplicate-branch-id, nested-branches, untyped-flow, map-entry, map-name,
// end-in-map, bad-input, bad-schedule, duplicate-schedule-id, too-many-schedules, bad-concurrency.
func Validate(w *Workflow) diag.List {
	var l diag.List
	validateFlow(w, "", nil, nil, &l)
	c := newChecker(w, "", &l)
	file := diag.Span{File: w.Source.File}
	taken := map[string]bool{}
	for i, b := range w.Branches {
		switch {
		case b == nil:
			c.errorf(file, "empty-branch", "branch %d is empty", i+1)
			continue
		case b.ID == "":
			c.errorf(file, "empty-branch", "branch %d has no id", i+1)
		case taken[b.ID]:
			c.errorf(file, "duplicate-branch-id", "two branches have the id %q", b.ID)
		}
		taken[b.ID] = true
		prefix := fmt.Sprintf("branch %q: ", b.ID)
		if len(b.Branches) > 0 {
			newChecker(b, prefix, &l).errorf(file, "nested-branches", "a branch has no branches of its own")
		}
		validateFlow(b, prefix, nil, nil, &l)
	}
	l.Sort()
	return l
}

// validateFlow checks w, which is the last flow on path and is nested in the workflows of chain, in
// the branch identified by prefix.
func validateFlow(w *Workflow, prefix string, path []string, chain []*Workflow, l *diag.List) {
	c := newChecker(w, prefix+flowPrefix(path), l)
	c.checkEntry(len(path) > 0)
	c.checkIDs()
	c.checkAgents()
	c.checkSubagentCycles()
	c.checkLimits()
	c.checkRules()
	c.checkInputs()
	c.checkSchedules()
	c.checkConcurrency(len(path) > 0)
	for i := range w.Nodes {
		c.checkNode(&w.Nodes[i])
	}
	c.checkEdges()
	c.checkForks()
	c.checkMaps()
	c.checkParents()
	c.checkFlowNames(path)

	chain = append(slices.Clip(chain), w)
	for _, name := range slices.Sorted(maps.Keys(w.Flows)) {
		flow := w.Flows[name]
		sub := append(slices.Clip(path), name)
		switch {
		case flow == nil:
			c.errorf(diag.Span{File: w.Source.File}, "unknown-flow", "flow %q is empty", name)
		case slices.Contains(chain, flow):
			c.errorf(diag.Span{File: w.Source.File}, "flow-recursion", "flow %q contains itself", name)
		case len(sub) > MaxFlowDepth:
			c.errorf(diag.Span{File: w.Source.File}, "flow-too-deep", "flow %q is nested more than %d flows deep", name,
				MaxFlowDepth)
		default:
			validateFlow(flow, prefix, sub, chain, l)
		}
	}
}

// checker holds a workflow and indexes over it.
type checker struct {
	w      *Workflow
	prefix string
	l      *diag.List
	nodes  map[string]*Node
	agents map[string]*Agent
	ports  map[port]bool // ports that have an edge
	begins map[port]bool // ports of forks at which a branch begins

	nodeIDs, agentIDs []string // sorted
	hints             int
}

type port struct{ node, name string }

// maxHints is the maximum number of names that are compared with all others, because that is slow
// in a document full of errors.
const maxHints = 50

func flowPrefix(path []string) string {
	var b strings.Builder
	for _, name := range path {
		fmt.Fprintf(&b, "flow %q: ", name)
	}
	return b.String()
}

func newChecker(w *Workflow, prefix string, l *diag.List) *checker {
	c := &checker{w: w, prefix: prefix, l: l, nodes: map[string]*Node{}, agents: map[string]*Agent{},
		ports: map[port]bool{}, begins: map[port]bool{}}
	for i := range w.Nodes {
		n := &w.Nodes[i]
		if c.nodes[n.ID] == nil {
			c.nodes[n.ID] = n
		}
		if n.Fork != nil {
			for _, b := range n.Fork.Branches {
				c.begins[port{n.ID, b.ID}] = true
			}
		}
	}
	for i := range w.Agents {
		if a := &w.Agents[i]; c.agents[a.ID] == nil {
			c.agents[a.ID] = a
		}
	}
	for _, e := range w.Edges {
		c.ports[port{e.From, e.PortName()}] = true
	}
	c.nodeIDs = slices.Sorted(maps.Keys(c.nodes))
	c.agentIDs = slices.Sorted(maps.Keys(c.agents))
	return c
}

func (c *checker) errorf(span diag.Span, code, format string, args ...any) *diag.Diagnostic {
	return c.l.Errorf(span, "", code, "%s", c.prefix+fmt.Sprintf(format, args...))
}

func (c *checker) nodeErrorf(n *Node, code, format string, args ...any) *diag.Diagnostic {
	return c.errorf(c.w.Source.Node(n.ID), code, "node %q: %s", n.ID, fmt.Sprintf(format, args...))
}

func (c *checker) agentErrorf(a *Agent, code, format string, args ...any) *diag.Diagnostic {
	return c.errorf(c.w.Source.Agent(a.ID), code, "agent %q: %s", a.ID, fmt.Sprintf(format, args...))
}

// checkEntry allows a workflow to have no nodes: its runs complete immediately, without output. A
// flow that is a step must have a result.
func (c *checker) checkEntry(flow bool) {
	span := diag.Span{File: c.w.Source.File}
	entry := c.nodes[c.w.Entry]
	switch {
	case len(c.w.Nodes) == 0 && flow:
		c.errorf(span, "no-nodes", "the workflow has no nodes")
	case len(c.w.Nodes) == 0 && c.w.Entry == "":
	case c.w.Entry == "":
		c.errorf(span, "no-entry", "the workflow has no entry node")
	case entry == nil:
		c.errorf(span, "unknown-entry", "the entry %q is not a node", c.w.Entry).Hint = c.similar(c.w.Entry, c.nodeIDs)
	case entry.Parent != "":
		c.nodeErrorf(entry, "entry-in-branch", "the entry is in a branch of %q", entry.Parent)
	}
}

func (c *checker) checkIDs() {
	for i := range c.w.Nodes {
		n := &c.w.Nodes[i]
		if n.ID == "" {
			c.errorf(c.w.Source.Node(""), "empty-id", "a node of kind %q has no id", n.Kind)
		} else if c.nodes[n.ID] != n {
			c.errorf(c.w.Source.Node(n.ID), "duplicate-node", "node id %q is used twice", n.ID)
		}
	}
	for i := range c.w.Agents {
		a := &c.w.Agents[i]
		if a.ID == "" {
			c.errorf(c.w.Source.Agent(""), "empty-id", "agent %q has no id", a.Name)
		} else if c.agents[a.ID] != a {
			c.errorf(c.w.Source.Agent(a.ID), "duplicate-agent", "agent id %q is used twice", a.ID)
		}
	}
}

func (c *checker) checkEdges() {
	for i, e := range c.w.Edges {
		span := c.w.Source.Edge(i)
		if c.nodes[e.From] == nil {
			c.errorf(span, "unknown-node", "an edge begins at %q, which does not exist", e.From).Hint = c.similar(
				e.From, c.nodeIDs)
		}
		if c.nodes[e.To] == nil {
			c.errorf(span, "unknown-node", "an edge from %q leads to %q, which does not exist", e.From,
				e.To).Hint = c.similar(e.To, c.nodeIDs)
		}
		if e.When != nil {
			if msg := badCondition(*e.When); msg != "" {
				c.errorf(span, "bad-condition", "the guard of the edge from %q to %q %s", e.From, e.To, msg)
			}
		}
	}
}

func (c *checker) checkFlowNames(path []string) {
	for i := range c.w.Nodes {
		n := &c.w.Nodes[i]
		if n.Kind != KindSubflow || n.Subflow == nil {
			continue
		}
		name := n.Subflow.Flow
		if _, ok := c.w.Flows[name]; ok {
			continue
		}
		// A flow sees only its own flows; the name of an enclosing flow is a call of itself, which
		// would never end.
		if slices.Contains(path, name) {
			c.nodeErrorf(n, "flow-recursion", "flow %q contains itself", name)
			continue
		}
		c.nodeErrorf(n, "unknown-flow", "flow %q is not defined", name).Hint =
			c.similar(name, slices.Sorted(maps.Keys(c.w.Flows)))
	}
}

// similar returns a hint that suggests the name that was probably meant, or "" if there is none.
func (c *checker) similar(name string, names []string) string {
	if c.hints++; c.hints > maxHints || slices.Contains(names, name) {
		return ""
	}
	return diag.DidYouMean(name, names)
}

// badCondition returns what is wrong with a condition, or "" if it can be evaluated. The text of an
// expression is parsed by the format.
func badCondition(c Condition) string {
	switch c.Language {
	case LangMatch:
		return "" // any operator and any operand
	case LangExpr:
		if strings.TrimSpace(c.Text) == "" {
			return "has no expression"
		}
	case LangFunc:
		if c.Func == "" {
			return "names no function"
		}
	default:
		return fmt.Sprintf("has the unknown language %q", c.Language)
	}
	return ""
}
