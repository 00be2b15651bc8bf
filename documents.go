package hocket

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// Workflow is a document that was read and can run. It never changes and is safe for concurrent use.
type Workflow struct {
	definition *workflow.Workflow
	problems   diag.List
	place      string // of its file; "": it was no file
}

// Name is the workflow's, or that of its file where the document has none.
func (w *Workflow) Name() string { return w.definition.Name }

// Format names the document's format, as the flag --format does.
func (w *Workflow) Format() string { return w.definition.Format }

// Diagnostics are the warnings of the document, each with its place. The slice is the caller's.
func (w *Workflow) Diagnostics() diag.List { return append(diag.List(nil), w.problems...) }

// Definition is the graph that runs. It must not be changed.
func (w *Workflow) Definition() *workflow.Workflow { return w.definition }

// DocumentError says that a document cannot run. Diagnostics has all that was found, warnings too.
type DocumentError struct{ Diagnostics diag.List }

func (e *DocumentError) Error() string { return e.Diagnostics.Error() }

// Unwrap gives the list.
func (e *DocumentError) Unwrap() error { return e.Diagnostics }

// LoadOptions say how a document is read. The zero value is good.
type LoadOptions struct {
	// AllowUnknown makes unknown keys and types of toolsets warnings, where misspellings of known ones would be errors.
	AllowUnknown bool
}

// Load reads a document of any format from a file; one LoadOptions at most may be given. Agents that it names and does not define are those of [WithAgent], then those of the store.
//
// Errors: *[DocumentError]; the file cannot be read; the engine was opened without documents.All().
func (e *Engine) Load(ctx context.Context, path string, options ...LoadOptions) (*Workflow, error) {
	data, err := service.ReadFile(path, nil)
	if err != nil {
		return nil, err
	}
	w, err := e.parse(ctx, path, filepath.Dir(path), data, options)
	if err == nil {
		w.place = service.PlaceOf(path)
	}
	return w, err
}

// Parse is [Engine.Load] for a document that was read already; name is in its diagnostics.
func (e *Engine) Parse(name string, data []byte, options ...LoadOptions) (*Workflow, error) {
	return e.parse(context.Background(), name, "", data, options)
}

// parse reads a document in a folder; "": in none.
func (e *Engine) parse(ctx context.Context, name, folder string, data []byte, options []LoadOptions) (*Workflow, error) {
	o, err := atMostOne(options, "LoadOptions")
	if err != nil {
		return nil, err
	}
	w, problems, err := e.service.Load(ctx, name, data, service.LoadOptions{AllowUnknown: o.AllowUnknown, Folder: folder})
	switch {
	case err != nil:
		return nil, known(err)
	case problems.HasErrors():
		return nil, &DocumentError{problems}
	}
	if w.Name == "" {
		w.Name = strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	}
	return &Workflow{definition: w, problems: problems}, nil
}

// StartOptions say how a document is run. The zero value is good.
type StartOptions struct {
	// Input is the prompt; "" is the document's own.
	Input string
	// ID is the run's; it must be new unless Attach is set. "" makes one.
	ID string
	// Attach takes the run of that ID where there is one, as [RunOptions].Attach does. Its document must be the same, else the error is [ErrConflict]; the other options are not looked at then.
	Attach bool
	// Branch is a branch of a rounds document; "" is the main graph.
	Branch string
	// Model overrides the model of every agent.
	Model string
	// Replies answers the model calls of the run from a reply script, without any provider: see [Replies]. Nil: models answer.
	Replies []byte
	// Limits win over the document's where they are set.
	Limits Limits
	// Labels are those of the run, over those of the document, by which [Engine.List] finds it: at most 32, and beside them 8 whose keys begin with hocket/. Runs that it starts have them too.
	Labels map[string]string
	// Trust allows the commands that the document names, what it wants sent to servers, and that it keeps a memory over runs (SEC5).
	Trust bool
}

