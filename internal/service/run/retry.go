package run

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/stored"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/internal/service/resources"
	"github.com/hocket-run/hocket/workflow"
)

// RetryRequest specifies from where a run that has ended continues, as a new run. The zero
// RetryRequest continues just before the failure, or where the run was cancelled.
type RetryRequest struct {
	// From is the id of the node from whose last execution on the new run executes again; for ""
	// see RetryRequest.
	From string
	// RunID is the id of the new run; "" means that one is generated.
	RunID string
	// Model overrides the model of every agent for the calls that the new run makes; "" means the
	// run's override, if any.
	Model string
	// With, if not nil, contains a document that replaces the run's own; only its Workflow, Stored,
	// Version, Dir, Place and Trust are used.
	With *StartRequest
	// Files replace those that the run was started with, if they are set. The entries of new
	// Replies are used from the first one.
	resources.Files
	// Limits replace the run's limits, if they are set. A run that ended at a limit continues only
	// with a higher one.
	Limits workflow.Limits
	// By is the actor. It is recorded with the new limits of a run that ended at a limit, and must
	// then be known.
	By Actor
	// Rights are checked as in Fork. Raise is also called for new limits.
	Rights ForkRights
	// parent, if not "", is the run whose call the new run continues.
	parent string
}

// Retry stores a new run that keeps the successful part of a run that failed, reached a limit or
// was cancelled, and returns its id; Resume continues it. For a completed run the new run continues
// from RetryRequest.From. The original run is not changed. Problems that can be detected before the
// first call are errors, with nothing stored.
//
// Errors: *NotEndedError; *InvalidError, *CommandsError and *model.RefError as with Start;
// *AllowedElsewhereError; *driver.ForeignError; the errors of Rights; *LimitError.
func (s *Runner) Retry(ctx context.Context, run string, q RetryRequest) (string, error) {
	head, w, err := s.RunDefinition(ctx, run)
	if err != nil {
		return "", err
	}
	if !head.Status.Ended() {
		return "", &failure.NotEndedError{Run: run, Status: head.Status}
	}
	if err := s.mayRetry(ctx, head, w, q); err != nil {
		return "", err
	}
	done, err := s.active.admit(ctx, s.store, s.cfg.MaxRuns)
	if err != nil {
		return "", err
	}
	id, err := s.derive(ctx, head, w, q, stored.Derived{Run: q.RunID, Model: q.Model})
	done(err == nil)
	if err != nil || q.Tools == nil || q.With != nil {
		return id, err
	}
	return id, s.opener.Give(id, resources.Files{Tools: q.Tools, ToolsFile: q.ToolsFile})
}

// mayRetry returns an error unless this process may drive the new run of a retry.
func (s *Runner) mayRetry(ctx context.Context, head journal.Head, w *workflow.Workflow, q RetryRequest) error {
	if isGraph(w) {
		program, err := s.graphs.find(w)
		switch {
		case err != nil:
			return err
		case program == nil:
			return &driver.ForeignError{Run: head.Run, Graph: w.Name, Program: head.Meta[resources.MetaProgram]}
		case q.With != nil:
			return failure.Refuse(errcode.RunOfGraph, errcode.Fields{"run": head.Run}, nil)
		}
	}
	if err := s.checkRunID(ctx, q.RunID); err != nil {
		return err
	}
	if _, problems := q.Check(); problems.HasErrors() {
		return &failure.InvalidError{Diagnostics: problems}
	}
	if err := workflow.CheckLimits(q.Limits); err != nil {
		return failure.Refuse(errcode.InvalidLimits, nil, err)
	}
	if q.Model != "" {
		if _, err := model.ParseRef(q.Model); err != nil {
			return &failure.InvalidError{Err: err}
		}
	}
	if q.With != nil {
		return nil
	}
	return s.opener.AskAgain(head.Run, head.Meta)
}

