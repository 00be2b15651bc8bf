package definition

import (
	"maps"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/format/agents"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/permit"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/kinds"
	"github.com/hocket-run/hocket/workflow"
)

// permissionProblems returns the problems of the permissions of a document that need its tools:
// patterns that name none of them, and rules of an agent that take a tool away from a sub-agent.
func (o LoadOptions) permissionProblems(w *workflow.Workflow, file string, data []byte) diag.List {
	return permissionProblems(w, file, data, append(operatorTools(o.Operator), documentTools(w)...))
}

func permissionProblems(w *workflow.Workflow, file string, data []byte, known []permit.Call) (problems diag.List) {
	tools, compared := permit.NewTools(known), 0
	for _, f := range flowsOf(w) {
		judged := map[permit.Identity]bool{} // permissions of the document are those of each agent
		for _, a := range f.Callers() {
			for _, p := range a.Permissions {
				id := permit.Rules(p).Identity()
				if judged[id] {
					continue
				}
				judged[id] = true
				if compared += tools.Compared(permit.Rules(p)); compared > maxCompared {
					problems.Errorf(f.Source.Agent(a.ID), "permissions", agents.CodeBadPermission,
						"the document has too many permissions with wildcards for its number of tools").Hint =
						"name whole toolsets, as in NAME/*"
					return problems
				}
				for _, u := range tools.Unmatched(permit.Rules(p)) {
					unknownPattern(&problems, f.Source.Agent(a.ID), a, u, known, len(problems) < maxHints)
				}
			}
		}
		warnDeniedSubagents(f, &problems)
	}
	return placePermissions(file, data, problems)
}

const (
	// maxCompared is the maximum number of comparisons of a pattern and a tool for one document,
	// maxDenied that for warnings about sub-agents.
	maxCompared, maxDenied = 5_000_000, 200_000
	// maxHints is the number of unknown patterns with a hint, which is costly.
	maxHints = 100
)

// flowsOf returns a workflow with the flows and branches inside it.
func flowsOf(w *workflow.Workflow) []*workflow.Workflow {
	out := []*workflow.Workflow{w}
	for _, name := range slices.Sorted(maps.Keys(w.Flows)) {
		out = append(out, flowsOf(w.Flows[name])...)
	}
	for _, f := range w.Branches {
		out = append(out, flowsOf(f)...)
	}
	return out
}

func unknownPattern(problems *diag.List, at diag.Span, a workflow.Agent, u permit.Unmatched, known []permit.Call,
	hint bool) {
	d := problems.Errorf(at, u.List, agents.CodeBadPermission,
		"%s: permissions: %s: %q names %s that the document or the operator knows", toolsetOwner(a), u.List,
		u.Text, u.What())
	d.Unknown, d.Name = true, u.Text
	if !hint {
		return
	}
	const shown = 20
	name, names := u.Wrong(known)
	switch d.Hint = diag.DidYouMean(name, names); {
	case d.Hint != "":
	case u.Argument != "":
		if len(names) > 0 {
			d.Hint = "the arguments are " + strings.Join(names, ", ")
		}
	case len(names) == 0:
		d.Hint = "no agent of the document has a tool"
	case len(names) <= shown:
		d.Hint = "the tools and toolsets are " + strings.Join(names, ", ")
	}
}

// listedProblems is permissionProblems for a list of agents, which may name agents that are stored.
func listedProblems(file string, data []byte, list, stored []workflow.Agent, operator *config.Config) diag.List {
	all := withoutIDs(slices.Clone(list), stored)
	known := operatorTools(operator)
	for i := range all {
		a, taken := &all[i], map[string]bool{}
		named := slices.Clone(a.Handoffs)
		a.Subagents = slices.Clone(a.Subagents)
		for j, s := range a.Subagents {
			named = append(named, s.Agent)
			a.Subagents[j] = agents.Subagent(s.Agent, "", taken)
		}
		for _, id := range named {
			if !slices.ContainsFunc(all, func(a workflow.Agent) bool { return a.ID == id }) {
				known = append(known, permit.Call{}) // its tools are not known yet
			}
		}
	}
	known = append(known, documentTools(&workflow.Workflow{Agents: all})...)
	w := &workflow.Workflow{Agents: all[:len(list)], Source: workflow.Source{File: file}}
	return permissionProblems(w, file, data, known)
}

// documentTools returns the tools of all agents and tool nodes of a workflow, as permissions see
// them, without opening a toolset.
func documentTools(w *workflow.Workflow) []permit.Call {
	var out []permit.Call
	for _, f := range flowsOf(w) {
		for _, a := range f.Callers() {
			out = append(out, agentTools(a)...)
			for _, name := range a.Delegates() {
				out = append(out, permit.Call{Own: name, Offered: name})
			}
		}
	}
	return out
}

// agentTools returns the tools of an agent except those with which it delegates.
func agentTools(a workflow.Agent) []permit.Call {
	var specs []tool.Spec
	for _, raw := range a.Toolsets {
		if sp, _, err := tool.ReadSpec(raw); err == nil { // otherwise DocumentSpecs reports it
			specs = append(specs, sp)
		}
	}
	out := tool.Known(specs)
	for _, name := range a.Tools {
		if name == tool.All {
			out = append(out, permit.Call{})
			continue
		}
		out = append(out, permit.Call{Own: name, Offered: name})
		// a file of toolsets, which is known when a run starts, may have a toolset of that name
		if _, isType := kinds.Of(name); isType {
			out = append(out, tool.Known([]tool.Spec{{Type: name}})...)
			continue
		}
		for _, k := range kinds.Supported() {
			for _, own := range k.Tools {
				out = append(out, permit.Call{Own: own, Offered: own, Toolset: name, Type: k.Name})
			}
		}
		for i, c := range name { // it may be the name of a toolset with that of its tool
			if c == '_' && i > 0 && i+1 < len(name) {
				out = append(out, permit.Call{Own: name[i+1:], Offered: name, Toolset: name[:i]})
			}
		}
	}
	return out
}

