package format

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/agents"
	"github.com/hocket-run/hocket/internal/format/canvas"
	"github.com/hocket-run/hocket/internal/format/lost"
	"github.com/hocket-run/hocket/internal/format/rounds"
	"github.com/hocket-run/hocket/internal/format/routes"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/format/steps"
	"github.com/hocket-run/hocket/workflow"
)

// The languages of documents.
const (
	Canvas = "canvas"
	Rounds = "rounds"
	Routes = "routes"
	Steps  = "steps"
)

// CodeUnknownFormat is the code of a document of no language, and of a language that there is not.
const CodeUnknownFormat = "unknown-format"

// Options say what the document does not. The zero Options is ready for use.
type Options struct {
	// Format names the language; "" detects it.
	Format string
	// Agents are agents from beside the document (`--agents`): those of the document win.
	Agents []workflow.Agent
	// Toolsets and Providers are the types of toolsets that the program can open and the model providers that it knows, for warnings.
	// Nil: nothing is said of them.
	Toolsets  []string
	Providers []string
	// Servers are MCP servers that the operator defines and documents may refer to by name.
	Servers []string
	// MissingTools are tools that nothing offers here: an agent of a canvas that lists one gets a warning (S0-55).
	MissingTools []string
	// AllowUnknown makes unknown keys and types of toolsets warnings where they would be errors: misspellings of known names, and whatever a strict part of a
	// document does not know.
	AllowUnknown bool
}

// ErrUnknownFormat is the error of a language that there is not.
var ErrUnknownFormat = errors.New("unknown format")

// language is one way to write workflows.
type language struct {
	name   string
	form   string // what its documents look like, for people
	detect func(*source.Node) bool
	read   func(*source.Node, Options) (*workflow.Workflow, diag.List)
	write  func(*workflow.Workflow) ([]byte, lost.List)
	// usual are codes of Lint for what is as it should be in this language.
	usual []string
}

// languages are all languages in the order in which they are looked for.
func languages() []language {
	return []language{
		{name: Canvas, form: "`nodes` and `connections`", detect: canvas.Detect, read: readCanvas, write: canvas.Write},
		{
			name: Routes, form: "`entrypointNodeId`, `nodes` with a `nodeType`, and `edges`", detect: routes.Detect, read: readRoutes, write: routes.Write,
			usual: []string{"unbounded-cycle"}, // agents that route to each other are what the language is for; the step limit ends them (S3-13)
		},
		{name: Rounds, form: "`nodes` and `edges`, or `branches`", detect: rounds.Detect, read: readRounds, write: rounds.Write},
		{
			name: Steps, form: "`agents` and a list of steps under `workflow`", detect: steps.Detect, read: readSteps, write: steps.Write,
			usual: []string{"open-port"}, // a missing branch goes on with the next step, and ends the run where there is none (S4-38)
		},
	}
}

// Names gives the languages that Options.Format may name, sorted.
func Names() []string {
	var out []string
	for _, l := range languages() {
		out = append(out, l.name)
	}
	slices.Sort(out)
	return out
}

// Detect gives the language of a document, "" where it is of none.
func Detect(root *source.Node) string {
	for _, l := range languages() {
		if l.detect(root) {
			return l.name
		}
	}
	return ""
}

// Read reads a document. The workflow may run only where the list has no errors; it is nil where nothing could be understood. The list is sorted by
// place and holds each problem once.
func Read(file string, data []byte, opts Options) (*workflow.Workflow, diag.List) {
	root, diags := source.Parse(file, data)
	if root == nil || incomplete(diags) {
		return nil, diags
	}
	l, ok := choose(root, opts.Format, &diags)
	if !ok {
		diags.Sort()
		return nil, diags
	}
	w, more := l.read(root, opts)
	diags = append(diags, more...)
	if w != nil && l.name != Steps { // which says it itself, at the line
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
			if !slices.Contains(l.usual, d.Code) {
				diags = append(diags, d)
			}
		}
	}
	diags.Sort()
	return w, once(diags)
}

// unopened warns of toolsets that the program cannot open.
func unopened(w *workflow.Workflow, types []string, diags *diag.List) {
	if types == nil {
		return
	}
	for i := range w.Agents {
		for _, raw := range w.Agents[i].Toolsets {
			var set struct {
				Type string `json:"type"`
			}
			if json.Unmarshal(raw, &set) == nil && !slices.Contains(types, set.Type) {
				d := diag.Diagnostic{Code: agents.CodeUnsupported, Severity: diag.Warning, Span: w.Source.Agent(w.Agents[i].ID)}
				agents.UnknownToolset(&d, set.Type)
				d.Message = fmt.Sprintf("agent %q: %s", w.Agents[i].ID, d.Message)
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

// incomplete tells that the text was not read to its end, so that what seems to be missing may only be unread.
func incomplete(diags diag.List) bool {
	return slices.ContainsFunc(diags, func(d diag.Diagnostic) bool {
		return slices.Contains([]string{source.CodeSyntax, source.CodeTooManyValues, source.CodeTooDeep, source.CodeEncoding}, d.Code)
	})
}

// choose finds the language of a document and reports that there is none.
func choose(root *source.Node, name string, diags *diag.List) (language, bool) {
	span := diag.Span{File: root.Span.File, Start: root.Span.Start}
	if name == "" {
		if name = Detect(root); name == "" {
			d := diags.Errorf(span, "", CodeUnknownFormat, "%s", unknown(root))
			if d.Hint = forms(); isAgents(root) {
				d.Advise(diag.GiveAgentsFile)
			}
			return language{}, false
		}
	}
	i := slices.IndexFunc(languages(), func(l language) bool { return l.name == name })
	if i < 0 {
		d := diags.Errorf(span, "", CodeUnknownFormat, "unknown format %q", name)
		d.Hint = diag.DidYouMean(name, Names())
		if d.Hint == "" {
			d.Hint = "the formats are " + strings.Join(Names(), ", ")
		}
		return language{}, false
	}
	return languages()[i], true
}

// unknown says what a document of no language looks like.
func unknown(root *source.Node) string {
	if root.Kind != source.Map {
		return fmt.Sprintf("a workflow document must be a map, found %s", root.Kind)
	}
	if isAgents(root) {
		return "this is a list of agents without a workflow"
	}
	return "this is not a workflow document of a known format"
}

// isAgents tells whether a document of no language is a list of agents.
func isAgents(root *source.Node) bool {
	n := root.Get("agents")
	return root.Kind == source.Map && n != nil && n.Kind == source.List
}

// forms lists what each language looks like.
func forms() string {
	var out []string
	for _, l := range languages() {
		out = append(out, l.name+" has "+l.form)
	}
	return strings.Join(out, "; ")
}

// once leaves out what was said before at the same place: the checks of a language and those of the graph overlap.
func once(l diag.List) diag.List {
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
