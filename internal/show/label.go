package show

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-run/hocket/workflow"
)

// definition is a workflow with its parts indexed by ID.
type definition struct {
	*workflow.Workflow
	nodes  map[string]*workflow.Node
	agents map[string]*workflow.Agent
}

func define(w *workflow.Workflow) *definition {
	d := &definition{Workflow: w, nodes: map[string]*workflow.Node{}, agents: map[string]*workflow.Agent{}}
	for i := range w.Nodes {
		if n := &w.Nodes[i]; d.nodes[n.ID] == nil {
			d.nodes[n.ID] = n
		}
	}
	for i := range w.Agents {
		if a := &w.Agents[i]; d.agents[a.ID] == nil {
			d.agents[a.ID] = a
		}
	}
	return d
}

// nodeTitle returns the displayed name of a node, which is never empty.
func nodeTitle(n *workflow.Node) string { return title(n.Name, n.ID) }

func agentTitle(a *workflow.Agent) string { return title(a.Name, a.ID) }

func title(words ...string) string {
	for _, word := range words {
		if s := clean(word); s != "" {
			return s
		}
	}
	return "(no name)"
}

// detail returns a few words about what a node does.
func (d *definition) detail(n *workflow.Node) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, clean(fmt.Sprintf(format, args...))) }
	switch {
	case n.Agent != nil:
		add("agent")
		parts = append(parts, agentWords(d.agents[n.Agent.Agent], n)...)
	case n.Tool != nil && n.Tool.Workflow != "":
		add("workflow %s", n.Tool.Workflow)
	case n.Tool != nil:
		add("tool %s", n.Tool.Tool)
	case n.Func != nil:
		add("func %s", n.Func.Func)
	case n.Set != nil:
		add("set")
	case n.Sleep != nil && n.Sleep.For != "":
		add("sleep for %s", n.Sleep.For)
	case n.Sleep != nil:
		add("sleep until %s", n.Sleep.Until)
	case n.End != nil:
		add("end")
		if n.End.Status != "" {
			add("%s", n.End.Status)
		}
	case n.Decide != nil:
		add("condition")
	case n.Wait != nil:
		if add("%s", n.Wait.Kind); n.Wait.Kind == workflow.WaitSignal {
			parts[len(parts)-1] += " " + clean(n.Wait.Await)
			if n.Wait.Filter != nil {
				add("that %s", condition(*n.Wait.Filter))
			}
		}
		if n.Wait.Deadline > 0 {
			add("within %s", time.Duration(n.Wait.Deadline))
		}
		if n.Wait.AutoApprove {
			add("continues immediately")
		}
		if n.ID == d.Rules.Handoff {
			add("takes over at a limit")
		}
	case n.Fork != nil:
		add("parallel")
		add("%s", until(n.Fork))
		if n.Fork.MaxConcurrency > 0 {
			add("%d at a time", n.Fork.MaxConcurrency)
		}
	case n.Map != nil:
		add("map")
		add("%d at a time", n.Map.Concurrency())
		if e := n.Map.OnItemError; e != "" && e != workflow.FailFast {
			add("%s", e)
		}
	case n.Join != nil:
		add("join")
	case n.Subflow != nil:
		add("flow %s", n.Subflow.Flow)
	case n.Kind == workflow.KindExec:
		add("runs tool calls")
	default:
		add("%s", n.Kind)
	}
	if n.Retry != nil && n.Retry.MaxRetries > 0 {
		add("%s", retries(n.Retry.MaxRetries))
	}
	return joined(append(parts, policies(n)...))
}

// policies describes when a node runs, for how long, and what happens if it fails.
func policies(n *workflow.Node) []string {
	var parts []string
	if n.Timeout > 0 {
		parts = append(parts, "at most "+time.Duration(n.Timeout).String())
	}
	if n.CallTimeout > 0 {
		parts = append(parts, "at most "+time.Duration(n.CallTimeout).String()+" a call")
	}
	if n.If != nil {
		parts = append(parts, clean("if "+condition(*n.If)))
	}
	if n.Catch != nil && n.Catch.Port == workflow.PortOut {
		parts = append(parts, "continues on error")
	}
	return parts
}

func retries(n int) string {
	if n == 1 {
		return "1 retry"
	}
	return fmt.Sprintf("%d retries", n)
}

