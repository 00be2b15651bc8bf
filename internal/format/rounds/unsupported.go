package rounds

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/hocket-run/hocket/internal/format/lost"
	"github.com/hocket-run/hocket/internal/format/nodes"
	"github.com/hocket-run/hocket/workflow"
)

// reportWorkflow records the unsupported settings of the workflow as a whole.
func (o *writer) reportWorkflow() {
	for _, name := range slices.Sorted(maps.Keys(o.w.Providers)) {
		o.unsupported.Addf("workflow", "the model provider %q", name)
	}
}

// reportGraph records the unsupported settings of a graph as a whole.
func (p *graphWriter) reportGraph() {
	l := p.w.Limits
	expected := limits(l.MaxRounds, len(p.w.Nodes))
	if l.MaxSteps != nil && expected.MaxSteps != nil && *l.MaxSteps == *expected.MaxSteps {
		l.MaxSteps = nil
	} else if expected.MaxSteps != nil {
		p.addf("workflow", "a limit of %d steps: in a rounds document that many rounds may take %d", l.Steps(),
			*expected.MaxSteps)
		l.MaxSteps = nil
	}
	if l.MaxRounds < 0 {
		p.addf("workflow", "a negative number of rounds")
	}
	l.MaxRounds = 0
	if limits, err := json.Marshal(l); err == nil && string(limits) != "{}" {
		p.addf("workflow", "the limits %s", limits)
	}
	rules := p.w.Rules
	if rules.OnFailure == workflow.FailFast {
		rules.OnFailure = "" // the default
	}
	if rules, err := json.Marshal(rules); err == nil && string(rules) != "{}" {
		p.addf("workflow", "the rules %s", rules)
	}
	for _, name := range slices.Sorted(maps.Keys(p.w.Flows)) {
		p.addf("workflow", "the flow %q", name)
	}
	if p.prefix != "" {
		for _, name := range slices.Sorted(maps.Keys(p.w.Providers)) {
			p.addf("workflow", "the model provider %q", name)
		}
	}
}

// reportNode records the unsupported settings of a node, apart from its agent.
func (p *graphWriter) reportNode(n *workflow.Node) {
	addf := func(format string, args ...any) { p.addf("node "+strconv.Quote(n.ID), format, args...) }
	typ := nodes.Type(n)
	works := slices.Contains(nodes.Keys(typ), "retry") // then its settings include it
	if typ == "" && (n.Kind != workflow.KindAgent || n.Agent == nil) {
		addf("%s", lost.Kind(n))
		return
	}
	if typ != "" {
		p.reportPlain(n, works, addf)
		return
	}
	said, want := n.Agent.Prompt, workflow.Prompt{Mode: workflow.PromptTurns, Text: p.instruction}
	if p.context == contextPrevious {
		want = previousPrompt(p.instruction, false)
	}
	switch {
	case said.Mode != want.Mode:
		addf("a prompt of mode %s", said.Mode)
	case said.Text != want.Text:
		addf("a turn instruction of its own")
	case said.Default != want.Default:
		addf("what it is sent without any input")
	}
	if n.Agent.Routing != nil {
		addf("that the agent chooses its successor")
	}
	p.reportPlain(n, false, addf)
}

// reportPlain records unsupported settings that nodes of any kind can have; works reports that its
// settings include timeout and retries.
func (p *graphWriter) reportPlain(n *workflow.Node, works bool, addf func(format string, args ...any)) {
	if n.Retry != nil && !works {
		addf("%d retries", n.Retry.MaxRetries)
	}
	if n.Timeout > 0 && !works {
		addf("the timeout of %s", time.Duration(n.Timeout))
	}
	if n.CallTimeout > 0 && !works {
		addf("the timeout of %s for each call", time.Duration(n.CallTimeout))
	}
	if n.OnError != "" {
		addf("the error handler %q", n.OnError)
	}
	if n.Recovery {
		addf("that error handlers may go to it")
	}
	if n.Hidden {
		addf("that it is hidden")
	}
	if n.Parent != "" {
		addf("that it is in a branch of %q", n.Parent)
	}
	if len(n.Reads) > 0 && n.Agent != nil && !n.Agent.Prompt.Expressions {
		addf("that it reads the outputs of other nodes")
	}
}

