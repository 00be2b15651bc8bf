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
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// Workflow is a parsed document that can run. It is immutable and safe for concurrent use.
type Workflow struct {
	definition *workflow.Workflow
	problems   diag.List
	place      string // folder of its file; "" if it was not read from a file

	allowUnknown bool // LoadOptions.AllowUnknown
}

// Name returns the name of the workflow, or that of its file if the document has none.
func (w *Workflow) Name() string { return w.definition.Name }

// Format returns the name of the document's format, as in the flag --format.
func (w *Workflow) Format() string { return w.definition.Format }

// Diagnostics returns the warnings of the document with their positions. The caller owns the slice.
func (w *Workflow) Diagnostics() diag.List { return append(diag.List(nil), w.problems...) }

// Definition returns the graph that runs. It must not be modified.
func (w *Workflow) Definition() *workflow.Workflow { return w.definition }

// DocumentError is returned if a document cannot run. Diagnostics holds everything that was found,
// including warnings.
type DocumentError struct{ Diagnostics diag.List }

func (e *DocumentError) Error() string { return e.Diagnostics.Error() }

// Unwrap returns the list of diagnostics.
func (e *DocumentError) Unwrap() error { return e.Diagnostics }

// LoadOptions specifies how a document is read. The zero value is ready to use.
type LoadOptions struct {
	// AllowUnknown turns the errors for unknown keys and toolset types, and for permissions that
	// name no tool, into warnings, except for misspellings of known keys and types, which remain
	// errors.
	AllowUnknown bool
}

// Load reads a document of any format from a file; at most one LoadOptions may be passed. Agents
// that the document names but does not define are looked up among those of [WithAgent], then among
// those of the store.
//
// Load returns a *[DocumentError], or an error if the file cannot be read or the engine was opened
// without documents.All().
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

// Parse is like [Engine.Load] for a document that has already been read; name appears in its
// diagnostics.
func (e *Engine) Parse(name string, data []byte, options ...LoadOptions) (*Workflow, error) {
	return e.parse(context.Background(), name, "", data, options)
}

// parse parses a document in a folder; "" means no folder.
func (e *Engine) parse(ctx context.Context, name, folder string, data []byte, options []LoadOptions) (
	*Workflow, error) {
	o, err := atMostOne(options, "LoadOptions")
	if err != nil {
		return nil, err
	}
	w, problems, err := e.service.Load(ctx, name, data, service.LoadOptions{AllowUnknown: o.AllowUnknown,
		Folder: folder})
	switch {
	case err != nil:
		return nil, known(err)
	case problems.HasErrors():
		return nil, &DocumentError{problems}
	}
	if w.Name == "" {
		w.Name = strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	}
	return &Workflow{definition: w, problems: problems, allowUnknown: o.AllowUnknown}, nil
}

// StartOptions specifies how a document is run. The zero value is ready to use.
type StartOptions struct {
	// Input is the prompt; "" means the document's own.
	Input string
	// ID is the run's id; it must be new unless Attach is set. If "", an id is generated.
	ID string
	// Attach attaches to the run with that ID if there is one, as [RunOptions].Attach does. Its
	// document must be the same, or else the error is [ErrConflict]; the other options are then
	// ignored.
	Attach bool
	// Branch is a branch of a rounds document; "" means the main graph.
	Branch string
	// Model overrides the model of every agent.
	Model string
	// Replies is a reply script that answers the model calls of the run without any provider: see
	// [Replies]. If nil, the models answer.
	Replies []byte
	// Limits overrides the document's limits where set.
	Limits Limits
	// Labels are the labels of the run, by which [Engine.List] finds it; they take precedence over
	// those of the document. There may be at most 32, plus 8 whose keys start with hocket/. Child
	// runs inherit them.
	Labels map[string]string
	// Trust allows the commands that the document names, what it sends to servers, and its memory
	// across runs.
	Trust bool
}

// Replies returns a reply script that answers model calls with texts, in order, for any agent.
// Further calls fail with the code no_reply. docs/testing.md describes the YAML form of such a
// script.
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
	if err != nil { // strings always encode
		return nil
	}
	return raw
}

// startOptions returns the options of a run, after checking that there is a workflow to run.
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

// Start starts a run of a document and returns once it is stored; at most one StartOptions may be
// passed. The run continues until it ends or waits, even if ctx is done.
//
// Errors, with nothing stored: a *[DocumentError] for the reply script; a model has no provider or
// API key; an untrusted command; [ErrExists]; [ErrClosed].
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

// startOrAttach starts a run, or attaches to the existing one if the options say so; begun is false
// in that case. It waits for a budget and for other runs with its key under ctx, and stores the run
// under whole.
func (e *Engine) startOrAttach(ctx, whole context.Context, by driver.Caller, w *Workflow, o StartOptions) (
	begun bool, err error) {
	return attaching(ctx, o.Attach, func() (bool, error) {
		if o.Attach {
			if there, err := e.attachDocument(whole, w, o); there || err != nil {
				return false, err
			}
		}
		above, err := e.reserveBudget(ctx, by, o.ID)
		if err != nil {
			return false, err
		}
		_, err = e.start(whole, ctx.Done(), by, w, o, above)
		return err == nil, startError(ctx, err)
	})
}

