package telemetry

import (
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/tracecontext"
	"github.com/hocket-run/hocket/workflow"
)

// TracerConfig configures a Tracer.
type TracerConfig struct {
	// Content puts prompts, replies, arguments, results and error texts into spans.
	Content bool
	// Workflow is the run's definition, for contents: without it the outputs of parallel blocks are
	// unknown.
	Workflow *workflow.Workflow
	// Sampled reports whether a trace is recorded; the trace started with the caller's span if
	// caller is valid. If nil, all traces are recorded.
	Sampled func(trace TraceID, caller tracecontext.SpanContext) bool
	// Emit receives spans as they end, children before their parents.
	Emit func(Span)
}

// Tracer produces the spans of one run from its events, all of them from the first on. It is pure:
// the same events produce the same spans. It is not safe for concurrent use.
type Tracer struct {
	cfg   TracerConfig
	run   string
	trace TraceID
	seq   uint64

	created event.RunCreated
	// caller is the parent span of the run; the zero value if the run starts a trace. unsampled
	// means that the trace is not recorded.
	caller    tracecontext.SpanContext
	unsampled bool
	root      *openSpan // nil if the run has ended, or has not started
	reopens   int

	steps   map[int]*stepSpan
	scopes  map[int]*stepSpan // owning steps of scopes
	calls   map[string]*callSpan
	doubt   *undecidedFailure // set if the last event is a failure
	waits   map[string]*openSpan
	content content
}

type stepSpan struct {
	*openSpan
	number int
	kind   workflow.Kind
	// spans counts the spans of each call.
	spans map[string]int
	agent *openSpan
	// subs are the spans of sub-agents by frame; missing frames belong to the step's own agent.
	subs map[int]*openSpan
}

// NewTracer returns a tracer for the run with the given ID.
func NewTracer(run string, cfg TracerConfig) *Tracer {
	return &Tracer{
		cfg: cfg, run: run, trace: TraceOf(run),
		steps: map[int]*stepSpan{}, scopes: map[int]*stepSpan{}, calls: map[string]*callSpan{},
		waits:   map[string]*openSpan{},
		content: newContent(run, cfg),
	}
}

// Seq returns the last event that was added.
func (t *Tracer) Seq() uint64 { return t.seq }

// Running reports whether the run has started and not ended.
func (t *Tracer) Running() bool { return t.root != nil }

// Add processes the next event. Events that were already added are ignored.
func (t *Tracer) Add(e event.Event) {
	if e.Seq <= t.seq {
		return
	}
	t.seq = e.Seq
	defer t.content.add(e)
	t.decide(e)
	switch d := e.Data.(type) {
	case *event.RunCreated:
		t.begin(e, d)
	case *event.RunResumed:
		t.resumed(e, d)
	case *event.RunPaused:
		t.paused(e)
	case *event.RunCompleted:
		t.end(e.At, "completed", nil, "")
	case *event.RunFailed:
		t.end(e.At, "failed", &d.Error, "")
	case *event.RunCancelled:
		t.end(e.At, "cancelled", nil, d.Reason)
	case *event.LimitReached:
		most := Attr{LimitMax, d.Max}
		if d.Limit == event.CodeTimeout { // in milliseconds
			most.Value = time.Duration(d.Max * int64(time.Millisecond)).Seconds()
		}
		t.parentSpan(e.Step).mark(Mark{"limit", e.At, []Attr{{LimitName, d.Limit}, most}})
	case *event.WaitOpened, *event.WaitAnswered, *event.WaitClosed:
		t.wait(e)
	case *event.StepStarted, *event.StepRetrying, *event.StepCompleted, *event.StepFailed, *event.StepCancelled,
		*event.StepSkipped, *event.EdgeTaken:
		t.step(e)
	default:
		t.call(e)
	}
}

func (t *Tracer) begin(e event.Event, d *event.RunCreated) {
	t.created = *d
	t.caller = tracecontext.OfMeta(d.Meta)
	t.trace = traceOf(t.run, t.caller)
	t.unsampled = t.cfg.Sampled != nil && !t.cfg.Sampled(t.trace, t.caller)
	t.openRun(e.At)
	if d.ForkedFrom != "" {
		// The run it was forked from may have joined another trace, in which case this link leads
		// nowhere; the run's ID is in an attribute.
		t.root.Links = []Link{{TraceOf(d.ForkedFrom), spanOf(d.ForkedFrom, WhatRun, 0, "", 0)}}
	}
}

