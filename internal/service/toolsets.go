package service

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

// documentSpecs gives the toolsets that the agents of a workflow list, and what is wrong with them. Those with errors are left out.
func documentSpecs(w *workflow.Workflow) ([]tool.Spec, diag.List) {
	var (
		specs    []tool.Spec
		problems diag.List
	)
	for i := range w.Agents {
		a := &w.Agents[i]
		for j, raw := range a.Toolsets {
			path := fmt.Sprintf("agents.%s.toolsets[%d]", a.ID, j)
			sp, list, err := tool.ReadSpec(raw)
			if err != nil {
				problems.Errorf(w.Source.Agent(a.ID), path, "bad-toolset", "agent %q: toolset: %v", a.ID, err)
				continue
			}
			if !list.HasErrors() {
				specs = append(specs, sp)
			}
			for _, d := range list {
				if saidByFormats(d) {
					continue
				}
				d.Span, d.Path, d.Message = w.Source.Agent(a.ID), path, fmt.Sprintf("agent %q: toolset %d: %s", a.ID, j+1, d.Message)
				problems = append(problems, d)
			}
		}
	}
	for _, f := range slices.Concat(slices.Collect(maps.Values(w.Flows)), w.Branches) {
		more, ds := documentSpecs(f)
		specs = append(specs, more...)
		problems = append(problems, ds...)
	}
	return specs, problems
}

// saidByFormats tells of the warnings that formats give themselves, at the line.
func saidByFormats(d diag.Diagnostic) bool {
	return d.Severity == diag.Warning && (d.Code == "unsupported-toolset" || d.Code == "unsupported-ref")
}
