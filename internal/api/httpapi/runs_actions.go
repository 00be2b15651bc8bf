package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/journal"
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
		Method: http.MethodPost, Path: "/runs/{id}/cancel", ID: "cancelRun", Tag: tagRuns, Role: access.RoleRun,
		Summary: "Stop a run", Description: "Stops the runs that it started, too. A run that is already cancelled is " +
			"returned unchanged; one that ended otherwise is 409.",
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, cancelRun)
	add(a, route{
		Method: http.MethodPost, Path: "/runs/{id}/fork", ID: "forkRun", Tag: tagRuns, Role: access.RoleRun,
		Status:  http.StatusCreated,
		Summary: "Fork a run: store a new run with the events of this one up to a given event",
		Description: "It continues when it is resumed or answered. If the copied events contain an approval " +
			"decision, the token needs the right `approve`, because the decision applies to the new run too. A run " +
			"with limits above those of its workflow, or of a draft, of a former version or of a document that is " +
			"not stored needs the role edit.",
		Errors: []int{http.StatusNotFound},
	}, forkRun)
	a.registerSignals()
	a.registerRetry()
	add(a, route{
		Method: http.MethodDelete, Path: "/runs/{id}", ID: "deleteRun", Tag: tagRuns, Role: access.RoleAdmin,
		Status:  http.StatusNoContent,
		Summary: "Delete a run that has ended or is paused", Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, deleteRun)
	a.registerPrune()
}

// Limits are the limits of a run; absent limits keep the values of the workflow.
type Limits struct {
	MaxSteps       *int   `json:"maxSteps,omitempty" minimum:"0" doc:"Maximum number of steps"`
	Timeout        string `json:"timeout,omitempty" doc:"Running time of the run, as a Go duration" example:"10m"`
	MaxConcurrency int    `json:"maxConcurrency,omitempty" minimum:"1" doc:"Maximum number of concurrent steps"`
	// MaxLoopIterations is the maximum number of iterations of each loop.
	MaxLoopIterations int     `json:"maxLoopIterations,omitempty" minimum:"1" doc:"Maximum number of passes of a loop"`
	MaxTokens         int64   `json:"maxTokens,omitempty" minimum:"1" doc:"Budget of tokens"`
	MaxCostUSD        float64 `json:"maxCostUSD,omitempty" exclusiveMinimum:"0" doc:"Budget of money"`
	MaxCalls          int64   `json:"maxCalls,omitempty" minimum:"1" doc:"Budget of model calls and tool calls"`
}

func (l *Limits) limits() (workflow.Limits, error) {
	if l == nil {
		return workflow.Limits{}, nil
	}
	timeout, err := duration("body.limits.timeout", l.Timeout)
	return workflow.Limits{
		MaxSteps: l.MaxSteps, Timeout: workflow.Duration(timeout), MaxConcurrency: l.MaxConcurrency,
		MaxLoopIterations: l.MaxLoopIterations,
		MaxTokens:         l.MaxTokens, MaxCostUSD: l.MaxCostUSD, MaxCalls: l.MaxCalls,
	}, err
}

// raiseForbidden returns the error for a caller without the role edit who raises limits (SEC2).
func raiseForbidden(c *transport.Caller) error {
	return &transport.ForbiddenError{Reason: "raising limits above those of the workflow or of the run needs the " +
		"role edit; the token " + strconv.Quote(c.Name) + " has " + string(c.Role)}
}

