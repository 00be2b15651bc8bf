package canvas

import (
	"fmt"
	"strconv"

	"github.com/hocket-run/hocket/internal/format/nodes"
	"github.com/hocket-run/hocket/workflow"
)

// edges writes the execution connections: those in the graph, and those that are recorded in notes
// of nodes (S0-6).
func (o *writer) edges() {
	if o.start != "" && o.byID[o.w.Entry] != nil && !o.lost[o.w.Entry] {
		o.doc.Connections = append(o.doc.Connections, connection{Source: o.start, Target: o.w.Entry})
	}
	for _, e := range o.w.Edges {
		if to := o.joins[e.To]; to != "" {
			e.To = to
		}
		if o.lost[e.From] || o.lost[e.To] || o.joins[e.From] != "" {
			continue // the node was reported; nothing needs to lead into an end node
		}
		handle, ok := o.handle(e.From, e.PortName())
		if !ok {
			o.unsupported.Edgef(e, "the port %q", e.PortName())
			continue
		}
		if e.When != nil {
			o.unsupported.Edgef(e, "the condition %s", conditionText(*e.When))
		}
		if e.Loop {
			o.unsupported.Edgef(e, "that its passes are counted")
		}
		o.doc.Connections = append(o.doc.Connections, connection{ID: e.ID, Source: e.From, SourceHandle: handle,
			Target: e.To, Label: e.Label})
	}
	for i := range o.w.Nodes {
		n := &o.w.Nodes[i]
		if o.lost[n.ID] {
			continue
		}
		for _, note := range n.Notes {
			handle, ok := o.handle(n.ID, workflow.Edge{Port: note.Port}.PortName())
			if !ok || note.Target == "" {
				o.unsupported.Nodef(n, "the note %q", note.Text)
				continue
			}
			o.doc.Connections = append(o.doc.Connections,
				connection{Source: n.ID, SourceHandle: handle, Target: note.Target})
		}
	}
}

// handle returns the handle of a node's port, or false if a canvas node has no such output.
func (o *writer) handle(id, port string) (string, bool) {
	n := o.byID[id]
	switch {
	case n == nil:
		return "", false
	case n.Decide != nil:
		handle, ok := o.ports[id][port]
		return handle, ok
	case nodes.Type(n) != "":
		return nodes.Handle(n, port)
	}
	return "", port == workflow.PortOut
}

// asks writes the sub-agent links. An agent that already has a node, has another parent, or does
// not come from a canvas document gets a node of its own for each parent: a sub-agent belongs to
// one parent and to no execution path (S0-50).
func (o *writer) asks() {
	linked := map[string]bool{}
	const bound = 10000 // the number of copies of shared sub-agents can explode
	copies := 0
	for len(o.pending) > 0 {
		a := o.pending[0]
		o.pending = o.pending[1:]
		target := o.agents[a.sub.Agent]
		if target == nil {
			continue
		}
		id := target.ID
		if !o.subs[id] || linked[id] {
			if copies++; copies > bound {
				o.unsupported.Addf("workflow", "more than %d sub-agents", bound)
				return
			}
			id = o.fresh(target.ID)
			o.doc.Nodes = append(o.doc.Nodes, o.agentNode(id, target, ""))
		}
		linked[id] = true
		o.doc.Connections = append(o.doc.Connections, connection{Source: a.from, SourceHandle: handleSubagent,
			Target: id, TargetHandle: handleInput})
		if o.w.Format != Format && a.sub.Tool != toolName(target.Title(), id) {
			o.unsupported.Addf("agent "+strconv.Quote(target.ID), "the name %q of the tool that asks it", a.sub.Tool)
		}
	}
}

// place arranges the boxes in layers below each other, so that an editor has something to display:
// a definition contains no positions.
func (o *writer) place() {
	const left, top, dx, dy = 80, 80, 320, 180
	layer := map[string]int{}
	out := map[string][]string{}
	for _, c := range o.doc.Connections {
		out[c.Source] = append(out[c.Source], c.Target)
	}
	var todo []string
	visit := func(id string, l int) {
		if _, ok := layer[id]; !ok {
			layer[id] = l
			todo = append(todo, id)
		}
	}
	walk := func() {
		for ; len(todo) > 0; todo = todo[1:] {
			for _, t := range out[todo[0]] {
				visit(t, layer[todo[0]]+1)
			}
		}
	}
	for _, n := range o.doc.Nodes {
		if n.Type == typeStart {
			visit(n.ID, 0)
			walk()
		}
	}
	for _, n := range o.doc.Nodes {
		visit(n.ID, 0)
		walk()
	}
	column := map[int]int{}
	for i := range o.doc.Nodes {
		n := &o.doc.Nodes[i]
		l := layer[n.ID]
		n.X, n.Y = left+dx*column[l], top+dy*l
		column[l]++
	}
}

// conditionText formats a condition for people.
func conditionText(c workflow.Condition) string {
	switch c.Language {
	case workflow.LangFunc:
		return fmt.Sprintf("that the Go function %q decides", c.Func)
	case workflow.LangMatch:
		return fmt.Sprintf("%s %q", c.Op, c.Text)
	}
	return strconv.Quote(c.Text)
}