// joined joins the non-empty words with dots.
func joined(words []string) string {
	return strings.Join(slices.DeleteFunc(words, func(s string) bool { return s == "" }), " · ")
}

// eachItem returns the label of the line into the body of a map.
func eachItem(m *workflow.Map) string { return "for each " + m.Item() }

func until(f *workflow.Fork) string {
	switch f.Until {
	case workflow.UntilAny:
		return "first success"
	case workflow.UntilRace:
		return "first to end"
	case workflow.UntilQuorum:
		return fmt.Sprintf("%d of %d", f.Quorum, len(f.Branches))
	}
	return "all"
}

// agentWords returns the agent's name if the node does not name it, then model and tools.
func agentWords(a *workflow.Agent, n *workflow.Node) []string {
	if a == nil {
		return []string{clean(n.Agent.Agent) + " (unknown)"}
	}
	var parts []string
	if title := agentTitle(a); title != nodeTitle(n) && title != clean(n.ID) {
		parts = append(parts, title)
	}
	return append(parts, modelWords(a)...)
}

func modelWords(a *workflow.Agent) []string {
	var parts []string
	if a.Model != "" {
		parts = append(parts, clean(a.Model))
	}
	if len(a.Tools) > 0 {
		parts = append(parts, clean(strings.Join(a.Tools, ", ")))
	}
	return parts
}

// edgeLabel describes when an edge is taken; it returns "" if the edge is always taken.
func (d *definition) edgeLabel(e workflow.Edge) string {
	if e.Label != "" {
		return clean(e.Label)
	}
	label := portLabel(d.nodes[e.From], d.nodes[e.To], e.PortName())
	if e.When != nil {
		label = strings.TrimSpace(label + " if " + condition(*e.When))
	}
	if e.Loop {
		label = strings.TrimSpace(label + " (loop)")
	}
	return label
}

func portLabel(from, to *workflow.Node, port string) string {
	switch {
	case port == workflow.PortOut || from == nil:
		return ""
	case from.Decide != nil:
		for _, k := range from.Decide.Cases {
			if k.Port == port {
				return condition(k.When)
			}
		}
		if port == from.Decide.Else {
			return "else"
		}
	case from.Fork != nil && to != nil && (port == to.ID || port == to.Title() || strings.HasSuffix(to.ID, "/"+port)):
		return "" // the branch is its first node
	}
	return clean(port)
}

func condition(c workflow.Condition) string {
	switch c.Language {
	case workflow.LangFunc:
		return clean(c.Func + "()")
	case workflow.LangMatch:
		if c.Op == "equal" || c.Op == "" {
			return clean(fmt.Sprintf("is %q", c.Text))
		}
		return clean(fmt.Sprintf("%s %q", strings.ReplaceAll(c.Op, "_", " "), c.Text))
	}
	text := strings.TrimSpace(c.Text)
	if inner, ok := strings.CutPrefix(text, "{{"); ok {
		if inner, ok := strings.CutSuffix(inner, "}}"); ok {
			text = inner
		}
	}
	return clean(text)
}

// branchTitle returns the branch's name and when it runs.
func branchTitle(b *workflow.Workflow) string {
	title := title(b.ID)
	if name := clean(b.Name); name != "" && name != title {
		title += " (" + name + ")"
	}
	return strings.Join(append([]string{title, clean(b.Mode())}, runWords(b)...), ", ")
}

// runWords describes when runs of a graph start automatically, and what ends them.
func runWords(w *workflow.Workflow) (words []string) {
	for _, s := range w.Schedules {
		spec := clean(s.Spec)
		if _, err := strconv.Atoi(spec); err == nil {
			spec = map[bool]string{true: "after ", false: "every "}[s.Mode == workflow.ModeContinuous] + spec + " s"
		}
		if s.ID != "" {
			spec = strings.TrimSpace(clean(s.ID) + ": " + spec)
		}
		for _, word := range []string{spec, clean(s.TimeZone)} {
			if word != "" {
				words = append(words, word)
			}
		}
	}
	if n := w.Limits.MaxRounds; n == 1 {
		words = append(words, "1 round")
	} else if n > 1 {
		words = append(words, fmt.Sprintf("%d rounds", n))
	}
	return words
}