// prepareRetry checks models, prices and documents before anything is stored, and fills d.
func (s *Runner) prepareRetry(ctx context.Context, run string, head journal.Head, w *workflow.Workflow, q RetryRequest,
	d *stored.Derived) error {
	created, err := s.created(ctx, run)
	if err != nil {
		return err
	}
	kept, err := s.keptFiles(ctx, run)
	if err != nil {
		return err
	}
	if q.With == nil {
		spec := driver.Spec{Workflow: w, Model: cmp.Or(q.Model, driver.ModelOf(head)),
			Limits: engine.MergeLimits(created.Limits, q.Limits)}
		if q.Replies != nil {
			d.Files = map[string][]byte{resources.FileReplies: q.Replies}
		}
		if q.Replies == nil && kept.Replies == nil && !isGraph(w) {
			if err := s.opener.CheckModels(w, spec.Model, head.Meta[resources.MetaTrusted] != ""); err != nil {
				return err
			}
		}
		if q.Model != "" {
			err = s.opener.Price(&spec)
			d.Prices = spec.Prices
		}
		return err
	}
	start := *q.With
	start.Branch, start.Input, start.By = cmp.Or(head.Meta[project.MetaTargetBranchID], head.Meta[metaTogether]),
		expr.Text(created.Input), head.Meta[MetaBy]
	start.Model = cmp.Or(q.Model, driver.ModelOf(head))
	start.Files, start.Labels, start.Trigger = q.Over(kept), head.Labels, head.Trigger
	start.Limits = engine.MergeLimits(flagsOf(created.Limits, w.Limits), q.Limits)
	spec, err := s.prepare(ctx, start)
	if err != nil {
		return err
	}
	d.Spec = &spec
	return nil
}

// derive stores the run, after the child runs that its calls continue. Successful work parallel to
// a failure is kept if the engine can continue from there; otherwise the run goes back to the start
// of the failed step.
func (s *Runner) derive(ctx context.Context, head journal.Head, w *workflow.Workflow, q RetryRequest,
	d stored.Derived) (id string, err error) {
	run := head.Run
	if err := s.prepareRetry(ctx, run, head, w, q, &d); err != nil {
		return "", err
	}
	slot, err := s.slotForDerived(ctx, head, &d)
	if err != nil {
		return "", err
	}
	defer func() { slot(err) }()
	d.Before = func() error { return s.deriveChildren(ctx, head, q, &d) }
	for _, keep := range []bool{true, false} {
		d.Past = func(records [][]event.Event) ([]event.Event, error) {
			past, reopen, err := q.past(run, slices.Concat(records...), keep)
			if err != nil {
				return nil, err
			}
			d.Reopen = reopen
			if err := q.checkRights(past, w); err != nil {
				return nil, err
			}
			if q.Replies != nil {
				forgetReplies(past)
			}
			if d.Children = nil; d.Spec != nil {
				if past, err = readHistory(past).replaced(w, d.Spec.Workflow); err != nil {
					return nil, err
				}
			} else if d.Children, err = s.continuedChildren(ctx, run, d.Run, past); err != nil {
				return nil, err
			}
			q.setLimits(past, w, d.Spec)
			return past, nil
		}
		id, err = s.runs.Derive(ctx, run, &d)
		if diverge := new(engine.DivergenceError); !errors.As(err, &diverge) {
			break
		}
		if !keep && q.With != nil {
			return "", failure.Refuse(errcode.DocumentDiffers, errcode.Fields{"difference": err.Error()}, err)
		}
	}
	if errors.Is(err, stored.ErrForkPoint) {
		return "", failure.Refuse(errcode.InvalidForkPoint, nil, err)
	}
	return id, err
}

// forgetReplies removes from past which entries of a reply script were used: they do not apply to
// the script that replaces it.
func forgetReplies(past []event.Event) {
	for i := range past {
		switch d := past[i].Data.(type) {
		case *event.ModelReplied:
			if d.Source != "" {
				c := *d
				c.Source, past[i].Data = "", &c
			}
		case *event.ModelFailed:
			if d.Source != "" {
				c := *d
				c.Source, past[i].Data = "", &c
			}
		}
	}
}

// checkRights checks the rights.
func (q *RetryRequest) checkRights(past []event.Event, w *workflow.Workflow) error {
	if q.Rights.Approve != nil && isDecided(past) {
		if err := q.Rights.Approve(); err != nil {
			return err
		}
	}
	if q.Rights.Raise != nil && (q.Limits != workflow.Limits{} || isRaised(past, w)) {
		return q.Rights.Raise()
	}
	return nil
}

