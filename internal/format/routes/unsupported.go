package routes

import (
	"github.com/hocket-run/hocket/internal/format/lost"
	"github.com/hocket-run/hocket/internal/format/schedules"
	"github.com/hocket-run/hocket/workflow"
)

// compare records every difference between the workflow and what was read back from the written
// document. The list is complete: every part of the workflow is in the document or in the list.
func (o *writer) compare(back *workflow.Workflow) {
	w := o.w
	u := &o.unsupported
	for _, side := range []struct {
		name        string
		said, heard any
	}{{"limit", w.Limits, back.Limits}, {"rule", w.Rules, back.Rules}} {
		for key, d := range lost.Fields(side.said, side.heard) {
			switch {
			case key == "sharedConversation":
				u.Addf("workflow", "that agents do not share one conversation")
			case key == "maxSteps" && d.Said == "":
				u.Addf("workflow", "the default limit of steps: here it is %s", d.Heard)
			case key == "handoff" && o.omittedNodes[w.Rules.Handoff]: // the node was reported
			case key == "timeout" && d.Said == "":
				u.Addf("workflow", "a run without a time limit: here it is %s", d.Heard)
			default:
				u.Addf("workflow", "the %s %s", side.name, d.Text(key))
			}
		}
	}
	rest, restBack := *w, *back
	for _, x := range []*workflow.Workflow{&rest, &restBack} {
		x.Format, x.Nodes, x.Edges, x.Agents, x.Limits, x.Rules = "", nil, nil, nil, workflow.Limits{}, workflow.Rules{}
		if n := o.byID[x.Entry]; n == nil || o.omittedNodes[x.Entry] {
			x.Entry = "" // the node was reported
		}
	}
	if rest.Entry == "" {
		restBack.Entry = ""
	}
	for _, b := range rest.Branches {
		if b != nil {
			u.Addf("workflow", "the branch %q", b.ID)
		}
	}
	for _, s := range rest.Schedules {
		u.Addf("workflow", "%s", schedules.Title(s))
	}
	rest.Branches, rest.Schedules = nil, nil // already reported; no routes document has any
	for key, d := range lost.Fields(rest, restBack) {
		u.Addf("workflow", "%s", d.Text(key))
	}
	o.compareNodes(back)
	o.compareEdges(back)
	o.compareAgents(back)
	if len(o.unsupported) == 0 {
		for _, message := range o.refused {
			u.Addf("workflow", "what reading the document again refuses: %s", message)
		}
	}
	if len(o.unsupported) == 0 {
		o.compareWhole(back)
	}
}

// compareWhole finds definitions that are equal part by part but still differ: in the order of
// nodes and agents.
func (o *writer) compareWhole(back *workflow.Workflow) {
	a, b := *o.w, *back
	a.Format, b.Format = "", ""
	before, err1 := a.Canonical()
	after, err2 := b.Canonical()
	if err1 != nil || err2 != nil || string(before) != string(after) {
		o.unsupported.Addf("workflow", "the order of its nodes and agents")
	}
}

func (o *writer) compareNodes(back *workflow.Workflow) {
	seen := map[string]bool{}
	for i := range o.w.Nodes {
		n := &o.w.Nodes[i]
		if o.omittedNodes[n.ID] {
			continue
		}
		other := back.Node(n.ID)
		switch {
		case seen[n.ID]:
			o.unsupported.Addf(lost.Node(n.ID), "a second node with this id")
			continue
		case other == nil && n.Kind == workflow.KindEnd:
			o.unsupported.Addf(lost.Node(n.ID), "an end node of its own: here edges without a target end the run")
			continue
		case other == nil:
			o.unsupported.Addf(lost.Node(n.ID), "%s", lost.Kind(n))
			continue
		}
		seen[n.ID] = true
		said, heard := *n, *other
		if said.Agent != nil && heard.Agent != nil {
			for key, d := range lost.Fields(said.Agent.Prompt, heard.Agent.Prompt) {
				o.unsupported.Addf(lost.Node(n.ID), "a prompt with the %s", d.Text(key))
			}
			o.compareRouting(n, said.Agent.Routing, heard.Agent.Routing)
			said.Agent, heard.Agent = nil, nil
		}
		if said.Wait != nil && heard.Wait != nil {
			for key, d := range lost.Fields(said.Wait, heard.Wait) {
				o.unsupported.Addf(lost.Node(n.ID), "a question with the %s", d.Text(key))
			}
			said.Wait, heard.Wait = nil, nil
		}
		for key, d := range lost.Fields(said, heard) {
			o.unsupported.Addf(lost.Node(n.ID), "%s", d.Text(key))
		}
	}
}

func (o *writer) compareRouting(n *workflow.Node, said, heard *workflow.Routing) {
	if said == nil {
		o.unsupported.Addf(lost.Node(n.ID), "that the agent does not choose its successor")
		return
	}
	for key, d := range lost.Fields(said, heard) {
		o.unsupported.Addf(lost.Node(n.ID), "a choice of successors with the %s", d.Text(key))
	}
}

// compareEdges compares the edges one by one and reports their settings in order.
func (o *writer) compareEdges(back *workflow.Workflow) {
	at := 0
	for i, e := range o.w.Edges {
		if o.dropped[i] {
			continue
		}
		var other workflow.Edge
		if at < len(back.Edges) {
			other = back.Edges[at]
		}
		if other.From != e.From || other.PortName() != e.PortName() || other.To != e.To &&
			o.byID[e.To].Kind != workflow.KindEnd {
			if e.PortName() == workflow.PortOut {
				o.unsupported.Addf(lost.Edge(e), "a second edge that is always taken")
			} else {
				o.unsupported.Addf(lost.Edge(e), "an edge by the port %q", e.PortName())
			}
			continue
		}
		at++
		if o.byID[e.To].Kind == workflow.KindEnd {
			other.To = e.To
		}
		for key, d := range lost.Fields(e, other) {
			o.unsupported.Addf(lost.Edge(e), "%s", d.Text(key))
		}
	}
}

func (o *writer) compareAgents(back *workflow.Workflow) {
	seen := map[string]bool{}
	for i := range o.w.Agents {
		a := &o.w.Agents[i]
		at := lost.Agent(a.ID)
		other := back.Agent(a.ID)
		if other == nil || seen[a.ID] {
			o.unsupported.Addf(at, "an agent of this id")
			continue
		}
		seen[a.ID] = true
		for key, d := range lost.Fields(a, other) {
			o.unsupported.Addf(at, "%s", d.Text(key))
		}
	}
}
