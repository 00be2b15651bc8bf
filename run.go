package hocket

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"reflect"
	"time"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/api/runsapi"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// Answer answers a question of a waiting run.
type Answer struct {
	// Wait is the ID of the question, and Node the node that asks; both may be empty if exactly one
	// question is open.
	Wait, Node string
	// Value is any value that JSON can represent; for an approval it is "approve" or "reject".
	Value any
	// Arguments, if not nil, replaces the arguments of the held tool call that Value approves; it
	// is any value that encodes as a JSON object. The call must be one whose arguments people may
	// change ([Permissions].Edit), and the arguments must conform to the tool's parameters;
	// otherwise the error is [ErrAnswer].
	Arguments any
	// Note is a comment on a decision.
	Note string
}

// Run runs a graph from a state until it has ended or waits for a person.
//
// The error says that the run could not be executed, or was abandoned: the Result is then nil or,
// with an *[InterruptedError], shows how far the run came. How the run ended is in the Result: a
// failure of a node is Result.Err and not an error of Run.
//
// If ctx is done, the contexts of the functions that are running are cancelled, what they still
// return is recorded, and the run is interrupted: [Resume] continues it. With an in-memory store it
// is cancelled instead, which is not an error but a Result.Status. A run that others in this
// process wait for, through Resume or Wait, continues without this call.
//
// Run returns *[InterruptedError], [ErrExists], [ErrConcurrency], [ErrClosed], or the error of ctx
// if it was done before the run began, except with an in-memory store.
func Run[S any](ctx context.Context, e *Engine, g *graph.Compiled[S], state S, options ...RunOption) (
	*Result[S], error) {
	f, err := start(ctx, e, g, state, options, true)
	if err != nil {
		return nil, err
	}
	defer f.release()
	r, err := settle(ctx, g, f)
	f.reportUsage(ctx)
	return r, err
}

// Stream is like [Run] but yields each step when it settles. The run continues in the meantime, so
// a slow consumer does not hold it up. The last step is the one whose Status is not
// [StatusRunning]; an error, one of those of Run, is the last item.
//
// Breaking out of the loop interrupts the run as a done ctx does: [Resume] continues it. With an
// in-memory store it is cancelled.
func Stream[S any](ctx context.Context, e *Engine, g *graph.Compiled[S], state S,
	options ...RunOption) iter.Seq2[Step[S], error] {
	return func(yield func(Step[S], error) bool) {
		f, err := start(ctx, e, g, state, options, false)
		if err != nil {
			yield(Step[S]{}, err)
			return
		}
		defer f.release()
		defer f.reportUsage(ctx)
		stream(ctx, g, f, yield)
	}
}

// Resume continues a run: with an answer, a run that waits; without one, a run that was
// interrupted. It returns like [Run]. Of the RunOptions it uses those that observe the run, Limits
// for a run that exceeded its budget, and Answer.
//
// Nodes that have ended do not run again; nodes that were in progress when the run was interrupted
// do, with the same [graph.Context].Key.
//
// Resume returns the errors of Run, and [ErrNotFound]; *[VersionError] if the run belongs to
// another version of the graph; [ErrAnswer]; [ErrPaused]; [ErrEnded]; [ErrBusy]. With these errors
// the run is unchanged.
func Resume[S any](ctx context.Context, e *Engine, g *graph.Compiled[S], run string, options ...RunOption) (
	*Result[S], error) {
	f, err := resume(ctx, e, g, run, options)
	if err != nil {
		return nil, err
	}
	defer f.release()
	return settle(ctx, g, f)
}

// ResumeStream is like [Resume] but yields the steps that settle from then on, as [Stream] does.
func ResumeStream[S any](ctx context.Context, e *Engine, g *graph.Compiled[S], run string,
	options ...RunOption) iter.Seq2[Step[S], error] {
	return func(yield func(Step[S], error) bool) {
		f, err := resume(ctx, e, g, run, options)
		if err != nil {
			yield(Step[S]{}, err)
			return
		}
		defer f.release()
		stream(ctx, g, f, yield)
	}
}

// start starts a run, or follows it if it exists and the options allow that. toEnd means that it is
// only followed to its end, by settle, which then reports whether it could be stored.
func start[S any](ctx context.Context, e *Engine, g *graph.Compiled[S], state S, options []RunOption, toEnd bool) (
	*following, error) {
	o, err := checkedOptions[S](options)
	if err != nil {
		return nil, err
	}
	return attaching(ctx, o.Attach, func() (*following, error) {
		return startOnce(ctx, e, g, state, o, toEnd && !o.Attach)
	})
}

