package routes

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/agents"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// node is a row of the document's nodes.
type node struct {
	at    *source.Node
	id    string
	name  string
	kind  string // one of the types; "" if unknown
	agent *source.Node

	def    workflow.Node    // Kind is empty if the type is unknown
	always *edge            // the only edge without a condition
	values map[string]*edge // the first edge of each value
	calls  *edge            // of an agent: the first edge to an executor
}

// title returns the name of the node for people.
func (n *node) title() string {
	if n.name != "" {
		return n.name
	}
	return n.id
}

func (r *reader) node(item *source.Node) {
	f := item.Fields(&r.diags)
	if f == nil {
		r.unclear = true
		return
	}
	x := newRow(&r.diags, f)
	n := &node{at: item, values: map[string]*edge{}}
	n.id, n.name = x.require("id"), x.text("nodeName")
	r.belongs(x)
	n.kind = r.word(x, "nodeType", codeUnknownType, "node type", nodeTypes)
	n.agent = x.get("agentId")
	agent := x.text("agentId")
	prompt := x.get("prompt")
	r.unclear = r.unclear || n.id == ""
	r.nodeDef(n, agent, x)
	if !prompt.IsNull() && n.kind != typeHuman && n.kind != "" {
		r.diags.Warnf(prompt.Span, prompt.Path(), codeMisplacedKey, "the prompt of a node of type %s is not read",
			n.kind).Hint =
			"an agent's prompt is its systemPrompt; a prompt belongs to a node of type " + typeHuman
	}
	x.unknown(rowExtras...)
	if n.id == "" {
		return
	}
	if first := r.nodes[n.id]; first != nil {
		at := x.get("id")
		d := r.diags.Errorf(at.Span, at.Path(), codeDuplicateNode, "node id %q is used twice", n.id)
		source.Twice(d, first.at.Get("id").Span, "node with this id")
		return
	}
	r.nodes[n.id] = n
	r.order = append(r.order, n)
	if n.name != "" && r.names[n.name] == nil {
		r.names[n.name] = n
	}
}

// word reads a key that must be one of words; it returns "" if it is not, which it reports.
func (r *reader) word(x row, key, code, what string, words []string) string {
	got := x.require(key)
	if got == "" || slices.Contains(words, got) {
		return got
	}
	n := x.get(key)
	d := r.diags.Errorf(n.Span, n.Path(), code, "unknown %s %q", what, got)
	d.Hint = "one of " + strings.Join(words, ", ")
	if i := slices.IndexFunc(words, func(w string) bool { return strings.EqualFold(w, got) }); i >= 0 {
		d.Hint = fmt.Sprintf("did you mean %q?", words[i])
	} else if hint := r.similar(got, words); hint != "" {
		d.Hint = hint
	} else if hint := r.similar(strings.ToUpper(got), words); hint != "" {
		d.Hint = hint
	}
	return ""
}

func (r *reader) nodeDef(n *node, agent string, x row) {
	if n.kind == "" {
		return
	}
	n.def = workflow.Node{ID: n.id, Name: n.name}
	switch n.kind {
	case typeAgent:
		n.def.Kind = workflow.KindAgent
		n.def.Agent = &workflow.AgentNode{Agent: agent, Prompt: workflow.Prompt{Mode: workflow.PromptShared},
			Routing: &workflow.Routing{}}
		if n.agent.IsNull() || n.agent.IsScalar() && agent == "" {
			at := n.at
			if n.agent != nil {
				at = n.agent
			}
			span := diag.Span{File: at.Span.File, Start: at.Span.Start}
			r.diags.Errorf(span, at.Path(), codeNoAgent, "a node of type %s needs an agentId", typeAgent)
		}
		return
	case typeExecutor:
		n.def.Kind = workflow.KindExec
	case typeHuman:
		n.def.Kind = workflow.KindWait
		n.def.Wait = &workflow.Wait{Kind: workflow.WaitQuestion, Prompt: x.str("prompt"), Route: true}
		if n.def.Wait.Prompt == "" {
			n.def.Wait.Prompt = defaultPrompt
		}
	}
	if !n.agent.IsNull() {
		r.diags.Errorf(n.agent.Span, n.agent.Path(), codeNoAgentHere, "the agentId of a node of type %s must be null",
			n.kind)
	}
}

// resolve finds the agents of nodes and the ends of edges, and converts edges to ports.
func (r *reader) resolve() {
	r.resolveAgents()
	for _, e := range r.edges {
		r.resolveEdge(e)
	}
	executor := slices.ContainsFunc(r.order, func(n *node) bool { return n.kind == typeExecutor })
	for _, n := range r.order {
		if n.def.Agent != nil {
			r.agentNode(n, executor)
		}
	}
	r.sameNames()
}

