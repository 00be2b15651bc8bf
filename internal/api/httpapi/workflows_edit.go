package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/service"
)

// registerWorkflowEdits registers the operations that change and check stored workflows.
func (a *API) registerWorkflowEdits() {
	add(a, route{
		Method: http.MethodPost, Path: "/workflows", ID: "createWorkflow", Tag: tagWorkflows, Role: access.RoleEdit,
		Status:  http.StatusCreated,
		Summary: "Create a workflow", Description: "It is published at once, unless it is a draft. 409, with the " +
			"`ETag` of what is stored, if the id is taken. A document with errors is not stored.",
		Errors: []int{http.StatusConflict, http.StatusRequestEntityTooLarge},
	}, createWorkflow)
	add(a, route{
		Method: http.MethodPut, Path: "/workflows/{id}", ID: "putWorkflow", Tag: tagWorkflows, Role: access.RoleEdit,
		Summary: "Store a version of a workflow",
		Description: "Creates the workflow if it does not exist. Storing the text of the current version again " +
			"creates no new version. With `If-Match`, a lost update is refused with 409 and the `ETag` of what " +
			"is stored.",
		Errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusRequestEntityTooLarge},
	}, putWorkflow)
	add(a, route{
		Method: http.MethodDelete, Path: "/workflows/{id}", ID: "deleteWorkflow", Tag: tagWorkflows,
		Role: access.RoleEdit, Status: http.StatusNoContent,
		Summary:     "Delete a workflow with all its versions",
		Description: "Its runs keep the definition with which they were started.",
		Errors:      []int{http.StatusNotFound, http.StatusConflict},
	}, deleteWorkflow)
	add(a, route{
		Method: http.MethodPost, Path: "/workflows/{id}/publish", ID: "publishWorkflow", Tag: tagWorkflows,
		Role:    access.RoleEdit,
		Summary: "Publish a version of a workflow",
		Description: "Without a version, the draft. Runs in progress keep the version with which they were started. " +
			"`diagnostics` are the problems found: agents that do not exist are warnings.",
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, publishWorkflow)
	add(a, route{
		Method: http.MethodPost, Path: "/workflows/{id}/validate", ID: "validateWorkflow", Tag: tagWorkflows,
		Role:    access.RoleRun,
		Summary: "Validate a document or a stored workflow",
		Description: "Executes and stores nothing. A document in the request need not be stored under the id. " +
			"Without one: the draft, if there is one and the token has the role edit, else the published version.",
		Errors: []int{http.StatusNotFound, http.StatusRequestEntityTooLarge},
	}, validateWorkflow)
}

// DocumentBody is a document to store.
type DocumentBody struct {
	Document string          `json:"document" minLength:"1" doc:"Document text (YAML or JSON), returned byte for byte"`
	Format   Language        `json:"format,omitempty" doc:"Language of the document; absent: it is detected"`
	Draft    bool            `json:"draft,omitempty" doc:"Store a draft; the published version does not change"`
	Agents   json.RawMessage `json:"agents,omitempty" doc:"Agents that the document refers to, which are stored too"`
	Leniency
}

// CreateBody is a document to store under an id.
type CreateBody struct {
	ID string `json:"id,omitempty" maxLength:"200" doc:"Id of the workflow; absent: the document has one"`
	DocumentBody
}

func (b *DocumentBody) request(id, expect string) service.ApplyRequest {
	q := service.ApplyRequest{Documents: []service.Document{{Data: []byte(b.Document)}}, ID: id, Draft: b.Draft,
		Expect: expect}
	q.Format, q.AllowUnknown = string(b.Format), b.AllowUnknown
	if len(b.Agents) > 0 {
		q.AgentsFile, q.Stdin = "-", bytes.NewReader(b.Agents)
	}
	return q
}

// apply stores a document and returns the stored definition.
func apply(ctx context.Context, c *transport.Caller, q service.ApplyRequest) (*definitionAnswer, error) {
	done, problems, err := c.Service.Apply(ctx, q)
	switch {
	case err != nil:
		if changed, ok := errors.AsType[*service.ChangedError](err); ok {
			err = withTag(err, workflowTag(ctx, c, changed.ID))
		}
		return nil, err
	case problems.HasErrors():
		return nil, refused(problems)
	}
	id := done.Workflows[0].Entry.ID
	out, err := definition(ctx, c, id, service.Which{Version: done.Workflows[0].Version}, Unless{})
	if err != nil {
		return nil, err
	}
	out.asStored(done.Workflows[0])
	for _, p := range problems { // the definition has all others
		if p.Code == service.CodeScheduleRefused {
			out.Body.Diagnostics = append(out.Body.Diagnostics, hintedDiagnostics(diag.List{p})...)
		}
	}
	out.Location = pathOf("workflows", id)
	return out, nil
}