// Replies makes a reply script that answers model calls with these texts, one after another, for any agent. A call beyond them fails with the code no_reply.
// docs/testing.md describes the YAML form of such a script.
func Replies(texts ...string) []byte {
	type reply struct {
		Text string `json:"text"`
	}
	script := struct {
		Replies []reply `json:"replies"`
	}{[]reply{}}
	for _, t := range texts {
		script.Replies = append(script.Replies, reply{t})
	}
	raw, err := json.Marshal(script)
	if err != nil { // texts always encode
		return nil
	}
	return raw
}

// startOptions gives the options of a run, where there is a workflow to run.
func startOptions(w *Workflow, options []StartOptions) (StartOptions, error) {
	if w == nil || w.definition == nil {
		return StartOptions{}, errors.New("the workflow is nil; see the error of Load")
	}
	o, err := atMostOne(options, "StartOptions")
	if err == nil && o.Attach && o.ID == "" {
		err = errors.New("StartOptions.Attach needs an ID")
	}
	return o, err
}

// Start begins a run of a document and returns when it is stored; one StartOptions at most may be given. The run goes on until it ends or waits, whatever becomes
// of ctx.
//
// Errors, with nothing stored: *[DocumentError] for the reply script; a model has no provider or no key; an untrusted command; [ErrExists];
// [ErrClosed].
func (e *Engine) Start(ctx context.Context, w *Workflow, options ...StartOptions) (run string, err error) {
	o, err := startOptions(w, options)
	if err != nil {
		return "", err
	}
	o.ID = cmp.Or(o.ID, service.NewRunID())
	by := callerOf(ctx)
	begun, err := e.startOrAttach(ctx, ctx, by, w, o)
	if begun && by.Info() != nil {
		go e.report(ctx, by, o.ID)
	}
	if err != nil {
		return "", err
	}
	return o.ID, nil
}

// startOrAttach begins a run, or takes the one that exists where the options say so; begun is false then. It waits for a budget and for other runs of its key under ctx, and stores the run under whole.
func (e *Engine) startOrAttach(ctx, whole context.Context, by driver.Caller, w *Workflow, o StartOptions) (begun bool, err error) {
	return attaching(ctx, o.Attach, func() (bool, error) {
		if o.Attach {
			if there, err := e.attachDocument(whole, w, o); there || err != nil {
				return false, err
			}
		}
		above, err := e.begin(ctx, by, o.ID)
		if err != nil {
			return false, err
		}
		_, err = e.start(whole, ctx.Done(), by, w, o, above)
		return err == nil, abandoned(ctx, err)
	})
}

func (e *Engine) start(ctx context.Context, left <-chan struct{}, by driver.Ledger, w *Workflow, o StartOptions, above *workflow.Budget) (run string, err error) {
	run, err = e.service.Start(ctx, service.StartRequest{
		Trigger: service.TriggerProgram, Caller: callingRun(ctx), Abandoned: left,
		Workflow: w.definition, Place: w.place, Branch: o.Branch, Input: o.Input, RunID: o.ID, Model: o.Model, Limits: o.Limits.lowered(), Trust: o.Trust, Above: above, Labels: o.Labels,
		Files: service.Files{RepliesFile: "replies", Replies: o.Replies},
	})
	if err != nil {
		e.unbegun(by, o.ID)
	}
	var invalid *service.InvalidError
	if errors.As(err, &invalid) && invalid.Diagnostics.HasErrors() {
		return "", &DocumentError{invalid.Diagnostics}
	}
	return run, known(err)
}

// Run runs a document until it has ended or waits for a person, and gives the run. A run that failed is no error: see [RunInfo].Status.
//
// Where ctx is done the run is interrupted, and [Engine.Resume] goes on with it; in memory it is cancelled. Errors: those of [Engine.Start];
// *[InterruptedError], with the run as far as it came.
func (e *Engine) Run(ctx context.Context, w *Workflow, options ...StartOptions) (*RunInfo, error) {
	o, err := startOptions(w, options)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil && e.durable {
		return nil, context.Cause(ctx)
	}
	o.ID = cmp.Or(o.ID, service.NewRunID())
	if ctx.Err() != nil { // an aborted run executes nothing (S2-36)
		return stillbornRun(w, o), nil
	}
	by := callerOf(ctx)
	defer e.service.Hold(o.ID)()
	// Under ctx it would not be known whether the run has begun.
	begun, err := e.startOrAttach(ctx, context.WithoutCancel(ctx), by, w, o)
	if err != nil {
		return nil, err
	}
	if begun {
		defer e.tell(ctx, by, o.ID)
	}
	return e.Wait(ctx, o.ID, WaitOptions{UntilPaused: true})
}

