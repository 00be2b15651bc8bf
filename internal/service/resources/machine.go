package resources

import (
	"maps"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

// NeedsMachine reports whether the tools of a workflow reach files or programs of the machine on
// which it runs, so that a run of it cannot continue on another one. These are the accesses shown
// to the person who decides about trust (ADR 73), and the same accesses of the operator's toolsets
// that its agents list. Toolsets that cannot be parsed count; opening them returns the error.
func (op *Opener) NeedsMachine(w *workflow.Workflow, f Files) bool {
	agents := map[string]tool.Grant{}
	if grantAll(w, false, agents) != nil {
		return true
	}
	var specs []tool.Spec
	for _, g := range agents {
		specs = append(specs, g.Toolsets...)
	}
	for _, s := range extraToolsets(op.cfg.Operator, agents) {
		if slices.ContainsFunc(slices.Collect(maps.Values(agents)), func(g tool.Grant) bool {
			return grantsToolset(g, s)
		}) {
			specs = append(specs, s)
		}
	}
	if f.Tools != nil {
		more, err := parseTools(f.ToolsFile, f.Tools)
		if err != nil {
			return true
		}
		specs = append(specs, more...)
	}
	return slices.ContainsFunc(specs, func(s tool.Spec) bool {
		if own, ok, err := operatorSpec(op.cfg.Operator, s); ok || err != nil {
			s = own
		}
		return s.NeedsMachine()
	})
}

// grantsToolset reports whether a grant names a toolset, or one of its tools.
func grantsToolset(g tool.Grant, s tool.Spec) bool {
	return slices.ContainsFunc(g.Names, func(n string) bool {
		return n == tool.All || n == s.Name || n == s.Title() || s.Name != "" && strings.HasPrefix(n, s.Name+"_") ||
			slices.Contains(s.Tools, n)
	})
}
