package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

func resumeTools() []*tool {
	return []*tool{{
		name: "resume_run", title: "Continue a run", role: access.RoleRun, effect: acts,
		about: "Answers the question that a paused run waits for (input), or continues an interrupted run (no " +
			"input), and waits up to waitSeconds. " +
			"Approvals are always decided by a person, regardless of the arguments: if your client can ask its user, " +
			"the user is asked and sees the real action; otherwise the call fails and the error says how a person " +
			"can decide. " +
			`Examples: {"id": "RUN", "input": "blue"}; {"id": "RUN"}`,
		takes: slices.Concat(runID, []prop{
			opt("input", anything,
				"The answer to a question: a text, or a value that matches the wait's options or schema."),
			opt("wait", aText, "The id of the wait, if several are open."),
			opt("node", aText, "Instead of wait: the id of the node that waits."),
			opt("decision", oneOf(workflow.PortApprove, workflow.PortReject),
				"The decision about an approval, for tokens with the right approve. Without that right it is "+
					"ignored, and a person is asked."),
			opt("arguments", `{"type":"object"}`,
				"With the decision approve, for tokens with the right approve: the arguments with which the held "+
					"call is made in the place of its own. The wait has a schema where they may be changed."),
			opt("note", aText, "Recorded with the answer."), waitProp,
			opt("maxSteps", aCount,
				"Reopens a run that reached its step limit, with this many steps in total. Needs the role edit."),
			opt("timeoutSeconds", `{"type":"integer","minimum":1}`,
				"Reopens a run that reached its time limit, with this running time in total. Needs the role edit."),
		}),
		gives: outcomeOut, do: resumeRun,
	}}
}

type resumeArgs struct {
	runArgs
	Input          json.RawMessage `json:"input"`
	Wait           string          `json:"wait"`
	Node           string          `json:"node"`
	Decision       string          `json:"decision"`
	Arguments      json.RawMessage `json:"arguments"`
	Note           string          `json:"note"`
	WaitSeconds    *int            `json:"waitSeconds"`
	MaxSteps       *int            `json:"maxSteps"`
	TimeoutSeconds int             `json:"timeoutSeconds"`
}

func resumeRun(ctx context.Context, c *call) (any, error) {
	var args resumeArgs
	id, err := c.decodeID(&args)
	if err != nil {
		return nil, err
	}
	if args.Wait != "" && args.Node != "" {
		return nil, service.Refuse(errcode.InvalidArgument,
			errcode.Fields{"argument": "node", "problem": "excluded by `wait`, which already names the wait"}, nil)
	}
	rec, err := c.Service.ReadShort(ctx, id)
	if err != nil {
		return nil, noSuchRun(err, id)
	}
	after := rec.Head.LastSeq
	switch {
	case args.MaxSteps != nil || args.TimeoutSeconds > 0:
		err = c.reopen(ctx, rec, args)
	default:
		err = c.answerOrResume(ctx, rec, args)
	}
	if err != nil {
		return nil, err
	}
	c.recordChange("runs.resume", id)
	out, err := c.await(ctx, id, seconds(args.WaitSeconds), after)
	if err != nil {
		return nil, err
	}
	return c.render(ctx, id, out)
}

// reopen continues a run that was ended by a limit (D20).
func (c *call) reopen(ctx context.Context, rec service.Recorded, args resumeArgs) error {
	if args.Input != nil || args.Decision != "" {
		return service.Refuse(errcode.AnswerAndLimits, nil, nil)
	}
	if _, err := transport.Require(ctx, access.RoleEdit); err != nil {
		return err
	}
	p, err := rec.Addressed(service.Proceed{
		Limits: &workflow.Limits{MaxSteps: args.MaxSteps,
			Timeout: workflow.Duration(time.Duration(args.TimeoutSeconds) * time.Second)},
		By: c.Actor(event.ChannelMCP), MayApprove: c.RequireApproval,
	})
	if err != nil {
		return err
	}
	return c.Service.Reopen(ctx, rec.Head.Run, *p.Limits, p.By)
}

