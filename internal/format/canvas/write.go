package canvas

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/hocket-run/hocket/internal/format/agents"
	"github.com/hocket-run/hocket/internal/format/inputs"
	"github.com/hocket-run/hocket/internal/format/lost"
	"github.com/hocket-run/hocket/internal/format/nodes"
	"github.com/hocket-run/hocket/internal/format/schedules"
	"github.com/hocket-run/hocket/workflow"
)

// document is a canvas document for writing; the order of the fields is that of the file.
type document struct {
	ID          string                 `json:"id,omitempty"`
	Name        string                 `json:"name,omitempty"`
	Description string                 `json:"description,omitempty"`
	Labels      workflow.Labels        `json:"labels,omitempty"`
	Schedule    string                 `json:"schedule,omitempty"`
	Schedules   []schedules.Item       `json:"schedules,omitempty"`
	TimeZone    string                 `json:"timeZone,omitempty"`
	Concurrency *inputs.ConcurrencyDoc `json:"concurrency,omitempty"`
	nodes.Declared
	nodes.Tools
	Nodes       []docNode    `json:"nodes"`
	Connections []connection `json:"connections"`
}

type docNode struct {
	ID   string   `json:"id"`
	Type string   `json:"type"`
	X    int      `json:"x"`
	Y    int      `json:"y"`
	Data *docData `json:"data,omitempty"`
}

type docData struct {
	Label           string          `json:"label,omitempty"`
	InitialInput    json.RawMessage `json:"initialInput,omitempty"`
	AgentName       string          `json:"agentName,omitempty"`
	SystemPrompt    string          `json:"systemPrompt,omitempty"`
	UserPrompt      string          `json:"userPrompt,omitempty"`
	Context         string          `json:"context,omitempty"`
	Model           string          `json:"model,omitempty"`
	ReasoningEffort string          `json:"reasoningEffort,omitempty"`
	Tools           toolSet         `json:"tools,omitempty"`
	Conditions      []docCondition  `json:"conditions,omitempty"`
	nodes.Settings
	Join        string `json:"join,omitempty"`
	Description string `json:"description,omitempty"`
	agents.Rest
}

type docCondition struct {
	Operator string  `json:"operator,omitempty"`
	Value    *string `json:"value,omitempty"`
	If       string  `json:"if,omitempty"`
}

type connection struct {
	ID           string `json:"id,omitempty"`
	Source       string `json:"source"`
	SourceHandle string `json:"sourceHandle,omitempty"`
	Target       string `json:"target"`
	TargetHandle string `json:"targetHandle,omitempty"`
	Label        string `json:"label,omitempty"`
}

// toolSet is an object whose members are all true, in order.
type toolSet []string