func (e *Engine) start(ctx context.Context, left <-chan struct{}, by driver.Ledger, w *Workflow, o StartOptions,
	above *workflow.Budget) (run string, err error) {
	run, err = e.service.Start(ctx, service.StartRequest{
		Trigger: service.TriggerProgram, Caller: callingRun(ctx), Abandoned: left,
		Workflow: w.definition, Place: w.place, Branch: o.Branch, Input: o.Input, RunID: o.ID, Model: o.Model,
		Limits: o.Limits.workflowLimits(), Trust: o.Trust, Above: above, Labels: o.Labels,
		Files: service.Files{RepliesFile: "replies", Replies: o.Replies, AllowUnknown: w.allowUnknown},
	})
	if err != nil {
		e.cancelReservation(by, o.ID)
	}
	var invalid *service.InvalidError
	if errors.As(err, &invalid) && invalid.Diagnostics.HasErrors() {
		return "", &DocumentError{invalid.Diagnostics}
	}
	return run, known(err)
}

// Run runs a document until it has ended or waits for a person, and returns the run. A failed run
// is not an error: see [RunInfo].Status.
//
// If ctx is done the run is interrupted and can be continued with [Engine.Resume]; a run in memory
// is cancelled. Errors: those of [Engine.Start]; *[InterruptedError], with the run as far as it
// got.
func (e *Engine) Run(ctx context.Context, w *Workflow, options ...StartOptions) (*RunInfo, error) {
	o, err := startOptions(w, options)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil && e.durable {
		return nil, context.Cause(ctx)
	}
	o.ID = cmp.Or(o.ID, service.NewRunID())
	if ctx.Err() != nil { // an aborted run executes nothing
		return cancelledRunBeforeStart(w, o), nil
	}
	by := callerOf(ctx)
	defer e.service.Hold(o.ID)()
	// With ctx itself, a cancellation would leave it unknown whether the run has started.
	begun, err := e.startOrAttach(ctx, context.WithoutCancel(ctx), by, w, o)
	if err != nil {
		return nil, err
	}
	if begun {
		defer e.reportUsage(ctx, by, o.ID)
	}
	return e.Wait(ctx, o.ID, WaitOptions{UntilPaused: true})
}

// cancelledRunBeforeStart returns the run of a document that was cancelled before it started. None
// of it is stored.
func cancelledRunBeforeStart(w *Workflow, o StartOptions) *RunInfo {
	name, format, now := w.Name(), w.Format(), time.Now().UTC()
	r := project.Run{
		ID: o.ID, Status: event.StatusCancelled, Workflow: project.WorkflowRef{Name: &name, Format: &format},
		Outputs: map[string]event.Value{}, Waiting: []project.Waiting{}, Steps: []project.Step{}, EndedAt: &now,
		Error: &project.Error{Code: event.CodeCancelled, Message: "cancelled before it started"},
	}
	if raw, err := json.Marshal(o.Input); err == nil {
		r.Input = raw
	}
	if o.Branch != "" {
		r.Workflow.Branch = &o.Branch
	}
	return runInfo(r)
}

// WaitOptions specifies how long [Engine.Wait] waits. The zero value is ready to use.
type WaitOptions struct {
	// UntilPaused makes Wait also return when the run waits for an answer or a signal.
	UntilPaused bool
}

// Wait follows a run until it has ended, across all pauses unless WaitOptions.UntilPaused is set,
// and returns it. At most one WaitOptions may be passed. If ctx is done while the run is paused,
// the run is unchanged and is returned along with ctx's error; otherwise Wait treats the run as
// [Engine.Run] does. Errors: those of Run, [ErrNotFound], *[InterruptedError].
func (e *Engine) Wait(ctx context.Context, run string, options ...WaitOptions) (*RunInfo, error) {
	o, err := atMostOne(options, "WaitOptions")
	if err != nil {
		return nil, err
	}
	f := follow(ctx, e, nil, run)
	defer f.release()
	defer f.done()
	st, err := e.service.WaitUntil(ctx, run, func(st driver.State) bool {
		return st.Interrupted || o.UntilPaused && st.Status == event.StatusPaused
	})
	switch {
	case ctx.Err() != nil:
		if rests, err := e.isPaused(context.WithoutCancel(ctx), run); err != nil {
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
		return info, &InterruptedError{Run: run, Cause: e.interruptCause()}
	case info.Status == StatusPaused && ctx.Err() != nil && !o.UntilPaused:
		return info, context.Cause(ctx)
	}
	return info, nil
}

// isPaused reports whether a run is paused.
func (e *Engine) isPaused(ctx context.Context, run string) (bool, error) {
	return e.isPausedAt(ctx, run, math.MaxUint64)
}

// Filter selects the runs that [Engine.List] returns; the zero value selects all of them. A run
// must satisfy all conditions.
type Filter struct {
	// Statuses selects runs with any of these statuses; if empty, any status matches.
	Statuses []Status
	// Workflow is the id or name of the workflow, Parent the id of the parent run; "" matches any.
	Workflow, Parent string
	// Labels holds label selectors: key=value, key!=value, key, !key. Search holds words, "phrases"
	// and prefixes* that must all occur in the input, output and error of a run taken together.
	Labels []string
	Search string
	// Format, Branch and Code (the failure code) must match exactly; "" matches any.
	Format, Branch, Code string
	// MinCostUSD and MaxCostUSD are inclusive limits on the known cost; nil means no limit.
	MinCostUSD, MaxCostUSD *float64
	// Interrupted selects only runs that could continue and that no process drives.
	Interrupted bool
	// After and Before limit the start time: After is inclusive, Before exclusive. The zero time
	// means no limit.
	After, Before time.Time
	// Limit is the page size; 0 means 50, and the maximum is 1,000. Cursor is the cursor returned
	// with the previous page.
	Limit  int
	Cursor string
}