// answerOrResume answers the run's wait, or resumes the run.
func (c *call) answerOrResume(ctx context.Context, rec service.Recorded, args resumeArgs) error {
	run := rec.Head.Run
	answers := args.Input != nil || args.Decision != "" || args.Wait != "" || args.Node != ""
	w, err := rec.Asked(service.AnswerRequest{Wait: args.Wait, Node: args.Node})
	isOther := err == nil && !w.IsOpen() && rec.Head.Status.Ended() &&
		(w.Kind == workflow.WaitSignal || w.Kind == workflow.WaitQuestion && args.Decision != "")
	noWait := isOther || errors.Is(err, waits.ErrNotFound) && args.Wait == "" && args.Node == "" || err == nil &&
		!w.IsOpen() && !answers
	switch {
	case noWait && rec.Head.Status.Ended():
		return &conflictError{
			fmt.Sprintf("run %s has ended (%s); there is nothing to continue. execute_workflow runs the workflow again",
				run, rec.Head.Status),
		}
	case noWait && answers:
		return errcode.New(errcode.RunNotWaiting, errcode.Fields{"run": run, "status": string(rec.Head.Status)}, nil)
	case noWait:
		return c.resumeUnowned(ctx, run)
	case err != nil:
		return noWaitError(err, rec, args)
	case w.Kind == workflow.WaitSignal:
		return fmt.Errorf("%w: wait %s at %s takes %q", waits.ErrSignalWait, w.Wait, w.Node, w.Signal)
	case service.NeedsPerson(w.WaitOpened):
		return c.decide(ctx, rec, w, args)
	case args.Decision != "":
		return service.Refuse(errcode.WaitNoApproval, errcode.Fields{"run": run, "node": w.Node}, nil)
	case args.Input == nil:
		asked, err := c.Service.Opened(ctx, run, w.Wait)
		if err != nil {
			return err
		}
		return service.Refuse(errcode.AnswerMissing, errcode.Fields{"run": run, "question": question(asked)}, nil)
	}
	return c.submitAnswer(ctx, run, w.Wait, args.Input, args)
}

// submitAnswer submits the answer to a wait, and lets the run continue.
func (c *call) submitAnswer(ctx context.Context, run, wait string, value json.RawMessage, args resumeArgs) error {
	err := c.Service.Answer(ctx, run, service.AnswerRequest{Wait: wait, Value: value, Arguments: args.Arguments,
		Note: args.Note, By: c.Actor(event.ChannelMCP)})
	if err != nil {
		return answerRefused(err, run)
	}
	c.recordChange(transport.ActAnswer, run+" "+wait)
	return c.Service.TakeUpAnswered(ctx, run)
}

// noWaitError returns an error that explains why the arguments match no single wait.
func noWaitError(err error, rec service.Recorded, args resumeArgs) error {
	run := rec.Head.Run
	switch {
	case errors.Is(err, waits.ErrAmbiguous):
		var ids []string
		for _, w := range rec.Object().Waiting {
			ids = append(ids, w.ID)
		}
		return &conflictError{fmt.Sprintf("run %s waits for %d answers (%s); name one as wait", run, len(ids),
			strings.Join(ids, ", "))}
	case args.Wait != "":
		return fmt.Errorf("wait: run %s: %w", run, waits.ErrNotFound)
	}
	return fmt.Errorf("node: run %s does not wait at %q: %w", run, args.Node, waits.ErrNotFound)
}

// question returns the question of a wait for a model.
func question(w *event.WaitOpened) string {
	text := truncate(w.Prompt, 2000)
	if len(w.Options) > 0 {
		text += " (one of: " + strings.Join(w.Options, ", ") + ")"
	}
	if w.Schema != nil {
		text += " (it must match the JSON Schema " + truncate(string(w.Schema), 2000) + ")"
	}
	return text
}

// resumeUnowned resumes a run that has no owner. A run that another process drives continues there,
// and a run that has ended in the meantime is left as it is.
func (c *call) resumeUnowned(ctx context.Context, run string) error {
	err := c.Service.Resume(ctx, run)
	if errors.Is(err, journal.ErrOwned) || errors.Is(err, engine.ErrEnded) {
		return nil
	}
	return err
}

// answerRefused returns an error that explains why an answer was not accepted.
func answerRefused(err error, run string) error {
	if errors.Is(err, waits.ErrAnswered) {
		return &conflictError{"run " + run + ": the wait already has a different answer; nothing was changed"}
	}
	return err
}

// decide obtains the decision on a wait that only a person may answer: from the client's user, or
// with the token's own permission (D32).
func (c *call) decide(ctx context.Context, rec service.Recorded, w service.Asked, args resumeArgs) error {
	run := rec.Head.Run
	given := args.Input
	if args.Decision != "" {
		given = expr.Quote(args.Decision)
	}
	if given != nil && c.RequireApproval() == nil {
		return c.submitAnswer(ctx, run, w.Wait, given, args)
	}
	switch {
	case len(args.Arguments) > 0:
		return service.Refuse(errcode.InvalidArgument, errcode.Fields{"argument": "arguments",
			"problem": "taken with a decision, from tokens with the right approve"}, nil)
	case !w.IsOpen():
		return &conflictError{"run " + run + ": that wait is no longer open; nothing was changed"}
	case !c.canAsk():
		return &personError{c.personText(run, w.Wait)}
	}
	answered, err := c.elicitAnswer(ctx, rec, w.WaitOpened)
	if err == nil && !answered {
		err = &conflictError{"the user left it open; run " + run + " still waits"}
	}
	return err
}
