package run

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/workflow"
)

// replaced compares the definition of a run with its replacement, and returns the events of the run
// with the edges of the new one. Nodes that the events execute, and the edges between them, must be
// identical; prompts of agents, their models, conditions and limits may differ.
//
// It returns an *InvalidError that names the first difference in the order of the old definition.
func (h *history) replaced(old, now *workflow.Workflow) ([]event.Event, error) {
	flows := map[int]flowPair{0: {old: old, now: now}} // by scope
	var order []flowPair
	ran := map[string]map[string]bool{}
	edges := map[string]map[int]int{}
	events := slices.Clone(h.events)
	pairOf := func(scope int) (flowPair, error) {
		p, err := h.pairOf(scope, flows)
		if err == nil && ran[p.path] == nil {
			ran[p.path] = map[string]bool{}
			order = append(order, p)
		}
		return p, err
	}
	for i := range events {
		switch d := events[i].Data.(type) {
		case *event.StepStarted:
			p, err := pairOf(d.Scope)
			if err != nil {
				return nil, err
			}
			ran[p.path][localNode(events[i].Node, p.path)] = true
		case *event.EdgeTaken:
			if p, err := pairOf(d.Scope); err != nil {
				return nil, err
			} else if f := p.old.Node(d.To); f != nil && f.Kind == workflow.KindJoin {
				ran[p.path][d.To] = true
			}
		}
	}
	for _, p := range order {
		var err error
		if edges[p.path], err = p.compare(ran[p.path]); err != nil {
			return nil, err
		}
	}
	for i := range events {
		d, ok := events[i].Data.(*event.EdgeTaken)
		if !ok || d.Edge < 0 {
			continue
		}
		p, err := pairOf(d.Scope)
		if err != nil {
			return nil, err
		}
		at, ok := edges[p.path][d.Edge]
		if !ok {
			if at = p.indexOf(d.Edge); at < 0 {
				e := p.old.Edges[d.Edge]
				return nil, differs("edge %s was taken and is not in the new document", p.edge(e))
			}
		}
		if at != d.Edge {
			moved := *d
			moved.Edge = at
			events[i].Data = &moved
		}
	}
	return events, nil
}

func differs(format string, args ...any) error {
	return failure.Refuse(errcode.DocumentDiffers, errcode.Fields{"difference": fmt.Sprintf(format, args...)}, nil)
}

// flowPair is one workflow of a run, or one of its sub-flows, in the old and the new version. path
// is empty, or ends in a slash.
type flowPair struct {
	path     string
	old, now *workflow.Workflow
}

// pairOf returns the workflow pair to which a scope belongs.
func (h *history) pairOf(scope int, known map[int]flowPair) (flowPair, error) {
	if p, ok := known[scope]; ok {
		return p, nil
	}
	owner, ok := h.owner[scope]
	if !ok {
		return flowPair{}, fmt.Errorf("scope %d has no owner", scope)
	}
	above, err := h.pairOf(h.start(owner).Scope, known)
	if err != nil {
		return flowPair{}, err
	}
	p := above
	if h.start(owner).Kind == workflow.KindSubflow {
		id := localNode(h.events[h.started[owner]].Node, above.path)
		was, is := above.old.Node(id), above.now.Node(id)
		if was == nil || was.Subflow == nil {
			return flowPair{}, fmt.Errorf("scope %d belongs to no sub-flow", scope)
		}
		if is == nil || is.Subflow == nil {
			return flowPair{}, differs("node %s", missingNode(above.path+id, is, was))
		}
		p = flowPair{path: above.path + id + "/", old: above.old.Flows[was.Subflow.Flow],
			now: above.now.Flows[is.Subflow.Flow]}
		if p.old == nil || p.now == nil {
			return flowPair{}, differs("node %q runs another workflow", above.path+id)
		}
	}
	known[scope] = p
	return p, nil
}

func localNode(path, flow string) string { return strings.TrimPrefix(path, flow) }

func missingNode(id string, is, was *workflow.Node) string {
	if is == nil {
		return fmt.Sprintf("%q is missing", id)
	}
	return fmt.Sprintf("%q is of kind %s, and was of kind %s", id, is.Kind, was.Kind)
}