// past returns the events that the new run keeps, and how it is reopened if a limit ended the run.
func (q *RetryRequest) past(run string, events []event.Event, keep bool) ([]event.Event, *engine.Reopen, error) {
	h := readHistory(events)
	h.restarts = q.With != nil
	if q.From != "" {
		past, ok := h.beforeStep(q.From)
		if !ok {
			return nil, nil, h.noStep(run, q.From)
		}
		return past, nil, nil
	}
	switch end := events[len(events)-1].Data.(type) {
	case *event.RunCancelled:
		return h.beforeCancel(), nil, nil
	case *event.RunFailed:
		code := end.Error.Code
		if met := lastLimit(events); met != nil && met.Limit == code {
			switch code {
			case event.CodeMaxSteps, event.CodeTimeout, event.CodeBudget, event.CodeMaxBytes,
				event.CodeWorkflowBudget, event.CodeParentBudget:
				if err := raises(met, code, q.Limits); err != nil {
					return nil, nil, q.limitError(run, err)
				}
				if h.failure() > 0 { // a step had failed before: the run would fail again
					return h.beforeFailure(keep), nil, nil
				}
				return h.upTo(len(events), nil), &engine.Reopen{Limits: q.Limits, By: q.By}, nil
			case event.CodeMaxLoopIterations:
				if q.With == nil && int64(q.Limits.MaxLoopIterations) <= met.Max {
					return nil, nil,
						q.limitError(run, failure.Refuse(errcode.LimitPasses, errcode.Fields{"max": met.Max}, nil))
				}
			}
		}
		return h.beforeFailure(keep), nil, nil
	}
	if q.parent != "" {
		return h.upTo(len(events), nil), nil, nil
	}
	return nil, nil, failure.Refuse(errcode.RunCompleted, errcode.Fields{"run": run}, nil)
}

// limitError adds to an error how the limit can be raised.
func (q *RetryRequest) limitError(run string, err error) error {
	return failure.Refuse(errcode.RunLimitNotRaised, errcode.Fields{"run": run}, err)
}

func lastLimit(events []event.Event) *event.LimitReached {
	for _, e := range slices.Backward(events) {
		if d, ok := e.Data.(*event.LimitReached); ok {
			return d
		}
	}
	return nil
}

// setLimits adds the limits of the new run, and that it is a retry, to its events. With a document
// they are the limits of the document, overridden by those set at the start of the run.
func (q *RetryRequest) setLimits(past []event.Event, was *workflow.Workflow, spec *driver.Spec) {
	over := func(l workflow.Limits) workflow.Limits {
		if spec != nil {
			l = engine.MergeLimits(engine.MergeLimits(spec.Workflow.Limits, spec.Limits), flagsOf(l, was.Limits))
		}
		return engine.MergeLimits(l, q.Limits)
	}
	for i := range past {
		past[i].Data = event.WithLimits(past[i].Data, over)
		if d, ok := past[i].Data.(*event.RunCreated); ok { // the event is a copy
			d.Retry = true
		}
	}
}

// flagsOf returns the limits of a run that differ from its definition's own.
func flagsOf(l, own workflow.Limits) workflow.Limits {
	if l.MaxSteps != nil && own.MaxSteps != nil && *l.MaxSteps == *own.MaxSteps {
		l.MaxSteps = nil
	}
	zeroIfEqual(&l.MaxRounds, own.MaxRounds)
	zeroIfEqual(&l.MaxLoopIterations, own.MaxLoopIterations)
	zeroIfEqual(&l.Timeout, own.Timeout)
	zeroIfEqual(&l.MaxConcurrency, own.MaxConcurrency)
	zeroIfEqual(&l.MaxTokens, own.MaxTokens)
	zeroIfEqual(&l.MaxCostUSD, own.MaxCostUSD)
	zeroIfEqual(&l.MaxCalls, own.MaxCalls)
	zeroIfEqual(&l.OnBudget, own.OnBudget)
	zeroIfEqual(&l.Uncounted, own.Uncounted)
	return l
}

// zeroIfEqual sets v to zero if it equals own.
func zeroIfEqual[T comparable](v *T, own T) {
	if *v == own {
		*v = *new(T)
	}
}

// created returns the first event of a run.
func (s *Runner) created(ctx context.Context, run string) (*event.RunCreated, error) {
	var first *event.RunCreated
	stop := errors.New("read")
	err := s.EachEvent(ctx, run, 0, func(e event.Event) error {
		first, _ = e.Data.(*event.RunCreated)
		return stop
	})
	switch {
	case err != nil && !errors.Is(err, stop):
		return nil, err
	case first == nil:
		return nil, &journal.CorruptError{Run: run, Seq: 1, Reason: "the creation event is missing"}
	}
	return first, nil
}

// keptFiles returns the files that a run was started with.
func (s *Runner) keptFiles(ctx context.Context, run string) (f resources.Files, err error) {
	for name, into := range map[string]*[]byte{resources.FileTools: &f.Tools, resources.FileReplies: &f.Replies} {
		data, err := s.runs.File(ctx, run, name)
		if err != nil && !errors.Is(err, journal.ErrNotFound) {
			return f, err
		}
		*into = bytes.Clone(data)
	}
	return f, nil
}