// handle returns the handle of a node's port, or false if it has none.
func (p *graphWriter) handle(n *workflow.Node, port string) (string, bool) {
	if n != nil && nodes.Type(n) != "" {
		return nodes.Handle(n, port)
	}
	return "", port == workflow.PortOut
}

// reportEdge records what an edge cannot express, and returns its handle.
func (p *graphWriter) reportEdge(e workflow.Edge) string {
	addf := func(format string, args ...any) { p.addf(fmt.Sprintf("edge %q -> %q", e.From, e.To), format, args...) }
	handle, ok := p.handle(p.w.Node(e.From), e.PortName())
	if !ok {
		addf("the port %q", e.PortName())
	}
	if e.When != nil {
		addf("a condition")
	}
	if e.Loop {
		addf("that its passes are counted")
	}
	return handle
}

// several records that more than one edge leaves a node.
func (p *graphWriter) several(id string) {
	if n := p.w.Node(id); n == nil || !n.First {
		p.addf("node "+strconv.Quote(id), "that more than one edge is followed")
		return
	}
	p.addf("node "+strconv.Quote(id), "edges after the first")
}

// paths records differences between the path through the document and that of the workflow: rounds
// documents chain nodes without outgoing edges, and reject a cycle without rounds (S1-12, S1-16).
func (p *graphWriter) paths(edges []docEdge) {
	if len(edges) == 0 && len(p.w.Nodes) > 1 {
		p.addf("workflow", "that nodes without edges do not follow each other")
	}
	if p.w.Limits.MaxRounds > 0 {
		return
	}
	next := map[string][]string{}
	for _, e := range p.w.Edges {
		next[e.From] = append(next[e.From], e.To)
	}
	const onPath, done = 1, 2
	state := map[string]int{}
	var cyclic func(id string) bool
	cyclic = func(id string) bool {
		state[id] = onPath
		for _, to := range next[id] {
			if state[to] == onPath || state[to] == 0 && cyclic(to) {
				return true
			}
		}
		state[id] = done
		return false
	}
	if cyclic(p.w.Entry) {
		p.addf("workflow", "a cycle without a number of rounds")
	}
}

// tools writes the toolsets and permissions of the document, which all graphs share, and records
// graphs that have different ones.
func (o *writer) tools() {
	graphs := []*workflow.Workflow{o.w}
	for _, b := range o.w.Branches {
		if b != nil {
			graphs = append(graphs, b)
		}
	}
	for _, w := range graphs {
		if o.doc.Permissions == nil {
			o.doc.Permissions = w.Permissions
		}
		if o.doc.Toolsets == nil {
			o.doc.Toolsets = w.Toolsets
		}
	}
	for i, w := range graphs {
		has := nodes.HasTools(w)
		if (has || i == 0) && !equal(w.Toolsets, o.doc.Toolsets) || !has && i > 0 && w.Toolsets != nil {
			o.unsupported.Addf("workflow", "that not all graphs have the same toolsets")
		}
		if has != (w.Permissions != nil) && o.doc.Permissions != nil ||
			has && !equal(w.Permissions, o.doc.Permissions) {
			o.unsupported.Addf("workflow", "that not all graphs have the same permissions")
		}
	}
}

func equal(a, b any) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && string(x) == string(y)
}

// reportAgent records settings of an agent that agents of rounds documents do not have.
func (p *graphWriter) reportAgent(a *workflow.Agent) {
	addf := func(format string, args ...any) { p.addf("agent "+strconv.Quote(a.ID), format, args...) }
	if a.Template {
		addf("a system prompt with templates")
	}
	if a.Tokens {
		addf("a system prompt with tokens")
	}
	if a.Trim {
		addf("that whitespace around replies are stripped")
	}
	if a.EmptyText != "" {
		addf("the text %q for empty replies", a.EmptyText)
	}
}