// compare returns an error unless the nodes that ran, and the edges between them, are identical. It
// returns the new index of each such edge by its old one.
func (p flowPair) compare(ran map[string]bool) (map[int]int, error) {
	for i := range p.old.Nodes {
		was := &p.old.Nodes[i]
		if !ran[was.ID] {
			continue
		}
		is := p.now.Node(was.ID)
		id := p.path + was.ID
		switch {
		case is == nil || is.Kind != was.Kind:
			return nil, differs("node %s", missingNode(id, is, was))
		case is.Parent != was.Parent:
			return nil, differs("node %q is in %s, and was in %s", id, branchOf(is.Parent), branchOf(was.Parent))
		case was.Agent != nil && is.Agent.Agent != was.Agent.Agent:
			return nil, differs("node %q runs agent %q, and ran agent %q", id, is.Agent.Agent, was.Agent.Agent)
		case was.Fork != nil && is.Fork.Join != was.Fork.Join:
			return nil, differs("the branches of node %q meet at %q, and met at %q", id, is.Fork.Join, was.Fork.Join)
		case was.Fork != nil && branchIDs(is) != branchIDs(was):
			return nil, differs("node %q has the branches %s, and had %s", id, branchIDs(is), branchIDs(was))
		case was.Tool != nil && is.Tool.Tool != was.Tool.Tool:
			return nil, differs("node %q calls tool %q, and called %q", id, is.Tool.Tool, was.Tool.Tool)
		}
	}
	if p.old.Entry != p.now.Entry {
		return nil, differs("the entry is node %q, and was %q", p.path+p.now.Entry, p.path+p.old.Entry)
	}
	return p.compareEdges(ran)
}

func branchOf(parent string) string {
	if parent == "" {
		return "no branch"
	}
	return fmt.Sprintf("a branch of %q", parent)
}

func branchIDs(n *workflow.Node) string {
	var ids []string
	for _, b := range n.Fork.Branches {
		ids = append(ids, b.ID)
	}
	return strings.Join(ids, ", ")
}

func (p flowPair) compareEdges(ran map[string]bool) (map[int]int, error) {
	inside := func(e workflow.Edge) bool { return ran[e.From] && ran[e.To] }
	taken, moved := map[int]bool{}, map[int]int{}
	for i, e := range p.old.Edges {
		if !inside(e) {
			continue
		}
		at := slices.IndexFunc(p.now.Edges, func(n workflow.Edge) bool { return sameEdge(e, n) })
		for at >= 0 && taken[at] { // duplicate edge
			next := slices.IndexFunc(p.now.Edges[at+1:], func(n workflow.Edge) bool { return sameEdge(e, n) })
			if next < 0 {
				at = -1
				break
			}
			at += 1 + next
		}
		if at < 0 {
			return nil, differs("edge %s is missing", p.edge(e))
		}
		taken[at], moved[i] = true, at
	}
	for at, e := range p.now.Edges {
		if inside(e) && !taken[at] {
			return nil, differs("edge %s is new", p.edge(e))
		}
	}
	return moved, nil
}

func sameEdge(a, b workflow.Edge) bool {
	return a.From == b.From && a.To == b.To && a.PortName() == b.PortName() && a.Loop == b.Loop
}

// indexOf returns the index in the new workflow of an edge of the old one whose end has not run, or
// -1 if there is none.
func (p flowPair) indexOf(old int) int {
	if old >= len(p.old.Edges) {
		return -1
	}
	nth := 0
	for _, e := range p.old.Edges[:old] {
		if sameEdge(e, p.old.Edges[old]) {
			nth++
		}
	}
	for at, e := range p.now.Edges {
		if sameEdge(e, p.old.Edges[old]) {
			if nth == 0 {
				return at
			}
			nth--
		}
	}
	return -1
}

// edge returns the name of an edge for display.
func (p flowPair) edge(e workflow.Edge) string {
	text := fmt.Sprintf("%q (%s → %s", cmp.Or(e.ID, e.From+" → "+e.To), p.path+e.From, p.path+e.To)
	if e.ID == "" {
		text = fmt.Sprintf("(%s → %s", p.path+e.From, p.path+e.To)
	}
	if port := e.PortName(); port != workflow.PortOut {
		text += ", port " + port
	}
	return text + ")"
}
