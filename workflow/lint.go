package workflow

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/diag"
)

// Lint reports what looks wrong in a workflow that may run: warnings and notes, never errors,
// sorted by position. It expects a workflow without errors of [Validate] and never panics on
// others. It checks flows and branches too.
//
// If the specification of a format allows what would otherwise be rejected, the problem is reported
// here.
//
// Warnings: unreachable-node, unbounded-cycle, join-without-input, branch-never-joins,
// reads-unknown, reads-unseen, unused-agent, dead-edge, duplicate-edge, decide-without-cases.
// Notes: approval-without-edges, open-port, and unreachable-node and unbounded-cycle if a Go
// function or an explicit step limit suggests that they are intentional.
func Lint(w *Workflow) diag.List {
	var l diag.List
	lintFlow(w, "", nil, nil, &l)
	for _, b := range w.Branches {
		if b != nil {
			lintFlow(b, fmt.Sprintf("branch %q: ", b.ID), nil, nil, &l)
		}
	}
	l.Sort()
	return l
}

func lintFlow(w *Workflow, prefix string, path []string, chain []*Workflow, l *diag.List) {
	c := &linter{checker: newChecker(w, prefix+flowPrefix(path), l), g: newGraph(w)}
	c.lintReach()
	c.lintCycles()
	c.lintJoins()
	c.lintReads()
	c.lintAgents()
	c.lintEdges()
	c.lintPorts()
	chain = append(slices.Clip(chain), w)
	for _, name := range slices.Sorted(maps.Keys(w.Flows)) {
		if flow := w.Flows[name]; flow != nil && !slices.Contains(chain, flow) && len(path) < MaxFlowDepth {
			lintFlow(flow, prefix, append(slices.Clip(path), name), chain, l)
		}
	}
}

type linter struct {
	*checker
	g     *graph
	alive []bool // nodes reachable from the entry
}

func (c *linter) warnf(span diag.Span, code, format string, args ...any) *diag.Diagnostic {
	return c.l.Warnf(span, "", code, "%s", c.prefix+fmt.Sprintf(format, args...))
}

func (c *linter) infof(span diag.Span, code, format string, args ...any) {
	c.warnf(span, code, format, args...).Severity = diag.Info
}

func (c *linter) span(i int) diag.Span { return c.w.Source.Node(c.w.Nodes[i].ID) }

// lintReach finds nodes that no path leads to. A Go function may go to any node, so if there is
// one, such a node may be intentional.
func (c *linter) lintReach() {
	var roots []int
	for i := range c.w.Nodes {
		if n := &c.w.Nodes[i]; n.ID == c.w.Entry || n.ID == c.w.Rules.Handoff || n.Recovery {
			roots = append(roots, i)
		}
	}
	c.alive = c.g.reach(roots...)
	jumps := false
	for i := range c.w.Nodes {
		n := &c.w.Nodes[i]
		jumps = jumps || c.alive[i] && (n.Kind == KindFunc || n.OnError != "")
	}
	handed := map[string]bool{}
	for i := range c.w.Agents {
		for _, id := range c.w.Agents[i].Handoffs {
			handed[id] = true
		}
	}
	for i := range c.w.Nodes {
		if n := &c.w.Nodes[i]; n.Agent != nil && handed[n.Agent.Agent] {
			continue // its agent takes over in another agent's step
		}
		if n := &c.w.Nodes[i]; !c.alive[i] && !n.Hidden {
			if jumps {
				c.infof(c.span(i), "unreachable-node",
					"no edge leads from the entry to %q: only a Go function can go there", n.ID)
			} else {
				c.warnf(c.span(i), "unreachable-node", "no path leads from the entry to %q: it never runs", n.ID)
			}
		}
	}
}

