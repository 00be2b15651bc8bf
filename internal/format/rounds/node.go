package rounds

import (
	"fmt"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// node is a node of the document.
type node struct {
	at    *source.Node
	id    string
	def   workflow.Node
	agent *agent
	next  *edge // where the run goes on; nil: it ends here
}

func (g *graph) node(item *source.Node) {
	r := g.r
	f := item.Fields(&r.diags)
	if f == nil {
		g.unclear = true
		return
	}
	n := &node{at: item}
	id := f.Require("id")
	if id != nil {
		if n.id = f.Text("id"); n.id == "" && id.IsScalar() {
			r.diags.Errorf(id.Span, id.Path(), source.CodeMissingKey, "the id of a node must not be empty")
		}
	}
	known := g.nodeType(f)
	config, parameters := f.Map("config"), f.Map("parameters")
	if known {
		g.nodeAgent(n, f, config, parameters)
	}
	for _, m := range []*source.Fields{config, parameters} {
		if m != nil {
			m.Get(keyAgentID)
			r.unknown(m, []string{keyAgentID})
		}
	}
	name := f.Str("name")
	r.unknown(f, []string{"label", "description", keyAgentID}, nodeExtras...)
	g.unclear = g.unclear || n.id == "" || !known
	if n.id == "" {
		return
	}
	if first := g.nodes[n.id]; first != nil {
		d := r.diags.Errorf(id.Span, id.Path(), codeDuplicateNode, "node id %q is used twice", n.id) // S1-8
		d.Related = []diag.Related{{Span: first.at.Get("id").Span, Message: "the first node with this id"}}
		g.unclear = true
		return
	}
	if name == "" && n.agent != nil {
		name = n.agent.Title()
	}
	n.def = workflow.Node{ID: n.id, Name: name, Kind: workflow.KindAgent, Agent: &workflow.AgentNode{
		Prompt: workflow.Prompt{Mode: workflow.PromptTurns, Text: g.instruction},
	}}
	if n.agent != nil {
		n.def.Agent.Agent = n.agent.ID
	}
	g.nodes[n.id] = n
	g.order = append(g.order, n)
}

// nodeType tells whether the type is one that runs (S1-6).
func (g *graph) nodeType(f *source.Fields) bool {
	typ := f.Require("type")
	if typ == nil {
		return false
	}
	name := f.Str("type")
	if name == typeAgent {
		return true
	}
	if typ.Kind == source.String {
		d := g.r.diags.Errorf(typ.Span, typ.Path(), codeUnknownType, "No handler for workflow node type %s", name)
		if d.Hint = g.r.similar(name, []string{typeAgent}); d.Hint == "" {
			d.Hint = fmt.Sprintf("the one type is %q", typeAgent)
		}
	}
	return false
}

// nodeAgent finds the agent of a node: by `config`, or by `parameters`, which editors write (S1-1).
func (g *graph) nodeAgent(n *node, f, config, parameters *source.Fields) {
	r := g.r
	ref := config.Get(keyAgentID)
	if ref.IsNull() {
		ref = parameters.Get(keyAgentID)
	}
	switch {
	case ref != nil && !ref.IsNull() && !ref.IsScalar():
		config.Text(keyAgentID) // says what is wrong
		parameters.Text(keyAgentID)
		return
	case ref.IsNull() || ref.Text == "":
		for _, key := range []string{"config", "parameters"} {
			if v := f.Get(key); !v.IsNull() && v.Kind != source.Map {
				return // that was said
			}
		}
		span, path := diag.Span{File: n.at.Span.File, Start: n.at.Span.Start}, n.at.Path()
		if ref != nil {
			span, path = ref.Span, ref.Path()
		}
		d := r.diags.Errorf(span, path, codeMissingAgent, "Workflow node %s: missing agentId in config", n.id)
		if e := n.at.Entry(keyAgentID); e != nil {
			d.Hint = `move agentId into "config"`
		} else {
			d.Hint = `write "config": {"agentId": "…"}`
		}
		return
	}
	if n.agent = r.agents[ref.Text]; n.agent != nil {
		n.agent.used = true
		return
	}
	if r.broken {
		return // it may be one of those that could not be read
	}
	d := r.diags.Errorf(ref.Span, ref.Path(), codeUnknownAgent, "Agent not found: %s", ref.Text)
	d.Name = ref.Text
	if d.Hint = r.similar(ref.Text, r.ids); d.Hint == "" {
		d.Advise(diag.DefineAgent)
	}
}
