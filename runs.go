package hocket

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
)

// RunInfo is a run of a document or a graph, as its journal tells it. Its JSON is the run object that `hocket runs show --json` prints. It is the
// caller's; the values in it must not be changed.
type RunInfo struct {
	ID string
	// Workflow names what runs, Format the way in which it was written: graph for Go graphs. Branch is "" for the main graph.
	Workflow, Format, Branch string
	Status                   Status
	Input                    json.RawMessage
	// Output is that of the node that finished last; nil for runs that did not complete.
	Output json.RawMessage
	// Outputs holds the last output of every node that gave one, by node id.
	Outputs map[string]json.RawMessage
	// Err is why the run failed or was cancelled, a *[RunError]; nil otherwise.
	Err error
	// Waiting holds the open questions, oldest first.
	Waiting []Wait
	// Steps are the executions of nodes, in the order in which they started.
	Steps []RunStep
	Usage RunUsage
	// StartedAt is zero before the run began, EndedAt while it goes on.
	StartedAt, EndedAt time.Time
	// Parent is the run that started this one, ForkedFrom the one that it branched off; "" for none.
	Parent, ForkedFrom string
	// Interrupted: it could go on and no process drives it.
	Interrupted bool

	object project.Run
}

// MarshalJSON writes the run object.
func (r RunInfo) MarshalJSON() ([]byte, error) { return json.Marshal(r.object) }

// Text is the output as text: a string as it is, any other value as JSON, "" for none.
func (r RunInfo) Text() string {
	var text string
	if r.Output == nil || json.Unmarshal(r.Output, &text) == nil {
		return text
	}
	return string(r.Output)
}

// RunStep is one execution of a node.
type RunStep struct {
	// Node is its id, inside other nodes a path; Name is what people call it, Kind what it is.
	Node, Name, Kind string
	// Attempt is the last try, Iteration the n-th execution of the node; both from 1.
	Attempt, Iteration int
	// Status is running, waiting, completed, failed, cancelled or skipped.
	Status        string
	Input, Output json.RawMessage
	// Err is why it failed or was cancelled, a *[RunError]; nil otherwise.
	Err error
	// Warnings say what is odd about replies of models in the step: that one is empty, or a refusal. Nil: none is.
	Warnings []string
	// Model is the one that answered, "" for none.
	Model     string
	StartedAt time.Time
	// Duration is 0 while it runs.
	Duration time.Duration
}

// RunUsage is what a run used. CostUSD is nil where any part of it is not known (D14).
type RunUsage struct {
	InputTokens, OutputTokens int64
	CostUSD                   *float64
	ModelCalls, ToolCalls     int
}

// Get gives a run. Errors: [ErrNotFound]; its journal is damaged, or was written by a newer Hocket.
func (e *Engine) Get(ctx context.Context, run string) (*RunInfo, error) {
	o, err := e.service.Show(ctx, run)
	if err != nil {
		return nil, known(err)
	}
	return runInfo(o), nil
}

func runInfo(o project.Run) *RunInfo {
	r := &RunInfo{
		ID: o.ID, Status: Status(o.Status), Input: o.Input, Output: o.Output, Outputs: o.Outputs, Err: shownError(o.Error), Interrupted: o.Interrupted,
		Usage:     RunUsage{o.Usage.InputTokens, o.Usage.OutputTokens, o.Usage.CostUSD, o.Usage.ModelCalls, o.Usage.ToolCalls},
		StartedAt: value(o.StartedAt), EndedAt: value(o.EndedAt), Parent: value(o.ParentRun), ForkedFrom: value(o.ForkedFrom),
		Format: value(o.Workflow.Format), Branch: value(o.Workflow.Branch), object: o,
	}
	if r.Workflow = value(o.Workflow.Name); r.Workflow == "" {
		r.Workflow = value(o.Workflow.ID)
	}
	for _, w := range o.Waiting {
		r.Waiting = append(r.Waiting, Wait{ID: w.ID, Node: w.Node, Kind: w.Kind, Prompt: w.Prompt, Options: w.Options, Since: w.Since,
			Input: w.Input, Tool: w.Tool, Arguments: w.Arguments, Changed: w.Changed, Schema: w.Schema})
	}
	for _, s := range o.Steps {
		step := RunStep{
			Node: s.Node, Name: s.Name, Kind: s.Kind, Attempt: s.Attempt, Iteration: s.Iteration, Status: string(s.Status), Input: s.Input,
			Output: s.Output, Err: shownError(s.Error), Warnings: s.Warnings, Model: value(s.Model), StartedAt: s.StartedAt,
		}
		if s.DurationMS != nil {
			step.Duration = time.Duration(*s.DurationMS) * time.Millisecond
		}
		r.Steps = append(r.Steps, step)
	}
	return r
}

