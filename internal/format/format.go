package format

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/documents"
	"github.com/hocket-run/hocket/internal/format/agents"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// Codes of this package's diagnostics.
const (
	CodeUnknownFormat = "unknown-format" // the document has no known format, or the name of one is unknown
	CodeTooManyNodes  = "too-many-nodes"
)

// Options tells Read what the document does not contain. The zero Options is ready for use.
type Options = documents.Options

// ErrUnknownFormat is returned for an unknown format name.
var ErrUnknownFormat = errors.New("unknown format")

// Detect returns the format of a document, or "" if it is of no known format.
func Detect(root *source.Node) string {
	for _, f := range All() {
		if f.Detect(root) {
			return f.Name
		}
	}
	return ""
}

// Read reads a document. The workflow may only be run if the list has no errors; it is nil if
// nothing could be understood. The list is sorted by position and contains each problem once.
func Read(file string, data []byte, opts Options) (*workflow.Workflow, diag.List) {
	root, diags := source.Parse(file, data)
	if root == nil || incomplete(diags) {
		return nil, diags
	}
	f, ok := choose(root, opts.Format, &diags)
	if !ok {
		diags.Sort()
		return nil, diags
	}
	w, more := f.Read(root, opts)
	if most := cmp.Or(opts.MaxNodes, documents.DefaultMaxNodes); countNodes(w) > most {
		// its other problems, its checks and its drawing would cost as much as the limit is to save
		diags.Errorf(diag.Span{File: file}, "", CodeTooManyNodes,
			"the document has %d nodes, steps or cases; the limit is %d (limits: {documentNodes: …})", countNodes(w),
			most)
		return nil, diags
	}
	if n := countPatterns(w); n > source.DefaultMaxValues {
		diags.Errorf(diag.Span{File: file}, "", source.CodeTooManyValues,
			"the agents of the document have %d patterns of permissions, those of the document each time; "+
				"the limit is %d",
			n, source.DefaultMaxValues)
		return nil, diags
	}
	diags = append(diags, more...)
	if w != nil && !f.NamesToolsets {
		unopened(w, opts.Toolsets, &diags)
	}
	if opts.AllowUnknown {
		diags.AllowUnknown()
	}
	if w != nil && !diags.HasFaults() {
		diags = append(diags, workflow.Validate(w)...)
	}
	if w != nil && !diags.HasFaults() {
		for _, d := range workflow.Lint(w) {
			if !slices.Contains(f.Usual, d.Code) {
				diags = append(diags, d)
			}
		}
	}
	diags.Sort()
	return w, dedupe(diags)
}

// countNodes returns the number of nodes of a workflow with its flows and branches. A choice counts as
// one node for each of its cases.
func countNodes(w *workflow.Workflow) int {
	if w == nil {
		return 0
	}
	n := len(w.Nodes)
	for i := range w.Nodes {
		if d := w.Nodes[i].Decide; d != nil {
			n += max(len(d.Cases)-1, 0)
		}
	}
	for _, flow := range w.Flows {
		n += countNodes(flow)
	}
	for _, b := range w.Branches {
		n += countNodes(b)
	}
	return n
}

// countPatterns returns the number of patterns of permissions of all agents of a workflow. Each
// agent has those of the document, too.
func countPatterns(w *workflow.Workflow) (n int) {
	if w == nil {
		return 0
	}
	for _, a := range w.Agents {
		for _, p := range a.Permissions {
			n += len(p.Allow) + len(p.Ask) + len(p.Deny) + len(p.Edit)
		}
	}
	for _, b := range w.Branches {
		n += countPatterns(b)
	}
	return n
}

