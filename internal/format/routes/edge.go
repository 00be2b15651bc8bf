package routes

import (
	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// edge is a row of the document's edges.
type edge struct {
	at    *source.Node
	from  *source.Node
	to    *source.Node // null means END
	value *source.Node
	cond  string

	def   workflow.Edge // To is "" for END
	inert bool          // never taken, which was reported
}

func (r *reader) edge(item *source.Node) {
	f := item.Fields(&r.diags)
	if f == nil {
		return
	}
	x := newRow(&r.diags, f)
	e := &edge{at: item}
	e.def.ID = x.text("id")
	r.belongs(x)
	e.def.From = x.require("sourceNodeId")
	e.from, e.to, e.value = x.get("sourceNodeId"), x.get("targetNodeId"), x.get("conditionValue")
	e.def.To = x.text("targetNodeId")
	e.cond = r.word(x, "conditionType", codeUnknownCond, "condition type", conditions)
	value := x.text("conditionValue")
	e.inert = e.def.From == "" || e.cond == ""
	switch {
	case e.to == nil:
		x.require("targetNodeId")
		r.diags[len(r.diags)-1].Hint = "write null to end the run"
		e.inert = true
	case !e.to.IsNull() && e.def.To == "":
		if e.to.IsScalar() {
			r.diags.Errorf(e.to.Span, e.to.Path(), source.CodeMissingKey, "%q must not be empty",
				"targetNodeId").Hint = "write null to end the run"
		}
		e.inert = true
	}
	x.unknown(rowExtras...)
	r.condition(e, value)
	if e.def.ID != "" {
		at := x.get("id")
		if first := r.edgeIDs[e.def.ID]; first != nil {
			d := r.diags.Errorf(at.Span, at.Path(), codeDuplicateEdge, "edge id %q is used twice", e.def.ID)
			source.Twice(d, first.Span, "edge with this id")
			d.Hint = "give one of them another id, or leave it out"
		} else {
			r.edgeIDs[e.def.ID] = at
		}
	}
	r.edges = append(r.edges, e)
}

// condition checks that a value is present if it is used, and only then.
func (r *reader) condition(e *edge, value string) {
	switch e.cond {
	case condConditional:
		e.def.Label = value
		if value != "" {
			return
		}
		e.inert = true
		if !e.value.IsNull() && !e.value.IsScalar() {
			return // already reported
		}
		at := e.at
		if e.value != nil {
			at = e.value
		}
		span := diag.Span{File: at.Span.File, Start: at.Span.Start}
		r.diags.Errorf(span, at.Path(), codeNoValue, "a %s edge needs a conditionValue", condConditional).Hint =
			"for an edge that is always taken, conditionType is " + condAlways
	case condAlways, condComplete:
		if value != "" && (value != valueEnd || !e.to.IsNull()) {
			r.diags.Warnf(e.value.Span, e.value.Path(), codeUnusedValue,
				"the conditionValue of an edge of type %s is not read", e.cond)
		}
	}
}

// resolveEdge finds the ends of an edge and the port through which it leaves.
func (r *reader) resolveEdge(e *edge) {
	if e.inert {
		return
	}
	from, to := r.nodes[e.def.From], r.nodes[e.def.To]
	if from == nil {
		r.dangling(e, e.from, "source")
	}
	if e.def.To != "" && to == nil {
		r.dangling(e, e.to, "target")
	}
	if e.inert || from.kind == "" || to != nil && to.kind == "" {
		e.inert = true
		return
	}
	executor := to != nil && to.kind == typeExecutor
	if executor && from.kind != typeAgent {
		r.diags.Warnf(e.at.Span, e.at.Path(), codeNothingToDo,
			"an edge from a node of type %s to a %s: only an agent's calls can be executed", from.kind, typeExecutor)
	}
	if to == nil && e.cond == condConditional && from.kind == typeAgent && e.def.Label != valueEnd {
		r.diags.Warnf(e.to.Span, e.to.Path(), codeNoTarget, "the edge for %q has no target, so it ends the run",
			e.def.Label).Hint =
			"an edge that ends the run usually has the conditionValue " + valueEnd
	}
	if e.cond == condConditional {
		r.conditional(e, from, executor)
		return
	}
	if from.always != nil {
		d := r.diags.Errorf(e.at.Span, e.at.Path(), codeManyAlways, "node %q has more than one %s edge", from.title(),
			condAlways)
		d.Related = []diag.Related{{Span: from.always.at.Span, Message: "the first one"}}
		e.inert = true
		return
	}
	from.always = e
	switch {
	case from.kind == typeAgent && executor:
		r.calls(e, from)
	case from.kind == typeAgent:
		from.def.Agent.Routing.Else = workflow.PortOut
	}
}

// dangling warns of an edge whose end does not exist (S3-8).
func (r *reader) dangling(e *edge, at *source.Node, end string) {
	d := r.diags.Warnf(at.Span, at.Path(), codeDangling, "Edge %s %q not found: the edge is never taken", end, at.Text)
	d.Hint = r.hintFor(at.Text)
	e.inert = true
}

// conditional determines the port of an edge with a value: the answer of an agent or a person, or
// the tool that was executed last.
func (r *reader) conditional(e *edge, from *node, executor bool) {
	value := e.def.Label
	if first := from.values[value]; first != nil {
		calls := from.kind == typeAgent && executor // the edge of tool calls, whatever the value (S3-9)
		what := "is never taken"
		if calls {
			what = "only calls of tools take"
		}
		d := r.diags.Warnf(e.value.Span, e.value.Path(), codeSameValue,
			"node %q has another edge for %q before this one, which %s", from.title(), value, what)
		d.Related = []diag.Related{{Span: first.at.Span, Message: "the first one"}}
		if e.inert = !calls; calls {
			r.calls(e, from)
		}
		return
	}
	from.values[value] = e
	switch from.kind {
	case typeExecutor:
		e.def.Port = workflow.ToolPort(value)
	case typeHuman:
		e.def.Port = workflow.NextPort(value)
		from.def.Wait.Options = append(from.def.Wait.Options, value)
	default:
		route := from.def.Agent.Routing
		if executor {
			route.Calls = append(route.Calls, value)
			r.calls(e, from)
			return
		}
		e.def.Port = workflow.NextPort(value)
		route.Values = append(route.Values, value)
	}
}

// calls makes an edge of an agent the edge of its tool calls, whatever its condition (S3-9).
func (r *reader) calls(e *edge, from *node) {
	e.def.Port = workflow.PortCalls
	if from.calls == nil {
		from.calls = e
		return
	}
	from.def.First = true
	if from.calls.def.To != e.def.To {
		d := r.diags.Warnf(e.at.Span, e.at.Path(), codeSameValue,
			"tool calls of %q follow the edge before this one, to %q", from.title(), from.calls.def.To)
		d.Related = []diag.Related{{Span: from.calls.at.Span, Message: "the first one"}}
	}
}