func startOnce[S any](ctx context.Context, e *Engine, g *graph.Compiled[S], state S, o RunOptions, toEnd bool) (
	*following, error) {
	b, err := bind(e, g)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil && e.durable {
		return nil, context.Cause(ctx)
	}
	if o.ResumeFrom != nil {
		run, err := adopt(ctx, e, b, o)
		if err != nil {
			return nil, err
		}
		return resumed(ctx, e, g, run, o)
	}
	if o.Answer != nil {
		return nil,
			errors.New("a run that begins has no question to answer; call Resume, or give RunOptions.ResumeFrom")
	}
	if o.Attach {
		if f, err := attach(ctx, e, g, b, o); f != nil || err != nil {
			return f, err
		}
	}
	input, err := encode(state, o.Model, o.Outputs)
	if err != nil {
		return nil, err
	}
	run := o.ID
	if run == "" {
		run = service.NewRunID()
	}
	if ctx.Err() != nil { // an aborted run executes nothing
		//nolint:nilerr // its result says so
		return &following{e: e, b: b, run: run, by: callerOf(ctx), cancelledBeforeStart: input, release: func() {}},
			nil
	}
	q := service.GraphRequest{
		Graph: b.Graph, Input: input, RunID: run, Made: o.ID == "", Model: o.Model,
		Limits: budgetOf(o.Limits).workflowLimits(), Concurrency: o.Concurrency.bound(), Labels: o.Labels,
		Caller: callingRun(ctx), Abandoned: ctx.Done(),
	}
	q.Limits.MaxSteps = stepsOf(o.MaxSteps)
	if q.Above, err = e.reserveBudget(ctx, callerOf(ctx), run); err != nil {
		return nil, err
	}
	f := follow(ctx, e, b, run)
	f.model, f.observer = g.Running().Model, observe(ctx, e, g, run, 0, o)
	// Under ctx it would be unknown whether the run has begun.
	whole := context.WithoutCancel(ctx)
	if toEnd && f.observer == nil && q.Concurrency == nil {
		f.folder = project.NewGraphObserver(b.plan)
		q.Observe, q.Ended = f.folder.Observe, func(end *driver.LineEnd) { f.line = end }
		f.launched, err = e.service.LaunchGraph(whole, q)
	} else {
		_, err = e.service.StartGraph(whole, q)
	}
	if err != nil {
		return nil, f.markNotStored(startError(ctx, err))
	}
	return f, nil
}

// checkedOptions combines the options of a call and checks what can be checked without the run.
func checkedOptions[S any](list []RunOption) (RunOptions, error) {
	o, err := optionsOf(list)
	if err != nil {
		return o, err
	}
	if n := o.MaxSteps; n < 0 && n != graph.Zero {
		return o, fmt.Errorf("MaxSteps is %d; it must not be negative", n)
	}
	if _, ok := o.OnProgress.fn.(func(Progress[S])); !ok && o.OnProgress.fn != nil {
		return o, fmt.Errorf("RunOptions.OnProgress is a %T; the state of the graph is %s", o.OnProgress.fn,
			reflect.TypeFor[S]())
	}
	if err := workflow.CheckLimits(budgetOf(o.Limits).workflowLimits()); err != nil {
		return o, fmt.Errorf("RunOptions.Limits: %w", err)
	}
	if err := o.Concurrency.check(); err != nil {
		return o, fmt.Errorf("RunOptions.Concurrency: %w", err)
	}
	if o.ResumeFrom != nil && o.ResumeFrom.source().ExecutionID == "" {
		return o, errors.New("RunOptions.ResumeFrom is no snapshot of a run")
	}
	switch {
	case o.Attach && o.ID == "":
		return o, errors.New("RunOptions.Attach needs an ID")
	case o.Attach && (o.ResumeFrom != nil || o.Answer != nil):
		return o, errors.New("RunOptions.Attach is without ResumeFrom and Answer; call Resume to answer")
	}
	return o, nil
}

// stepsOf converts a step limit to the representation of workflows; it returns nil if there is no
// limit.
func stepsOf(n int) *int {
	switch n {
	case 0:
		return nil
	case graph.Zero:
		return new(int)
	}
	return &n
}

