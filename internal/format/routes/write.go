package routes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/agents"
	"github.com/hocket-run/hocket/internal/format/lost"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// document is a routes document for writing; the order of the fields is that of the file.
type document struct {
	ID             string     `json:"id"`
	Name           string     `json:"name"`
	Description    string     `json:"description"`
	Conversational bool       `json:"isConversational"`
	Entry          string     `json:"entrypointNodeId"`
	Routing        string     `json:"routing,omitempty"`
	Handoff        string     `json:"humanHandoff,omitempty"`
	MaxSteps       *int       `json:"maxSteps,omitempty"`
	TimeoutMs      *int64     `json:"timeoutMs,omitempty"`
	Agents         []docAgent `json:"agents,omitempty"`
	Nodes          []docNode  `json:"nodes"`
	Edges          []docEdge  `json:"edges"`
}

type docAgent struct {
	ID          string   `json:"id"`
	Name        string   `json:"name,omitempty"`
	Description string   `json:"description,omitempty"`
	System      string   `json:"systemPrompt,omitempty"`
	Model       string   `json:"model,omitempty"`
	Tools       []string `json:"tools,omitempty"`
	agents.Rest
}

type docNode struct {
	ID         string  `json:"id"`
	WorkflowID string  `json:"workflowId,omitempty"`
	Type       string  `json:"nodeType"`
	Name       string  `json:"nodeName"`
	Agent      *string `json:"agentId"`
	Prompt     string  `json:"prompt,omitempty"`
}

type docEdge struct {
	ID         string  `json:"id,omitempty"`
	WorkflowID string  `json:"workflowId,omitempty"`
	Source     string  `json:"sourceNodeId"`
	Target     *string `json:"targetNodeId"`
	Type       string  `json:"conditionType"`
	Value      *string `json:"conditionValue"`
}

// Write returns w as a routes document, and exactly what such a document cannot express. If that
// list is empty, reading the document back returns a workflow with the same digest, apart from the
// name of the format. If it is not empty, the document contains what can be expressed: it is
// suitable for display, not for running.
//
// Keys are written in camelCase, ON_COMPLETE as ALWAYS, which means the same; defaults are left
// out.
func Write(w *workflow.Workflow) ([]byte, lost.List) {
	o := &writer{w: w, byID: map[string]*workflow.Node{}}
	data, err := o.document()
	if err != nil {
		o.unsupported.Addf("workflow", "a value that JSON cannot hold: %s", err)
		return nil, o.unsupported
	}
	root, diags := source.Parse("", data)
	back, more := Read(root, Options{})
	for _, d := range append(diags, more...) {
		if d.Severity == diag.Error {
			o.refused = append(o.refused, d.Message)
		}
	}
	o.compare(back)
	return data, o.unsupported
}

type writer struct {
	w            *workflow.Workflow
	byID         map[string]*workflow.Node
	omittedNodes map[string]bool // nodes that have no row
	dropped      map[int]bool    // edges without a row that were reported, or whose node was
	refused      []string        // errors from reading the document back
	unsupported  lost.List
}

func (o *writer) document() ([]byte, error) {
	w := o.w
	doc := document{ID: w.ID, Name: w.Name, Description: w.Description, Conversational: w.Rules.Conversational,
		Entry: w.Entry, Nodes: []docNode{}, Edges: []docEdge{}}
	if l := w.Limits.MaxSteps; l != nil && *l != defaultSteps {
		doc.MaxSteps = l
	}
	if ms := int64(time.Duration(w.Limits.Timeout) / time.Millisecond); ms != defaultTimeoutMs {
		doc.TimeoutMs = &ms
	}
	for i := range w.Agents {
		a := &w.Agents[i]
		rest, _ := agents.RestOf(a, false, nil)
		rest.Handoffs = nil // no agent of a routes document hands over
		doc.Agents = append(doc.Agents, docAgent{a.ID, a.Name, a.Description, a.System, a.Model, a.Tools, rest})
	}
	o.omittedNodes, o.dropped = map[string]bool{}, map[int]bool{}
	for i := range w.Nodes {
		n := &w.Nodes[i]
		if o.byID[n.ID] == nil {
			o.byID[n.ID] = n
		}
		o.node(&doc, n)
	}
	doc.Handoff, doc.Routing = o.handoff(), o.routing()
	for i := range w.Edges {
		o.edge(&doc, i)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return nil, fmt.Errorf("encode routes document: %w", err)
	}
	return b.Bytes(), nil
}

