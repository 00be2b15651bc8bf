package workflow

import (
	"fmt"
	"slices"
	"strings"
)

// firedPorts returns the ports that n can fire; open reports whether other ports may be fired too.
func firedPorts(n *Node) (names []string, open bool) {
	k, _ := kindOf(n.Kind)
	if k.ports == nil || k.spec != nil && !k.spec(n) {
		return nil, true
	}
	names, open = k.ports(n)
	if n.Kind != KindStart && n.Kind != KindEnd { // these cannot fail
		names = append(names, PortError, PortLimit, PortTimeout)
	}
	if n.If != nil || n.Catch != nil && n.Catch.Port == PortOut {
		names = append(names, PortOut)
	}
	return names, open
}

// lintEdges finds edges that are never taken, and duplicate edges, which start their target twice.
func (c *linter) lintEdges() {
	type key struct {
		from, port, to string
		when           Condition
		loop           bool
	}
	fired := map[string]map[string]bool{}
	seen := map[key]bool{}
	for i, e := range c.w.Edges {
		n := c.nodes[e.From]
		if n == nil || c.nodes[e.To] == nil {
			continue
		}
		if _, ok := fired[n.ID]; !ok {
			names, open := firedPorts(n)
			fired[n.ID] = nil
			if !open {
				fired[n.ID] = map[string]bool{}
				for _, name := range names {
					fired[n.ID][name] = true
				}
			}
		}
		if set := fired[n.ID]; set != nil && !set[e.PortName()] {
			c.warnf(c.w.Source.Edge(i), "dead-edge", "the edge from %q to %q leaves by %q, which a node of kind %s "+
				"there never fires", e.From, e.To, e.PortName(), n.Kind)
		}
		k := key{from: e.From, port: e.PortName(), to: e.To, loop: e.Loop}
		if e.When != nil {
			k.when = *e.When
		}
		if seen[k] && !n.First {
			c.warnf(c.w.Source.Edge(i), "duplicate-edge", "the edge from %q to %q is a duplicate: %q is started twice",
				e.From, e.To, e.To)
		}
		seen[k] = true
	}
}

// lintPorts finds approvals and decisions with an output that leads nowhere: the branch ends there,
// and the run still completes.
func (c *linter) lintPorts() {
	for i := range c.w.Nodes {
		n := &c.w.Nodes[i]
		switch {
		case n.Kind == KindWait && n.Wait != nil && n.Wait.Kind == WaitApproval && !n.Wait.AutoApprove:
			if !c.ports[port{n.ID, PortApprove}] && !c.ports[port{n.ID, PortReject}] {
				c.infof(c.span(i), "approval-without-edges",
					"approval %q has neither an approve nor a reject edge: the branch ends there, whatever the answer",
					n.ID)
			}
		case n.Kind == KindDecide && n.Decide != nil:
			if len(n.Decide.Cases) == 0 {
				c.warnf(c.span(i), "decide-without-cases", "%q has no conditions: it always takes %q", n.ID,
					n.Decide.Else)
				continue
			}
			var lost []string
			seen := map[string]bool{"": true}
			for _, note := range n.Notes {
				seen[Edge{Port: note.Port}.PortName()] = true // the document has an edge there that leads nowhere
			}
			for _, k := range append(slices.Clone(n.Decide.Cases), Case{Port: n.Decide.Else}) {
				if !seen[k.Port] && !c.ports[port{n.ID, k.Port}] {
					lost = append(lost, fmt.Sprintf("%q", k.Port))
				}
				seen[k.Port] = true
			}
			if len(lost) > 0 {
				c.infof(c.span(i), "open-port", "%q has no edge at %s: a branch that goes there ends", n.ID,
					strings.Join(lost, ", "))
			}
		}
	}
}