// shownError is an error of the run object.
func shownError(e *project.Error) error {
	if e == nil {
		return nil
	}
	return &RunError{Code: e.Code, Message: e.Message, Node: value(e.Node), Limit: limitNames[e.Limit], Max: amountOf(e.Limit, e.Max)}
}

// value is what p points at, the zero value for nil.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// Fork makes a new run that has the past of another one up to the event at, such as a [Step].Seq, and gives its id. What was decided with that event is part of
// that past; what was under way is done again. [Engine.Resume], [Engine.Answer] and [Resume] go on with it; the other run stays as it is.
//
// Errors: [ErrNotFound]; the run has no event of that number, or had ended with it.
func (e *Engine) Fork(ctx context.Context, run string, at uint64) (fork string, err error) {
	fork, err = e.service.Fork(ctx, run, at, service.ForkRights{})
	return fork, known(err)
}

// RunSummary is a run in a list.
type RunSummary struct {
	ID, Workflow, Format string
	Status               Status
	// Waiting counts the open questions.
	Waiting            int
	CreatedAt, EndedAt time.Time
	Parent             string
	Interrupted        bool
	// Program is the one that started a run of a Go graph, "" for documents.
	Program string
	// Labels are those of the run. It is nil where there are none.
	Labels map[string]string
	// Input is the beginning of the input on one line, Code and Message why the run failed, the message in short.
	Input, Code, Message string
	// CostUSD sums the known costs when the run paused or ended, with those of the runs that it started.
	CostUSD float64
}

// List gives a page of runs, newest first, and the cursor of the next page, "" after the last.
func (e *Engine) List(ctx context.Context, f Filter) (runs []RunSummary, next string, err error) {
	q := journal.Query{
		Workflow: f.Workflow, Parent: f.Parent, Interrupted: f.Interrupted, CreatedFrom: f.After, CreatedBefore: f.Before, Limit: f.Limit, Cursor: f.Cursor,
	}
	for _, s := range f.Statuses {
		q.Statuses = append(q.Statuses, journal.Status(s))
	}
	by := service.Filter{Labels: f.Labels, Search: f.Search, Format: f.Format, Branch: f.Branch, Code: f.Code, MinCost: f.MinCostUSD, MaxCost: f.MaxCostUSD}
	if err := by.Apply(&q); err != nil {
		return nil, "", err
	}
	heads, next, err := e.service.List(ctx, q)
	if err != nil {
		return nil, "", known(err)
	}
	for _, h := range heads {
		runs = append(runs, RunSummary{
			ID: h.Run, Workflow: h.Workflow, Format: h.Format, Status: Status(h.Status), Waiting: h.Waiting, CreatedAt: h.Created, EndedAt: h.Ended,
			Parent: h.Parent, Interrupted: h.Interrupted, Program: h.Meta["program"],
			Labels: h.Labels, Input: h.Preview, Code: h.Outcome.Code, Message: h.Outcome.Message, CostUSD: h.Outcome.Cost.USD(),
		})
	}
	return runs, next, nil
}