// asStored turns out, which was read after a change, into the response to that change, with the
// workflow and tag that the change produced. Another client may have changed the workflow since:
// given the current tag, this client would overwrite that change unseen with its next one (P38).
func (out *definitionAnswer) asStored(st catalog.Stored) {
	out.Body.Workflow, out.Tagged = workflowOf(st.Entry), Tagged{quote(st.Tag)}
}

// refused returns the error for a document with errors.
func refused(problems diag.List) error {
	return &service.InvalidError{Diagnostics: problems, Err: errcode.New(errcode.DocumentNotStored, nil, nil)}
}

func createWorkflow(ctx context.Context, c *transport.Caller, in *struct{ Body CreateBody }) (
	*definitionAnswer, error) {
	out, err := apply(ctx, c, in.Body.request(in.Body.ID, catalog.TagAbsent))
	if err != nil {
		return nil, err
	}
	out.Status = http.StatusCreated
	return out, nil
}

type putWorkflowInput struct {
	WorkflowPath
	Only
	Body DocumentBody
}

func putWorkflow(ctx context.Context, c *transport.Caller, in *putWorkflowInput) (*definitionAnswer, error) {
	expect, err := in.expect()
	if err != nil {
		return nil, err
	}
	if in.IfMatch == "*" { // the workflow must exist
		if _, err := c.Service.Entry(ctx, in.ID); err != nil {
			return nil, err
		}
	}
	return apply(ctx, c, in.Body.request(in.ID, expect))
}

type workflowOnly struct {
	WorkflowPath
	Only
}

func deleteWorkflow(ctx context.Context, c *transport.Caller, in *workflowOnly) (*struct{}, error) {
	expect, err := in.expect()
	if err != nil {
		return nil, err
	}
	return nil, withTag(c.Service.DeleteWorkflowIf(ctx, in.ID, expect), workflowTag(ctx, c, in.ID))
}

type publishInput struct {
	WorkflowPath
	Only
	Body *struct {
		Version int `json:"version,omitempty" minimum:"1" doc:"Number of the version; absent: the draft"`
	} `required:"false"`
}

func publishWorkflow(ctx context.Context, c *transport.Caller, in *publishInput) (*definitionAnswer, error) {
	expect, err := in.expect()
	if err != nil {
		return nil, err
	}
	version := 0
	if in.Body != nil {
		version = in.Body.Version
	}
	st, problems, err := c.Service.PublishIf(ctx, in.ID, version, expect)
	switch {
	case err != nil:
		return nil, withTag(err, workflowTag(ctx, c, in.ID))
	case problems.HasErrors():
		return nil, refused(problems)
	}
	out, err := definition(ctx, c, in.ID, service.Which{Version: st.Version}, Unless{})
	if err == nil {
		out.asStored(st)
		out.Body.Diagnostics = hintedDiagnostics(problems)
	}
	return out, err
}

type validateInput struct {
	WorkflowPath
	Body *struct {
		Document string   `json:"document,omitempty" doc:"Document text; absent: the draft, else the published version"`
		Format   Language `json:"format,omitempty" doc:"Language of document; absent: it is detected"`
		Leniency
	} `required:"false"`
}

// Checked is the result of checking a document.
type Checked struct {
	OK          bool              `json:"ok" doc:"There are no errors: the workflow can run"`
	Diagnostics []diag.Diagnostic `json:"diagnostics" doc:"Errors and warnings with their positions"`
	Facts       *Facts            `json:"facts" doc:"Facts about the document; null: it has errors"`
}

func validateWorkflow(ctx context.Context, c *transport.Caller, in *validateInput) (*struct{ Body Checked }, error) {
	document, opts := "", service.LoadOptions{Retired: true}
	if in.Body != nil {
		document, opts.Format, opts.AllowUnknown = in.Body.Document, string(in.Body.Format), in.Body.AllowUnknown
	}
	if document == "" {
		e, err := c.Service.VisibleEntry(ctx, in.ID, c.SeesDrafts())
		if err != nil {
			return nil, err
		}
		_, d, _, err := c.Service.LoadStored(ctx, in.ID, service.Which{Draft: e.Draft != 0}, service.LoadOptions{})
		if err != nil {
			return nil, err
		}
		document, opts.Format, opts.AllowUnknown = string(d.Text), d.Format, true // as a run would read it
	}
	w, problems, err := c.Service.Load(ctx, documentName, []byte(document), opts)
	if err != nil {
		return nil, err
	}
	out := Checked{OK: !problems.HasErrors(), Diagnostics: hintedDiagnostics(problems)}
	if out.OK && w != nil {
		out.Facts = factsOf(w)
	}
	return &struct{ Body Checked }{out}, nil
}
