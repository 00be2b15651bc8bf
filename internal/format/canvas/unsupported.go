package canvas

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/format/lost"
	"github.com/hocket-run/hocket/internal/format/nodes"
	"github.com/hocket-run/hocket/workflow"
)

// reportWorkflow records the unsupported settings of the workflow as a whole.
func (o *writer) reportWorkflow() {
	w := o.w
	if limits, err := json.Marshal(w.Limits); err == nil && string(limits) != "{}" {
		o.unsupported.Addf("workflow", "the limits %s", limits)
	}
	r := w.Rules
	if r.OnFailure != workflow.FailDrain && lost.Concurrent(o.w) {
		o.unsupported.Addf("workflow", "that a failure stops the calls in flight: in a canvas they finish")
	}
	if !r.HoldWhilePaused && lost.Concurrent(o.w) && slices.ContainsFunc(w.Nodes, func(n workflow.Node) bool {
		return n.Wait != nil
	}) {
		o.unsupported.Addf("workflow",
			"that other branches continue while an approval waits: in a canvas they are held")
	}
	r.OnFailure, r.HoldWhilePaused, r.DefaultInput = "", false, nil
	if rules, err := json.Marshal(r); err == nil && string(rules) != "{}" {
		o.unsupported.Addf("workflow", "the rules %s", rules)
	}
	for name := range w.Flows {
		o.unsupported.Addf("workflow", "the flow %q", name)
	}
	for name := range w.Providers {
		o.unsupported.Addf("workflow", "the model provider %q", name)
	}
	slices.SortStableFunc(o.unsupported, func(a, b lost.Loss) int { return strings.Compare(a.What, b.What) })
}

// reportNode records the unsupported settings of a node that do not depend on its kind.
func (o *writer) reportNode(n *workflow.Node) {
	u := &o.unsupported
	works := slices.Contains(nodes.Keys(nodes.Type(n)), "retry") // then its settings include it
	if n.Retry != nil && !works {
		u.Nodef(n, "%d retries", n.Retry.MaxRetries)
	}
	if n.Timeout > 0 && !works {
		u.Nodef(n, "the timeout of %s", time.Duration(n.Timeout))
	}
	if n.CallTimeout > 0 && !works {
		u.Nodef(n, "the timeout of %s for each call", time.Duration(n.CallTimeout))
	}
	if n.OnError != "" {
		u.Nodef(n, "the error handler %q", n.OnError)
	}
	if n.Hidden && n.Kind != workflow.KindEnd && n.Kind != workflow.KindJoin {
		u.Nodef(n, "that it is hidden")
	}
	if n.Recovery {
		u.Nodef(n, "that error handlers may go to it")
	}
	if n.First && o.several(n.ID) {
		u.Nodef(n, "that only the first edge whose condition holds is taken")
	}
	switch {
	case n.Agent != nil:
		if m := n.Agent.Prompt.Mode; m != workflow.PromptTemplate && m != workflow.PromptContext {
			u.Nodef(n, "a prompt of mode %s", m)
		}
		if n.Agent.Routing != nil {
			u.Nodef(n, "that the agent chooses its successor")
		}
		if o.agents[n.Agent.Agent] == nil {
			u.Nodef(n, "the unknown agent %q", n.Agent.Agent)
		}
	case n.Wait != nil:
		if n.Wait.AutoApprove {
			u.Nodef(n, "that it continues at once")
		}
	}
}

// declared writes the inputs, the output and the tools of the document, and records prompts that
// would be read differently.
func (o *writer) declared() {
	o.doc.Declared, o.doc.Tools = nodes.WriteDocument(o.w, true), nodes.WriteTools(o.w)
	nodes.ReportPrompts(o.w, true, o.unsupported.Nodef)
	for i := range o.w.Agents {
		if a := &o.w.Agents[i]; o.doc.Inputs != nil && !a.Template && isTemplate(a.System) {
			o.unsupported.Addf(lost.Agent(a.ID), "a system prompt whose references are sent as they are")
		}
	}
}

// ends records how an end node ends the run, beyond merely ending it, which a node without
// connections does too.
func (o *writer) ends(n *workflow.Node) {
	if e := n.End; e != nil && (e.Status != "" && e.Status != workflow.EndCompleted || len(e.Output) > 0 ||
		e.Message != "") {
		o.unsupported.Nodef(n, "with what it ends the run")
	}
	if n.If != nil {
		o.unsupported.Nodef(n, "that it ends the run under a condition")
	}
}

// leaves reports whether an edge leaves the node through a port.
func (o *writer) leaves(id, port string) bool {
	return slices.ContainsFunc(o.out[id], func(e workflow.Edge) bool { return e.Port == port })
}

// several reports whether more than one edge leaves the node through the same port.
func (o *writer) several(id string) bool {
	seen := map[string]bool{}
	for _, e := range o.out[id] {
		if seen[e.PortName()] {
			return true
		}
		seen[e.PortName()] = true
	}
	return false
}

// reportAgent records settings of an agent that canvas agents do not have, and where it differs
// from what all of them have in common.
func (o *writer) reportAgent(a *workflow.Agent) {
	addf := func(format string, args ...any) { o.unsupported.Addf("agent "+strconv.Quote(a.ID), format, args...) }
	if a.Template && !isTemplate(a.System) {
		addf("a system prompt with templates")
	}
	if a.Tokens != hasTokens(a.System) {
		addf("a system prompt whose tokens are sent as they are")
	}
	if a.System == "" {
		addf("that there is no system prompt")
	}
	if a.Params.ReasoningEffort == effortAuto {
		addf("the reasoning effort %q", effortAuto)
	}
	if a.SubagentFailure == workflow.SubagentReports {
		addf("that a failed sub-agent is reported to the model")
	}
	if !a.Trim {
		addf("that whitespace around replies are kept")
	}
	if a.EmptyText != EmptyText {
		addf("the text %q for empty replies", a.EmptyText)
	}
	if slices.Contains(a.Tools, toolSubagents) {
		addf("a tool with the name %q", toolSubagents)
	}
}
