package hocket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"time"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// RunInfo is a run of a document or a graph, as recorded in its journal. Its JSON form is the run
// object that `hocket runs show --json` prints. It belongs to the caller, but the values in it must
// not be changed.
type RunInfo struct {
	ID string
	// Workflow is the name of the workflow, and Format the format in which it was written: graph
	// for Go graphs. Branch is empty for the main graph.
	Workflow, Format, Branch string
	Status                   Status
	Input                    json.RawMessage
	// Output is the output of the node that finished last; it is nil for runs that did not
	// complete.
	Output json.RawMessage
	// Outputs holds the last output of every node that produced one, by node ID.
	Outputs map[string]json.RawMessage
	// Err is why the run failed or was cancelled, as a *[RunError]; otherwise it is nil.
	Err error
	// Waiting holds the open questions, oldest first.
	Waiting []Wait
	// Steps are the executions of nodes, in the order in which they started.
	Steps []RunStep
	Usage RunUsage
	// StartedAt is zero before the run begins, and EndedAt until it ends.
	StartedAt, EndedAt time.Time
	// Parent is the run that started this one, and ForkedFrom the run that it was forked from;
	// empty means none.
	Parent, ForkedFrom string
	// Interrupted is set if the run could continue but no process drives it.
	Interrupted bool

	object project.Run
}

// MarshalJSON encodes the run object.
func (r RunInfo) MarshalJSON() ([]byte, error) { return json.Marshal(r.object) }

// Text returns the output as a string: a string as it is, any other value as JSON, and "" if there
// is none.
func (r RunInfo) Text() string {
	var text string
	if r.Output == nil || json.Unmarshal(r.Output, &text) == nil {
		return text
	}
	return string(r.Output)
}

// RunStep is one execution of a node.
type RunStep struct {
	// Node is the ID of the node, or its path inside other nodes; Name is its display name and Kind
	// its kind.
	Node, Name, Kind string
	// Attempt is the number of the last attempt, and Iteration that of the execution of the node;
	// both count from 1.
	Attempt, Iteration int
	// Status is running, waiting, completed, failed, cancelled or skipped.
	Status        string
	Input, Output json.RawMessage
	// Err is why the step failed or was cancelled, as a *[RunError]; otherwise it is nil.
	Err error
	// Warnings describes unusual model replies in the step, such as an empty reply, one that was
	// cut off or a refusal; nil means none.
	Warnings []string
	// StopReason is why the last reply of the step's agent ended: stop, length (it was cut off at
	// its limit), tool_calls or refusal; empty if there is none.
	StopReason string
	// Model is the model that replied; empty means none.
	Model     string
	StartedAt time.Time
	// Duration is 0 while the step runs.
	Duration time.Duration
}

// RunUsage is the usage of a run. CostUSD is nil if any part of it is unknown.
type RunUsage struct {
	InputTokens, OutputTokens int64
	CostUSD                   *float64
	ModelCalls, ToolCalls     int
}

// Get returns a run. It returns [ErrNotFound], or an error if the journal is damaged or was written
// by a newer version of Hocket.
func (e *Engine) Get(ctx context.Context, run string) (*RunInfo, error) {
	o, err := e.service.Show(ctx, run)
	if err != nil {
		return nil, known(err)
	}
	return runInfo(o), nil
}

