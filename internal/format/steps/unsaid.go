package steps

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-run/hocket/workflow"
)

// Unsaid is one thing that a workflow says and a steps document cannot.
type Unsaid struct {
	At   string // `node "x"`, `agent "x"`, `edge`, `workflow`
	What string
}

// String gives `node "x": the timeout of 30s`.
func (u Unsaid) String() string { return u.At + ": " + u.What }

type unsaidList []Unsaid

func (l *unsaidList) addf(at, format string, args ...any) {
	u := Unsaid{At: at, What: fmt.Sprintf(format, args...)}
	if !slices.Contains(*l, u) {
		*l = append(*l, u)
	}
}

func nodeAt(id string) string { return "node " + strconv.Quote(id) }

func (l *unsaidList) nodef(n *workflow.Node, format string, args ...any) {
	l.addf(nodeAt(n.ID), format, args...)
}

// limits notes everything of the workflow as a whole that has no place in the format.
func (o *writer) limits() {
	w, zero := o.w, workflow.Limits{}
	l := w.Limits
	l.MaxLoopIterations = 0
	if l != zero {
		b, _ := json.Marshal(l)
		o.unsaid.addf("workflow", "the limits %s", b)
	}
	r := w.Rules
	concurrent := o.concurrent()
	if r.OnFailure != "" && r.OnFailure != workflow.FailFast && concurrent {
		o.unsaid.addf("workflow", "the rule that a failure is handled by %q: a step's failure stops the others", r.OnFailure)
	}
	r.OnFailure = ""
	if !concurrent {
		r.HoldWhilePaused = false // there is nothing to hold
	}
	if string(r.DefaultInput) == `""` {
		r.DefaultInput = nil // an empty input stays empty
	}
	if b, _ := json.Marshal(r); string(b) != "{}" {
		o.unsaid.addf("workflow", "the rules %s", b)
	}
	if w.ID != "" {
		o.unsaid.addf("workflow", "the id %q", w.ID)
	}
	if w.Name != "" {
		o.unsaid.addf("workflow", "the name %q", w.Name)
	}
	for i := range w.Agents {
		if id := w.Agents[i].ID; len(id) > maxIDBytes {
			o.unsaid.addf("agent "+strconv.Quote(id), "its id, which is longer than %d bytes", maxIDBytes)
		}
	}
	for name := range sortedKeys(w.Flows) {
		o.unsaid.addf("workflow", "the flow %q", name)
	}
}

// concurrent tells whether two branches can run at once.
func (o *writer) concurrent() bool {
	type out struct{ from, port string }
	seen := map[out]bool{}
	for _, e := range o.w.Edges {
		k := out{e.From, e.PortName()}
		if seen[k] {
			return true
		}
		seen[k] = true
	}
	return slices.ContainsFunc(o.w.Nodes, func(n workflow.Node) bool { return n.Fork != nil })
}

// node notes everything of a node that a step cannot say.
func (o *writer) node(it *item) {
	n := it.node
	if n.Timeout != 0 {
		o.unsaid.nodef(n, "the timeout of %s", time.Duration(n.Timeout))
	}
	if n.Hidden && n.Kind != workflow.KindEnd && n.Kind != workflow.KindJoin {
		o.unsaid.nodef(n, "that it is hidden")
	}
	if n.Recovery || n.OnError != "" {
		o.unsaid.nodef(n, "the error handler")
	}
	if it.id == "" || n.ID != it.id && n.Name != it.id {
		o.unsaid.nodef(n, "its id, which holds a slash")
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
	title := ""
	if a := o.agentByID[n.Agent.Agent]; a != nil {
		title = a.Title()
	}
	if n.Name != "" && n.Name != title && n.Name != n.ID[strings.LastIndex(n.ID, "/")+1:] {
		o.unsaid.nodef(n, "the name %q", n.Name)
	}
	switch p := n.Agent.Prompt; {
	case p.Mode != workflow.PromptContext:
		o.unsaid.nodef(n, "that its user message is made by %q: a step sends the outputs of all steps before it and the run's input", p.Mode)
	case p.Text != proceed && p.Text != "":
		o.unsaid.nodef(n, "the text %q for an empty input", p.Text)
	}
	if n.Agent.Routing != nil {
		o.unsaid.nodef(n, "that the agent names its successor")
	}
}

func (o *writer) fork(n *workflow.Node) {
	f := n.Fork
	if f.Until != "" && f.Until != workflow.UntilAll {
		o.unsaid.nodef(n, "that it waits for %q: a parallel block waits for all", f.Until)
	}
	if f.OnFailure != "" && f.OnFailure != workflow.FailFast {
		o.unsaid.nodef(n, "that a failure is handled by %q: a parallel block fails at once", f.OnFailure)
	}
	if f.Shape == workflow.ShapeMap {
		o.unsaid.nodef(n, "the shape of its output")
	}
	if f.MaxConcurrency != 0 {
		o.unsaid.nodef(n, "the bound of %d branches at a time", f.MaxConcurrency)
	}
	for _, b := range f.Branches {
		if slices.Contains(blockPorts, b.ID) {
			o.unsaid.nodef(n, "the branch %q: a parallel block fires that port itself", b.ID)
		}
	}
	if f.Merge != "" {
		o.unsaid.nodef(n, "the function %q that merges its branches", f.Merge)
	}
	if n.Name != "" && n.Name != n.ID[strings.LastIndex(n.ID, "/")+1:] {
		o.unsaid.nodef(n, "the name %q", n.Name)
	}
}

func (o *writer) decide(n *workflow.Node) {
	d := n.Decide
	if n.Name != "" && n.Name != n.ID[strings.LastIndex(n.ID, "/")+1:] {
		o.unsaid.nodef(n, "the name %q", n.Name)
	}
	if len(d.Cases) != 1 {
		o.unsaid.nodef(n, "a choice among %d ways: a condition has true and false", len(d.Cases)+1)
		return
	}
	if d.Else == "" {
		o.unsaid.nodef(n, "that it fails where its condition does not hold")
	}
	switch c := d.Cases[0].When; c.Language {
	case workflow.LangExpr:
	case workflow.LangMatch:
		o.unsaid.nodef(n, "the comparison of its input with %q", c.Text)
	default:
		o.unsaid.nodef(n, "the condition of the Go function %q", c.Func)
	}
	if n.Retry != nil {
		o.unsaid.nodef(n, "the retry of a condition")
	}
}
