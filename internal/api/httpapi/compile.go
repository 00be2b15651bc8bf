package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/form"
	"github.com/hocket-run/hocket/internal/format"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

const tagDocuments = "Documents"

// registerDocuments registers the operations that read documents that are not stored.
func (a *API) registerDocuments() {
	add(a, route{
		Method: http.MethodPost, Path: "/documents/compile", ID: "compileDocument", Tag: tagDocuments,
		Role: access.RoleRun, Errors: []int{http.StatusRequestEntityTooLarge},
		Summary: "Compile a document: its problems, and its drawn graph",
		Description: "For editors. Executes and stores nothing, and reads no files. Places are counted in UTF-16 " +
			"code units. A document with errors is drawn as far as it was understood.",
	}, compileDocument)
	a.registerConvert()
}

// CompileBody is a document to compile.
type CompileBody struct {
	Document string   `json:"document" doc:"Text of the document, YAML or JSON"`
	Name     string   `json:"name,omitempty" maxLength:"4096" doc:"Name in messages; no file of that name is read"`
	Format   Language `json:"format,omitempty" doc:"Language of the document; absent: it is detected"`
	Branch   string   `json:"branch,omitempty" doc:"Branch to draw; absent: the main graph"`
	Leniency
}

// Compiled is the result of compiling a document.
type Compiled struct {
	Format      string       `json:"format" doc:"Language of the document; empty: unknown"`
	OK          bool         `json:"ok" doc:"There are no errors: the workflow can run"`
	Diagnostics []Mark       `json:"diagnostics" doc:"Errors and warnings with their places"`
	Graph       *Graph       `json:"graph" doc:"Null: nothing was understood, unknown branch, or too large to draw"`
	Branches    []BranchFact `json:"branches" doc:"Branches of rounds documents, as far as they were understood"`
	// Inputs is a JSON Schema.
	Inputs json.RawMessage `json:"inputs" doc:"JSON Schema of the object of named inputs; null: the input is a text"`
}

// Mark is a problem in a document with its location.
type Mark struct {
	Code     string        `json:"code" doc:"Stable lower-case words with dashes"`
	Severity diag.Severity `json:"severity" enum:"error,warning,info"`
	Message  string        `json:"message"`
	Hint     string        `json:"hint" doc:"What to do about it; empty: nothing to say"`
	Path     string        `json:"path" doc:"Path of the value, such as nodes[2].data.model; empty: the whole document"`
	File     string        `json:"file" doc:"Other source of the problem, such as catalog agents; empty: the document"`
	Branch   *string       `json:"branch" doc:"Branch that has the node; null: the main graph"`
	Node     *string       `json:"node" doc:"Innermost node in which it is; null: in none"`
	Span     *Range        `json:"span" doc:"Where it is; null: unknown, or in another text"`
	Related  []MarkRelated `json:"related" doc:"Places that explain it"`
}

// MarkRelated is a second location that explains a problem.
type MarkRelated struct {
	Message string `json:"message"`
	Span    *Range `json:"span" doc:"Null: unknown, or in another text"`
}

func compileDocument(ctx context.Context, c *transport.Caller, in *struct{ Body CompileBody }) (
	*struct{ Body Compiled }, error) {
	b := &in.Body
	name := cmp.Or(b.Name, documentName)
	w, problems, err := c.Service.Load(ctx, name, []byte(b.Document),
		service.LoadOptions{Format: string(b.Format), AllowUnknown: b.AllowUnknown, Retired: true})
	if err != nil {
		return nil, err
	}
	text := placesOf(b.Document)
	out := Compiled{Format: string(b.Format), OK: !problems.HasErrors(), Diagnostics: marksOf(w, problems, text, name),
		Branches: []BranchFact{}}
	if w == nil {
		return &struct{ Body Compiled }{out}, nil
	}
	out.Format, out.Branches, out.Inputs = w.Format, branchFacts(w), form.Schema(w.Inputs)
	if g := w.Graph(b.Branch); g != nil {
		g.Format = w.Format
		out.Graph, err = graphOf(g, text, name)
	}
	return &struct{ Body Compiled }{out}, err
}

// marksOf returns the problems in a document with their locations.
func marksOf(w *workflow.Workflow, problems diag.List, text *places, file string) []Mark {
	areas := areasOf(w, text, file)
	out := []Mark{}
	for _, d := range errcode.Hinted(problems, errcode.HTTP) {
		m := Mark{Code: d.Code, Severity: d.Severity, Message: d.Message, Hint: d.Hint, Path: d.Path,
			Related: []MarkRelated{}}
		if d.Span.File != file {
			m.File = d.Span.File
		} else if m.Span = text.span(d.Span, file); m.Span != nil {
			m.Branch, m.Node = areas.at(text.byteOf(d.Span.Start))
		}
		for _, r := range d.Related {
			m.Related = append(m.Related, MarkRelated{r.Message, text.span(r.Span, file)})
		}
		out = append(out, m)
	}
	return out
}

// area is the byte range of a node in a document.
type area struct {
	branch, node string
	start, end   int
}

type areas []area

// areasOf returns the areas of the nodes of a workflow, its branches and their flows.
func areasOf(w *workflow.Workflow, text *places, file string) areas {
	var out areas
	var add func(w *workflow.Workflow, branch string, depth int)
	add = func(w *workflow.Workflow, branch string, depth int) {
		if w == nil || depth > workflow.MaxFlowDepth {
			return
		}
		for i := range w.Nodes {
			n := &w.Nodes[i]
			if s := w.Source.Nodes[n.ID]; !n.Hidden && s.File == file && s.End.IsKnown() {
				out = append(out, area{branch, n.ID, text.byteOf(s.Start), text.byteOf(s.End)})
			}
		}
		for _, name := range slices.Sorted(maps.Keys(w.Flows)) {
			add(w.Flows[name], branch, depth+1)
		}
		for _, b := range w.Branches {
			if b != nil {
				add(b, b.ID, depth+1)
			}
		}
	}
	add(w, "", 0)
	return out
}

// at returns the innermost node around a byte offset.
func (l areas) at(b int) (branch, node *string) {
	best := -1
	for _, a := range l {
		if size := a.end - a.start; a.start <= b && b < a.end && (best < 0 || size < best) {
			best, branch, node = size, optionalString(a.branch), optionalString(a.node)
		}
	}
	return branch, node
}

// Language is the name of a document format. If empty, the format is detected, or any format
// matches.
type Language string

// Schema lists the registered formats.
func (Language) Schema(huma.Registry) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString}
	for _, name := range format.Names() {
		s.Enum = append(s.Enum, name)
	}
	return s
}