func runInfo(o project.Run) *RunInfo {
	r := &RunInfo{
		ID: o.ID, Status: Status(o.Status), Input: o.Input, Output: o.Output, Outputs: o.Outputs,
		Err: shownError(o.Error), Interrupted: o.Interrupted,
		Usage: RunUsage{o.Usage.InputTokens, o.Usage.OutputTokens, o.Usage.CostUSD, o.Usage.ModelCalls,
			o.Usage.ToolCalls},
		StartedAt: value(o.StartedAt), EndedAt: value(o.EndedAt), Parent: value(o.ParentRun),
		ForkedFrom: value(o.ForkedFrom),
		Format:     value(o.Workflow.Format), Branch: value(o.Workflow.Branch), object: o,
	}
	if r.Workflow = value(o.Workflow.Name); r.Workflow == "" {
		r.Workflow = value(o.Workflow.ID)
	}
	for _, w := range o.Waiting {
		r.Waiting = append(r.Waiting, Wait{ID: w.ID, Node: w.Node, Kind: w.Kind, Prompt: w.Prompt, Options: w.Options,
			Since: w.Since,
			Input: w.Input, Tool: w.Tool, Arguments: w.Arguments, Changed: w.Changed, Schema: w.Schema})
	}
	for _, s := range o.Steps {
		step := RunStep{
			Node: s.Node, Name: s.Name, Kind: s.Kind, Attempt: s.Attempt, Iteration: s.Iteration,
			Status: string(s.Status), Input: s.Input, Output: s.Output, Err: shownError(s.Error),
			Warnings: s.Warnings, StopReason: s.StopReason, Model: value(s.Model),
			StartedAt: s.StartedAt,
		}
		if s.DurationMS != nil {
			step.Duration = time.Duration(*s.DurationMS) * time.Millisecond
		}
		r.Steps = append(r.Steps, step)
	}
	return r
}

// shownError converts an error of the run object.
func shownError(e *project.Error) error {
	if e == nil {
		return nil
	}
	return &RunError{Code: e.Code, Message: e.Message, Node: value(e.Node), Limit: limitNames[e.Limit],
		Max: amountOf(e.Limit, e.Max), Problems: problems(e.Problems)}
}

// value returns the value that p points to, or the zero value for nil.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// StepContext holds the outputs of the steps of a run as of one moment, as its later steps and
// templates see them: [Engine.StepContext] returns it. It is immutable and safe for concurrent use.
type StepContext struct{ snapshot json.RawMessage }

// StepContext returns the step context of a run as of now, whether the run has ended or not. It
// returns the errors of [Engine.Get].
func (e *Engine) StepContext(ctx context.Context, run string) (*StepContext, error) {
	_, w, err := e.service.RunDefinition(ctx, run)
	if err != nil {
		return nil, known(err)
	}
	folder := project.NewFolder(run, w)
	if err := e.service.EachEvent(ctx, run, 0, func(ev event.Event) error {
		folder.Add(ev)
		return nil
	}); err != nil {
		return nil, known(err)
	}
	return &StepContext{snapshot: folder.Context()}, nil
}

// Snapshot returns the step context as a JSON object with the steps by id, in the order of their
// first executions: `output` and `agent` of an agent, `steps` and `order` of a parallel step. It is
// what `hocket exec` prints. The caller owns the slice.
func (c *StepContext) Snapshot() json.RawMessage { return slices.Clone(c.snapshot) }

// Fork creates a new run that shares the history of another run up to the event at, such as a
// [Step].Seq, and returns its ID. What was decided with that event is part of the history; what was
// in progress is done again. [Engine.Resume], [Engine.Answer] and [Resume] continue the fork; the
// other run is unchanged.
//
// It returns [ErrNotFound], or an error if the run has no event with that number or ended with it.
func (e *Engine) Fork(ctx context.Context, run string, at uint64) (fork string, err error) {
	fork, err = e.service.Fork(ctx, run, at, service.ForkRights{})
	return fork, known(err)
}

// RunSummary is a run in a list.
type RunSummary struct {
	ID, Workflow, Format string
	Status               Status
	// Waiting is the number of open questions.
	Waiting            int
	CreatedAt, EndedAt time.Time
	Parent             string
	Interrupted        bool
	// Program is the program that started a run of a Go graph; it is empty for documents.
	Program string
	// Labels are the labels of the run, or nil if it has none.
	Labels map[string]string
	// Input is the start of the input on one line; Code and Message are why the run failed, with
	// the message shortened.
	Input, Code, Message string
	// CostUSD is the sum of the known costs as of when the run paused or ended, including the runs
	// that it started.
	CostUSD float64
}

