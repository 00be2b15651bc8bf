package graph

import (
	"slices"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// Sight is what one scope sees of the outputs of its flow (D5): the outputs at its fork, overlaid
// by those of its own branch. A block that ran in an earlier pass of a loop is seen with the
// branch's changes since then, so that each step has one output, the latest (S4-4).
type Sight[L any] struct {
	g *Graph[L]
	f *plan.Flow
	// scope is the scope whose view this is.
	scope int
	// entries are in the order in which their nodes were first executed.
	entries []Entry
	// overlay holds the steps of the entries whose nodes are in branches, by node. They are steps
	// of the branches around the scope, and newer than any entry of the blocks around it. It is nil
	// outside of branches.
	overlay map[int]int
	// stepsOnly omits the outputs from entries, for callers that need only their steps.
	stepsOnly bool
}

// Sight returns what a scope sees.
func (g *Graph[L]) Sight(scopeID int) Sight[L] {
	s := Sight[L]{g: g, f: g.FlowIn(scopeID), scope: scopeID, entries: g.seen(scopeID)}
	for _, e := range s.entries {
		if s.f.Nodes[e.Node].Parent == "" {
			continue
		}
		if s.overlay == nil {
			s.overlay = map[int]int{}
		}
		s.overlay[e.Node] = e.Step
	}
	return s
}

// find returns the latest visible execution of a node.
func (s Sight[L]) find(node int) (Entry, bool) {
	parent := s.f.Nodes[node].Parent
	if parent == "" {
		i := slices.IndexFunc(s.entries, func(e Entry) bool { return e.Node == node })
		if i < 0 {
			return Entry{}, false
		}
		return s.entries[i], true
	}
	if step, ok := s.overlay[node]; ok {
		return Entry{node, step}, true
	}
	if s.f.Nodes[s.f.Index[parent]].Kind == workflow.KindMap { // each item has its own executions
		return Entry{}, false
	}
	block, ok := s.find(s.f.Index[parent])
	if !ok {
		return Entry{}, false
	}
	step, ok := s.stepsByNode(block.Step)[node]
	return Entry{node, step}, ok
}

// Top returns the entries that are not shown inside a block.
func (s Sight[L]) Top() []Entry {
	if s.overlay == nil {
		return s.entries
	}
	var out []Entry
	for _, e := range s.entries {
		if parent := s.f.Nodes[e.Node].Parent; parent != "" && s.f.Nodes[s.f.Index[parent]].Kind == workflow.KindFork {
			if _, shown := s.find(s.f.Index[parent]); shown {
				continue
			}
		}
		out = append(out, e)
	}
	return out
}

// Entry returns one step's output; a block's includes its branches.
func (s Sight[L]) Entry(e Entry) expr.Entry {
	out := expr.Entry{Step: e.Step, Agent: s.g.SpeakerName(s.f, e.Step), StopReason: s.g.Step(e.Step).Stop}
	if !s.stepsOnly {
		out.Output = s.g.Value(e.Step)
	}
	n := &s.f.Nodes[e.Node]
	if n.Kind != workflow.KindFork || s.g.Step(e.Step).Status == event.Failed { // a failed fork has only its default
		return out
	}
	var changed bool
	out.Children, changed = s.children(e.Step)
	if changed && n.Fork.Shape != workflow.ShapeMap {
		out.Output = nil // it is built from the children
	}
	return out
}

// children returns the steps of a block's branches that have run, in declared order, and reports
// whether any of them has changed since the block ended.
func (s Sight[L]) children(block int) ([]expr.Child, bool) {
	out, changed := []expr.Child{}, false
	ran := s.stepsByNode(block)
	for _, c := range s.f.Nodes[s.g.Step(block).Node].Children {
		step, ok := ran[c]
		if own, newer := s.overlay[c]; newer {
			step, ok, changed = own, true, true
		}
		if !ok {
			continue
		}
		child := s.Entry(Entry{c, step})
		changed = changed || child.Children != nil && child.Output == nil
		out = append(out, expr.Child{ID: plan.LocalID(s.f.Nodes[c].ID), Entry: child})
	}
	return out, changed
}

// childrenAsLeft returns the steps of a block's branches as the block left them.
func (s Sight[L]) childrenAsLeft(block int) []expr.Child {
	out, _ := s.children(block)
	return out
}

// stepsByNode returns the steps of a block's branches that have an output, by node.
func (s Sight[L]) stepsByNode(block int) map[int]int {
	out := map[int]int{}
	hidden := HidesLosers(s.f.Workflow, s.f.Nodes[s.g.Step(block).Node].Fork)
	for _, id := range s.g.Step(block).Block.Scopes {
		if hidden && s.g.Scope(id).Outcome() != BranchArrived {
			continue
		}
		for _, x := range s.g.Scope(id).Entries {
			out[x.Node] = x.Step
		}
	}
	return out
}

// seen returns the outputs that a scope sees: those at its fork, overlaid by its own. They do not
// change afterwards and must not be modified, because other sights share them.
func (g *Graph[L]) seen(scopeID int) []Entry {
	sc := g.Scope(scopeID)
	if len(sc.Base) == 0 {
		sc.shared = true
		return slices.Clip(sc.Entries)
	}
	out := slices.Clone(sc.Base)
	for _, e := range sc.Entries {
		if i := slices.IndexFunc(out, func(x Entry) bool { return x.Node == e.Node }); i >= 0 {
			out[i] = e
			continue
		}
		out = append(out, e)
	}
	return out
}

// record records the output of a step: a node keeps the position of its first execution (S4-4).
// fresh means that the node runs for the first time.
func (sc *Scope) record(node, step int, fresh bool) {
	for i := 0; i < len(sc.Entries) && !fresh; i++ {
		if sc.Entries[i].Node == node {
			if sc.shared {
				sc.Entries, sc.shared = slices.Clone(sc.Entries), false
			}
			sc.Entries[i].Step = step
			return
		}
	}
	sc.Entries = append(sc.Entries, Entry{node, step})
}

// Outputs returns the outputs that a scope sees, by node id.
func (g *Graph[L]) Outputs(scopeID int) map[string]event.Value {
	seen := g.seen(scopeID)
	if len(seen) == 0 {
		return nil
	}
	out := make(map[string]event.Value, len(seen))
	f := g.flows[g.Scope(scopeID).Flow]
	for _, e := range seen {
		out[f.Nodes[e.Node].ID] = g.Value(e.Step)
	}
	return out
}

// SpeakerName returns the title of the agent that produced the output of a step of f: the step's
// own agent, or the one to which it was handed over. It returns "" for steps without an agent
// (S4-34).
func (g *Graph[L]) SpeakerName(f *plan.Flow, step int) string {
	n, by := g.StepNode(step), g.Step(step).By
	if n.Agent != nil && by == "" {
		by = n.Agent.Agent
	}
	return Title(f, by)
}

// Title returns the title of an agent of f, or "" if there is none.
func Title(f *plan.Flow, agent string) string {
	if a := f.Agents[agent]; a != nil {
		return a.Title()
	}
	return ""
}

// Caught returns the latest execution of a node after whose failure the run continued, or the zero
// value if there is none. A branch sees those around it.
func (s Sight[L]) Caught(id string) Caught {
	idx, ok := s.f.Index[id]
	for at := s.scope; ok; {
		sc := s.g.Scope(at)
		if c := sc.Caught[idx]; c.Step > 0 || sc.Branch == 0 {
			return c
		}
		at = s.g.Step(sc.Owner).Scope
	}
	return Caught{}
}

// around returns the entry of a block that has not ended yet, with what the scope's own branch of
// it has so far, or false if there is nothing: later passes show the same through [Sight.children].
func (s Sight[L]) around(block int) (expr.Entry, bool) {
	if s.overlay == nil || s.f.Nodes[block].Kind != workflow.KindFork {
		return expr.Entry{}, false
	}
	var out expr.Entry
	for _, c := range s.f.Nodes[block].Children {
		child, ok := s.around(c)
		if step, own := s.overlay[c]; own {
			child, ok = s.Entry(Entry{c, step}), true
		}
		if ok {
			out.Children = append(out.Children, expr.Child{ID: plan.LocalID(s.f.Nodes[c].ID), Entry: child})
		}
	}
	return out, out.Children != nil
}

// EntryOf returns the visible entry of a node, by its id, with or without the path of its sub-flow.
func (s Sight[L]) EntryOf(id string) (expr.Entry, bool) {
	if idx, known := s.f.Index[id]; known {
		if x, ok := s.find(idx); ok {
			return s.Entry(x), true
		}
		return s.around(idx)
	}
	for _, x := range s.entries {
		if plan.LocalID(s.f.Nodes[x.Node].ID) == id {
			return s.Entry(x), true
		}
	}
	return expr.Entry{}, false
}