// resolveAgents adds external agents that nodes name and the document does not define itself
// (S3-21).
func (r *reader) resolveAgents() {
	known := map[string]bool{}
	for i := range r.agents {
		known[r.agents[i].ID] = true
	}
	external := map[string]*workflow.Agent{}
	for i := range r.opts.Agents {
		if a := &r.opts.Agents[i]; external[a.ID] == nil {
			external[a.ID] = a
		}
	}
	r.dropDelegation()
	for _, n := range r.order {
		if n.def.Agent == nil || n.def.Agent.Agent == "" || known[n.def.Agent.Agent] {
			continue
		}
		id := n.def.Agent.Agent
		if a := external[id]; a != nil {
			known[id] = true
			r.agents = append(r.agents, *a)
			r.dropDelegation()
			continue
		}
		d := r.diags.Errorf(n.agent.Span, n.agent.Path(), codeUnknownAgent, "Agent not found: %s", id)
		d.Name = id
		if d.Hint = r.similarAgent(id); d.Hint == "" && len(r.agents)+len(r.opts.Agents) == 0 {
			d.Advise(diag.DefineAgent)
		}
	}
}

func (r *reader) similarAgent(id string) string {
	var ids []string
	for _, list := range [][]workflow.Agent{r.agents, r.opts.Agents} {
		for i := range list {
			ids = append(ids, list[i].ID)
		}
	}
	return r.similar(id, ids)
}

func (r *reader) agent(id string) *workflow.Agent {
	for i := range r.agents {
		if r.agents[i].ID == id {
			return &r.agents[i]
		}
	}
	return nil
}

// dropDelegation removes the agents' sub-agents and hand-off targets: in a shared conversation,
// edges determine the successor.
func (r *reader) dropDelegation() {
	for i := range r.agents {
		a := &r.agents[i]
		for _, k := range []struct {
			key  string
			said bool
		}{{"subAgents", len(a.Subagents) > 0}, {"handoffs", len(a.Handoffs) > 0}} {
			if k.said {
				r.diags.Warnf(r.agentAt[a.ID], "", agents.CodeUnsupported,
					"agent %q: %q is not supported in routes documents", a.ID, k.key).Hint =
					"it has no effect: the edges say which agent is next"
			}
		}
		a.Subagents, a.SubagentFailure, a.Handoffs = nil, "", nil
	}
}

// agentNode determines the routing of an agent node once its edges are known, and warns of tools
// that it cannot use or that have another meaning.
func (r *reader) agentNode(n *node, executor bool) {
	route := n.def.Agent.Routing
	a := r.agent(n.def.Agent.Agent)
	var tools []string
	if a != nil {
		tools = a.Tools
	}
	route.ToolOnly = r.routing == routingTool
	if len(route.Values) > 0 && r.routing != routingOutput {
		route.Tool = routeTool
		for i := 2; slices.Contains(tools, route.Tool); i++ {
			route.Tool = routeTool + "_" + strconv.Itoa(i)
		}
	}
	if len(tools) == 0 {
		return
	}
	span, path := n.at.Span, n.at.Path()
	if n.agent != nil {
		span, path = n.agent.Span, n.agent.Path()
	}
	switch {
	case !executor:
		d := r.diags.Warnf(span, path, codeNoExecutor, "agent %q has tools, but the workflow has no node of type %s: "+
			"the run fails where it calls one", a.Title(), typeExecutor)
		d.Hint = "it is not added automatically; add the node and an edge to it"
	case n.calls == nil:
		d := r.diags.Warnf(span, path, codeNoExecutor, "agent %q has tools, but no edge leads from %q to a node of "+
			"type %s: the run fails where it calls one", a.Title(), n.title(), typeExecutor)
		d.Hint = "the edge is not added automatically; add it"
	}
	if r.conversational && slices.Contains(tools, endTool) {
		r.diags.Warnf(span, path, codeShadowed,
			"the tool %q of agent %q is hidden by the built-in tool that ends the conversation", endTool, a.Title())
	}
}

// sameNames warns of two agents with the same name: in the shared conversation each mistakes the
// other's messages for its own (D30).
func (r *reader) sameNames() {
	first := map[string]string{} // agent id by title
	said := map[string]bool{}
	for _, n := range r.order {
		if n.def.Agent == nil {
			continue
		}
		a := r.agent(n.def.Agent.Agent)
		if a == nil || said[a.ID] {
			continue
		}
		said[a.ID] = true
		other, taken := first[a.Title()]
		if !taken {
			first[a.Title()] = a.ID
			continue
		}
		r.diags.Warnf(n.agent.Span, n.agent.Path(), codeSameName,
			"the agents %q and %q have the same name %q: each takes the messages of the other for its own", other, a.ID,
			a.Title())
	}
}

func quoted(s string) string { return strconv.Quote(s) }
