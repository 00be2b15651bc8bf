package rounds

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/format/agents"
	"github.com/hocket-run/hocket/internal/format/inputs"
	"github.com/hocket-run/hocket/internal/format/lost"
	"github.com/hocket-run/hocket/internal/format/nodes"
	"github.com/hocket-run/hocket/internal/format/schedules"
	"github.com/hocket-run/hocket/workflow"
)

// document is a rounds document for writing; the order of the fields is that of the file.
type document struct {
	docGraph
	nodes.Tools
	Concurrency *inputs.ConcurrencyDoc `json:"concurrency,omitempty"`
	Agents      []docAgent             `json:"agents,omitempty"`
	Branches    []docGraph             `json:"branches,omitempty"`
}

type docGraph struct {
	ID              string           `json:"id,omitempty"`
	Name            string           `json:"name,omitempty"`
	Description     string           `json:"description,omitempty"`
	Labels          workflow.Labels  `json:"labels,omitempty"`
	TurnInstruction *string          `json:"turnInstruction,omitempty"`
	Context         string           `json:"context,omitempty"`
	ExecutionMode   string           `json:"executionMode,omitempty"`
	Schedule        string           `json:"schedule,omitempty"`
	Schedules       []schedules.Item `json:"schedules,omitempty"`
	TimeZone        string           `json:"timeZone,omitempty"`
	nodes.Declared
	Nodes     []docNode `json:"nodes"`
	Edges     []docEdge `json:"edges"`
	MaxRounds int       `json:"maxRounds,omitempty"`
}

type docAgent struct {
	ID           string   `json:"id"`
	Name         string   `json:"name,omitempty"`
	Description  string   `json:"description,omitempty"`
	SystemPrompt string   `json:"systemPrompt,omitempty"`
	Model        string   `json:"model,omitempty"`
	Tools        []string `json:"tools,omitempty"`
	agents.Rest
}

type docNode struct {
	ID     string    `json:"id"`
	Type   string    `json:"type"`
	Name   string    `json:"name,omitempty"`
	Config docConfig `json:"config"`
}

type docConfig struct {
	AgentID *string `json:"agentId,omitempty"`
	nodes.Settings
}

type docEdge struct {
	ID     string `json:"id,omitempty"`
	From   string `json:"from"`
	Handle string `json:"sourceHandle,omitempty"`
	To     string `json:"to"`
	Label  string `json:"label,omitempty"`
}

// Write returns w as a rounds document, and exactly what such a document cannot express. If that
// list is empty, reading the document back returns a workflow with the same digest if w came from a
// rounds document, and one that runs the same if it did not. If it is not empty, the document
// contains what can be expressed: it is suitable for display, not for running.
//
// Agents are written into the document, including external ones; what branches inherit is written
// in each branch.
func Write(w *workflow.Workflow) ([]byte, lost.List) {
	o := &writer{w: w, seen: map[string]*workflow.Agent{}}
	o.reportWorkflow()
	o.tools()
	o.doc.docGraph = o.graph(w, "")
	if len(w.Schedules) > 0 && len(w.Branches) > 0 {
		o.unsupported.Addf("workflow", "a schedule of the main graph in addition to branches")
	}
	ids := map[string]bool{}
	for i, b := range w.Branches {
		switch {
		case b == nil || b.ID == "":
			o.unsupported.Addf("workflow", "branch %d, which has no id", i+1)
			continue
		case ids[b.ID]:
			o.unsupported.Addf("workflow", "a second branch with the id %q", b.ID)
			continue
		case len(b.Branches) > 0:
			o.unsupported.Addf("branch "+strconv.Quote(b.ID), "branches of a branch")
		}
		ids[b.ID] = true
		g := o.graph(b, fmt.Sprintf("branch %q: ", b.ID))
		if g.ExecutionMode == "" && g.Schedules == nil {
			g.ExecutionMode = workflow.ModeOneTime
		}
		o.doc.Branches = append(o.doc.Branches, g)
	}
	if len(o.doc.Branches) > 0 {
		o.doc.ExecutionMode, o.doc.Schedule, o.doc.Schedules, o.doc.TimeZone = "", "", nil, ""
	}
	o.doc.Concurrency = inputs.WriteConcurrency(o.w.Concurrency)
	data, err := indented(o.doc)
	if err != nil {
		o.unsupported.Addf("workflow", "a value that JSON cannot hold: %s", err)
		return nil, o.unsupported
	}
	return data, o.unsupported
}

