package telemetry

import (
	"context"

	"github.com/hocket-run/hocket/internal/tracecontext"
)

// RunContext returns the context of a run's span, for use as the parent of another span. meta is
// the metadata of the run. A nil Observer treats every trace that no caller started as sampled.
func (o *Observer) RunContext(run string, meta map[string]string) tracecontext.SpanContext {
	return o.context(run, meta, spanOf(run, WhatRun, 0, "", 0))
}

func (o *Observer) context(run string, meta map[string]string, span SpanID) tracecontext.SpanContext {
	caller := tracecontext.OfMeta(meta)
	trace := traceOf(run, caller)
	sampled := !caller.IsValid() || caller.IsSampled()
	if o != nil {
		sampled = o.cfg.sampled(trace, caller)
	}
	return tracecontext.New(trace, span, sampled, caller.TraceState().String())
}

// OutOfRun returns ctx with the span of a run as the trace context of requests that are made with
// it. OutOfCall does the same with the span of one of the run's calls, identified by the call's key
// in its events and, for a model call, the model reference. If no spans are exported here, both
// return ctx.
func (o *Observer) OutOfRun(ctx context.Context, run string, meta map[string]string) context.Context {
	return o.outgoing(ctx, run, meta, spanOf(run, WhatRun, 0, "", 0))
}

// OutOfCall is like OutOfRun, for a call of the run.
func (o *Observer) OutOfCall(ctx context.Context, run string, meta map[string]string, what What, step int, call,
	model string) context.Context {
	return o.outgoing(ctx, run, meta, callSpanOf(run, what, step, call, model, 1))
}

func (o *Observer) outgoing(ctx context.Context, run string, meta map[string]string, span SpanID) context.Context {
	if o == nil || o.cfg.Exporter == nil || o.cfg.NoSpans {
		return ctx
	}
	return tracecontext.Outgoing(ctx, o.context(run, meta, span))
}
