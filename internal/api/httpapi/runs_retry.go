package httpapi

import (
	"context"
	"net/http"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
)

func (a *API) registerRetry() {
	add(a, route{
		Method: http.MethodPost, Path: "/runs/{id}/retry", ID: "retryRun", Tag: tagRuns, Role: access.RoleRun,
		Status:  http.StatusCreated,
		Summary: "Retry a run that failed, reached a limit or was cancelled, as a new run",
		Description: "The new run keeps the steps that succeeded and continues before the one that failed, or before " +
			"the last execution of the step `from`. A run that completed needs `from`. " +
			"`model` binds the calls that the new run makes. `document` replaces the run's own: nodes that already " +
			"ran and the edges between them must be the same in it; otherwise 422 names the first difference. " +
			"`version` and `draft` replace it by a stored version of the same workflow, on the same terms. `model`, " +
			"`document`, `version`, `draft` and `limits`, and a run of a draft, of a former version or of a document " +
			"that is not stored, need the role edit. If the kept events contain an approval decision, the token " +
			"needs the right `approve`, because the decision applies to the new run too. What the kept steps used " +
			"counts against budgets. A run that has not ended is 409.",
		Errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusRequestEntityTooLarge,
			http.StatusTooManyRequests},
	}, retryRun)
}

// RetryBody is the body of retryRun.
type RetryBody struct {
	From     string   `json:"from,omitempty" doc:"Id of the step whose last execution is repeated" example:"critic"`
	Model    string   `json:"model,omitempty" doc:"Model of every agent for new calls" example:"openai/gpt-6.1-terra"`
	Document string   `json:"document,omitempty" doc:"Document text to replace the run's own; needs the role edit"`
	Name     string   `json:"name,omitempty" maxLength:"200" doc:"Name of a document that has none"`
	Format   Language `json:"format,omitempty" doc:"Language of document; absent: it is detected"`
	Version  int      `json:"version,omitempty" minimum:"1" doc:"Stored version to use instead; needs the role edit"`
	Draft    bool     `json:"draft,omitempty" doc:"Use the draft of the stored workflow instead; needs the role edit"`
	Limits   *Limits  `json:"limits,omitempty" doc:"New limits, above any that was reached; needs the role edit"`
}

type retryInput struct {
	RunPath
	Patience
	Body RetryBody
}

func retryRun(ctx context.Context, c *transport.Caller, in *retryInput) (*runMade, error) {
	wait, err := in.time()
	if err != nil {
		return nil, err
	}
	head, err := c.Service.Head(ctx, in.ID)
	if err == nil {
		err = mayRun(ctx, c, head)
	}
	if err != nil {
		return nil, err
	}
	q, err := in.Body.request(ctx, c, head)
	if err != nil {
		return nil, err
	}
	run, err := c.Service.Retry(ctx, in.ID, q)
	if err != nil {
		return nil, err
	}
	if err := c.Service.TakeUp(ctx, run); err != nil {
		return nil, err
	}
	out := runMade{Status: http.StatusCreated, Location: pathOf("runs", run)}
	made, err := waitAndShow(ctx, c, run, wait)
	out.Body = made.Body
	return &out, err
}

func (b *RetryBody) request(ctx context.Context, c *transport.Caller, head journal.Head) (service.RetryRequest, error) {
	q := service.RetryRequest{From: b.From, Model: b.Model, By: c.Actor(event.ChannelHTTP), Rights: service.ForkRights{
		Approve: c.RequireApproval, Raise: func() error {
			if c.May(access.RoleEdit) {
				return nil
			}
			return raiseForbidden(c)
		}}}
	stored := b.Version != 0 || b.Draft
	if (b.Model != "" || b.Document != "" || stored) && !c.May(access.RoleEdit) {
		return q,
			&transport.ForbiddenError{Reason: "retrying with another model, document or version needs the role edit; " +
				"the token has " + string(c.Role)}
	}
	if b.Document == "" && (b.Name != "" || b.Format != "") {
		return q, badField("body", "name and format need document")
	}
	if b.Document != "" && stored {
		return q, badField("body", "document excludes version and draft")
	}
	var err error
	if q.Limits, err = b.Limits.limits(); err != nil || b.Document == "" && !stored {
		return q, err
	}
	start := StartBody{Document: b.Document, Name: b.Name, Format: b.Format}
	if stored {
		id := service.StoredOf(head)
		if id == "" {
			return q, badField("body", "version and draft need a run of a stored workflow")
		}
		start = StartBody{Workflow: id, Version: b.Version, Draft: b.Draft}
	}
	with, err := start.request(ctx, c)
	q.With = &with
	return q, err
}