// stillbornRun is the run of a document that was cancelled before it started. Nothing of it is stored.
func stillbornRun(w *Workflow, o StartOptions) *RunInfo {
	name, format, now := w.Name(), w.Format(), time.Now().UTC()
	r := project.Run{
		ID: o.ID, Status: engine.StatusCancelled, Workflow: project.WorkflowRef{Name: &name, Format: &format},
		Outputs: map[string]engine.Value{}, Waiting: []project.Waiting{}, Steps: []project.Step{}, EndedAt: &now,
		Error: &project.Error{Code: engine.CodeCancelled, Message: "cancelled before it started"},
	}
	if raw, err := json.Marshal(o.Input); err == nil {
		r.Input = raw
	}
	if o.Branch != "" {
		r.Workflow.Branch = &o.Branch
	}
	return runInfo(r)
}

// WaitOptions say until when [Engine.Wait] waits. The zero value is good.
type WaitOptions struct {
	// UntilPaused: it returns also when the run waits for an answer or a signal.
	UntilPaused bool
}

// Wait follows a run until it has ended, over all pauses unless WaitOptions.UntilPaused is set, and gives it. One WaitOptions at most may be given. Where ctx is done
// while the run is paused, the run stays as it is and is given with ctx's error; otherwise Wait then does with the run what [Engine.Run] does. Errors: those, [ErrNotFound];
// *[InterruptedError].
func (e *Engine) Wait(ctx context.Context, run string, options ...WaitOptions) (*RunInfo, error) {
	o, err := atMostOne(options, "WaitOptions")
	if err != nil {
		return nil, err
	}
	f := follow(ctx, e, nil, run)
	defer f.release()
	defer f.done()
	st, err := e.service.WaitUntil(ctx, run, func(st driver.State) bool { return st.Interrupted || o.UntilPaused && st.Status == engine.StatusPaused })
	switch {
	case ctx.Err() != nil:
		if rests, err := e.rests(context.WithoutCancel(ctx), run); err != nil {
			return nil, f.closed(err)
		} else if rests {
			break
		}
		if err := f.leave(ctx); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, f.closed(known(err))
	}
	info, err := e.Get(context.WithoutCancel(ctx), run)
	switch {
	case err != nil:
		return nil, f.closed(err)
	case info.Status.isActive() && ctx.Err() != nil:
		return info, &InterruptedError{Run: run, Cause: context.Cause(ctx)}
	case info.Status.isActive() && st.Interrupted:
		return info, &InterruptedError{Run: run, Cause: e.leftBy()}
	case info.Status == StatusPaused && ctx.Err() != nil && !o.UntilPaused:
		return info, context.Cause(ctx)
	}
	return info, nil
}

// rests tells whether a run is paused.
func (e *Engine) rests(ctx context.Context, run string) (bool, error) {
	return e.restsAt(ctx, run, math.MaxUint64)
}

// Filter says which runs [Engine.List] gives; the zero value is all of them. Conditions are joined by and.
type Filter struct {
	// Statuses: any of these; empty: any.
	Statuses []Status
	// Workflow is the id or the name of what runs, Parent the run that started them; "": any.
	Workflow, Parent string
	// Labels are selectors of labels: key=value, key!=value, key, !key. Search are words, "phrases" and beginnings* of words that input, output and error of a run have together.
	Labels []string
	Search string
	// Format, Branch and Code, that of the failure, are exact; "": any.
	Format, Branch, Code string
	// MinCostUSD and MaxCostUSD bound the known cost, both included; nil: no bound.
	MinCostUSD, MaxCostUSD *float64
	// Interrupted: only runs that could go on and that no process drives.
	Interrupted bool
	// After and Before bound the time at which they began: After is included, Before is not. Zero: no bound.
	After, Before time.Time
	// Limit is the size of a page; 0 is 50, at most 1,000. Cursor is that of the page before.
	Limit  int
	Cursor string
}