func limitsOf(l workflow.Limits) Limits {
	out := Limits{MaxSteps: l.MaxSteps, MaxConcurrency: l.MaxConcurrency, MaxLoopIterations: l.MaxLoopIterations,
		MaxTokens: l.MaxTokens, MaxCostUSD: l.MaxCostUSD, MaxCalls: l.MaxCalls}
	if l.Timeout > 0 {
		out.Timeout = time.Duration(l.Timeout).String()
	}
	return out
}

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
	Patience
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
	wait, err := in.time()
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
	if q.Limits, err = b.Limits.limits(); err != nil {
		return q, err
	}
	q.AllowUnknown = b.AllowUnknown
	if b.Document != "" {
		w, problems, err := c.Service.Load(ctx, documentName, []byte(b.Document),
			service.LoadOptions{Format: string(b.Format), AllowUnknown: b.AllowUnknown})
		if err == nil && problems.HasErrors() {
			err = &service.InvalidError{Diagnostics: problems, Err: errcode.New(errcode.InvalidDocument, nil, nil)}
		}
		if w != nil && w.Name == "" {
			w.Name = b.Name
		}
		q.Workflow = w
		return q, err
	}
	if _, err := c.Service.VisibleEntry(ctx, b.Workflow, c.SeesDrafts()); err != nil {
		return q, err
	}
	w, d, problems, err := c.Service.LoadStored(ctx, b.Workflow, service.Which{Draft: b.Draft, Version: b.Version},
		service.LoadOptions{})
	if err == nil && problems.HasErrors() {
		err = &service.InvalidError{Diagnostics: problems,
			Err: errcode.New(errcode.InvalidWorkflow, errcode.Fields{"id": b.Workflow}, nil)}
	}
	if err == nil && !c.May(access.RoleEdit) && service.Raises(q.Limits, w, b.Branch) {
		err = raiseForbidden(c)
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
	Patience
	Key  string `header:"Idempotency-Key" maxLength:"255" doc:"Makes retries safe: they never answer another wait"`
	Body ResumeBody
}

// runResumed is the response with a run that continues, or whose answer is stored.
type runResumed struct {
	Status int
	Body   Rendered[view.Run]
}

func resumeRun(ctx context.Context, c *transport.Caller, in *resumeInput) (*runResumed, error) {
	wait, err := in.time()
	if err != nil {
		return nil, err
	}
	p, err := in.proceed()
	if err != nil {
		return nil, err
	}
	if p.Limits != nil && !c.May(access.RoleEdit) {
		return nil, raiseForbidden(c)
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
	if err := withStoreTimeout(ctx, func(ctx context.Context) error {
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
		l, err := b.Limits.limits()
		if err != nil {
			return p, err
		}
		p.Limits = &l
	}
	return p, nil
}

type cancelInput struct {
	RunPath
	Patience
	Body *struct {
		Reason string `json:"reason,omitempty" maxLength:"2000" doc:"Recorded with the run"`
	} `required:"false"`
}

func cancelRun(ctx context.Context, c *transport.Caller, in *cancelInput) (*RunAnswer, error) {
	wait, err := in.time()
	if err != nil {
		return nil, err
	}
	reason := ""
	if in.Body != nil {
		reason = in.Body.Reason
	}
	err = withStoreTimeout(ctx, func(ctx context.Context) error { return c.Service.Cancel(ctx, in.ID, reason) })
	if h, herr := c.Service.Head(ctx, in.ID); errors.Is(err, engine.ErrEnded) && herr == nil &&
		h.Status == journal.StatusCancelled {
		err = nil // the state is already the requested one
	}
	if err != nil {
		return nil, err
	}
	out, err := waitAndShow(ctx, c, in.ID, wait)
	return &out, err
}

// mayRun returns an error unless the caller may run the definition of a run again: with the role
// run, only published definitions (SEC2, D33).
func mayRun(ctx context.Context, c *transport.Caller, h journal.Head) error {
	if c.SeesDrafts() {
		return nil
	}
	ok, err := c.Service.IsPublished(ctx, h)
	if err == nil && !ok {
		err = &transport.ForbiddenError{Reason: "the definition of run " + h.Run +
			" is not the published one: forking it needs the role edit"}
	}
	return err
}

type forkInput struct {
	RunPath
	Body struct {
		At uint64 `json:"at" minimum:"1" doc:"Number of the last event of the new run"`
	}
}

func forkRun(ctx context.Context, c *transport.Caller, in *forkInput) (*runMade, error) {
	head, err := c.Service.Head(ctx, in.ID)
	if err == nil {
		err = mayRun(ctx, c, head)
	}
	if err != nil {
		return nil, err
	}
	rights := service.ForkRights{Approve: c.RequireApproval, Raise: func() error {
		if c.May(access.RoleEdit) {
			return nil
		}
		return raiseForbidden(c)
	}}
	fork, err := c.Service.Fork(ctx, in.ID, in.Body.At, rights)
	if err != nil {
		return nil, err
	}
	out := runMade{Status: http.StatusCreated, Location: pathOf("runs", fork)}
	run, err := waitAndShow(ctx, c, fork, 0)
	out.Body = run.Body
	return &out, err
}