// resume continues a run with the options of a call.
func resume[S any](ctx context.Context, e *Engine, g *graph.Compiled[S], run string, options []RunOption) (
	*following, error) {
	o, err := checkedOptions[S](options)
	switch {
	case err != nil:
		return nil, err
	case o.ResumeFrom != nil:
		return nil, errors.New("Resume continues a run that the engine has; give RunOptions.ResumeFrom to Run")
	case o.Attach:
		return nil, errors.New("Resume continues a run that the engine has; give RunOptions.Attach to Run")
	case o.ID != "" && o.ID != run:
		return nil, fmt.Errorf("resume run %s: the id of a run cannot be changed to %s", run, o.ID)
	}
	return resumed(ctx, e, g, run, o)
}

// resumed continues a run.
func resumed[S any](ctx context.Context, e *Engine, g *graph.Compiled[S], run string, o RunOptions) (
	*following, error) {
	b, err := bind(e, g)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	last, err := e.check(ctx, b, run)
	if err != nil {
		return nil, err
	}
	f := follow(ctx, e, b, run)
	f.after = last
	f.model, f.observer = g.Running().Model, observe(ctx, e, g, run, last, o)
	// Under ctx it would be unknown whether the run continues.
	if err := e.answerOrResume(context.WithoutCancel(ctx), run, o.Answer, o.Limits); err != nil {
		f.done()
		f.release()
		return nil, err
	}
	return f, nil
}

// interruptCause returns the cause of an interruption that did not come from the context of the
// call.
func (e *Engine) interruptCause() error {
	if e.closing.Load() {
		return ErrClosed
	}
	return errAbandoned
}

// guarded returns a context that is cancelled with errAbandoned when no process drives the run any
// longer; otherwise a stream would wait until another process does. stop ends the polling and waits
// for it.
func (f *following) guarded(ctx context.Context) (guarded context.Context, stop func()) {
	if !f.e.durable {
		return ctx, func() {} // no other process can drive it
	}
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			st, err := f.e.service.WaitUntil(ctx, f.run, func(st driver.State) bool { return st.Interrupted })
			if st.Interrupted && !f.e.closing.Load() {
				cancel(errAbandoned)
			}
			if err == nil || st.Interrupted {
				return
			}
			select { // the store does not respond
			case <-time.After(journal.SafetyPoll):
			case <-ctx.Done():
			}
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-done
	}
}

// HandlerConfig specifies what [Handler] serves, and to whom.
type HandlerConfig struct {
	// Authorize authorizes each request, before any data of a run is read. It returns the name of
	// the requester, which is recorded with answers; if it returns an error or an empty name, the
	// request is rejected with status 403, and the error message is not disclosed. It may be called
	// by several goroutines concurrently. Required.
	Authorize func(r *http.Request, a Access) (name string, err error)
	// MaxBody is the maximum size of a request body in bytes; 0 means 1 MiB.
	MaxBody int64
}

// Access describes what a request wants to do.
type Access struct {
	// Action is `list`, `show`, `answer`, `approve` or `cancel`. A list contains only the runs that
	// may be shown: Authorize is called for each. Answering an approval, a question about a budget
	// or a question about a call of unknown outcome requires `approve` in addition to `answer`.
	Action string
	// Run is the ID of the run; "" for the list.
	Run string
}

// Handler returns a handler that serves the runs of an engine's store inside the program's own
// server: it lists and shows them, streams their events, answers their waits and cancels them. It
// can be mounted under any path:
//
//	mux.Handle("/ops/", http.StripPrefix("/ops", handler))
//
// Paths, queries and JSON are those of the HTTP API (docs/openapi.json) without /api/v1: GET /runs,
// /runs/{id}, /runs/{id}/context, /runs/{id}/events (a stream with Accept: text/event-stream),
// /runs/{id}/values/{digest}; POST /runs/{id}/resume and /runs/{id}/cancel. Requests that change a
// run must be JSON with that Content-Type, and must not come from a page of another site. Streams
// end when the engine is closed.
//
// It returns an error if e or Authorize is nil, or MaxBody is negative.
func Handler(e *Engine, cfg HandlerConfig) (http.Handler, error) {
	if e == nil {
		return nil, errors.New("the engine is nil; see the error of Open")
	}
	c := runsapi.Config{Service: e.service, MaxBody: cfg.MaxBody}
	if cfg.Authorize != nil {
		c.Authorize = func(r *http.Request, action, run string) (string, error) {
			return cfg.Authorize(r, Access{action, run})
		}
	}
	h, err := runsapi.New(c)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.served = append(e.served, h.Close)
	return h, nil
}

// endStreams ends the streams of the engine's handlers.
func (e *Engine) endStreams() {
	e.mu.Lock()
	served := e.served
	e.mu.Unlock()
	for _, end := range served {
		end()
	}
}
