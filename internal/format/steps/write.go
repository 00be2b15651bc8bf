package steps

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/expr/celexpr"
	"github.com/hocket-run/hocket/internal/format/lost"
	"github.com/hocket-run/hocket/workflow"
)

// Write returns w as a steps document, and exactly what such a document cannot express. If that
// list is empty, reading the document again yields a workflow with the same digest if w came from a
// steps document, and one that behaves the same otherwise. If the list is not empty, the document
// holds what can be expressed: show it, but do not run it.
//
// Comments, metadata other than the description, and the key order of the document from which w may
// have come do not survive.
func Write(w *workflow.Workflow) ([]byte, lost.List) {
	out := writer{w: w, doc: mapping(), agentByID: map[string]*workflow.Agent{}}
	out.vars = slices.Clone(variables)
	for i := range w.Nodes {
		if m := w.Nodes[i].Map; m != nil {
			out.vars = append(out.vars, m.Item(), workflow.ItemIndex(m.Item()))
		}
	}
	for i := range w.Agents {
		out.agentByID[w.Agents[i].ID] = &w.Agents[i]
	}
	out.limits()
	out.share()
	items, loose := unravel(w, &out.unsupported)
	if w.Description != "" {
		meta := mapping()
		put(meta, "description", text(w.Description))
		put(out.doc, "metadata", meta)
	}
	out.labels(out.doc)
	out.schedule(out.doc)
	out.concurrency(out.doc)
	out.tools()
	out.agents()
	out.io()
	steps := out.steps(items)
	if len(items)+len(loose)+len(out.unsupported) == 0 {
		out.unsupported.Addf("workflow", "that it has no steps")
	}
	for _, it := range loose {
		out.node(it)
	}
	if len(out.unsupported) == 0 { // otherwise the inexpressible parts may be all that is missing
		for _, n := range out.empty {
			out.unsupported.Nodef(n, "a decision whose branches both continue at the same step")
		}
	}
	l := w.Limits
	bounds, onReached := workflow.Budget{MaxTokens: l.MaxTokens, MaxCostUSD: l.MaxCostUSD, MaxCalls: l.MaxCalls},
		l.OnBudget
	if bounded := bounds != (workflow.Budget{}) || onReached != ""; l.MaxLoopIterations != 0 || bounded {
		m := mapping()
		if l.MaxLoopIterations != 0 {
			put(m, "max_loop_iterations", plain(strconv.Itoa(l.MaxLoopIterations)))
		}
		if bounded {
			put(m, "budget", budget(bounds, onReached))
		}
		put(m, "steps", steps)
		steps = m
	}
	put(out.doc, "workflow", steps)

	data, err := yaml.Dump(out.doc, yaml.WithIndent(2), yaml.WithCompactSeqIndent(false), yaml.WithLineWidth(-1))
	if err != nil {
		out.unsupported.Addf("workflow", "a text that YAML cannot hold: %s", err)
		return nil, out.unsupported
	}
	return data, out.unsupported
}

type writer struct {
	w           *workflow.Workflow
	doc         *yaml.Node
	unsupported lost.List
	empty       []*workflow.Node // conditions without branches
	agentByID   map[string]*workflow.Agent
	shared      map[string]bool // ids of the outermost list that other lists also have
	known       []expr.Step     // all nodes, if ids are shared
	vars        []string        // all variables
}

// steps writes a list.
func (o *writer) steps(items []*item) *yaml.Node {
	seq := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	if len(items) == 0 {
		seq.Style = yaml.FlowStyle
	}
	for _, it := range items {
		if it.target != nil {
			seq.Content = append(seq.Content, text(it.target.id))
			continue
		}
		seq.Content = append(seq.Content, o.step(it))
	}
	return seq
}

func (o *writer) step(it *item) *yaml.Node {
	n := it.node
	o.node(it)
	m := mapping()
	if it.needsID || n.ID != it.id || it.id != defaultID(n) {
		put(m, "id", text(it.id))
	}
	switch {
	case n.Agent != nil:
		put(m, "type", plain("agent"))
		put(m, "name", text(n.Agent.Agent))
		if p := n.Agent.Prompt; p.Mode == workflow.PromptTemplate && strings.TrimSpace(p.Text) != "" {
			src := p.Text
			if p.Expressions {
				src = o.interpolation(src)
			}
			put(m, "prompt", text(src))
		}
	case n.Fork != nil:
		put(m, "type", plain("parallel"))
		join(n.Fork, m)
	case n.Decide != nil:
		put(m, "type", plain(decideType(n.Decide).String()))
		if len(n.Decide.Cases) > 0 && !isSwitch(n.Decide) {
			put(m, "condition", text(o.condition(n.Decide.Cases[0].When)))
		}
	}
	o.extension(it, m)
	o.policies(it, m)
	if n.Retry != nil {
		put(m, "retry", o.retry(n))
	}
	if n.Budget != nil && (n.Agent != nil || n.Tool != nil || n.Map != nil) {
		put(m, "budget", budget(*n.Budget, ""))
	}
	switch {
	case n.Fork != nil, n.Map != nil:
		put(m, "steps", o.steps(it.children))
	case n.Decide != nil:
		o.branches(it, m)
	}
	if len(it.limit) > 0 {
		put(m, "limit", o.steps(it.limit))
	}
	return m
}