// routing returns how the first agent that differs from the default names the next node.
func (o *writer) routing() string {
	for i := range o.w.Nodes {
		n := &o.w.Nodes[i]
		switch {
		case n.Agent == nil || n.Agent.Routing == nil:
		case n.Agent.Routing.ToolOnly:
			return routingTool
		case n.Agent.Routing.Tool == "" && len(n.Agent.Routing.Values) > 0:
			return routingOutput
		}
	}
	return ""
}

// handoff returns the id of the handoff node unless its name already identifies it.
func (o *writer) handoff() string {
	for i := range o.w.Nodes {
		if n := &o.w.Nodes[i]; n.Name == handoffName && n.Wait != nil {
			if n.ID == o.w.Rules.Handoff {
				return ""
			}
			break
		}
	}
	return o.w.Rules.Handoff
}

func (o *writer) node(doc *document, n *workflow.Node) {
	d := docNode{ID: n.ID, WorkflowID: o.w.ID, Name: n.Name}
	switch {
	case n.Kind == workflow.KindAgent && n.Agent != nil:
		d.Type, d.Agent = typeAgent, &n.Agent.Agent
	case n.Kind == workflow.KindExec:
		d.Type = typeExecutor
	case n.Kind == workflow.KindWait && n.Wait != nil && n.Wait.Kind == workflow.WaitQuestion:
		d.Type = typeHuman
		if n.Wait.Prompt != defaultPrompt {
			d.Prompt = n.Wait.Prompt
		}
	case n.Kind == workflow.KindEnd:
		return // edges to it have no target
	default:
		o.omittedNodes[n.ID] = true
		if !n.Hidden || n.Join == nil || n.Join.Fork == "" { // the fork was reported
			o.unsupported.Addf(lost.Node(n.ID), "%s", lost.Kind(n))
		}
		return
	}
	doc.Nodes = append(doc.Nodes, d)
}

func (o *writer) edge(doc *document, i int) {
	e := o.w.Edges[i]
	from, to := o.byID[e.From], o.byID[e.To]
	if from == nil || to == nil || o.omittedNodes[e.From] || o.omittedNodes[e.To] {
		o.dropped[i] = true // the node was reported
		return
	}
	d := docEdge{ID: e.ID, WorkflowID: o.w.ID, Source: e.From, Type: condConditional}
	if to.Kind != workflow.KindEnd {
		d.Target = &e.To
	}
	var (
		value string
		ok    bool
	)
	switch port := e.PortName(); {
	case port == workflow.PortOut:
		d.Type, ok = condAlways, true
	case from.Kind == workflow.KindExec:
		value, ok = strings.CutPrefix(port, workflow.ToolPort(""))
	case port == workflow.PortCalls && from.Kind == workflow.KindAgent && to.Kind == workflow.KindExec:
		if value, ok = e.Label, true; value == "" {
			d.Type = condAlways
		}
	default:
		value, ok = strings.CutPrefix(port, workflow.NextPort(""))
	}
	if !ok || from.Kind == workflow.KindEnd {
		o.dropped[i] = true
		o.unsupported.Addf(lost.Edge(e), "the port %q", e.PortName())
		return
	}
	if d.Type == condConditional {
		d.Value = &value
	}
	doc.Edges = append(doc.Edges, d)
}
