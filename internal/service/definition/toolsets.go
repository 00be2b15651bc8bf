package definition

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

// DocumentSpecs returns the toolsets that a workflow and its agents list, and their problems.
// Toolsets with errors are left out.
func DocumentSpecs(w *workflow.Workflow) ([]tool.Spec, diag.List) {
	var (
		specs    []tool.Spec
		problems diag.List
	)
	for _, a := range w.Callers() {
		for j, raw := range a.Toolsets {
			path := fmt.Sprintf("toolsets[%d]", j)
			if a.ID != "" {
				path = "agents." + a.ID + "." + path
			}
			sp, list, err := tool.ReadSpec(raw)
			if err != nil {
				problems.Errorf(w.Source.Agent(a.ID), path, "bad-toolset", "%s: toolset: %v", toolsetOwner(a), err)
				continue
			}
			list = append(list, unknownFilterNames(sp)...)
			if !list.HasFaults() {
				specs = append(specs, sp)
			}
			in := toolsetKey(raw)
			for _, d := range list {
				if reportedByFormat(d) {
					continue
				}
				d.Span, d.Name, d.Message = w.Source.Agent(a.ID), d.Path+in, ofToolset(a, j, d.Message)
				d.Path = path
				problems = append(problems, d)
			}
		}
	}
	for _, f := range slices.Concat(slices.Collect(maps.Values(w.Flows)), w.Branches,
		slices.Collect(maps.Values(w.Called))) {
		more, ds := DocumentSpecs(f)
		specs = append(specs, more...)
		problems = append(problems, ds...)
	}
	return specs, problems
}

// reportedByFormat reports whether a warning is one that formats report themselves, at the line.
func reportedByFormat(d diag.Diagnostic) bool {
	return (d.Severity == diag.Warning || d.Unknown) && (d.Code == "unsupported-toolset" || d.Code == "unsupported-ref")
}

// unknownIn returns the unknown keys and types of toolsets of the agents of a list; stored agents
// are not checked for them again.
func unknownIn(file string, data []byte, list []workflow.Agent) (problems diag.List) {
	for i := range list {
		for j, raw := range list[i].Toolsets {
			_, ds, err := tool.ReadSpec(raw)
			if err != nil {
				continue // the reader of the agent reports it
			}
			in := toolsetKey(raw)
			for _, d := range ds {
				if !d.Unknown || d.Severity != diag.Error {
					continue
				}
				d.Span, d.Name, d.Message = diag.Span{File: file}, d.Path+in, ofToolset(list[i], j, d.Message)
				problems = append(problems, d)
			}
		}
	}
	placeToolsets(file, data, problems)
	return problems
}

func ofToolset(a workflow.Agent, i int, message string) string {
	return fmt.Sprintf("%s: toolset %d: %s", toolsetOwner(a), i+1, message)
}

// toolsetOwner returns the name of the workflow or agent that lists a toolset.
func toolsetOwner(a workflow.Agent) string {
	if a.ID == "" {
		return "workflow"
	}
	return fmt.Sprintf("agent %q", a.ID)
}

// toolsetKey identifies a toolset for placeToolsets by its text. Behind a path in it, it identifies
// a position.
func toolsetKey(raw []byte) string { return fmt.Sprintf("\n%x", sha256.Sum256(raw)) }

// placeToolsets sets the positions of toolset problems in a document. If a toolset is not in the
// document in the form in which it is used (a definition under `mcps:` completes it, or it belongs
// to an agent from elsewhere), its problems keep their positions.
func placeToolsets(file string, data []byte, problems diag.List) {
	if len(problems) == 0 {
		return
	}
	root, _ := source.Parse(file, data)
	at := map[string]*source.Node{}
	var look func(n *source.Node, depth int)
	look = func(n *source.Node, depth int) {
		if n == nil || depth > maxPlaceDepth {
			return
		}
		for _, e := range n.Entries {
			if e.Key == "toolsets" && e.Value.Kind == source.List {
				for _, item := range e.Value.Items {
					at[toolsetKey(item.JSON())] = item
				}
				continue
			}
			look(e.Value, depth+1)
		}
		for _, item := range n.Items {
			look(item, depth+1)
		}
	}
	look(root, 0)
	for i := range problems {
		name := problems[i].Name
		key := max(0, strings.LastIndexByte(name, '\n'))
		problems[i].Name = ""
		if item := at[name[key:]]; item != nil {
			problems[i].Span, problems[i].Path = placeIn(item, name[:key])
		}
	}
}

// maxPlaceDepth is the maximum nesting depth of toolsets in documents: branches, agents, and the
// data of nodes.
const maxPlaceDepth = 8

// placeIn follows a path such as `remote.url` or `commands[0].name`, as far as it exists.
func placeIn(n *source.Node, path string) (diag.Span, string) {
	span := n.Span
	for _, key := range strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
		if i, err := strconv.Atoi(key); err == nil && n.Kind == source.List && i < len(n.Items) {
			n, span = n.Items[i], n.Items[i].Span
			continue
		}
		e := n.Entry(key)
		if e == nil {
			break
		}
		n, span = e.Value, e.KeySpan
	}
	return span, n.Path()
}

// CodeUnknownTool is the diagnostic code for a tool that a document grants but that nothing offers.
const CodeUnknownTool = "unknown-tool"

// unknownFilterNames returns the names in the filter of a toolset that none of its tools has, if
// its tools are known without connecting to it.
func unknownFilterNames(s tool.Spec) (problems diag.List) {
	names, known := tool.Offers(s)
	if !known {
		return nil
	}
	for i, name := range s.Tools {
		if !slices.Contains(names, name) {
			d := problems.Errorf(diag.Span{}, fmt.Sprintf("tools[%d]", i), CodeUnknownTool,
				"a toolset of type %s has no tool %q", s.Type, name)
			d.Hint = diag.DidYouMeanOr(name, "it has", names)
		}
	}
	return problems
}