// MarshalJSON implements json.Marshaler.
func (t toolSet) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, name := range t {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := plainJSON(name)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteString(":true")
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Write returns w as a canvas document, and exactly what such a document cannot express. If that
// list is empty, reading the document back returns a workflow with the same digest if w came from a
// canvas document, and one that runs the same if it did not. If it is not empty, the document
// contains what can be expressed: it is suitable for display, not for running.
//
// If w does not begin with a start node, one is added in front; agents that several nodes share are
// copied, since a canvas agent belongs to its node; boxes get generated positions, because a
// definition contains none.
func Write(w *workflow.Workflow) ([]byte, lost.List) {
	o := newWriter(w)
	o.reportWorkflow()
	o.declared()
	o.nodes()
	o.edges()
	o.asks()
	o.place()
	data, err := indented(o.doc)
	if err != nil {
		o.unsupported.Addf("workflow", "a value that JSON cannot hold: %s", err)
		return nil, o.unsupported
	}
	return data, o.unsupported
}

// plainJSON returns JSON without the escapes that only HTML needs.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode canvas document: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func indented(doc document) ([]byte, error) {
	b, err := plainJSON(doc)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", "  "); err != nil {
		return nil, fmt.Errorf("indent canvas document: %w", err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

type writer struct {
	w           *workflow.Workflow
	doc         document
	unsupported lost.List

	byID    map[string]*workflow.Node
	out     map[string][]workflow.Edge // the edges that leave each node
	agents  map[string]*workflow.Agent
	subs    map[string]bool              // sub-agents that have a document node
	written map[string]bool              // ids of document nodes, and names that dangling connections use
	numbers map[string]int               // by id: the number with which fresh begins
	lost    map[string]bool              // nodes that a canvas cannot express
	ports   map[string]map[string]string // by decide node: the handle of each port
	start   string                       // the start node that was added in front, "" if w has one
	pending []ask
	joins   map[string]string // free joins written as `join` of a node, with that node
}

// ask is a sub-agent link that has yet to be written.
type ask struct {
	from string // document node
	sub  workflow.Subagent
}

func newWriter(w *workflow.Workflow) *writer {
	o := &writer{
		w: w, byID: map[string]*workflow.Node{}, subs: map[string]bool{}, agents: map[string]*workflow.Agent{},
		written: map[string]bool{}, lost: map[string]bool{}, ports: map[string]map[string]string{},
		out: map[string][]workflow.Edge{}, joins: map[string]string{}, numbers: map[string]int{},
		doc: document{ID: w.ID, Name: w.Name, Description: w.Description, Labels: w.Labels,
			Concurrency: inputs.WriteConcurrency(w.Concurrency), Nodes: []docNode{}, Connections: []connection{}},
	}
	for i := range w.Agents {
		if a := &w.Agents[i]; o.agents[a.ID] == nil {
			o.agents[a.ID] = a
		}
	}
	for _, e := range w.Edges {
		o.out[e.From] = append(o.out[e.From], e)
	}
	for i := range w.Nodes {
		o.byID[w.Nodes[i].ID] = &w.Nodes[i]
		o.written[w.Nodes[i].ID] = true
		for _, note := range w.Nodes[i].Notes {
			o.written[note.Target] = true
		}
	}
	o.joined()
	o.schedule()
	return o
}

// fresh returns an unused node id.
func (o *writer) fresh(id string) string {
	name := id
	for i := max(2, o.numbers[id]); o.written[name]; i++ {
		name = id + "_" + strconv.Itoa(i)
		o.numbers[id] = i + 1
	}
	o.written[name] = true
	return name
}

// nodes writes the nodes in order, and each agent that is a sub-agent only at its position in the
// list of agents, so that reading restores the order of both lists.
func (o *writer) nodes() {
	var subs []*workflow.Agent // agents that no node runs
	at := map[string]int{}
	runs := map[string]bool{}
	for i := range o.w.Nodes {
		if n := &o.w.Nodes[i]; n.Agent != nil {
			runs[n.Agent.Agent] = true
		}
	}
	asked := o.calledAgents()
	for i := range o.w.Agents {
		a := &o.w.Agents[i]
		at[a.ID] = i
		switch {
		case runs[a.ID] || o.agents[a.ID] != a:
		case asked[a.ID] && !o.written[a.ID] && o.w.Format == Format:
			o.written[a.ID], o.subs[a.ID] = true, true
			subs = append(subs, a)
		case !asked[a.ID]:
			o.unsupported.Addf("agent "+strconv.Quote(a.ID), "an agent that nothing uses")
		}
	}
	if e := o.byID[o.w.Entry]; e == nil || e.Kind != workflow.KindStart {
		o.start = o.fresh(typeStart)
		o.doc.Nodes = append(o.doc.Nodes, docNode{ID: o.start, Type: typeStart, Data: o.startData(nil)})
	}
	for i := range o.w.Nodes {
		n := &o.w.Nodes[i]
		if n.Agent != nil {
			for len(subs) > 0 && at[subs[0].ID] < at[n.Agent.Agent] {
				o.doc.Nodes = append(o.doc.Nodes, o.agentNode(subs[0].ID, subs[0], ""))
				subs = subs[1:]
			}
		}
		o.node(n)
	}
	for _, a := range subs {
		o.doc.Nodes = append(o.doc.Nodes, o.agentNode(a.ID, a, ""))
	}
}

// calledAgents returns which agents are sub-agents of an agent that runs.
func (o *writer) calledAgents() map[string]bool {
	out := map[string]bool{}
	var todo []string
	for i := range o.w.Nodes {
		if n := &o.w.Nodes[i]; n.Agent != nil {
			todo = append(todo, n.Agent.Agent)
		}
	}
	seen := map[string]bool{}
	for len(todo) > 0 {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[id] || o.agents[id] == nil {
			continue
		}
		seen[id] = true
		for _, s := range o.agents[id].Subagents {
			out[s.Agent] = true
			todo = append(todo, s.Agent)
		}
	}
	return out
}

func (o *writer) startData(n *workflow.Node) *docData {
	d := &docData{InitialInput: o.w.Rules.DefaultInput}
	if n != nil {
		d.Label = n.Name
	}
	if string(d.InitialInput) == `""` {
		d.InitialInput = nil
	}
	if d.Label == "" && d.InitialInput == nil {
		return nil
	}
	return d
}

func (o *writer) node(n *workflow.Node) {
	if o.joins[n.ID] != "" {
		return // its node expresses it
	}
	o.reportNode(n)
	d := docNode{ID: n.ID}
	switch {
	case n.Kind == workflow.KindStart:
		if n.ID != o.w.Entry {
			o.dropNode(n, "that it is a second start node")
			return
		}
		d.Type, d.Data = typeStart, o.startData(n)
	case n.Kind == workflow.KindAgent && n.Agent != nil && o.agents[n.Agent.Agent] != nil:
		a := o.agents[n.Agent.Agent]
		if n.Name != "" && n.Name != a.Title() || n.Name == "" && n.ID != a.Title() {
			o.unsupported.Nodef(n, "its own name in addition to its agent's, %q", a.Title())
		}
		if n.Agent.Prompt.Default != "" {
			o.unsupported.Nodef(n, "what it is sent without any input")
		}
		d = o.agentNode(n.ID, a, n.Agent.Prompt.Text)
		if n.Agent.Prompt.Mode == workflow.PromptContext {
			d.Data.Context = contextAll
		}
	case n.Kind == workflow.KindDecide && n.Decide != nil:
		d.Type, d.Data = typeIf, o.ifData(n)
	case nodes.Type(n) != "":
		d.Type = nodes.Type(n)
		settings := nodes.Write(n, nodes.Edges{Error: o.leaves(n.ID, workflow.PortError), Reject: o.leaves(n.ID,
			workflow.PortReject)}, func(format string, args ...any) { o.unsupported.Nodef(n, format, args...) })
		if n.Name != "" || !settings.IsZero() {
			d.Data = &docData{Label: n.Name, Settings: settings}
		}
	case n.Kind == workflow.KindEnd:
		o.lost[n.ID] = true
		o.ends(n)
		if lost.Concurrent(o.w) {
			o.unsupported.Nodef(n, "that reaching it ends the run while other branches still run")
		}
		return
	default:
		o.dropNode(n, lost.Kind(n))
		return
	}
	if o.waits(n.ID) {
		if d.Data == nil {
			d.Data = &docData{}
		}
		d.Data.Join = joinAll
	}
	o.doc.Nodes = append(o.doc.Nodes, d)
}

// dropNode leaves a node out.
func (o *writer) dropNode(n *workflow.Node, what string) {
	o.lost[n.ID] = true
	if !n.Hidden || n.Join == nil || n.Join.Fork == "" { // the fork was reported
		o.unsupported.Nodef(n, "%s", what)
	}
}

// agentNode writes an agent as a node, and records its sub-agents for later.
func (o *writer) agentNode(id string, a *workflow.Agent, prompt string) docNode {
	o.reportAgent(a)
	d := &docData{AgentName: a.Title(), SystemPrompt: a.System, UserPrompt: prompt, Model: a.Model,
		ReasoningEffort: a.Params.ReasoningEffort}
	if d.AgentName == defaultName {
		d.AgentName = ""
	}
	if d.SystemPrompt == DefaultSystem {
		d.SystemPrompt = ""
	}
	switch d.ReasoningEffort {
	case defaultEffort:
		d.ReasoningEffort = ""
	case "":
		d.ReasoningEffort = effortAuto
	}
	d.Description = a.Description
	d.Rest, _ = agents.RestOf(a, false, nil)
	own, ok := nodes.OwnPermissions(o.w.Permissions, a)
	if d.Permissions = own; !ok {
		o.unsupported.Addf(lost.Agent(a.ID), "that the permissions of tool nodes are not those of the agent")
	}
	if d.Params != nil {
		d.Params.ReasoningEffort = ""
		if d.Params.IsZero() {
			d.Params = nil
		}
	}
	if a.Turns() == maxTurns {
		d.MaxIterations = 0
	} else {
		d.MaxIterations = a.Turns()
	}
	d.Tools = append(d.Tools, a.Tools...)
	if len(a.Subagents) > 0 {
		d.Tools = append(d.Tools, toolSubagents)
		for _, s := range a.Subagents {
			o.pending = append(o.pending, ask{id, s})
		}
	}
	return docNode{ID: id, Type: typeAgent, Data: d}
}

func (o *writer) ifData(n *workflow.Node) *docData {
	d := &docData{Label: n.Name}
	handles := map[string]string{}
	for i, k := range n.Decide.Cases {
		switch k.When.Language {
		case workflow.LangMatch:
			d.Conditions = append(d.Conditions, docCondition{Operator: k.When.Op, Value: &k.When.Text})
		case workflow.LangExpr:
			d.Conditions = append(d.Conditions, docCondition{If: k.When.Text})
		default:
			o.unsupported.Nodef(n, "the condition %s", conditionText(k.When))
			d.Conditions = append(d.Conditions, docCondition{})
		}
		handle := fmt.Sprint(portCondition, i)
		if other, twice := handles[k.Port]; twice && other != handle {
			o.unsupported.Nodef(n, "two conditions with the same branch, %q", k.Port)
			continue
		}
		handles[k.Port] = handle
	}
	switch _, taken := handles[n.Decide.Else]; {
	case n.Decide.Else == "":
		o.unsupported.Nodef(n, "that the step fails where no condition holds")
	case taken:
		o.unsupported.Nodef(n, "a condition with the same branch as no condition, %q", n.Decide.Else)
	default:
		handles[n.Decide.Else] = workflow.PortFalse
	}
	o.ports[n.ID] = handles
	if d.Label == "" && len(d.Conditions) == 0 {
		return nil
	}
	return d
}
