package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/op"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/view"
	"github.com/hocket-run/hocket/workflow"
)

// registerRunActs registers the operations that change runs.
func (a *API) registerRunActs() {
	add(a, route{
		Method: http.MethodPost, Path: "/runs", ID: "startRun", Tag: tagRuns, Role: access.RoleRun,
		Status:  http.StatusCreated,
		Summary: "Start a run", Also: []int{http.StatusOK},
		Description: "Runs the published version of a stored workflow. A `document`, a `draft`, a former `version`, " +
			"and limits above those of the workflow, need the role edit. Documents cannot start commands, read " +
			"files or use environment variables of the server, except as its hocket.yaml allows. " +
			"With an `Idempotency-Key` the same request again returns the run of the first, with status 200. " +
			"Errors that can be found before the first call are reported, and no run is stored.",
		Errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusRequestEntityTooLarge,
			http.StatusTooManyRequests},
	}, startRun)
	add(a, route{
		Method: http.MethodPost, Path: "/runs/{id}/resume", ID: "resumeRun", Tag: tagRuns, Role: access.RoleRun,
		Summary: "Answer a wait, continue an interrupted run, or raise the limits of a run that reached one",
		Description: "An answer is a `decision` or an `input`. If several waits are open, it names one by `wait` or " +
			"`node`. Approvals, calls whose outcome is unknown and questions about a " +
			"budget need a token with the right `approve`; `limits` need the role edit. " +
			"The same answer again gives the same result; another one is 409, and 410 if the wait is closed. An " +
			"answer that names no wait is for the open one; if none is open, for the one that ended last. " +
			"Name, channel and time of every answer are recorded with it. Without an answer and limits, an " +
			"interrupted run continues. " +
			"202: the answer is stored for a Go program that does not drive the run now. The program applies it when " +
			"it drives the run again; until then the run is paused.",
		Also:   []int{http.StatusAccepted},
		Errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusGone},
	}, resumeRun)
	add(a, route{
		Method: http.MethodDelete, Path: "/runs/{id}", ID: "deleteRun", Tag: tagRuns, Role: access.RoleAdmin,
		Status:  http.StatusNoContent,
		Summary: "Delete a run that has ended or is paused", Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, deleteRun)
	a.registerPrune()
}

// Limits are the limits of a run.
type Limits = op.Limits

// StartBody is the body of startRun.
type StartBody struct {
	Workflow string          `json:"workflow,omitempty" doc:"Id of a stored workflow" example:"newsroom"`
	Draft    bool            `json:"draft,omitempty" doc:"Run the draft of the workflow; needs the role edit"`
	Version  int             `json:"version,omitempty" minimum:"1" doc:"Version of the workflow; needs the role edit"`
	Document string          `json:"document,omitempty" doc:"Document text, instead of workflow; needs the role edit"`
	Name     string          `json:"name,omitempty" maxLength:"200" doc:"Name of a document that has none"`
	Format   Language        `json:"format,omitempty" doc:"Language of document; absent: it is detected"`
	Branch   string          `json:"branch,omitempty" doc:"Branch of a rounds document, or all"`
	Input    json.RawMessage `json:"input,omitempty" doc:"Prompt (a string or any JSON), or an object of named inputs"`
	Inputs   json.RawMessage `json:"inputs,omitempty" doc:"Named inputs, an object, beside a text in input"`
	Limits   *Limits         `json:"limits,omitempty"`
	Labels   view.Labels     `json:"labels,omitempty" doc:"Merged over the workflow's: at most 32 plus 8 of hocket/*"`
	Session  string          `json:"session,omitempty" maxLength:"255" doc:"At most one run of a session is unfinished"`
	IfBusy   string          `json:"ifBusy,omitempty" enum:"reject,queue,cancel_previous" doc:"Absent: reject (409)"`
	Leniency
}

type startInput struct {
	op.WaitOptions
	Key  string `header:"Idempotency-Key" maxLength:"255" doc:"Identifies the request, so that it can be retried"`
	Body StartBody
}

// runMade is the response with a run that this request created, now or when it was first sent.
type runMade struct {
	Status   int
	Location string `header:"Location" doc:"URL of the run"`
	Body     Rendered[view.Run]
}

func startRun(ctx context.Context, c *transport.Caller, in *startInput) (*runMade, error) {
	wait, err := in.Time()
	if err != nil {
		return nil, err
	}
	q, err := in.Body.request(ctx, c)
	if err != nil {
		return nil, err
	}
	q.Key = in.Key
	started, err := c.Service.Begin(ctx, q)
	if err != nil {
		return nil, err
	}
	out := runMade{Status: http.StatusCreated, Location: pathOf("runs", started.Run)}
	if started.Again {
		out.Status = http.StatusOK
	}
	run, err := waitAndShow(ctx, c, started.Run, wait)
	out.Body = run.Body
	return &out, err
}

