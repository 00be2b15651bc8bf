package steps

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/format/lost"
	"github.com/hocket-run/hocket/workflow"
)

// limits records everything about the workflow as a whole that the format cannot express.
func (o *writer) limits() {
	w, zero := o.w, workflow.Limits{}
	l := w.Limits
	l.MaxLoopIterations, l.MaxTokens, l.MaxCostUSD, l.MaxCalls, l.OnBudget = 0, 0, 0, 0, ""
	if l != zero {
		b, _ := json.Marshal(l)
		o.unsupported.Addf("workflow", "the limits %s", b)
	}
	r := w.Rules
	concurrent := lost.Concurrent(o.w)
	if r.OnFailure != "" && r.OnFailure != workflow.FailFast && concurrent {
		o.unsupported.Addf("workflow", "the rule that a failure is handled by %q: a step's failure stops the others",
			r.OnFailure)
	}
	r.OnFailure = ""
	if hasEarlyJoin(w) {
		if !r.HideLosers {
			o.unsupported.Addf("workflow", "that outputs of branches which lost their block are seen behind it")
		}
		r.HideLosers = false
	}
	if !concurrent {
		r.HoldWhilePaused = false // there is nothing to hold
	}
	if string(r.DefaultInput) == `""` {
		r.DefaultInput = nil // an empty input stays empty
	}
	if b, _ := json.Marshal(r); string(b) != "{}" {
		o.unsupported.Addf("workflow", "the rules %s", b)
	}
	if w.ID != "" {
		o.unsupported.Addf("workflow", "the id %q", w.ID)
	}
	if w.Name != "" {
		o.unsupported.Addf("workflow", "the name %q", w.Name)
	}
	for i := range w.Agents {
		if id := w.Agents[i].ID; len(id) > maxIDBytes {
			o.unsupported.Addf("agent "+strconv.Quote(id), "its id, which is longer than %d bytes", maxIDBytes)
		}
	}
	for name := range sortedKeys(w.Flows) {
		o.unsupported.Addf("workflow", "the flow %q", name)
	}
}

// node records everything about a node that a step cannot express.
func (o *writer) node(it *item) {
	n := it.node
	if n.CallTimeout != 0 && n.Fork != nil {
		o.unsupported.Nodef(n, "the timeout of %s for each call", time.Duration(n.CallTimeout))
	}
	if n.Hidden && n.Kind != workflow.KindEnd && n.Kind != workflow.KindJoin {
		o.unsupported.Nodef(n, "that it is hidden")
	}
	if n.Recovery || n.OnError != "" {
		o.unsupported.Nodef(n, "the error handler")
	}
	if it.id == "" || n.ID != it.id && n.Name != it.id {
		o.unsupported.Nodef(n, "its id, which holds a slash")
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
		o.unsupported.Nodef(n, "the name %q", n.Name)
	}
	if n.Agent.Prompt.Default != "" {
		o.unsupported.Nodef(n, "what it is sent without any input")
	}
	switch p := n.Agent.Prompt; {
	case p.Mode == workflow.PromptTemplate && strings.TrimSpace(p.Text) != "":
	case p.Mode != workflow.PromptContext:
		o.unsupported.Nodef(n,
			"that its user message is made by %q: a step sends the outputs of all steps before it and "+
				"the run's input", p.Mode)
	case p.Text != proceed && p.Text != "":
		o.unsupported.Nodef(n, "the text %q for an empty input", p.Text)
	}
	if n.Agent.Routing != nil {
		o.unsupported.Nodef(n, "that the agent names its successor")
	}
}

func (o *writer) fork(n *workflow.Node) {
	f := n.Fork
	if f.OnFailure != "" && f.OnFailure != workflow.FailFast {
		o.unsupported.Nodef(n, "that a failure is handled by %q: a parallel block fails at once", f.OnFailure)
	}
	if f.Shape == workflow.ShapeMap {
		o.unsupported.Nodef(n, "the shape of its output")
	}
	if f.MaxConcurrency != 0 {
		o.unsupported.Nodef(n, "the bound of %d branches at a time", f.MaxConcurrency)
	}
	for _, b := range f.Branches {
		if slices.Contains(blockPorts, b.ID) {
			o.unsupported.Nodef(n, "the branch %q: a parallel block fires that port itself", b.ID)
		}
	}
	if f.Merge != "" {
		o.unsupported.Nodef(n, "the function %q that merges its branches", f.Merge)
	}
	if n.Name != "" && n.Name != n.ID[strings.LastIndex(n.ID, "/")+1:] {
		o.unsupported.Nodef(n, "the name %q", n.Name)
	}
}

func (o *writer) decide(n *workflow.Node) {
	d := n.Decide
	if n.Name != "" && n.Name != n.ID[strings.LastIndex(n.ID, "/")+1:] {
		o.unsupported.Nodef(n, "the name %q", n.Name)
	}
	if len(d.Cases) == 0 {
		o.unsupported.Nodef(n, "a choice without conditions")
	}
	if d.Else == "" {
		o.unsupported.Nodef(n, "that it fails if no condition holds")
	}
	for _, c := range d.Cases {
		switch c.When.Language {
		case workflow.LangExpr:
		case workflow.LangMatch:
			o.unsupported.Nodef(n, "the comparison of its input with %q", c.When.Text)
		default:
			o.unsupported.Nodef(n, "the condition of the Go function %q", c.When.Func)
		}
	}
	if n.Retry != nil {
		o.unsupported.Nodef(n, "the retry of a choice")
	}
}
