package resources

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/service/definition"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

// offers collects the tools of the toolsets that agents share. all is false if only a server knows
// them.
type offers struct {
	names []string
	all   bool
}

func (o *offers) add(name string, s tool.Spec) {
	names, known := tool.Offers(s)
	if len(s.Tools) > 0 && !known {
		names, known = s.Tools, true
	}
	o.all = o.all && known
	o.names = append(o.names, name)
	for _, n := range names {
		o.names = append(o.names, n, name+"_"+n)
	}
}

// Granted returns the tools that the agents and tool nodes of a workflow, whose toolsets were
// checked, list but that nothing offers. A document that cannot work is thus rejected before the
// first call; if only a server knows its tools, a call of one that it lacks is an error in the run.
// Tools that the program replaces if no provider is configured (web_search, S0-55) count as
// offered.
func (op *Opener) Granted(w *workflow.Workflow, f Files) (problems diag.List, err error) {
	if !definition.IsDocument(w.Format) {
		return nil, nil // the Go graph builder and the program know their tools
	}
	agents := map[string]tool.Grant{}
	if err := grantAll(w, false, agents); err != nil {
		return nil, err
	}
	specs := extraToolsets(op.cfg.Operator, agents)
	if f.Tools != nil {
		more, err := parseTools(f.ToolsFile, f.Tools)
		if err != nil {
			return nil, err
		}
		specs = append(more, specs...)
	}
	// branches of a document that run together are calls of a tool
	shared := offers{all: true, names: []string{definition.TogetherTool}}
	for _, sp := range specs {
		name := sp.Name
		if name == "" {
			name = sp.Title()
		}
		shared.add(name, sp)
	}
	for _, t := range slices.Concat(op.cfg.Tools, op.fallbacks()) {
		shared.names = append(shared.names, t.Def().Name)
	}
	ungranted(w, agents, shared, &problems)
	for _, name := range slices.Sorted(maps.Keys(w.Called)) {
		more, err := op.Granted(w.Called[name], f)
		if err != nil {
			return nil, err
		}
		problems = append(problems, more...)
	}
	return problems, nil
}

func ungranted(w *workflow.Workflow, agents map[string]tool.Grant, shared offers, problems *diag.List) {
	for _, a := range w.Callers() {
		own := offers{names: slices.Clone(shared.names), all: shared.all}
		for _, sp := range agents[a.ID].Toolsets {
			own.add(sp.Title(), sp)
		}
		if !own.all {
			continue
		}
		for _, name := range a.Tools {
			if name == tool.All || slices.Contains(own.names, name) {
				continue
			}
			span, title := w.Source.Agent(a.ID), fmt.Sprintf("agent %q", a.ID)
			if a.ID == "" {
				n := &w.Nodes[slices.IndexFunc(w.Nodes, func(n workflow.Node) bool {
					return n.Tool != nil && n.Tool.Tool == name
				})]
				span, title = w.Source.Node(n.ID), fmt.Sprintf("step %q", n.Title())
			}
			d := problems.Errorf(span, "", definition.CodeUnknownTool, "%s: no toolset provides the tool %q", title,
				name)
			if d.Hint = diag.DidYouMean(name, own.names); d.Hint == "" {
				d.Advise(diag.GiveTools)
			}
		}
	}
	for _, f := range slices.Concat(slices.Collect(maps.Values(w.Flows)), w.Branches) {
		if f != nil {
			ungranted(f, agents, shared, problems)
		}
	}
}
