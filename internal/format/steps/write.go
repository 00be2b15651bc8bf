package steps

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-run/hocket/workflow"
	"go.yaml.in/yaml/v4"
)

// Unsaid is one thing that a workflow says and a steps document cannot.
type Unsaid struct {
	At   string // `node "x"`, `agent "x"`, `edge`, `workflow`
	What string
}

// String gives `node "x": the timeout of 30s`.
func (u Unsaid) String() string { return u.At + ": " + u.What }

type unsaidList []Unsaid

func (l *unsaidList) add(at, format string, args ...any) {
	u := Unsaid{At: at, What: fmt.Sprintf(format, args...)}
	if !slices.Contains(*l, u) {
		*l = append(*l, u)
	}
}

func nodeAt(id string) string { return "node " + strconv.Quote(id) }

func (l *unsaidList) node(n *workflow.Node, format string, args ...any) {
	l.add(nodeAt(n.ID), format, args...)
}

// Write gives w as a steps document, and exactly what such a document cannot say. Where that is empty, reading the document again gives a workflow
// with the same digest if w came from a steps document, and one that runs alike if it did not. Where it is not, the document holds what
// can be said: it is worth showing, not running.
//
// Comments, metadata but the description, and the order of keys of the document from which w may have come do not survive.
func Write(w *workflow.Workflow) ([]byte, []Unsaid) {
	out := writer{w: w, doc: mapping()}
	out.limits()
	items, lost := unravel(w, &out.unsaid)
	if w.Description != "" {
		meta := mapping()
		put(meta, "description", text(w.Description))
		put(out.doc, "metadata", meta)
	}
	out.agents()
	steps := out.steps(items)
	if len(items)+len(lost)+len(out.unsaid) == 0 {
		out.unsaid.add("workflow", "that it has no steps")
	}
	for _, it := range lost {
		out.node(it)
	}
	if len(out.unsaid) == 0 { // else it may be only what could not be said that is missing there
		for _, n := range out.empty {
			out.unsaid.node(n, "a decision both of whose answers go on in the same way")
		}
	}
	if n := w.Limits.MaxLoopIterations; n != 0 {
		m := mapping()
		put(m, "max_loop_iterations", plain(strconv.Itoa(n)))
		put(m, "steps", steps)
		steps = m
	}
	put(out.doc, "workflow", steps)

	data, err := yaml.Dump(out.doc, yaml.WithIndent(2), yaml.WithCompactSeqIndent(false), yaml.WithLineWidth(-1))
	if err != nil {
		out.unsaid.add("workflow", "a text that YAML cannot hold: %s", err)
		return nil, out.unsaid
	}
	return data, out.unsaid
}

type writer struct {
	w      *workflow.Workflow
	doc    *yaml.Node
	unsaid unsaidList
	empty  []*workflow.Node // conditions without branches
}

// limits notes everything of the workflow as a whole that has no place in the format.
func (o *writer) limits() {
	w, zero := o.w, workflow.Limits{}
	l := w.Limits
	l.MaxLoopIterations = 0
	if l != zero {
		b, _ := json.Marshal(l)
		o.unsaid.add("workflow", "the limits %s", b)
	}
	r := w.Rules
	if r.OnFailure != "" && r.OnFailure != workflow.FailFast {
		o.unsaid.add("workflow", "the rule that a failure is handled by %q: a step's failure stops the others", r.OnFailure)
	}
	r.OnFailure = ""
	if b, _ := json.Marshal(r); string(b) != "{}" {
		o.unsaid.add("workflow", "the rules %s", b)
	}
	if w.Name != "" {
		o.unsaid.add("workflow", "the name %q", w.Name)
	}
	for name := range sortedKeys(w.Flows) {
		o.unsaid.add("workflow", "the flow %q", name)
	}
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
	if it.spoken || n.Kind != workflow.KindAgent || n.Agent == nil || it.id != n.Agent.Agent || n.ID != it.id {
		put(m, "id", text(it.id))
	}
	switch {
	case n.Agent != nil:
		put(m, "type", plain("agent"))
		put(m, "name", text(n.Agent.Agent))
	case n.Fork != nil:
		put(m, "type", plain("parallel"))
	case n.Decide != nil:
		put(m, "type", plain("condition"))
		if len(n.Decide.Cases) > 0 {
			put(m, "condition", text(n.Decide.Cases[0].When.Text))
		}
	}
	if n.Retry != nil {
		put(m, "retry", o.retry(n))
	}
	switch {
	case n.Fork != nil:
		put(m, "steps", o.steps(it.children))
	case n.Decide != nil:
		if len(it.yes)+len(it.no) == 0 {
			o.empty = append(o.empty, n)
		}
		for _, b := range []struct {
			key   string
			items []*item
		}{{"true", it.yes}, {"false", it.no}} {
			if len(b.items) > 0 {
				key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: b.key}
				m.Content = append(m.Content, key, o.steps(b.items))
			}
		}
	}
	return m
}

