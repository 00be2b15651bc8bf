package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/form"
	"github.com/hocket-run/hocket/internal/format/canvas"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/op"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/view"
	"github.com/hocket-run/hocket/workflow"
)

const tagWorkflows = "Workflows"

// registerWorkflows registers the operations that read stored workflows.
func (a *API) registerWorkflows() {
	missing := []int{http.StatusNotFound}
	add(a, route{
		Method: http.MethodGet, Path: "/workflows", ID: "listWorkflows", Tag: tagWorkflows, Role: access.RoleRun,
		Summary:     "List stored workflows by id",
		Description: "The role run sees published workflows only, without drafts.",
	}, listWorkflows)
	add(a, route{
		Method: http.MethodGet, Path: "/workflows/{id}", ID: "getWorkflow", Tag: tagWorkflows, Role: access.RoleRun,
		Errors: missing, Also: []int{http.StatusNotModified},
		Summary: "Show a stored workflow: its document and facts about it",
		Description: "Without parameters, the published version; `draft` and `version` need the role edit. The " +
			"`ETag` identifies the state of the whole workflow, whichever document is shown: with it as `If-Match` a " +
			"change is refused " +
			"if another client has changed the workflow, and with `If-None-Match` the response is 304 while nothing " +
			"has changed.",
	}, getWorkflow)
	add(a, route{
		Method: http.MethodGet, Path: "/workflows/{id}/versions", ID: "listVersions", Tag: tagWorkflows,
		Role: access.RoleRun, Errors: missing,
		Summary:     "List the versions of a stored workflow, the newest first",
		Description: "The role run sees the published one only.",
	}, listVersions)
}

// Workflow is a stored workflow in a list. Its draft and its published version are separate fields
// (P38).
type Workflow struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Format    string     `json:"format" doc:"Language of the document"`
	Published *int       `json:"published" doc:"Number of the version that runs; null: none is published"`
	Draft     *int       `json:"draft" doc:"Number of the version that is a draft; null: no draft"`
	HasRows   bool       `json:"hasRows" doc:"It is in the tables of routes workflows, which any program may write"`
	UpdatedAt *time.Time `json:"updatedAt" doc:"When a version was stored or published last; null: never"`
	// Labels is never null.
	Labels view.Labels `json:"labels" doc:"Labels at the top of the published version, else of the draft"`
}

func workflowOf(e catalog.Entry) Workflow {
	w := Workflow{ID: e.ID, Name: e.Name, Format: e.Format, Published: optionalInt(e.Published),
		Draft:   optionalInt(e.Draft),
		HasRows: e.HasRows, Labels: view.LabelsOf(e.Labels)}
	if !e.Updated.IsZero() {
		w.UpdatedAt = &e.Updated
	}
	return w
}

// optionalInt returns a pointer to n, or nil if n is 0.
func optionalInt(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}

type workflowsQuery struct {
	Page
	Format Language `query:"format" doc:"Only workflows of this format"`
	Label  []string `query:"label" maxItems:"32" doc:"Label selectors: key=value, key!=value, key, !key"`
}

func listWorkflows(ctx context.Context, c *transport.Caller, in *workflowsQuery) (*listAnswer[Workflow], error) {
	by, err := service.ParseLabels(in.Label)
	if err != nil {
		return nil, err
	}
	entries, err := c.Service.Visible(ctx, c.SeesDrafts())
	if err != nil {
		return nil, err
	}
	var all []Workflow
	for _, e := range entries {
		if (in.Format == "" || e.Format == string(in.Format)) && journal.Selected(by, e.Labels) {
			all = append(all, workflowOf(e))
		}
	}
	return pageOf(in.Page, all, func(w Workflow) string { return w.ID }, ascending)
}

// WorkflowPath is the path parameter that identifies a workflow.
type WorkflowPath struct {
	ID string `path:"id" doc:"Id of the workflow"`
}

