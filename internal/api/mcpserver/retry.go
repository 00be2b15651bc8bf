package mcpserver

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

func retryTools() []*tool {
	return []*tool{{
		name: "retry_run", title: "Retry a run that has ended", role: access.RoleRun, effect: acts,
		about: "Retries a run that failed, reached a limit or was cancelled, as a new run, and waits up to " +
			"waitSeconds. The new run keeps the steps that succeeded and continues before the one that failed, or " +
			`before the last execution of the step from; a run that completed needs from. ` +
			`The old run does not change. ` +
			`Examples: {"id": "RUN"}; {"id": "RUN", "from": "critic", "model": "openai/gpt-6.1-terra"}`,
		takes: slices.Concat(runID, []prop{
			opt("from", aText, "The id of the step at whose last execution the new run continues."),
			opt("model", aText, "The model of every agent for the calls that the new run makes, as provider/model. "+
				"Needs the role edit."),
			opt("document", aText, "The text of a corrected document that replaces the run's own. Steps that already "+
				"ran, and the edges between them, must be the same in it. Needs the role edit."),
			opt("maxSteps", aCount,
				"Maximum number of steps; a run that reached its step limit needs a higher one. Needs the role edit."),
			opt("maxIterations", `{"type":"integer","minimum":1}`,
				"Maximum number of passes of a loop; a run that reached that limit needs a higher one. Needs the "+
					"role edit."),
			opt("timeoutSeconds", `{"type":"integer","minimum":1}`,
				"Total running time; a run that reached its time limit needs more. Needs the role edit."),
			waitProp,
		}),
		gives: outcomeOut, do: retryRun,
	}}
}

type retryArgs struct {
	runArgs
	From           string `json:"from"`
	Model          string `json:"model"`
	Document       string `json:"document"`
	MaxSteps       *int   `json:"maxSteps"`
	MaxIterations  int    `json:"maxIterations"`
	TimeoutSeconds int    `json:"timeoutSeconds"`
	WaitSeconds    *int   `json:"waitSeconds"`
}

func retryRun(ctx context.Context, c *call) (any, error) {
	var args retryArgs
	id, err := c.decodeID(&args)
	if err != nil {
		return nil, err
	}
	head, err := c.Service.Head(ctx, id)
	if err != nil {
		return nil, noSuchRun(err, id)
	}
	edits := func() error {
		_, err := transport.Require(ctx, access.RoleEdit)
		return err
	}
	if args.Model != "" || args.Document != "" {
		err = edits()
	} else if !c.SeesDrafts() {
		var published bool
		if published, err = c.Service.IsPublished(ctx, head); err == nil && !published {
			err = edits()
		}
	}
	if err != nil {
		return nil, err
	}
	q := service.RetryRequest{
		From: args.From, Model: args.Model, By: c.Actor(event.ChannelMCP),
		Rights: service.ForkRights{Approve: c.RequireApproval, Raise: edits},
		Limits: workflow.Limits{MaxSteps: args.MaxSteps, MaxLoopIterations: args.MaxIterations,
			Timeout: workflow.Duration(time.Duration(args.TimeoutSeconds) * time.Second)},
	}
	if args.Document != "" {
		w, problems, err := c.Service.Load(ctx, "document", []byte(args.Document), service.LoadOptions{})
		if err == nil && problems.HasErrors() {
			err = &service.InvalidError{Diagnostics: problems, Err: errcode.New(errcode.InvalidDocument, nil, nil)}
		}
		if err != nil {
			return nil, err
		}
		q.With = &service.StartRequest{Workflow: w}
	}
	run, err := c.Service.Retry(ctx, id, q)
	switch {
	case errors.As(err, new(*service.NotEndedError)):
		return nil, &conflictError{err.Error()}
	case err != nil:
		return nil, err
	}
	if err := c.resumeUnowned(ctx, run); err != nil {
		return nil, err
	}
	c.recordChange("runs.retry", id+" "+run)
	out, err := c.await(ctx, run, seconds(args.WaitSeconds), 0)
	if err != nil {
		return nil, err
	}
	return c.render(ctx, run, out)
}