func indented(doc document) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return nil, fmt.Errorf("encode rounds document: %w", err)
	}
	return b.Bytes(), nil
}

type writer struct {
	w           *workflow.Workflow
	doc         document
	unsupported lost.List
	seen        map[string]*workflow.Agent // agents already written, by id
}

// graph writes the main graph or a branch. prefix names the branch in reports of what is
// unsupported.
func (o *writer) graph(w *workflow.Workflow, prefix string) docGraph {
	g := docGraph{ID: w.ID, Name: w.Name, Description: w.Description, Labels: w.Labels, MaxRounds: w.Limits.MaxRounds,
		Nodes: []docNode{}, Edges: []docEdge{}}
	if s := schedules.Single(w); s != nil {
		g.ExecutionMode, g.Schedule, g.TimeZone = s.Mode, s.Spec, s.TimeZone
	}
	list, unsupported := schedules.Listed(w, true)
	for _, what := range unsupported {
		o.unsupported.Addf(prefix+"workflow", "%s", what)
	}
	g.Schedules = schedules.Items(list, true)
	p := &graphWriter{writer: o, w: w, prefix: prefix, agents: map[string]*workflow.Agent{}, out: map[[2]string]int{}}
	p.reportGraph()
	g.Declared = nodes.WriteDocument(w, false)
	nodes.ReportPrompts(w, false, func(n *workflow.Node, format string, args ...any) {
		p.addf(lost.Node(n.ID), format, args...)
	})
	for i := range w.Agents {
		if a := &w.Agents[i]; p.agents[a.ID] == nil {
			p.agents[a.ID] = a
		}
	}
	nodes := p.nodes()
	for _, n := range nodes {
		p.prompt(n)
	}
	if p.context == contextPrevious || prefix != "" && o.doc.Context != "" {
		g.Context = p.context
	}
	used := map[string]bool{}
	for _, n := range nodes {
		g.Nodes = append(g.Nodes, p.node(n))
		if n.Agent != nil {
			used[n.Agent.Agent] = true
			p.agent(n.Agent.Agent)
		}
	}
	for i := range w.Agents {
		if a := &w.Agents[i]; !p.reached(a.ID, used) {
			p.addf("agent "+strconv.Quote(a.ID), "an agent that no node names")
		}
	}
	if p.instruction != "" || prefix != "" {
		g.TurnInstruction = &p.instruction
	}
	g.Edges = p.keepBeginning(nodes, append(g.Edges, p.edges()...))
	p.paths(g.Edges)
	return g
}

// reached reports whether nodes name an agent, directly or as one that such an agent may call or
// hand over to.
func (p *graphWriter) reached(id string, used map[string]bool) bool {
	todo := slices.Sorted(maps.Keys(used))
	seen := map[string]bool{}
	for len(todo) > 0 {
		at := todo[0]
		todo = todo[1:]
		if at == id {
			return true
		}
		a := p.agents[at]
		if seen[at] || a == nil {
			continue
		}
		seen[at] = true
		for _, s := range a.Subagents {
			todo = append(todo, s.Agent)
		}
		todo = append(todo, a.Handoffs...)
	}
	return false
}

// graphWriter writes one graph.
type graphWriter struct {
	*writer
	w           *workflow.Workflow
	prefix      string
	agents      map[string]*workflow.Agent
	instruction string
	context     string
	out         map[[2]string]int // number of edges that leave a node through a port
}

func (p *graphWriter) addf(at, format string, args ...any) {
	p.unsupported.Addf(p.prefix+at, format, args...)
}

// prompt determines the instruction and the context of the graph from the prompt of a node, unless
// those of a node before it did: prompts with turns come first.
func (p *graphWriter) prompt(n *workflow.Node) {
	if n.Agent == nil || p.context == contextTurns {
		return
	}
	said := n.Agent.Prompt
	text, ok := strings.CutSuffix(said.Text, "\n\n"+previousOutput)
	switch {
	case said.Mode == workflow.PromptTurns:
		p.context, p.instruction = contextTurns, said.Text
	case said.Mode != workflow.PromptTemplate || p.context != "":
	case ok:
		p.context, p.instruction = contextPrevious, text
	case strings.TrimSpace(said.Text) == "":
		p.context = contextPrevious
	}
}

