package op

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

const tagRuns = "Runs"

// RunPath identifies the run of an operation.
type RunPath struct {
	ID string `path:"id" doc:"Id of the run"`
}

// RunID returns the id of the run.
func (p RunPath) RunID() string { return p.ID }

// aboutRun is the description of the argument that identifies a run.
var aboutRun = Text{Name: "id", Alias: "runId",
	About: "The id of the run, as execute_workflow or list_runs returned it. Required."}

// Run is the result of an operation that creates, continues or stops a run. Each transport
// shows the run in its own form, after it has waited as the WaitOptions of the input say.
type Run struct {
	ID string `json:"id"`
}

// maxWait is the longest time that an HTTP request may wait for a run (SEC17).
const maxWait = time.Minute

// WaitOptions specify how long a caller waits for a run to end or to pause.
type WaitOptions struct {
	Wait   string `query:"wait" doc:"Longest wait for the run to end or pause; a Go duration up to 1m" example:"10s"`
	Prefer string `header:"Prefer" doc:"Like the parameter wait, in seconds (RFC 7240), capped at 60" example:"wait=10"`
	// Seconds is the time for tools; nil means their default.
	Seconds *int `tool:"waitSeconds" minimum:"0" maximum:"600"`
}

// aboutSeconds is the description of the argument that says how long a tool waits.
var aboutSeconds = Text{Name: "waitSeconds", About: "How long to wait for the run to end or to need an answer; " +
	"default 30, 0 returns at once. Progress is reported meanwhile."}

// Time returns the time that an HTTP request waits; 0 means that it does not wait. The error is a
// *FieldError.
func (p WaitOptions) Time() (time.Duration, error) {
	if p.Wait != "" {
		d, err := Duration("query.wait", p.Wait)
		if err == nil && d > maxWait {
			err = &FieldError{"query.wait", "must be at most " + maxWait.String()}
		}
		return d, err
	}
	for pref := range strings.SplitSeq(p.Prefer, ",") {
		if n, ok := strings.CutPrefix(strings.TrimSpace(pref), "wait="); ok {
			if seconds, err := strconv.Atoi(n); err == nil && seconds > 0 {
				return time.Duration(min(seconds, int(maxWait/time.Second))) * time.Second, nil
			}
		}
	}
	return 0, nil
}

// Waiting returns the WaitOptions of an input.
func (p WaitOptions) Waiting() WaitOptions { return p }

// Duration parses a positive Go duration; "" yields 0. The error is a *FieldError.
func Duration(location, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, &FieldError{location, "must be a duration above 0, such as 30s or 10m"}
	}
	return d, nil
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

// Workflow returns the limits as a workflow has them; nil yields none. The error is a *FieldError.
func (l *Limits) Workflow() (workflow.Limits, error) {
	if l == nil {
		return workflow.Limits{}, nil
	}
	timeout, err := Duration("body.limits.timeout", l.Timeout)
	return workflow.Limits{
		MaxSteps: l.MaxSteps, Timeout: workflow.Duration(timeout), MaxConcurrency: l.MaxConcurrency,
		MaxLoopIterations: l.MaxLoopIterations,
		MaxTokens:         l.MaxTokens, MaxCostUSD: l.MaxCostUSD, MaxCalls: l.MaxCalls,
	}, err
}

// LimitsOf returns the limits of a workflow as the operations have them.
func LimitsOf(l workflow.Limits) Limits {
	out := Limits{MaxSteps: l.MaxSteps, MaxConcurrency: l.MaxConcurrency, MaxLoopIterations: l.MaxLoopIterations,
		MaxTokens: l.MaxTokens, MaxCostUSD: l.MaxCostUSD, MaxCalls: l.MaxCalls}
	if l.Timeout > 0 {
		out.Timeout = time.Duration(l.Timeout).String()
	}
	return out
}

// RaiseForbidden returns the error for a caller without the role edit who raises limits (SEC2).
func RaiseForbidden(c *transport.Caller) error {
	return &transport.ForbiddenError{Reason: "raising limits above those of the workflow or of the run needs the " +
		"role edit; the token " + strconv.Quote(c.Name) + " has " + string(c.Role)}
}

// forkRights returns what a caller may do with a new run that has the events of another.
func forkRights(c *transport.Caller) service.ForkRights {
	return service.ForkRights{Approve: c.RequireApproval, Raise: func() error {
		if c.May(access.RoleEdit) {
			return nil
		}
		return RaiseForbidden(c)
	}}
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

// Language is the name of a document format. If empty, the format is detected, or any format
// matches.
type Language string

// documentName is the name of documents in diagnostics.
const documentName = "document"

// Document reads the document of a request; name is used if it has no name of its own. The error is
// a *service.InvalidError with the problems of the document.
func Document(ctx context.Context, c *transport.Caller, text, name string, o service.LoadOptions) (
	*workflow.Workflow, error) {
	w, problems, err := c.Service.Load(ctx, documentName, []byte(text), o)
	if err == nil && problems.HasErrors() {
		err = &service.InvalidError{Diagnostics: problems, Err: errcode.New(errcode.InvalidDocument, nil, nil)}
	}
	if w != nil && w.Name == "" {
		w.Name = name
	}
	return w, err
}

// Stored reads a stored workflow that the caller may see. The error is a *service.InvalidError with
// the problems of the workflow, or says that there is no such workflow.
func Stored(ctx context.Context, c *transport.Caller, id string, which service.Which) (
	*workflow.Workflow, service.Definition, error) {
	if _, err := c.Service.VisibleEntry(ctx, id, c.SeesDrafts()); err != nil {
		return nil, service.Definition{}, err
	}
	w, d, problems, err := c.Service.LoadStored(ctx, id, which, service.LoadOptions{})
	if err == nil && problems.HasErrors() {
		err = &service.InvalidError{Diagnostics: problems,
			Err: errcode.New(errcode.InvalidWorkflow, errcode.Fields{"id": id}, nil)}
	}
	return w, d, err
}