// Event is one thing that happened in a run, or, where Type is [EventDelta], a piece of what a model is saying. Its JSON is a line of
// `hocket runs events --json`.
type Event struct {
	Run string
	// Seq counts the events of a run from 1, without gaps; 0 for a delta, which is not stored.
	Seq uint64
	// Time is UTC; zero for a delta.
	Time time.Time
	// Type is a word such as step.started.
	Type string
	// Node and Step say where; "" and 0 for what concerns the whole run.
	Node string
	Step int
	// Data is the event's own, a JSON object.
	Data json.RawMessage

	line json.RawMessage
}

// EventDelta is the type of a piece of a model's answer while it is received: data has call, attempt, offset, text and reasoning. A later attempt makes void what an
// earlier one said.
const EventDelta = "model.delta"

// MarshalJSON writes the event's line.
func (ev Event) MarshalJSON() ([]byte, error) { return ev.line, nil }

// WatchOptions say what [Engine.Watch] gives. The zero value is good.
type WatchOptions struct {
	// After leaves out the events up to the one with that number, [Event].Seq.
	After uint64
	// UntilEnded: a pause does not end the watching.
	UntilEnded bool
}

// Watch gives the events of a run from the first on and then those that happen, driven by any process, until the run has ended or is paused, ctx is done or the
// loop is left; none of that changes the run. Events come once each and in order; of deltas some may be missing. After a pause [Engine.Get] tells what the run waits
// for, [Engine.Answer] answers it, and Watch with WatchOptions.After continues behind the last event seen. One WatchOptions at most may be given.
//
// An error is the last thing given: [ErrNotFound], [ErrClosed], ctx's.
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
		for u, err := range e.service.Watch(ctx, run, 0) { // an event refers to those before it
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
			if status := engine.StatusOf(u.Event.Data); status != "" {
				paused = status == engine.StatusPaused
			}
			if !paused {
				continue
			}
			switch rests, err := e.restsAt(ctx, run, ev.Seq); {
			case err != nil:
				yield(Event{}, err)
				return
			case rests:
				return
			}
		}
	}
}

// restsAt tells whether a run is paused and the event with that number is its last.
func (e *Engine) restsAt(ctx context.Context, run string, seq uint64) (bool, error) {
	h, err := e.service.Head(ctx, run)
	return err == nil && h.Status == journal.StatusPaused && h.LastSeq <= seq, known(err)
}

// errLeft ends a reading that the consumer has left.
var errLeft = errors.New("the consumer has left")

// Events gives the events that a run has by now, after the one with that number, 0 for all, and does not wait for more. Deltas are not among them. An error is the
// last thing given: [ErrNotFound], [ErrClosed], ctx's.
func (e *Engine) Events(ctx context.Context, run string, after uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		_, w, err := e.service.RunDefinition(ctx, run)
		if err != nil {
			yield(Event{}, known(err))
			return
		}
		folder := project.NewFolder(run, w)
		err = e.service.EachEvent(ctx, run, 0, func(stored engine.Event) error { // an event refers to those before it
			ev, err := eventOf(run, driver.Update{Event: &stored}, folder)
			if err == nil && ev.Seq > after && !yield(ev, nil) {
				err = errLeft
			}
			return err
		})
		if err != nil && !errors.Is(err, errLeft) {
			yield(Event{}, known(err))
		}
	}
}

// eventOf shows an update, with the values that an event refers to.
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
	return Event{Run: run, Seq: e.Seq, Time: e.At, Type: string(e.Data.Type()), Node: e.Node, Step: e.Step, Data: shown.Data, line: line}, nil
}

func deltaOf(run string, d *driver.Delta) (Event, error) {
	data, err := json.Marshal(d)
	if err != nil {
		return Event{}, err
	}
	line, err := json.Marshal(map[string]any{"run": run, "type": EventDelta, "data": json.RawMessage(data)})
	return Event{Run: run, Type: EventDelta, Node: d.Node, Step: d.Step, Data: data, line: line}, err
}