// keepBeginning adds an edge that is never followed if runs of the document would otherwise begin
// with another node than the first (S1-2): a second edge from the node that an edge leads from to
// the first.
func (p *graphWriter) keepBeginning(nodes []*workflow.Node, edges []docEdge) []docEdge {
	entered := map[string]bool{}
	for _, e := range edges {
		if e.From != e.To {
			entered[e.To] = true
		}
	}
	at := beginning(nodes, func(n *workflow.Node) bool { return entered[n.ID] })
	if at == 0 {
		return edges
	}
	i := slices.IndexFunc(edges, func(e docEdge) bool { return e.To == nodes[0].ID && e.From != e.To })
	return append(edges, docEdge{From: edges[i].From, Handle: edges[i].Handle, To: nodes[at].ID})
}

// nodes returns the nodes, entry first (S1-2).
func (p *graphWriter) nodes() []*workflow.Node {
	var out []*workflow.Node
	for i := range p.w.Nodes {
		n := &p.w.Nodes[i]
		if n.ID == p.w.Entry {
			out = slices.Insert(out, 0, n)
		} else {
			out = append(out, n)
		}
	}
	return out
}

func (p *graphWriter) node(n *workflow.Node) docNode {
	d := docNode{ID: n.ID, Type: typeAgent}
	p.reportNode(n)
	if typ := nodes.Type(n); typ != "" {
		d.Type, d.Name = typ, n.Name
		leaves := func(port string) bool {
			return slices.ContainsFunc(p.w.Edges, func(e workflow.Edge) bool {
				return e.From == n.ID && e.Port == port
			})
		}
		d.Config.Settings = nodes.Write(n, nodes.Edges{Error: leaves(workflow.PortError),
			Reject: leaves(workflow.PortReject), Gates: true}, func(format string, args ...any) {
			p.addf(lost.Node(n.ID), format, args...)
		})
		return d
	}
	d.Config.AgentID = new("")
	if n.Agent == nil {
		d.Name = n.Name
		return d
	}
	d.Config.AgentID = &n.Agent.Agent
	if a := p.agents[n.Agent.Agent]; a == nil || a.Title() != n.Title() {
		d.Name = n.Title()
	}
	return d
}

// agent writes an agent into the document, once for all graphs.
func (p *graphWriter) agent(id string) {
	a := p.agents[id]
	at := "agent " + strconv.Quote(id)
	switch first := p.seen[id]; {
	case a == nil:
		p.addf(at, "that it is not defined")
		return
	case first == nil:
		p.seen[id] = a
	case !sameAgent(first, a):
		p.addf(at, "another definition of the same agent than in a graph before")
		return
	default:
		return
	}
	p.reportAgent(a)
	rest, unsupported := agents.RestOf(a, true, func(id string) string {
		if to := p.agents[id]; to != nil {
			return to.Description
		}
		return ""
	})
	for _, what := range unsupported {
		p.addf(at, "%s", what)
	}
	own, ok := nodes.OwnPermissions(p.doc.Permissions, a)
	if rest.Permissions = own; !ok {
		p.addf(at, "that the permissions of tool nodes are not those of the agent")
	}
	p.doc.Agents = append(p.doc.Agents, docAgent{ID: a.ID, Name: a.Name, Description: a.Description,
		SystemPrompt: a.System, Model: a.Model, Tools: a.Tools, Rest: rest})
	for _, s := range a.Subagents {
		p.agent(s.Agent)
	}
	for _, to := range a.Handoffs {
		p.agent(to)
	}
}

func sameAgent(a, b *workflow.Agent) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}

// edges writes the edges, including those to missing nodes that are recorded in notes (S1-5).
func (p *graphWriter) edges() []docEdge {
	var out []docEdge
	for _, e := range p.w.Edges {
		handle := p.reportEdge(e)
		leaves := [2]string{e.From, e.PortName()}
		if p.out[leaves]++; p.out[leaves] == 2 {
			p.several(e.From)
		}
		out = append(out, docEdge{ID: e.ID, From: e.From, Handle: handle, To: e.To, Label: e.Label})
	}
	for i := range p.w.Nodes {
		n := &p.w.Nodes[i]
		for _, note := range n.Notes {
			handle, ok := p.handle(n, workflow.Edge{Port: note.Port}.PortName())
			if note.Target == "" || note.Text != missingTarget(note.Target) || !ok || p.w.Node(note.Target) != nil {
				p.addf("node "+strconv.Quote(n.ID), "the note %q", note.Text)
				continue
			}
			out = append(out, docEdge{From: n.ID, Handle: handle, To: note.Target})
		}
	}
	return out
}