// List returns a page of runs, newest first, and the cursor of the next page, which is empty after
// the last page.
func (e *Engine) List(ctx context.Context, f Filter) (runs []RunSummary, next string, err error) {
	q := journal.Query{
		Workflow: f.Workflow, Parent: f.Parent, Interrupted: f.Interrupted, CreatedFrom: f.After,
		CreatedBefore: f.Before, Limit: f.Limit, Cursor: f.Cursor,
	}
	for _, s := range f.Statuses {
		q.Statuses = append(q.Statuses, journal.Status(s))
	}
	by := service.Filter{Labels: f.Labels, Search: f.Search, Format: f.Format, Branch: f.Branch, Code: f.Code,
		MinCost: f.MinCostUSD, MaxCost: f.MaxCostUSD}
	if err := by.Apply(&q); err != nil {
		return nil, "", err
	}
	heads, next, err := e.service.List(ctx, q)
	if err != nil {
		return nil, "", known(err)
	}
	for _, h := range heads {
		runs = append(runs, RunSummary{
			ID: h.Run, Workflow: h.Workflow, Format: h.Format, Status: Status(h.Status), Waiting: h.Waiting,
			CreatedAt: h.Created, EndedAt: h.Ended,
			Parent: h.Parent, Interrupted: h.Interrupted, Program: h.Meta["program"],
			Labels: h.Labels, Input: h.Preview, Code: h.Outcome.Code, Message: h.Outcome.Message,
			CostUSD: h.Outcome.Cost.USD(),
		})
	}
	return runs, next, nil
}

// Event is one thing that happened in a run or, if Type is [EventDelta], a piece of model output in
// progress. Its JSON form is a line of `hocket runs events --json`.
type Event struct {
	Run string
	// Seq counts the events of a run from 1, without gaps; it is 0 for a delta, which is not
	// stored.
	Seq uint64
	// Time is in UTC; it is zero for a delta.
	Time time.Time
	// Type is a word such as step.started.
	Type string
	// Node and Step are the location; they are empty and 0 for events that concern the whole run.
	Node string
	Step int
	// Data is the data of the event, a JSON object.
	Data json.RawMessage

	line json.RawMessage
}

// EventDelta is the type of a piece of a model's reply while it is received: data has call,
// attempt, offset, text and reasoning. A later attempt invalidates the deltas of an earlier one.
const EventDelta = "model.delta"

// MarshalJSON encodes the event as its line.
func (ev Event) MarshalJSON() ([]byte, error) { return ev.line, nil }

// WatchOptions specifies what [Engine.Watch] yields. The zero value is valid.
type WatchOptions struct {
	// After skips the events up to and including the one with that number ([Event].Seq).
	After uint64
	// UntilEnded continues watching across pauses.
	UntilEnded bool
}

// Watch yields the events of a run from the first one on, and then new ones as they happen,
// whichever process drives the run, until the run has ended or is paused, ctx is done, or the
// caller breaks out of the loop; none of that changes the run. Each event is yielded once and in
// order; some deltas may be missing. After a pause, [Engine.Get] shows what the run waits for,
// [Engine.Answer] answers it, and Watch with WatchOptions.After continues after the last event
// seen. At most one WatchOptions may be passed.
//
// An error is the last item: [ErrNotFound], [ErrClosed], or the error of ctx.
func (e *Engine) Watch(ctx context.Context, run string, options ...WatchOptions) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		o, err := atMostOne(options, "WatchOptions")
		if err != nil {
			yield(Event{}, err)
			return
		}
		_, w, err := e.service.RunDefinition(ctx, run)
		if err != nil {
			yield(Event{}, known(err))
			return
		}
		folder, paused := project.NewFolder(run, w), false
		for u, err := range e.service.Watch(ctx, run, 0) { // an event may refer to earlier ones
			var ev Event
			if err == nil {
				ev, err = eventOf(run, u, folder)
			}
			if err != nil {
				yield(ev, known(err))
				return
			}
			if (u.Event == nil || ev.Seq > o.After) && !yield(ev, nil) {
				return
			}
			if u.Event == nil || o.UntilEnded {
				continue
			}
			if status := event.StatusOf(u.Event.Data); status != "" {
				paused = status == event.StatusPaused
			}
			if !paused {
				continue
			}
			switch rests, err := e.isPausedAt(ctx, run, ev.Seq); {
			case err != nil:
				yield(Event{}, err)
				return
			case rests:
				return
			}
		}
	}
}