// Definition is a stored workflow with one of its documents.
type Definition struct {
	Workflow
	Version  *int   `json:"version" doc:"Number of the version whose document this is; null: it consists of rows"`
	Versions []int  `json:"versions" doc:"Numbers of all versions"`
	Changed  bool   `json:"changedBySQL" doc:"Other programs changed rows after publication, or wrote all rows"`
	Document string `json:"document" doc:"The stored text"`
	// Facts is null if the document cannot be read.
	Facts       *Facts            `json:"facts" doc:"Facts about the document; null: it has errors"`
	Diagnostics []diag.Diagnostic `json:"diagnostics" doc:"Current errors and warnings of the document"`
}

// Facts describe the content of a document.
type Facts struct {
	Name      string         `json:"name"`
	Nodes     []NodeFact     `json:"nodes"`
	Agents    []AgentFact    `json:"agents"`
	Branches  []BranchFact   `json:"branches" doc:"Branches of rounds documents"`
	Schedules []ScheduleFact `json:"schedules"`
	Limits    Limits         `json:"limits" doc:"Limits in the document"`
	// Inputs and OutputSchema are JSON Schemas.
	Inputs       json.RawMessage `json:"inputs" doc:"JSON Schema of the named inputs; null: the input is a string"`
	OutputSchema json.RawMessage `json:"outputSchema" doc:"JSON Schema of the output; null: any output"`
}

// NodeFact describes a node.
type NodeFact struct {
	ID   string `json:"id"`
	Kind string `json:"kind" doc:"The document's name of the kind: agent, parallel, condition, if, approval and others"`
	Name string `json:"name"`
}

// AgentFact describes an agent; its instruction is in the document.
type AgentFact struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Model       string   `json:"model" doc:"Empty: the default"`
	Tools       []string `json:"tools"`
}

// BranchFact describes a branch.
type BranchFact struct {
	ID        string         `json:"id"`
	Name      string         `json:"name"`
	Mode      string         `json:"mode" doc:"How it is run: one_time, continuous or scheduled"`
	Schedules []ScheduleFact `json:"schedules"`
}

// ScheduleFact is a schedule as written in the document.
type ScheduleFact struct {
	ID       *string         `json:"id" doc:"Null: it is the only one, and has no id"`
	Mode     string          `json:"mode"`
	Spec     string          `json:"spec"`
	TimeZone string          `json:"timeZone" doc:"Empty: that of the server"`
	Inputs   json.RawMessage `json:"inputs" doc:"Inputs of its runs by name; null: none"`
}

func scheduleFacts(w *workflow.Workflow) []ScheduleFact {
	out := []ScheduleFact{}
	for _, s := range w.Schedules {
		out = append(out, ScheduleFact{optionalString(s.ID), s.Mode, s.Spec, s.TimeZone, s.Inputs})
	}
	return out
}

func factsOf(w *workflow.Workflow) *Facts {
	f := &Facts{Name: w.Name, Nodes: []NodeFact{}, Agents: []AgentFact{}, Branches: branchFacts(w),
		Schedules: scheduleFacts(w), Limits: op.LimitsOf(w.Limits), Inputs: form.Schema(w.Inputs),
		OutputSchema: w.OutputSchema}
	for _, n := range w.Nodes {
		f.Nodes = append(f.Nodes, NodeFact{n.ID, n.KindIn(w.Format), n.Title()})
	}
	for _, a := range w.Agents {
		f.Agents = append(f.Agents, AgentFact{a.ID, a.Name, a.Description, a.Model, append([]string{}, a.Tools...)})
	}
	return f
}

func branchFacts(w *workflow.Workflow) []BranchFact {
	out := []BranchFact{}
	for _, b := range w.Branches {
		if b != nil {
			out = append(out, BranchFact{b.ID, b.Name, b.Mode(), scheduleFacts(b)})
		}
	}
	return out
}

// Whichever selects a document of a workflow.
type Whichever struct {
	Draft   bool `query:"draft" doc:"The draft"`
	Version int  `query:"version" minimum:"1" doc:"This version"`
}

func (w Whichever) which() (service.Which, error) {
	if w.Draft && w.Version != 0 {
		return service.Which{}, badField("query", "draft and version exclude each other")
	}
	return service.Which{Draft: w.Draft, Version: w.Version}, nil
}

