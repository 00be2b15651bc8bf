package canvas

import (
	"fmt"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/nodes"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// link is a connection of the document.
type link struct {
	at     *source.Node
	edge   workflow.Edge
	handle string // sourceHandle as written
	target string // targetHandle as written
}

func (r *reader) connection(item *source.Node) {
	f := item.Fields(&r.diags)
	if f == nil {
		return
	}
	from, to := f.Require("source"), f.Require("target")
	l := link{at: item, handle: f.Text("sourceHandle"), target: f.Text("targetHandle")}
	l.edge = workflow.Edge{ID: f.Text("id"), From: f.Text("source"), To: f.Text("target"), Label: f.Text("label")}
	for key, want := range map[string]string{"from": "source", "to": "target"} {
		if e := item.Entry(key); e != nil && item.Get(want) == nil {
			f.Get(key)
			r.diags.Warnf(e.KeySpan, e.Value.Path(), source.CodeUnknownKey, "the key %q is not known here",
				key).UnknownAs(want)
		}
	}
	f.Unknown(diag.Warning, connectionExtras...)
	source.WarnTwice(r.linkIDs, f.Get("id"), "connection", &r.diags)
	if from == nil || to == nil || !from.IsScalar() || !to.IsScalar() {
		return
	}
	for key, id := range map[string]*source.Node{"source": from, "target": to} {
		if id.Text == "" {
			r.diags.Errorf(id.Span, id.Path(), source.CodeMissingKey, "the %s of a connection must not be empty", key)
		}
	}
	if from.Text == "" || to.Text == "" {
		return
	}
	if h := f.Get("sourceHandle"); !h.IsNull() && !h.IsScalar() {
		return
	}
	if l.handle == handleSubagent {
		r.asks = append(r.asks, l)
		return
	}
	r.addConnection(l)
}

// addConnection adds a connection to the graph, unless the run can never follow it: such
// connections are left out with a warning.
func (r *reader) addConnection(l link) {
	from := r.nodes[l.edge.From]
	if from == nil {
		d := r.diags.Warnf(l.at.Get("source").Span, l.at.Path()+".source", codeMissingSource,
			"Connection source %q not found", l.edge.From)
		d.Hint = r.similarNode(l.edge.From)
		return
	}
	if from.def.Kind == "" {
		return // its unknown type was already reported
	}
	port, ok := r.port(l, from)
	if !ok {
		return
	}
	l.edge.Port = port
	if r.nodes[l.edge.To] == nil {
		text := fmt.Sprintf("Connection target %q not found", l.edge.To) // S0-6
		d := r.diags.Warnf(l.at.Get("target").Span, l.at.Path()+".target", codeMissingTarget, "%s", text)
		d.Hint = r.similarNode(l.edge.To)
		from.def.Notes = append(from.def.Notes, workflow.Note{Port: port, Text: text, Target: l.edge.To})
		if from.agent != nil {
			r.links = append(r.links, l) // kept until sub-agents are known
		}
		return
	}
	r.links = append(r.links, l)
}

// port returns the port of a connection's handle, or false if the node never fires it (S0-22,
// S0-32). Start and agent nodes have one output, whatever the handle is called.
func (r *reader) port(l link, from *node) (string, bool) {
	var handles []string
	switch from.kind {
	case typeIf:
		cases := len(from.def.Decide.Cases)
		if l.handle == handleTrue && cases > 0 {
			return from.def.Decide.Cases[0].Port, true
		}
		if from.ports[l.handle] {
			return l.handle, true
		}
		switch {
		case cases == 1:
			handles = []string{portCondition + "0"}
		case cases > 1:
			handles = []string{portCondition + "0", "…", fmt.Sprint(portCondition, cases-1)}
		}
		handles = append(handles, workflow.PortFalse)
	case typeApproval, nodes.Tool, nodes.Workflow, nodes.Set, nodes.Ask:
		if port, ok := nodes.Port(&from.def, l.handle); ok {
			return port, true
		}
		handles = nodes.Handles(&from.def)
	default:
		if l.handle != "" && l.handle != handleOutput {
			d := r.handleWarning(l, fmt.Sprintf("the handle %q of the %s node %q counts as %s", l.handle, from.kind,
				from.id, handleOutput))
			if d.Hint = r.similar(l.handle, handleOutput, handleSubagent); d.Hint == "" {
				d.Hint = "the handles are " + handleOutput
				if from.kind == typeAgent {
					d.Hint += ", " + handleSubagent
				}
			}
		}
		return "", true
	}
	text := fmt.Sprintf("a connection from the %s node %q by the handle %q is never followed", from.kind, from.id,
		l.handle)
	hint := ""
	if l.handle == "" {
		text = fmt.Sprintf("a connection from the %s node %q without a handle is never followed", from.kind, from.id)
	} else {
		hint = r.similar(l.handle, handles...)
	}
	if hint == "" {
		hint = "the handles are " + strings.Join(handles, ", ")
	}
	d := r.handleWarning(l, text)
	if d.Hint = hint; from.isExtension() {
		d.Severity = diag.Error
	}
	return "", false
}

func (r *reader) handleWarning(l link, text string) *diag.Diagnostic {
	span, path := l.at.Span, l.at.Path()
	if h := l.at.Get("sourceHandle"); h != nil {
		span, path = h.Span, h.Path()
	}
	return r.diags.Warnf(span, path, codeUnknownHandle, "%s", text)
}