func (t *Tracer) openRun(at time.Time) {
	name := t.created.Name
	if name == "" {
		name = t.created.Workflow
	}
	t.root = t.start(nil, at, WhatRun, 0, "", t.reopens, OpWorkflow, name)
	t.root.set(
		Attr{OperationName, OpWorkflow}, Attr{WorkflowLabel, name}, Attr{RunID, t.run},
		Attr{WorkflowID, t.created.Workflow}, Attr{WorkflowName, name},
		Attr{Digest, t.created.Digest}, Attr{Format, t.created.Format}, Attr{ForkedFrom, t.created.ForkedFrom},
	)
}

// resumed continues a run. A run that had ended gets a second span, because the first has been sent
// already.
func (t *Tracer) resumed(e event.Event, d *event.RunResumed) {
	if t.root == nil {
		first := spanOf(t.run, WhatRun, 0, "", t.reopens)
		t.reopens++
		t.openRun(e.At)
		t.root.Links = []Link{{t.trace, first}}
		t.renew(e.At)
	}
	t.root.link(d.Trace)
	t.root.mark(Mark{"run.resumed", e.At, []Attr{{Reason, d.Reason}}})
}

// paused leaves a mark in the trace, which shows why there are no spans while the run waits.
func (t *Tracer) paused(e event.Event) {
	if t.root == nil {
		return
	}
	t.root.mark(Mark{"run.paused", e.At, nil})
	m := t.start(t.root, e.At, WhatPause, 0, "", int(e.Seq), "run paused", "")
	m.set(Attr{RunID, t.run})
	t.finish(m, e.At)
}

// end ends the span of the run and all spans that are still open. None should be: those that are
// were cut off.
func (t *Tracer) end(at time.Time, status string, f *event.Failure, reason string) {
	root := t.root
	if root == nil {
		return
	}
	root.set(Attr{Status, status})
	t.fail(root, f)
	if t.cfg.Content {
		root.set(Attr{Reason, reason})
	}
	t.root = nil
	t.cut(at)
	t.finish(root, at)
}

// start opens a span. A one-word name is used alone.
func (t *Tracer) start(parent *openSpan, at time.Time, what What, step int, key string, n int, op,
	name string) *openSpan {
	o := &openSpan{parent: parent, Span: Span{
		What: what, Run: t.run, Trace: t.trace, ID: spanOf(t.run, what, step, key, n), Name: op, Kind: KindInternal,
		Start: at,
		State: t.caller.TraceState().String(), Unsampled: t.unsampled,
	}}
	if name != "" {
		o.Name += " " + name
	}
	if parent != nil {
		o.Parent = parent.ID
		parent.kids++
	} else {
		o.Parent, o.Remote = SpanID(t.caller.SpanID()), t.caller.IsValid()
	}
	return o
}

// finish ends a span at the given time, but not before its children have ended.
func (t *Tracer) finish(o *openSpan, at time.Time) {
	if o.ended {
		return
	}
	o.ended, o.End = true, later(o.End, at)
	t.emit(o)
}

// emit emits a span once it and its children have ended, and then every parent for which that was
// the last one missing.
func (t *Tracer) emit(o *openSpan) {
	for o != nil && o.ended && o.kids == 0 {
		t.cfg.Emit(o.Span)
		p := o.parent
		if p == nil {
			return
		}
		p.kids--
		p.End = later(p.End, o.End)
		o.parent = nil
		o = p
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// fail marks a span as failed; the text may contain output of models and tools.
func (t *Tracer) fail(o *openSpan, f *event.Failure) {
	if f == nil {
		return
	}
	o.Failed = true
	o.set(Attr{ErrorType, f.Code})
	if t.cfg.Content {
		o.Message = f.Message
	}
}

// parentSpan returns the span of a step, or the run's.
func (t *Tracer) parentSpan(step int) *openSpan {
	if st := t.steps[step]; st != nil {
		return st.openSpan
	}
	if t.root == nil {
		return &openSpan{} // the run has ended: later spans have no parent
	}
	return t.root
}
