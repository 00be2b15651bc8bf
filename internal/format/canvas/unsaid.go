package canvas

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/format/lost"
	"github.com/hocket-run/hocket/workflow"
)

// whole notes what the workflow as a whole says.
func (o *writer) whole() {
	w := o.w
	if limits, err := json.Marshal(w.Limits); err == nil && string(limits) != "{}" {
		o.unsaid.Addf("workflow", "the limits %s", limits)
	}
	r := w.Rules
	if r.OnFailure != workflow.FailDrain && lost.Concurrent(o.w) {
		o.unsaid.Addf("workflow", "that a failure stops the calls in flight: in a canvas they finish")
	}
	if !r.HoldWhilePaused && lost.Concurrent(o.w) && slices.ContainsFunc(w.Nodes, func(n workflow.Node) bool { return n.Wait != nil }) {
		o.unsaid.Addf("workflow", "that other branches continue while an approval waits: in a canvas they are held")
	}
	r.OnFailure, r.HoldWhilePaused, r.DefaultInput = "", false, nil
	if rules, err := json.Marshal(r); err == nil && string(rules) != "{}" {
		o.unsaid.Addf("workflow", "the rules %s", rules)
	}
	for name := range w.Flows {
		o.unsaid.Addf("workflow", "the flow %q", name)
	}
	for name := range w.Providers {
		o.unsaid.Addf("workflow", "the model provider %q", name)
	}
	slices.SortStableFunc(o.unsaid, func(a, b lost.Loss) int { return strings.Compare(a.What, b.What) })
}

// nodeUnsaid notes what a node says beside its kind.
func (o *writer) nodeUnsaid(n *workflow.Node) {
	u := &o.unsaid
	if n.Retry != nil {
		u.Nodef(n, "%d retries", n.Retry.MaxRetries)
	}
	if n.Timeout > 0 {
		u.Nodef(n, "the timeout of %s", time.Duration(n.Timeout))
	}
	if n.CallTimeout > 0 {
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

// several tells whether more than one edge leaves the node by one port.
func (o *writer) several(id string) bool {
	seen := map[string]bool{}
	for _, e := range o.w.Edges {
		if e.From == id {
			if seen[e.PortName()] {
				return true
			}
			seen[e.PortName()] = true
		}
	}
	return false
}

// agentUnsaid notes what an agent says beside what canvas agents have, and where it differs from what all of them are.
func (o *writer) agentUnsaid(a *workflow.Agent) {
	addf := func(format string, args ...any) { o.unsaid.Addf("agent "+strconv.Quote(a.ID), format, args...) }
	if a.Template {
		addf("a system prompt with templates")
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