// node notes everything of a node that a step cannot say.
func (o *writer) node(it *item) {
	n := it.node
	if n.Timeout != 0 {
		o.unsaid.node(n, "the timeout of %s", time.Duration(n.Timeout))
	}
	if n.Recovery || n.OnError != "" {
		o.unsaid.node(n, "the error handler")
	}
	if it.id == "" || n.ID != it.id && n.Name != it.id {
		o.unsaid.node(n, "its id, which holds a slash")
	}
	switch {
	case n.Agent != nil:
		o.agentNode(n)
	case n.Fork != nil:
		o.fork(n)
	case n.Decide != nil:
		o.decide(n)
	}
}

func (o *writer) agentNode(n *workflow.Node) {
	a := o.w.Agent(n.Agent.Agent)
	title := ""
	if a != nil {
		title = a.Title()
	}
	if n.Name != "" && n.Name != title && n.Name != n.ID[strings.LastIndex(n.ID, "/")+1:] {
		o.unsaid.node(n, "the name %q", n.Name)
	}
	switch p := n.Agent.Prompt; {
	case p.Mode != workflow.PromptContext:
		o.unsaid.node(n, "that its user message is made by %q: a step sends the outputs of all steps before it and the run's input", p.Mode)
	case p.Text != proceed && p.Text != "":
		o.unsaid.node(n, "the text %q for an empty input", p.Text)
	}
	if n.Agent.Routing != nil {
		o.unsaid.node(n, "that the agent names its successor")
	}
}

func (o *writer) fork(n *workflow.Node) {
	f := n.Fork
	if f.Until != "" && f.Until != workflow.UntilAll {
		o.unsaid.node(n, "that it waits for %q: a parallel block waits for all", f.Until)
	}
	if f.OnFailure != "" && f.OnFailure != workflow.FailFast {
		o.unsaid.node(n, "that a failure is handled by %q: a parallel block fails at once", f.OnFailure)
	}
	if f.Shape == workflow.ShapeMap {
		o.unsaid.node(n, "the shape of its output")
	}
	if f.MaxConcurrency != 0 {
		o.unsaid.node(n, "the bound of %d branches at a time", f.MaxConcurrency)
	}
	if f.Merge != "" {
		o.unsaid.node(n, "the function %q that merges its branches", f.Merge)
	}
	if n.Name != "" && n.Name != n.ID[strings.LastIndex(n.ID, "/")+1:] {
		o.unsaid.node(n, "the name %q", n.Name)
	}
}

func (o *writer) decide(n *workflow.Node) {
	d := n.Decide
	if n.Name != "" && n.Name != n.ID[strings.LastIndex(n.ID, "/")+1:] {
		o.unsaid.node(n, "the name %q", n.Name)
	}
	if len(d.Cases) != 1 {
		o.unsaid.node(n, "a choice among %d ways: a condition has true and false", len(d.Cases)+1)
		return
	}
	if d.Else == "" {
		o.unsaid.node(n, "that it fails where its condition does not hold")
	}
	switch c := d.Cases[0].When; c.Language {
	case workflow.LangExpr:
	case workflow.LangMatch:
		o.unsaid.node(n, "the comparison of its input with %q", c.Text)
	default:
		o.unsaid.node(n, "the condition of the Go function %q", c.Func)
	}
	if n.Retry != nil {
		o.unsaid.node(n, "the retry of a condition")
	}
}

func (o *writer) retry(n *workflow.Node) *yaml.Node {
	r := n.Retry
	m := mapping()
	put(m, "max_attempts", plain(strconv.Itoa(r.MaxRetries)))
	if r.Func != "" {
		o.unsaid.node(n, "the Go function %q that decides on retries", r.Func)
	}
	kind := "fixed"
	switch r.Multiplier {
	case 0, 1:
	case 2:
		kind = "exponential"
	default:
		o.unsaid.node(n, "a delay that grows by %g", r.Multiplier)
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

func mapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"} }

func put(m *yaml.Node, key string, v *yaml.Node) {
	m.Content = append(m.Content, text(key), v)
}

// text gives a string, over several lines where it has several.
func text(s string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(s)
	return n
}

func texts(ss []string) *yaml.Node {
	seq := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for _, s := range ss {
		seq.Content = append(seq.Content, text(s))
	}
	return seq
}

// plain gives a scalar that needs no quotes.
func plain(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: s} }

func number(f float64) *yaml.Node {
	if f == math.Trunc(f) && math.Abs(f) < 1e15 {
		return plain(strconv.FormatFloat(f, 'f', 0, 64))
	}
	return plain(strconv.FormatFloat(f, 'g', -1, 64))
}

// fromJSON gives a JSON value, keys in the order in which they stand.
func fromJSON(raw json.RawMessage) (*yaml.Node, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return jsonValue(dec)
}

func jsonValue(dec *json.Decoder) (*yaml.Node, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	switch v := tok.(type) {
	case json.Delim:
		n := mapping()
		if v == '[' {
			n = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		}
		for dec.More() {
			child, err := jsonValue(dec)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, child)
		}
		if len(n.Content) == 0 {
			n.Style = yaml.FlowStyle
		}
		_, err := dec.Token()
		return n, err
	case string:
		return text(v), nil
	case json.Number:
		return plain(v.String()), nil
	case bool:
		return plain(strconv.FormatBool(v)), nil
	}
	return plain("null"), nil
}
