package rounds

import (
	"slices"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/nodes"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// node is a node of the document.
type node struct {
	at    *source.Node
	id    string
	def   workflow.Node
	agent *agent
	out   []*edge // where the run continues, at most one for each port; none if it ends here

	settings *source.Node // of a node without a model, as in the document
}

// edgeOf returns the edge that leaves n through a port, or nil if there is none.
func (n *node) edgeOf(port string) *edge {
	for _, e := range n.out {
		if e.edge.Port == port {
			return e
		}
	}
	return nil
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
	typ := g.nodeType(f)
	known, plain := typ != "", slices.Contains(nodes.Types(), typ)
	config, parameters := f.Map("config"), f.Map("parameters")
	keys := []string{keyAgentID}
	switch {
	case plain:
		keys = nodes.Keys(typ)
		g.plain(n, typ, config, parameters)
	case known:
		g.nodeAgent(n, f, config, parameters)
	}
	for _, m := range []*source.Fields{config, parameters} {
		if m != nil {
			m.Get(keys[0])
			if known {
				nodes.Misplaced(typ, n.id, m, keys, &r.diags, "use a canvas or steps document for conditions")
			}
			r.unknown(m, keys)
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
		source.Twice(d, first.at.Get("id").Span, "node with this id")
		g.unclear = true
		return
	}
	if name == "" && n.agent != nil {
		name = n.agent.Title()
	}
	if n.def.Name = name; !plain {
		g.completeAgentNode(n)
	}
	g.nodes[n.id] = n
	g.order = append(g.order, n)
}

// plain reads a node without a model. Its settings are in config or, without config, in
// parameters.
func (g *graph) plain(n *node, typ string, config, parameters *source.Fields) {
	f := config
	if f == nil {
		f = parameters
	}
	n.settings, n.def.ID = f.Node(), n.id
	g.texts = append(g.texts, nodes.Read(typ, n.at, f, &g.r.diags, &n.def))
}

// completeAgentNode completes a node that runs an agent. A shared instruction is checked once.
func (g *graph) completeAgentNode(n *node) {
	texts, expressions := g.doc.Prompt(n.id, g.instructionAt)
	if !g.instructionChecked {
		g.texts, g.instructionChecked = append(g.texts, texts), true
	}
	n.def.ID, n.def.Kind = n.id, workflow.KindAgent
	n.def.Agent = &workflow.AgentNode{Prompt: workflow.Prompt{Mode: workflow.PromptTurns, Text: g.instruction,
		Expressions: expressions}}
	if g.context == contextPrevious {
		n.def.Agent.Prompt = previousPrompt(g.instruction, expressions)
	}
	if n.agent != nil {
		n.def.Agent.Agent = n.agent.ID
	}
}

// nodeType returns the type if it is one that runs (S1-6, X-130), else "".
func (g *graph) nodeType(f *source.Fields) string {
	typ := f.Require("type")
	if typ == nil {
		return ""
	}
	name := f.Str("type")
	if slices.Contains(types(), name) {
		return name
	}
	if typ.Kind == source.String {
		d := g.r.diags.Errorf(typ.Span, typ.Path(), codeUnknownType, "No handler for workflow node type %s", name)
		if d.Hint = g.r.similar(name, types()); d.Hint == "" {
			d.Hint = "the types are " + strings.Join(types(), ", ")
		}
	}
	return ""
}

// nodeAgent finds the agent of a node, from `config` or from `parameters`, which editors write
// (S1-1).
func (g *graph) nodeAgent(n *node, f, config, parameters *source.Fields) {
	r := g.r
	ref := config.Get(keyAgentID)
	if ref.IsNull() {
		ref = parameters.Get(keyAgentID)
	}
	switch {
	case ref != nil && !ref.IsNull() && !ref.IsScalar():
		config.Text(keyAgentID) // reports what is wrong
		parameters.Text(keyAgentID)
		return
	case ref.IsNull() || ref.Text == "":
		for _, key := range []string{"config", "parameters"} {
			if v := f.Get(key); !v.IsNull() && v.Kind != source.Map {
				return // already reported
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
		return // it may be an agent that could not be read
	}
	d := r.diags.Errorf(ref.Span, ref.Path(), codeUnknownAgent, "Agent not found: %s", ref.Text)
	d.Name = ref.Text
	if d.Hint = r.similar(ref.Text, r.ids); d.Hint == "" {
		d.Advise(diag.DefineAgent)
	}
}