// operatorTools returns the tools of the operator's toolsets and servers. c may be nil.
func operatorTools(c *config.Config) []permit.Call {
	if c == nil {
		return nil
	}
	out := tool.Known(c.Toolsets)
	for _, name := range slices.Sorted(maps.Keys(c.MCPs)) {
		s := c.MCPs[name]
		s.Name = name
		out = append(out, tool.Known([]tool.Spec{s})...)
	}
	return out
}

// warnDeniedSubagents warns about rules of agents that deny a tool that one of their sub-agents
// has, at any depth, unless the sub-agent denies it itself. It ends after maxHints warnings, and
// after maxDenied comparisons.
func warnDeniedSubagents(w *workflow.Workflow, problems *diag.List) {
	byID, tools := map[string]*workflow.Agent{}, map[string][]permit.Call{}
	for i := range w.Agents {
		byID[w.Agents[i].ID] = &w.Agents[i]
	}
	left, compared := maxHints, 0
	for i := range w.Agents {
		a := &w.Agents[i]
		denied := denies(a)
		if denied == 0 {
			continue
		}
		for _, id := range workersOf(byID, a, maxDenied-compared) {
			sub := byID[id]
			if tools[id] == nil {
				tools[id] = agentTools(*sub)
			}
			if compared += 1 + denied*len(tools[id])*(1+denies(sub)/16); compared > maxDenied {
				return
			}
			for _, text := range deniedOf(a, sub, tools[id]) {
				d := problems.Warnf(w.Source.Agent(a.ID), "deny", agents.CodeBadPermission,
					"%s: permissions: deny: %q holds for the sub-agent %q of %q too, which has the tool %q",
					toolsetOwner(*a), text.pattern, id, a.ID, text.tool)
				d.Name, d.Hint = text.pattern, "the sub-agent cannot call it while it works for that agent"
				if left--; left == 0 {
					return
				}
			}
		}
	}
}

// denies returns the number of patterns with which an agent denies calls.
func denies(a *workflow.Agent) (n int) {
	for _, p := range a.Permissions {
		n += len(p.Deny)
	}
	return n
}

// taken is a tool that a pattern takes away.
type taken struct{ pattern, tool string }

// deniedOf returns the patterns with which an agent denies tools of its sub-agent that the
// sub-agent does not deny itself, each with the first tool.
func deniedOf(a, sub *workflow.Agent, tools []permit.Call) (out []taken) {
	for _, p := range a.Permissions {
		warned := map[string]bool{}
		for _, c := range tools {
			for _, text := range permit.Rules(p).Denies(c) {
				own := slices.ContainsFunc(sub.Permissions, func(p workflow.Permissions) bool {
					return slices.Contains(p.Deny, text)
				})
				if c.Own == "" || own || warned[text] {
					continue
				}
				warned[text] = true
				out = append(out, taken{text, c.Own})
			}
		}
	}
	return out
}

// workersOf returns the agents that may work as sub-agents of an agent, at most most: its
// sub-agents, theirs, and those to which any of them hands over.
func workersOf(byID map[string]*workflow.Agent, a *workflow.Agent, most int) []string {
	var ids []string
	seen := map[string]bool{}
	add := func(id string) {
		if !seen[id] && byID[id] != nil && len(ids) < most {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	for _, s := range a.Subagents {
		add(s.Agent)
	}
	for i := 0; i < len(ids); i++ {
		sub := byID[ids[i]]
		for _, s := range sub.Subagents {
			add(s.Agent)
		}
		for _, id := range sub.Handoffs {
			add(id)
		}
	}
	return ids
}

// placePermissions sets the positions of problems of patterns, which have the list in Path and the
// pattern in Name, and returns each once: a pattern may apply to several agents. A pattern that
// stands in several places is that of the agent before it. Problems of agents from elsewhere keep
// their positions.
func placePermissions(file string, data []byte, problems diag.List) diag.List {
	if len(problems) == 0 {
		return nil
	}
	root, _ := source.Parse(file, data)
	at := map[[2]string][]*source.Node{}
	var look func(n *source.Node, inside bool, depth int)
	look = func(n *source.Node, inside bool, depth int) {
		if n == nil || depth > maxPlaceDepth {
			return
		}
		for _, e := range n.Entries {
			if inside && e.Value != nil {
				for _, item := range append([]*source.Node{e.Value}, e.Value.Items...) {
					key := [2]string{e.Key, item.Text}
					at[key] = append(at[key], item)
				}
			}
			look(e.Value, e.Key == "permissions", depth+1)
		}
		for _, item := range n.Items {
			look(item, inside, depth+1)
		}
	}
	look(root, false, 0)
	var out diag.List
	seen := map[string]bool{}
	for _, d := range problems {
		items := at[[2]string{d.Path, d.Name}]
		d.Path, d.Name = "permissions."+d.Path, ""
		if len(items) > 0 {
			i := max(0, slices.IndexFunc(items, func(n *source.Node) bool {
				return n.Span.Start.Line >= d.Span.Start.Line
			}))
			d.Span, d.Path = items[i].Span, items[i].Path()
			_, rest, _ := strings.Cut(d.Message, "permissions: ")
			d.Message = "permissions: " + rest
		}
		if key := d.String(); !seen[key] {
			seen[key] = true
			out = append(out, d)
		}
	}
	return out
}
