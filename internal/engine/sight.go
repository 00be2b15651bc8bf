package engine

import (
	"slices"

	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// sight is what one scope sees of the outputs of its flow (D5): the outputs at its fork, and over them those of its own branch. A block that ran in
// a former pass of a loop is seen with what the branch has changed in it since, so that each step has one output, the latest (S4-4).
type sight struct {
	g *graph
	f *plan.Flow
	// entries are in the order of the first execution of their nodes.
	entries []entry
	// own are the steps of those entries whose nodes are in branches, by node. They are steps of the branches around the scope, and newer than
	// any entry of the blocks around it. Nil outside of branches.
	own map[int]int
	// bare: entries are given without their outputs, for who needs their steps alone.
	bare bool
}

func (g *graph) sight(scopeID int) sight {
	s := sight{g: g, f: g.flows[g.scope(scopeID).Flow], entries: g.seen(scopeID)}
	for _, e := range s.entries {
		if s.f.Nodes[e.Node].Parent == "" {
			continue
		}
		if s.own == nil {
			s.own = map[int]int{}
		}
		s.own[e.Node] = e.Step
	}
	return s
}

// find gives the latest execution of a node that can be seen.
func (s sight) find(node int) (entry, bool) {
	parent := s.f.Nodes[node].Parent
	if parent == "" {
		i := slices.IndexFunc(s.entries, func(e entry) bool { return e.Node == node })
		if i < 0 {
			return entry{}, false
		}
		return s.entries[i], true
	}
	if step, ok := s.own[node]; ok {
		return entry{node, step}, true
	}
	block, ok := s.find(s.f.Index[parent])
	if !ok {
		return entry{}, false
	}
	step, ok := s.ran(block.Step)[node]
	return entry{node, step}, ok
}

// top gives the entries that are not shown inside of a block.
func (s sight) top() []entry {
	if s.own == nil {
		return s.entries
	}
	var out []entry
	for _, e := range s.entries {
		if parent := s.f.Nodes[e.Node].Parent; parent != "" {
			if _, shown := s.find(s.f.Index[parent]); shown {
				continue
			}
		}
		out = append(out, e)
	}
	return out
}

// entry shows one step's output, that of a block with its branches.
func (s sight) entry(e entry) expr.Entry {
	out := expr.Entry{Step: e.Step, Agent: s.g.speakerName(s.f, e.Step)}
	if !s.bare {
		out.Output = s.g.value(e.Step)
	}
	n := &s.f.Nodes[e.Node]
	if n.Kind != workflow.KindFork {
		return out
	}
	var changed bool
	out.Children, changed = s.children(e.Step)
	if changed && n.Fork.Shape != workflow.ShapeMap {
		out.Output = nil // it is made of the children
	}
	return out
}

// children shows the steps of a block's branches that have run, in declared order. It tells whether any is not as the block left it.
func (s sight) children(block int) ([]expr.Child, bool) {
	out, changed := []expr.Child{}, false
	ran := s.ran(block)
	for _, c := range s.f.Nodes[s.g.step(block).Node].Children {
		step, ok := ran[c]
		if own, newer := s.own[c]; newer {
			step, ok, changed = own, true, true
		}
		if !ok {
			continue
		}
		child := s.entry(entry{c, step})
		changed = changed || child.Children != nil && child.Output == nil
		out = append(out, expr.Child{ID: plan.LocalID(s.f.Nodes[c].ID), Entry: child})
	}
	return out, changed
}

// left shows the steps of a block's branches as the block left them.
func (s sight) left(block int) []expr.Child {
	out, _ := s.children(block)
	return out
}

// ran gives the steps of a block's branches that gave an output, by node.
func (s sight) ran(block int) map[int]int {
	out := map[int]int{}
	hidden := s.f.Workflow.Rules.HideLosers && losers(s.f.Nodes[s.g.step(block).Node].Fork.Until)
	for _, id := range s.g.step(block).Block.Scopes {
		if hidden && s.g.scope(id).outcome() != branchArrived { // what losers gave counts as little as what they changed (S2-57)
			continue
		}
		for _, x := range s.g.scope(id).Entries {
			out[x.Node] = x.Step
		}
	}
	return out
}