// lintCycles finds cycles that nothing in the document ends. Counted back-edges, rounds and a
// person who is asked each time count as limits.
func (c *linter) lintCycles() {
	if c.w.Limits.MaxRounds > 0 {
		return
	}
	free := newGraphOf(c.w, func(e Edge) bool { return !e.Loop }, func(n *Node) bool {
		return n.Kind == KindWait && (n.Wait == nil || !n.Wait.AutoApprove)
	})
	for _, cycle := range free.cycles() {
		if !c.alive[cycle[0]] {
			continue
		}
		ids := make([]string, len(cycle))
		for i, n := range cycle {
			ids[i] = c.w.Nodes[n].ID
		}
		text := strings.Join(ids, " -> ")
		if c.w.Limits.MaxSteps != nil {
			c.infof(c.span(cycle[0]), "unbounded-cycle", "cycle %s has no limit of its own: only maxSteps (%d) ends it",
				text, c.w.Limits.Steps())
			continue
		}
		c.warnf(c.span(cycle[0]), "unbounded-cycle", "cycle %s has no limit of its own: only maxSteps ends it",
			text).Hint =
			fmt.Sprintf("maxSteps is %d by default", c.w.StepLimit())
	}
}

// lintJoins finds joins that cannot fire, or that wait for a branch that cannot reach them.
func (c *linter) lintJoins() {
	for i := range c.w.Nodes {
		n := &c.w.Nodes[i]
		if n.Kind == KindJoin && n.Join != nil && n.Join.Fork == "" && len(c.g.pred[i]) == 0 {
			c.warnf(c.span(i), "join-without-input", "join %q has no incoming edge: it never fires", n.ID)
		}
		if n.Kind != KindFork || n.Fork == nil {
			continue
		}
		join, ok := c.g.index[n.Fork.Join]
		if !ok {
			continue
		}
		to := c.g.reachBack(join, i)
		for _, b := range n.Fork.Branches {
			if starts := c.g.byPort[port{n.ID, b.ID}]; len(starts) > 0 &&
				!slices.ContainsFunc(starts, func(s int) bool { return to[s] }) {
				c.warnf(c.span(i), "branch-never-joins", "branch %q of %q never reaches its join: it gives no output",
					b.ID, n.ID)
			}
		}
	}
}

// lintReads finds templates and conditions that read a node that cannot have run before. Siblings
// of a fork are distinguished by the graph itself: no edge leads from one branch into another.
func (c *linter) lintReads() {
	readers := make([][]int, len(c.w.Nodes)) // by the node that is read
	for i := range c.w.Nodes {
		n := &c.w.Nodes[i]
		for _, id := range n.Reads {
			if r, ok := c.g.index[id]; ok {
				readers[r] = append(readers[r], i)
			} else {
				c.warnf(c.span(i), "reads-unknown", "%q reads the output of %q, which does not exist", n.ID,
					id).Hint = c.similar(id, c.nodeIDs)
			}
		}
	}
	for r, list := range readers {
		if len(list) == 0 {
			continue
		}
		after := c.g.reach(c.g.succ[r]...)
		for _, i := range list {
			if c.alive[i] && (!c.alive[r] || !after[i]) {
				c.warnf(c.span(i), "reads-unseen", "%q reads the output of %q, which no path runs before it",
					c.w.Nodes[i].ID, c.w.Nodes[r].ID)
			}
		}
	}
}

func (c *linter) lintAgents() {
	used := map[string]bool{}
	var todo []string
	for i := range c.w.Nodes {
		if a := c.w.Nodes[i].Agent; a != nil {
			todo = append(todo, a.Agent)
		}
	}
	for len(todo) > 0 {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		a := c.agents[id]
		if used[id] || a == nil {
			continue
		}
		used[id] = true
		for _, s := range a.Subagents {
			todo = append(todo, s.Agent)
		}
		todo = append(todo, a.Handoffs...)
	}
	for i := range c.w.Agents {
		if a := &c.w.Agents[i]; !used[a.ID] {
			c.warnf(c.w.Source.Agent(a.ID), "unused-agent", "agent %q is not used", a.ID)
		}
	}
}