// branches writes the branches of a condition or a switch.
func (o *writer) branches(it *item, m *yaml.Node) {
	d := it.node.Decide
	if isSwitch(d) {
		cases := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for i, c := range d.Cases {
			one := mapping()
			put(one, "when", text(o.condition(c.When)))
			if i < len(it.cases) && len(it.cases[i]) > 0 {
				put(one, "steps", o.steps(it.cases[i]))
			}
			cases.Content = append(cases.Content, one)
		}
		put(m, "cases", cases)
		if len(it.no) > 0 {
			put(m, "else", o.steps(it.no))
		}
		return
	}
	yes := slices.Concat(it.cases...)
	if len(yes)+len(it.no) == 0 {
		o.empty = append(o.empty, it.node)
	}
	for _, b := range []struct {
		key   string
		items []*item
	}{{workflow.PortTrue, yes}, {workflow.PortFalse, it.no}} {
		if len(b.items) > 0 {
			key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: b.key}
			m.Content = append(m.Content, key, o.steps(b.items))
		}
	}
}

// decideType returns the type of the step that is written for a choice.
func decideType(d *workflow.Decide) kind {
	if isSwitch(d) {
		return switchStep
	}
	return conditionStep
}

// condition returns the source of a condition. In a workflow it names nodes; in a document a nearer
// step with the same id would take precedence, so a step of the outermost list gets a leading
// slash.
func (o *writer) condition(c workflow.Condition) string {
	if c.Language != workflow.LangExpr || len(o.shared) == 0 {
		return c.Text
	}
	parsed, _ := celexpr.ParseCondition(c.Text, expr.Options{Steps: o.known, Vars: withSignal(o.vars)})
	return o.named(c.Text, parsed.Refs())
}

// named returns src with references to steps of the outermost list marked as such if other steps
// share their ids.
func (o *writer) named(src string, refs []expr.Ref) string {
	var b strings.Builder
	last := 0
	for _, ref := range refs {
		head := strings.Index(ref.Text, "."+ref.Step())
		if !o.shared[ref.Step()] || head < 0 {
			continue
		}
		b.WriteString(src[last:ref.Offset+head+1] + "/")
		last = ref.Offset + head + 1
	}
	return b.String() + src[last:]
}

// share finds the ids of the outermost list that steps in other lists also have.
func (o *writer) share() {
	o.shared = map[string]bool{}
	for i := range o.w.Nodes {
		if n := &o.w.Nodes[i]; isPath(n) {
			o.shared[n.ID[strings.LastIndex(n.ID, "/")+1:]] = false
		}
	}
	if len(o.shared) == 0 {
		return
	}
	for i := range o.w.Nodes {
		id := o.w.Nodes[i].ID
		if _, ok := o.shared[id]; ok {
			o.shared[id] = true
		}
		o.known = append(o.known, expr.Step{ID: id})
	}
}

func budget(b workflow.Budget, onReached string) *yaml.Node {
	m := mapping()
	if b.MaxTokens > 0 {
		put(m, "tokens", plain(strconv.FormatInt(b.MaxTokens, 10)))
	}
	if b.MaxCostUSD > 0 {
		put(m, "cost_usd", number(b.MaxCostUSD))
	}
	if b.MaxCalls > 0 {
		put(m, "calls", plain(strconv.FormatInt(b.MaxCalls, 10)))
	}
	if onReached != "" {
		put(m, "on_reached", plain(onReached))
	}
	return m
}

func (o *writer) retry(n *workflow.Node) *yaml.Node {
	r := n.Retry
	m := mapping()
	put(m, "max_attempts", plain(strconv.Itoa(r.MaxRetries)))
	if r.Func != "" {
		o.unsupported.Nodef(n, "the Go function %q that decides on retries", r.Func)
	}
	kind := "fixed"
	switch r.Multiplier {
	case 0, 1:
	case 2:
		kind = "exponential"
	default:
		o.unsupported.Nodef(n, "a delay that grows by %g", r.Multiplier)
	}
	switch d := time.Duration(r.Delay); {
	case d == time.Second:
		put(m, "backoff", plain(kind))
	case d != 0 || kind == "exponential":
		b := mapping()
		put(b, "type", plain(kind))
		put(b, "initial_delay_seconds", number(d.Seconds()))
		put(m, "backoff", b)
	}
	if len(r.On) > 0 {
		put(m, "on", texts(r.On))
	}
	return m
}