// isPausedAt reports whether a run is paused and the event with that number is its last.
func (e *Engine) isPausedAt(ctx context.Context, run string, seq uint64) (bool, error) {
	h, err := e.service.Head(ctx, run)
	return err == nil && h.Status == journal.StatusPaused && h.LastSeq <= seq, known(err)
}

// errConsumerStopped stops a read when the consumer has broken out of the loop.
var errConsumerStopped = errors.New("the consumer has left")

// Events yields the events that a run has now, after the one with the given number (0 means all),
// and does not wait for more. Deltas are not included. An error is the last item: [ErrNotFound],
// [ErrClosed], or the error of ctx.
func (e *Engine) Events(ctx context.Context, run string, after uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		_, w, err := e.service.RunDefinition(ctx, run)
		if err != nil {
			yield(Event{}, known(err))
			return
		}
		folder := project.NewFolder(run, w)
		err = e.service.EachEvent(ctx, run, 0, func(stored event.Event) error { // an event may refer to earlier ones
			ev, err := eventOf(run, driver.Update{Event: &stored}, folder)
			if err == nil && ev.Seq > after && !yield(ev, nil) {
				err = errConsumerStopped
			}
			return err
		})
		if err != nil && !errors.Is(err, errConsumerStopped) {
			yield(Event{}, known(err))
		}
	}
}

