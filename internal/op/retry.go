package op

import (
	"context"
	"net/http"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// RetryRun continues a run that has ended, as a new run.
var RetryRun = New(Operation{
	ID: "retryRun", Role: access.RoleRun, Effect: Acts, Action: "runs.retry",
	HTTP: HTTP{
		Method: http.MethodPost, Path: "/runs/{id}/retry", Tag: tagRuns, Status: http.StatusCreated,
		Summary: "Retry a run that failed, reached a limit or was cancelled, as a new run",
		About: "The new run keeps the steps that succeeded and continues before the one that failed, or before " +
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
	},
	Tool: Tool{
		Name: "retry_run", Title: "Retry a run that has ended",
		About: "Retries a run that failed, reached a limit or was cancelled, as a new run, and waits up to " +
			"waitSeconds. The new run keeps the steps that succeeded and continues before the one that failed, or " +
			`before the last execution of the step from; a run that completed needs from. ` +
			`The old run does not change. ` +
			`Examples: {"id": "RUN"}; {"id": "RUN", "from": "critic", "model": "openai/gpt-6.1-terra"}`,
		Args: []Text{aboutRun,
			{Name: "from", About: "The id of the step at whose last execution the new run continues."},
			{Name: "model", About: "The model of every agent for the calls that the new run makes, as " +
				"provider/model. Needs the role edit."},
			{Name: "document", About: "The text of a corrected document that replaces the run's own. Steps that " +
				"already ran, and the edges between them, must be the same in it. Needs the role edit."},
			{Name: "maxSteps", About: "Maximum number of steps; a run that reached its step limit needs a higher " +
				"one. Needs the role edit."},
			{Name: "maxIterations", Of: "maxLoopIterations", About: "Maximum number of passes of a loop; a run that " +
				"reached that limit needs a higher one. Needs the role edit."},
			{Name: "timeoutSeconds", About: "Total running time; a run that reached its time limit needs more. " +
				"Needs the role edit."},
			aboutSeconds},
	},
}, retryRun, func(in *RetryIn, out *Run) string { return in.ID + " " + out.ID })

// RetryIn specifies how a run continues as a new one.
type RetryIn struct {
	RunPath
	WaitOptions
	Body RetryBody
	// Timeout is the timeout of the limits in seconds, which is what tools have.
	Timeout int `tool:"timeoutSeconds" minimum:"1"`
}

// RetryBody is the body of a retry.
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

func retryRun(ctx context.Context, c *Caller, in *RetryIn) (Run, error) {
	head, err := c.Service.Head(ctx, in.ID)
	if err == nil {
		err = mayRun(ctx, c.Caller, head)
	}
	if err != nil {
		return Run{}, err
	}
	q, err := in.request(ctx, c, head)
	if err != nil {
		return Run{}, err
	}
	id, err := c.Service.Retry(ctx, in.ID, q)
	if err != nil {
		return Run{}, err
	}
	return Run{id}, c.Service.TakeUp(ctx, id)
}

func (in *RetryIn) request(ctx context.Context, c *Caller, head journal.Head) (service.RetryRequest, error) {
	b := &in.Body
	q := service.RetryRequest{From: b.From, Model: b.Model, By: c.By(), Rights: forkRights(c.Caller)}
	stored := b.Version != 0 || b.Draft
	if (b.Model != "" || b.Document != "" || stored) && !c.May(access.RoleEdit) {
		return q,
			&transport.ForbiddenError{Reason: "retrying with another model, document or version needs the role edit; " +
				"the token has " + string(c.Role)}
	}
	if b.Document == "" && (b.Name != "" || b.Format != "") {
		return q, &FieldError{"body", "name and format need document"}
	}
	if b.Document != "" && stored {
		return q, &FieldError{"body", "document excludes version and draft"}
	}
	var err error
	if q.Limits, err = b.Limits.Workflow(); err != nil {
		return q, err
	}
	if in.Timeout > 0 {
		q.Limits.Timeout = workflow.Duration(time.Duration(in.Timeout) * time.Second)
	}
	switch {
	case b.Document != "":
		with := service.StartRequest{}
		with.Workflow, err = Document(ctx, c.Caller, b.Document, b.Name, service.LoadOptions{Format: string(b.Format)})
		q.With = &with
	case stored:
		id := service.StoredOf(head)
		switch {
		case id == "":
			return q, &FieldError{"body", "version and draft need a run of a stored workflow"}
		case b.Draft && b.Version != 0:
			return q, &FieldError{"body", "draft and version exclude each other"}
		}
		w, d, err := Stored(ctx, c.Caller, id, service.Which{Draft: b.Draft, Version: b.Version})
		q.With = &service.StartRequest{Workflow: w, Stored: d.Entry.ID, Version: d.Version}
		return q, err
	}
	return q, err
}