// unopened warns of toolsets that the program cannot open.
func unopened(w *workflow.Workflow, types []string, diags *diag.List) {
	if types == nil {
		return
	}
	for _, a := range w.Callers() {
		for _, raw := range a.Toolsets {
			var set struct {
				Type string `json:"type"`
			}
			if json.Unmarshal(raw, &set) == nil && !slices.Contains(types, set.Type) {
				d := diag.Diagnostic{Code: agents.CodeUnsupported, Severity: diag.Warning, Span: w.Source.Agent(a.ID)}
				agents.UnknownToolset(&d, set.Type)
				if a.ID != "" {
					d.Message = fmt.Sprintf("agent %q: %s", a.ID, d.Message)
				}
				diags.Add(d)
			}
		}
	}
	for _, b := range w.Branches {
		if b != nil {
			unopened(b, types, diags)
		}
	}
}

// incomplete reports whether reading stopped before the end of the text, so that what seems to be
// missing may only be unread.
func incomplete(diags diag.List) bool {
	return slices.ContainsFunc(diags, func(d diag.Diagnostic) bool {
		return slices.Contains([]string{source.CodeSyntax, source.CodeTooManyValues, source.CodeTooDeep,
			source.CodeEncoding}, d.Code)
	})
}

// choose finds the format of a document, and reports a problem if there is none.
func choose(root *source.Node, name string, diags *diag.List) (Format, bool) {
	span := diag.Span{File: root.Span.File, Start: root.Span.Start}
	if other, ok := foreign(root); ok {
		diags.Errorf(span, "", CodeUnknownFormat, "this is %s, which Hocket does not read", other.name).Hint =
			"write it as a document of Hocket: docs/" + other.page + " shows how"
		return Format{}, false
	}
	if name == "" {
		if name = Detect(root); name == "" {
			d := diags.Errorf(span, "", CodeUnknownFormat, "%s", unknown(root))
			switch d.Hint = formatHints(); {
			case hasSteps(root):
				d.Hint = "a steps document lists its steps under `workflow`: `workflow: [{type: agent, name: …}]`"
			case isAgents(root):
				d.Advise(diag.GiveAgentsFile)
			}
			return Format{}, false
		}
	}
	f, ok := Of(name)
	if !ok {
		d := diags.Errorf(span, "", CodeUnknownFormat, "unknown format %q", name)
		d.Hint = diag.DidYouMean(name, Names())
		if d.Hint == "" {
			d.Hint = "the formats are " + strings.Join(Names(), ", ")
		}
		return Format{}, false
	}
	return f, true
}

// unknown describes a document of no known format.
func unknown(root *source.Node) string {
	if root.Kind != source.Map {
		return fmt.Sprintf("a workflow document must be a map, found %s", root.Kind)
	}
	if hasSteps(root) {
		return "this has a list of steps, and no workflow"
	}
	if isAgents(root) {
		return "this is a list of agents without a workflow"
	}
	return "this is not a workflow document of a known format"
}

// hasSteps reports whether a document of no known format has the key `steps`, as documents of other
// engines do.
func hasSteps(root *source.Node) bool {
	n := root.Get("steps")
	return root.Kind == source.Map && n != nil && n.Kind == source.List && len(n.Items) > 0
}

// isAgents reports whether a document of no known format is a list of agents.
func isAgents(root *source.Node) bool {
	n := root.Get("agents")
	return root.Kind == source.Map && n != nil && n.Kind == source.List
}

// formatHints describes what each format looks like.
func formatHints() string {
	var out []string
	for _, f := range All() {
		out = append(out, f.Name+" has "+f.Form)
	}
	return strings.Join(out, "; ")
}

// dedupe removes problems that were already reported at the same position: the checks of a format
// and those of the graph overlap.
func dedupe(l diag.List) diag.List {
	type key struct {
		span          diag.Span
		code, message string
	}
	seen := map[key]bool{}
	return slices.DeleteFunc(l, func(d diag.Diagnostic) bool {
		k := key{diag.Span{File: d.Span.File, Start: d.Span.Start}, d.Code, d.Message}
		if seen[k] {
			return true
		}
		seen[k] = true
		return false
	})
}