// eventOf converts an update, including the values that an event refers to.
func eventOf(run string, u driver.Update, folder *project.Folder) (Event, error) {
	if u.Event == nil {
		return deltaOf(run, u.Delta)
	}
	line, err := journal.MarshalEvent(run, folder.Expand(*u.Event))
	folder.Add(*u.Event)
	if err != nil {
		return Event{}, err
	}
	var shown struct {
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(line, &shown); err != nil {
		return Event{}, err
	}
	e := u.Event
	return Event{Run: run, Seq: e.Seq, Time: e.At, Type: string(e.Data.Type()), Node: e.Node, Step: e.Step,
		Data: shown.Data, line: line}, nil
}

func deltaOf(run string, d *driver.Delta) (Event, error) {
	data, err := json.Marshal(d)
	if err != nil {
		return Event{}, err
	}
	line, err := json.Marshal(map[string]any{"run": run, "type": EventDelta, "data": json.RawMessage(data)})
	return Event{Run: run, Type: EventDelta, Node: d.Node, Step: d.Step, Data: data, line: line}, err
}

// answerOrResume answers a run, continues one that exceeded its budget if larger is set, or resumes
// it.
func (e *Engine) answerOrResume(ctx context.Context, run string, answer *Answer, larger graph.Limits) error {
	if answer != nil && !reflect.ValueOf(*answer).IsZero() {
		return e.Answer(ctx, run, *answer)
	}
	if larger != (graph.Limits{}) {
		h, err := e.service.Head(ctx, run)
		if err != nil {
			return known(err)
		}
		if h.Status.Ended() {
			return e.Reopen(ctx, run, budgetOf(larger))
		}
	}
	return e.Resume(ctx, run)
}

// Reopen continues a run that ended because of a limit, such as its budget, under larger limits. It
// returns as soon as the run has resumed; follow it with [Engine.Wait]. Only limits that are set
// apply. Completed work is kept: finished nodes do not run again, and no answered model call is
// repeated. For a graph with progress or telemetry, use [Run] with RunOptions.ResumeFrom and
// RunOptions.Limits.
//
// Errors: [ErrNotFound]; [ErrNotReopenable], if the limits are not those that ended the run or are
// no larger; [ErrNotRegistered]; [ErrClosed]. On error the run is unchanged.
func (e *Engine) Reopen(ctx context.Context, run string, larger Limits) error {
	limits := larger.workflowLimits()
	if err := workflow.CheckLimits(limits); err != nil {
		return err
	}
	rec, err := e.service.ReadShort(ctx, run)
	if err != nil {
		return known(err)
	}
	by := event.LocalBy(event.ChannelProgram)
	p, err := rec.Addressed(service.Proceed{Limits: &limits, By: by})
	switch {
	case err != nil:
		return known(err)
	case p.Answer != nil:
		return known(e.service.Answer(ctx, run, *p.Answer))
	}
	return known(e.service.Reopen(ctx, run, limits, by))
}

// Answer answers a question of a run, driven by any process, and returns once the answer is stored.
// The run then continues; follow it with [Engine.Wait]. Sending the same answer to an answered
// question is not an error.
//
// Errors: [ErrNotFound], [ErrAnswer], [ErrEnded], [ErrNotRegistered], [ErrClosed].
func (e *Engine) Answer(ctx context.Context, run string, a Answer) error {
	value, err := json.Marshal(a.Value)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	var arguments json.RawMessage
	if a.Arguments != nil {
		if arguments, err = json.Marshal(a.Arguments); err != nil {
			return fmt.Errorf("encode arguments: %w", err)
		}
	}
	err = known(e.service.Answer(ctx, run, service.AnswerRequest{Wait: a.Wait, Node: a.Node, Value: value,
		Arguments: arguments, Note: a.Note, By: event.LocalBy(event.ChannelProgram)}))
	if !errors.Is(err, ErrAnswer) {
		return err
	}
	if h, headErr := e.service.Head(ctx, run); headErr == nil && h.Status.Ended() {
		return fmt.Errorf("answer run %s: %w", run, ErrEnded)
	}
	return err
}

// Signal sends a signal to a run, driven by any process, and returns once the signal is stored. The
// longest-waiting step that accepts the value receives it; if there is none, the run keeps it for a
// later step. A child run that waits for the signal receives it, too. key identifies the signal so
// that it can be resent: a repeated key has no effect. If key is "", each call sends a new signal.
//
// Errors: [ErrNotFound], [ErrEnded], [ErrNotRegistered], [ErrClosed]; [ErrAnswer] if no step of the
// run has the name, the value does not fit, or the key was used for another signal.
func (e *Engine) Signal(ctx context.Context, run, name string, value any, key string) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode signal: %w", err)
	}
	_, err = e.service.Signal(ctx, run, service.SignalRequest{Name: name, Value: data, Key: key,
		By: event.LocalBy(event.ChannelProgram)})
	return known(err)
}

// Resume resumes an interrupted run and returns as soon as the run has resumed; follow it with
// [Engine.Wait]. The function [Resume] does both, for a graph.
//
// Errors: [ErrNotFound], [ErrPaused], [ErrEnded], [ErrBusy], [ErrNotRegistered], [ErrClosed].
func (e *Engine) Resume(ctx context.Context, run string) error {
	before, err := e.service.Head(ctx, run)
	if err != nil {
		return known(err)
	}
	if err := e.service.Resume(ctx, run); err != nil {
		return known(err)
	}
	if before.Status != event.StatusPaused {
		return nil // it continues, and may already wait
	}
	after, err := e.service.Head(ctx, run)
	if err != nil {
		return known(err)
	}
	if after.Status == event.StatusPaused && after.LastSeq == before.LastSeq {
		return fmt.Errorf("resume run %s: %w", run, ErrPaused)
	}
	return nil
}

// Cancel cancels a run, driven by any process, together with its child runs, and returns once the
// cancellation is stored. The contexts of running functions are cancelled. reason may be "".
// Errors: [ErrNotFound], [ErrEnded], [ErrClosed].
func (e *Engine) Cancel(ctx context.Context, run, reason string) error {
	return known(e.service.Cancel(ctx, run, reason))
}

// errAbandoned is the reason for no longer following a run that another process drove.
var errAbandoned = errors.New("no process drives it any longer")