type workflowQuery struct {
	WorkflowPath
	Whichever
	Unless
	Layout bool `query:"layout" doc:"Return a canvas document with the stored layout's positions; never 304"`
}

// definitionAnswer is the response with a Definition, or without a body if the client already has
// it.
type definitionAnswer struct {
	Status int
	Tagged
	Location string `header:"Location" doc:"URL of the workflow, if it was created"`
	Body     *Definition
}

func getWorkflow(ctx context.Context, c *transport.Caller, in *workflowQuery) (*definitionAnswer, error) {
	which, err := in.which()
	if err == nil && which != (service.Which{}) {
		err = c.RequireDrafts()
	}
	if err != nil {
		return nil, err
	}
	if in.Layout {
		in.Unless = Unless{} // the workflow's tag does not cover its layout
	}
	out, err := definition(ctx, c, in.ID, which, in.Unless)
	if err == nil && in.Layout && out.Body != nil && out.Body.Format == canvas.Format {
		out.Body.Document, err = withLayout(ctx, c, in.ID, out.Body.Document)
	}
	return out, err
}

func definition(ctx context.Context, c *transport.Caller, id string, which service.Which, unless Unless) (
	*definitionAnswer, error) {
	if _, err := c.Service.VisibleEntry(ctx, id, c.SeesDrafts()); err != nil {
		return nil, err
	}
	w, d, problems, err := c.Service.LoadStored(ctx, id, which, service.LoadOptions{})
	if err != nil {
		return nil, err
	}
	out := &definitionAnswer{Status: http.StatusOK, Tagged: Tagged{quote(d.Tag)}}
	if unless.has(d.Tag) {
		out.Status = http.StatusNotModified
		return out, nil
	}
	versions, err := c.Service.Versions(ctx, id)
	if err != nil {
		return nil, err
	}
	body := Definition{Workflow: workflowOf(d.Entry), Version: optionalInt(d.Version), Versions: []int{},
		Changed:  d.Changed,
		Document: string(d.Text), Diagnostics: hintedDiagnostics(problems)}
	if !c.SeesDrafts() {
		body.Draft = nil
	}
	for _, v := range versions {
		if c.SeesDrafts() || v.Number == d.Entry.Published {
			body.Versions = append(body.Versions, v.Number)
		}
	}
	if w != nil && !problems.HasErrors() {
		body.Facts = factsOf(w)
	}
	out.Body = &body
	return out, nil
}

// hintedDiagnostics returns the diagnostics with the hints of the HTTP API. The slice is never nil,
// so that JSON does not encode it as null.
func hintedDiagnostics(list diag.List) []diag.Diagnostic {
	return append([]diag.Diagnostic{}, errcode.Hinted(list, errcode.HTTP)...)
}

// Version is a version of a stored workflow.
type Version struct {
	Number    int       `json:"number"`
	Name      string    `json:"name"`
	Format    string    `json:"format"`
	File      string    `json:"file" doc:"Name of the file that it came from; empty: unknown"`
	Digest    string    `json:"digest" doc:"Digest of the graph; empty if agents were missing when it was stored"`
	Published bool      `json:"published" doc:"It is the version that runs"`
	Draft     bool      `json:"draft"`
	CreatedAt time.Time `json:"createdAt"`
}

func listVersions(ctx context.Context, c *transport.Caller, in *struct {
	WorkflowPath
	Page
}) (*listAnswer[Version], error) {
	e, err := c.Service.VisibleEntry(ctx, in.ID, c.SeesDrafts())
	if err != nil {
		return nil, err
	}
	list, err := c.Service.Versions(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	var all []Version
	for _, v := range slices.Backward(list) {
		if !c.SeesDrafts() && v.Number != e.Published {
			continue
		}
		all = append(all, Version{v.Number, v.Name, v.Format, v.File, v.Digest, v.Number == e.Published,
			v.Number == e.Draft, v.Created})
	}
	return pageOf(in.Page, all, func(v Version) string { return fmt.Sprintf("%010d", v.Number) },
		func(key, cursor string) bool { return key < cursor })
}
