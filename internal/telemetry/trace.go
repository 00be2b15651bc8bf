package telemetry

import (
	"time"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/tracecontext"
	"github.com/hocket-run/hocket/workflow"
)

// TracerConfig is what a Tracer is made of.
type TracerConfig struct {
	// Content lets prompts, replies, arguments, results and texts of errors into spans.
	Content bool
	// Workflow is the run's definition, for contents: without it what parallel blocks gave is not known.
	Workflow *workflow.Workflow
	// Sampled tells whether a trace is recorded, which began with the caller's span where caller is valid; nil: it is.
	Sampled func(trace TraceID, caller tracecontext.SpanContext) bool
	// Emit takes spans as they end, children before their parents.
	Emit func(Span)
}

// Tracer makes the spans of one run of its events, all of them from the first on. It is pure: the same events give the same spans. Not safe for concurrent use.
type Tracer struct {
	cfg   TracerConfig
	run   string
	trace TraceID
	seq   uint64

	created engine.RunCreated
	// caller is the span below which the run is; the zero value where it begins a trace. unsampled: the trace is not recorded.
	caller    tracecontext.SpanContext
	unsampled bool
	root      *open // nil while the run has ended, or not begun
	reopens   int

	steps   map[int]*stepSpan
	scopes  map[int]*stepSpan // owners of scopes
	calls   map[string]*callSpan
	doubt   *doubt // of the last event
	waits   map[string]*open
	content content
}

type stepSpan struct {
	*open
	number int
	kind   workflow.Kind
	// spans counts the spans of each call.
	spans map[string]int
	agent *open
	// subs are the spans of sub-agents by frame; frames that are not there are the step's own agent.
	subs map[int]*open
}

// NewTracer makes a tracer for the run with that id.
func NewTracer(run string, cfg TracerConfig) *Tracer {
	return &Tracer{
		cfg: cfg, run: run, trace: TraceOf(run),
		steps: map[int]*stepSpan{}, scopes: map[int]*stepSpan{}, calls: map[string]*callSpan{}, waits: map[string]*open{},
		content: newContent(run, cfg),
	}
}

// Seq is the last event that was added.
func (t *Tracer) Seq() uint64 { return t.seq }

// Running tells whether the run has begun and not ended.
func (t *Tracer) Running() bool { return t.root != nil }

// Add takes the next event. Events before it, which it has, are left out.
func (t *Tracer) Add(e engine.Event) {
	if e.Seq <= t.seq {
		return
	}
	t.seq = e.Seq
	defer t.content.add(e)
	t.decide(e)
	switch d := e.Data.(type) {
	case *engine.RunCreated:
		t.begin(e, d)
	case *engine.RunResumed:
		t.resumed(e, d)
	case *engine.RunPaused:
		t.paused(e)
	case *engine.RunCompleted:
		t.end(e.At, "completed", nil, "")
	case *engine.RunFailed:
		t.end(e.At, "failed", &d.Error, "")
	case *engine.RunCancelled:
		t.end(e.At, "cancelled", nil, d.Reason)
	case *engine.LimitReached:
		most := Attr{LimitMax, d.Max}
		if d.Limit == engine.CodeTimeout { // in milliseconds
			most.Value = time.Duration(d.Max * int64(time.Millisecond)).Seconds()
		}
		t.holder(e.Step).mark(Mark{"limit", e.At, []Attr{{LimitName, d.Limit}, most}})
	case *engine.WaitOpened, *engine.WaitAnswered, *engine.WaitClosed:
		t.wait(e)
	case *engine.StepStarted, *engine.StepRetrying, *engine.StepCompleted, *engine.StepFailed, *engine.StepCancelled, *engine.StepSkipped, *engine.EdgeTaken:
		t.step(e)
	default:
		t.call(e)
	}
}

func (t *Tracer) begin(e engine.Event, d *engine.RunCreated) {
	t.created = *d
	t.caller = tracecontext.OfMeta(d.Meta)
	t.trace = traceOf(t.run, t.caller)
	t.unsampled = t.cfg.Sampled != nil && !t.cfg.Sampled(t.trace, t.caller)
	t.openRun(e.At)
	if d.ForkedFrom != "" {
		// What it was forked from may have joined another trace, where this link then leads nowhere; the id is beside it.
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
		Attr{OperationName, OpWorkflow}, Attr{WorkflowLabel, name}, Attr{RunID, t.run}, Attr{WorkflowID, t.created.Workflow}, Attr{WorkflowName, name},
		Attr{Digest, t.created.Digest}, Attr{Format, t.created.Format}, Attr{ForkedFrom, t.created.ForkedFrom},
	)
}

// resumed goes on with a run. One that had ended gets a second span beside the first, which is sent already.
func (t *Tracer) resumed(e engine.Event, d *engine.RunResumed) {
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

// paused leaves a mark in the trace, so that a reader sees why nothing comes while the run waits.
func (t *Tracer) paused(e engine.Event) {
	if t.root == nil {
		return
	}
	t.root.mark(Mark{"run.paused", e.At, nil})
	m := t.start(t.root, e.At, WhatPause, 0, "", int(e.Seq), "run paused", "")
	m.set(Attr{RunID, t.run})
	t.finish(m, e.At)
}

// end ends the run and what is left of it. Nothing should be: what is still open was cut off.
func (t *Tracer) end(at time.Time, status string, f *engine.Failure, reason string) {
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

// start opens a span. A name of one word is used alone.
func (t *Tracer) start(parent *open, at time.Time, what What, step int, key string, n int, op, name string) *open {
	o := &open{parent: parent, Span: Span{
		What: what, Run: t.run, Trace: t.trace, ID: spanOf(t.run, what, step, key, n), Name: op, Kind: KindInternal, Start: at,
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

// finish ends a span at a time, not before what it holds has ended.
func (t *Tracer) finish(o *open, at time.Time) {
	if o.ended {
		return
	}
	o.ended, o.End = true, later(o.End, at)
	t.give(o)
}

// give hands on a span that is over with all that it holds.
func (t *Tracer) give(o *open) {
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

// fail marks a span as failed; the text may hold what models and tools said.
func (t *Tracer) fail(o *open, f *engine.Failure) {
	if f == nil {
		return
	}
	o.Failed = true
	o.set(Attr{ErrorType, f.Code})
	if t.cfg.Content {
		o.Message = f.Message
	}
}

// holder is the span of a step, or the run's.
func (t *Tracer) holder(step int) *open {
	if st := t.steps[step]; st != nil {
		return st.open
	}
	if t.root == nil {
		return &open{} // the run is over: whatever comes is of no span
	}
	return t.root
}