// request converts the body to a start request.
func (b *StartBody) request(ctx context.Context, c *transport.Caller) (service.StartRequest, error) {
	q := service.StartRequest{Trigger: service.TriggerAPI, Labels: workflow.Labels(b.Labels), Branch: b.Branch,
		Input: expr.Text(b.Input), Inputs: b.Inputs, Session: b.Session, IfBusy: service.IfBusy(b.IfBusy)}
	if (b.Document != "" || b.Draft || b.Version != 0) && !c.May(access.RoleEdit) {
		return q,
			&transport.ForbiddenError{Reason: "running documents, drafts and former versions needs the role edit; " +
				"the token " + strconv.Quote(c.Name) + " has " + string(c.Role)}
	}
	switch {
	case (b.Document == "") == (b.Workflow == ""):
		return q, badField("body", "missing workflow or document")
	case b.Document != "" && (b.Draft || b.Version != 0):
		return q, badField("body", "draft and version need workflow")
	case b.Draft && b.Version != 0:
		return q, badField("body", "draft and version exclude each other")
	}
	var err error
	if q.Limits, err = b.Limits.Workflow(); err != nil {
		return q, err
	}
	q.AllowUnknown = b.AllowUnknown
	if b.Document != "" {
		q.Workflow, err = op.Document(ctx, c, b.Document, b.Name,
			service.LoadOptions{Format: string(b.Format), AllowUnknown: b.AllowUnknown})
		return q, err
	}
	w, d, err := op.Stored(ctx, c, b.Workflow, service.Which{Draft: b.Draft, Version: b.Version})
	if err == nil && !c.May(access.RoleEdit) && service.Raises(q.Limits, w, b.Branch) {
		err = op.RaiseForbidden(c)
	}
	q.Workflow, q.Stored, q.Version = w, d.Entry.ID, d.Version
	return q, err
}

// documentName is the name of request documents in diagnostics.
const documentName = "document"

// ResumeBody is the body of resumeRun.
type ResumeBody struct {
	Decision  string          `json:"decision,omitempty" doc:"Approval decision, or chosen option" example:"approve"`
	Input     json.RawMessage `json:"input,omitempty" doc:"Answers a question: a text or any JSON value"`
	Arguments json.RawMessage `json:"arguments,omitempty" doc:"With approve: object that replaces the call's arguments"`
	Note      string          `json:"note,omitempty" doc:"Recorded with the answer"`
	Wait      string          `json:"wait,omitempty" doc:"Id of the wait, if several are open" example:"w7"`
	Node      string          `json:"node,omitempty" doc:"Node that waits, instead of wait"`
	Limits    *Limits         `json:"limits,omitempty" doc:"New totals with which a run that reached a limit continues"`
}

type resumeInput struct {
	RunPath
	op.WaitOptions
	Key  string `header:"Idempotency-Key" maxLength:"255" doc:"Makes retries safe: they never answer another wait"`
	Body ResumeBody
}

// runResumed is the response with a run that continues, or whose answer is stored.
type runResumed struct {
	Status int
	Body   Rendered[view.Run]
}

func resumeRun(ctx context.Context, c *transport.Caller, in *resumeInput) (*runResumed, error) {
	wait, err := in.Time()
	if err != nil {
		return nil, err
	}
	p, err := in.proceed()
	if err != nil {
		return nil, err
	}
	if p.Limits != nil && !c.May(access.RoleEdit) {
		return nil, op.RaiseForbidden(c)
	}
	p.By, p.MayApprove = c.Actor(event.ChannelHTTP), c.RequireApproval
	rec, err := c.Service.ReadShort(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if p, err = rec.Addressed(p); err != nil {
		return nil, err
	}
	if p.Answer != nil {
		transport.RecordAction(ctx, transport.ActAnswer, in.ID+" "+p.Answer.Wait)
	}
	if err := transport.WithStoreTimeout(ctx, func(ctx context.Context) error {
		return c.Service.Proceed(ctx, rec, p)
	}); err != nil {
		return nil, err
	}
	out := runResumed{Status: http.StatusOK}
	if p.Answer != nil {
		_, left, err := c.Service.Left(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		if left {
			out.Status = http.StatusAccepted
		}
	}
	run, err := waitAndShow(ctx, c, in.ID, wait)
	out.Body = run.Body
	return &out, err
}

func (in *resumeInput) proceed() (p service.Proceed, err error) {
	b := in.Body
	hasInput := len(b.Input) > 0
	switch {
	case b.Decision != "" && hasInput:
		return p, badField("body", "decision and input exclude each other")
	case b.Wait != "" && b.Node != "":
		return p, badField("body", "wait and node exclude each other")
	case len(b.Arguments) > 0 && b.Decision == "":
		return p, badField("body", "arguments need the decision approve")
	case b.Decision != "" || hasInput:
		p.Answer = &service.AnswerRequest{Wait: b.Wait, Node: b.Node, Note: b.Note, Value: b.Input,
			Arguments: b.Arguments, Key: in.Key}
		if b.Decision != "" {
			p.Answer.Value, p.Answer.Decision = service.Decide(b.Decision), true
		}
	case b.Limits != nil && b.Note != "":
		return p, badField("body", "a note is recorded with a decision or an input, and not with limits")
	case b.Limits != nil:
		p.Wait, p.Node, p.Key = b.Wait, b.Node, in.Key
	case b.Note != "" || b.Wait != "" || b.Node != "":
		return p, badField("body", "missing answer: decision, input or limits")
	}
	if b.Limits != nil {
		l, err := b.Limits.Workflow()
		if err != nil {
			return p, err
		}
		p.Limits = &l
	}
	return p, nil
}
