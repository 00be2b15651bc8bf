package format

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/format/lost"
	"github.com/hocket-run/hocket/workflow"
)

// adapter changes a workflow into one that another format can express, without changing its
// meaning. It makes only changes that it can prove safe; the writer reports the rest, and the
// conversion is rejected.
type adapter struct {
	w              *workflow.Workflow
	source, target Format
	to             string // the name of the target
	changes        []Change
	listed         map[Change]bool // the same
}

func (a *adapter) changef(at, kind, why, format string, args ...any) {
	c := Change{At: at, Kind: kind, What: fmt.Sprintf(format, args...), Why: why}
	if a.listed[c] {
		return
	}
	if a.listed == nil {
		a.listed = map[Change]bool{}
	}
	a.listed[c] = true
	a.changes = append(a.changes, c)
}

// adapt changes the workflow as the target requires. If the target has no changes of its own, the
// workflow stays as it is.
func (a *adapter) adapt() {
	if a.target.adapt == nil {
		return
	}
	a.w.Format = a.to
	a.templates()
	a.dropUnusedAgents()
	a.dropUnreachableLimits()
	a.target.adapt(a)
}

// templates marks system prompts without references as templates if the target's system prompts are
// templates, and as plain otherwise: they mean the same either way.
func (a *adapter) templates() {
	for i := range a.w.Agents {
		g := &a.w.Agents[i]
		t, problems := expr.ParseTemplate(g.System, expr.Options{})
		if len(t.Refs())+len(problems) == 0 {
			g.Template = a.target.templates && g.System != ""
		}
	}
}

// dropUnusedAgents removes agents that no run can reach.
func (a *adapter) dropUnusedAgents() {
	used := map[string]bool{}
	var todo []string
	for _, n := range a.w.Nodes {
		if n.Agent != nil {
			todo = append(todo, n.Agent.Agent)
		}
	}
	for len(todo) > 0 {
		id := todo[0]
		todo = todo[1:]
		g := a.w.Agent(id)
		if used[id] || g == nil {
			continue
		}
		used[id] = true
		for _, s := range g.Subagents {
			todo = append(todo, s.Agent)
		}
		todo = append(todo, g.Handoffs...)
	}
	a.w.Agents = slices.DeleteFunc(a.w.Agents, func(g workflow.Agent) bool {
		if !used[g.ID] {
			a.changef(lost.Agent(g.ID), ChangeLost, "", "an agent that nothing uses")
		}
		return !used[g.ID]
	})
}

// dropUnreachableLimits removes limits that a graph without a cycle cannot reach.
func (a *adapter) dropUnreachableLimits() {
	l := &a.w.Limits
	if cyclic(a.w) {
		return
	}
	l.MaxLoopIterations, l.MaxRounds = 0, 0
	if l.MaxSteps != nil && *l.MaxSteps >= len(a.w.Nodes)+1 {
		l.MaxSteps = nil
	}
}

// cyclic reports whether a node can be reached from itself.
func cyclic(w *workflow.Workflow) bool {
	out := map[string][]string{}
	for _, e := range w.Edges {
		out[e.From] = append(out[e.From], e.To)
	}
	state := map[string]int{} // 1: on the current path, 2: done
	var visit func(string) bool
	visit = func(id string) bool {
		if state[id] != 0 {
			return state[id] == 1
		}
		state[id] = 1
		if slices.ContainsFunc(out[id], visit) {
			return true
		}
		state[id] = 2
		return false
	}
	return slices.ContainsFunc(w.Nodes, func(n workflow.Node) bool { return visit(n.ID) })
}

// entering returns the edges that lead into a node.
func (a *adapter) entering(id string) []workflow.Edge {
	var out []workflow.Edge
	for _, e := range a.w.Edges {
		if e.To == id {
			out = append(out, e)
		}
	}
	return out
}

// leaving returns the edges that leave a node.
func (a *adapter) leaving(id string) []workflow.Edge {
	var out []workflow.Edge
	for _, e := range a.w.Edges {
		if e.From == id {
			out = append(out, e)
		}
	}
	return out
}

