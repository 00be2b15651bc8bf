package oteltrack

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/internal/telemetry"
)

// Attributes of spans. [hocket.WithTelemetry] uses the same names.
const (
	// RunIDKey, WorkflowKey and StatusKey are set on spans of runs; StatusKey is also set on spans
	// of nodes when they end.
	RunIDKey    = attribute.Key(telemetry.RunID)
	WorkflowKey = attribute.Key(telemetry.WorkflowName)
	StatusKey   = attribute.Key(telemetry.Status)
	// MaxStepsKey and ResumingKey are set on spans of runs.
	MaxStepsKey = attribute.Key(telemetry.MaxSteps)
	ResumingKey = attribute.Key(telemetry.Resuming)
	// NodeIDKey, NodeTypeKey and StepKey are set on spans of nodes.
	NodeIDKey   = attribute.Key(telemetry.NodeID)
	NodeTypeKey = attribute.Key(telemetry.NodeType)
	StepKey     = attribute.Key(telemetry.Step)
)

// Config specifies where spans are sent. The zero value uses the program's global provider.
type Config struct {
	// Provider provides the tracer; nil means otel.GetTracerProvider.
	Provider trace.TracerProvider
	// Attributes are set on every span of a run.
	Attributes []attribute.KeyValue
}

// Tracker creates spans. It is safe for concurrent use, also by runs of several engines.
type Tracker struct {
	tracer     trace.Tracer
	attributes []attribute.KeyValue

	mu   sync.Mutex
	runs map[string]*run
}

var _ hocket.Tracker = (*Tracker)(nil)

// run is a run whose span is open, with the open spans of its nodes by step.
type run struct {
	ctx   context.Context //nolint:containedctx,nolintlint // spans travel in contexts
	span  trace.Span
	nodes map[int]node
}

type node struct {
	ctx  context.Context //nolint:containedctx,nolintlint // spans travel in contexts
	span trace.Span
}

// New returns a Tracker that is configured by c.
func New(c Config) *Tracker {
	if c.Provider == nil {
		c.Provider = otel.GetTracerProvider()
	}
	return &Tracker{
		tracer:     c.Provider.Tracer("github.com/hocket-run/hocket/oteltrack"),
		attributes: append([]attribute.KeyValue(nil), c.Attributes...),
		runs:       map[string]*run{},
	}
}

// WorkflowStart implements hocket.Tracker. A second start of a run without an end in between ends
// the first.
func (t *Tracker) WorkflowStart(ctx context.Context, s hocket.TrackedStart) {
	ctx, span := t.tracer.Start(ctx, "workflow "+s.WorkflowName, trace.WithTimestamp(s.At),
		trace.WithAttributes(t.attributes...), trace.WithAttributes(
			RunIDKey.String(s.ExecutionID), WorkflowKey.String(s.WorkflowName), MaxStepsKey.Int(s.MaxSteps),
			ResumingKey.Bool(s.Resuming)))
	t.mu.Lock()
	defer t.mu.Unlock()
	if old := t.runs[s.ExecutionID]; old != nil {
		old.end(s.At)
	}
	t.runs[s.ExecutionID] = &run{ctx: ctx, span: span, nodes: map[int]node{}}
}

// NodeEnter implements hocket.Tracker.
func (t *Tracker) NodeEnter(_ context.Context, n hocket.TrackedNode) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.runs[n.ExecutionID]
	if r == nil {
		return
	}
	ctx := r.ctx
	if parent, ok := r.nodes[n.Parent]; ok {
		ctx = parent.ctx
	}
	//nolint:spancheck // NodeExit ends it, or the end of its run
	ctx, span := t.tracer.Start(ctx, "node "+n.NodeID, trace.WithTimestamp(n.At), trace.WithAttributes(t.attributes...),
		trace.WithAttributes(
			RunIDKey.String(n.ExecutionID), NodeIDKey.String(n.NodeID), NodeTypeKey.String(string(n.Type)),
			StepKey.Int(n.Step)))
	r.nodes[n.Step] = node{ctx, span}
} //nolint:spancheck // as above

// NodeExit implements hocket.Tracker.
func (t *Tracker) NodeExit(_ context.Context, n hocket.TrackedExit) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.runs[n.ExecutionID]
	if r == nil {
		return
	}
	open, ok := r.nodes[n.Step]
	if !ok {
		return
	}
	delete(r.nodes, n.Step)
	open.span.SetAttributes(StatusKey.String(string(n.Status)))
	if n.Status == hocket.StatusFailed {
		open.span.SetStatus(codes.Error, "")
	}
	open.span.End(trace.WithTimestamp(n.At))
}

// Error implements hocket.Tracker. It adds an exception event to the span of the node, or of the
// run.
func (t *Tracker) Error(_ context.Context, e hocket.TrackedError) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.runs[e.ExecutionID]
	if r == nil {
		return
	}
	span := r.span
	if open, ok := r.nodes[e.Step]; ok && e.NodeID != "" {
		span = open.span
	}
	span.RecordError(e.Err, trace.WithTimestamp(e.At))
	if e.NodeID == "" && e.Err != nil {
		span.SetStatus(codes.Error, e.Err.Error())
	}
}

// WorkflowComplete implements hocket.Tracker.
func (t *Tracker) WorkflowComplete(_ context.Context, e hocket.TrackedEnd) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.runs[e.ExecutionID]
	if r == nil {
		return
	}
	delete(t.runs, e.ExecutionID)
	r.span.SetAttributes(StatusKey.String(string(e.Status)))
	r.end(e.At)
}

// end ends the run's span and all open spans below it.
func (r *run) end(at time.Time) {
	for _, n := range r.nodes {
		n.span.End(trace.WithTimestamp(at))
	}
	r.span.End(trace.WithTimestamp(at))
}