// dropStart removes the start node, which does nothing, if one edge leads from it and none to it.
func (a *adapter) dropStart() {
	start := a.w.Node(a.w.Entry)
	if start == nil || start.Kind != workflow.KindStart || len(start.Notes) > 0 {
		return
	}
	next := a.leaving(start.ID)
	if len(next) != 1 || next[0].When != nil || len(a.entering(start.ID)) > 0 {
		return
	}
	id := start.ID
	a.changef(lost.Node(id), ChangeLost, a.to+" documents begin with their first step",
		"the start node, which does nothing")
	a.w.Entry = next[0].To
	a.w.Edges = slices.DeleteFunc(a.w.Edges, func(e workflow.Edge) bool { return e.From == id })
	a.w.Nodes = slices.DeleteFunc(a.w.Nodes, func(n workflow.Node) bool { return n.ID == id })
}

// plainRules adopts the target's rules if they make no difference: with one step at a time nothing
// is in flight when a step fails, and nothing continues during a wait.
func (a *adapter) plainRules(onFailure string, hold bool) {
	r := &a.w.Rules
	if !lost.Concurrent(a.w) {
		r.OnFailure, r.HoldWhilePaused = onFailure, hold
	}
	if in := string(r.DefaultInput); !a.target.defaultInput && in != "" {
		if in != `""` {
			a.changef("workflow", ChangeLost, "give the input when the run is started",
				"the input of runs that are given none, %s", short(in))
		}
		r.DefaultInput = nil
	}
}

// replies adopts the target's treatment of empty replies and of white space around replies.
func (a *adapter) replies(trim bool, empty string) {
	for i := range a.w.Agents {
		g := &a.w.Agents[i]
		if g.Trim != trim {
			what := "whitespace around replies are kept"
			if trim {
				what = "whitespace around replies are removed"
			}
			g.Trim = trim
			a.changef(lost.Agent(g.ID), ChangeReworded, "as in all "+a.to+" documents", "%s", what)
		}
		if g.EmptyText != empty {
			g.EmptyText = empty
			a.changef(lost.Agent(g.ID), ChangeReworded, "as in all "+a.to+" documents", "an empty reply becomes %q",
				empty)
		}
	}
}

// edgesPlain removes ids and labels of edges, which are only used in drawings.
func (a *adapter) edgesPlain() {
	told := false
	for i := range a.w.Edges {
		e := &a.w.Edges[i]
		told = told || e.ID != "" || e.Label != ""
		e.ID, e.Label = "", ""
	}
	if told {
		a.changef("workflow", ChangeLost, "only editors and pictures show them", "ids and labels of edges")
	}
}

// rename sets the name of a node to the name that the target would use.
func (a *adapter) rename(n *workflow.Node, name string) {
	title := ""
	if n.Agent != nil {
		if g := a.w.Agent(n.Agent.Agent); g != nil {
			title = g.Title()
		}
	}
	if n.Name != "" && n.Name != name && n.Name != title && n.Name != n.ID {
		a.changef(lost.Node(n.ID), ChangeLost, "only pictures and listings show it", "the name %q", n.Name)
	}
	n.Name = name
}

// blank reports whether a template sends the previous output and nothing else.
func blank(p workflow.Prompt) bool {
	text := strings.TrimSpace(p.Text)
	return p.Mode == workflow.PromptTemplate && (text == "" || p.Text == previousOutput)
}

const previousOutput = "{{PREVIOUS_OUTPUT}}"

// unusedID returns an unused node id.
func (a *adapter) unusedID(id string) string {
	out := id
	for i := 2; a.w.Node(out) != nil; i++ {
		out = fmt.Sprintf("%s_%d", id, i)
	}
	return out
}

func short(s string) string {
	const limit = 80
	if r := []rune(s); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return s
}

// quoted returns a string as JSON.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""` // a Go string always marshals
	}
	return string(b)
}
