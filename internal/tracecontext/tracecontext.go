// Package tracecontext carries W3C trace contexts between a context.Context and what brings or takes them: HTTP headers, `_meta` of MCP requests, environment
// variables and the meta of a run.
//
// A context that came in is the span context of OpenTelemetry's API, so that Go programs need nothing of Hocket to pass one. A context that may go out is marked by
// [Outgoing]: what came in is never passed on by itself. Values that are not valid are ignored, as the specification says.
//
// Source: W3C Trace Context, https://www.w3.org/TR/trace-context/; SEP-414 of the Model Context Protocol.
package tracecontext

import (
	"context"
	"maps"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Names of the two values of a trace context: HTTP headers, and keys of `_meta` and of the meta of a run. Environment variables have them in upper case.
const (
	Parent = "traceparent"
	State  = "tracestate"
)

// SpanContext is OpenTelemetry's: trace, span, flags and state. The zero value is none.
type SpanContext = trace.SpanContext

var w3c propagation.TraceContext

// Of gives the trace context of the values that get gives by their names; the zero value where traceparent is missing or not valid.
func Of(get func(name string) string) SpanContext {
	carrier := propagation.MapCarrier{Parent: strings.TrimSpace(get(Parent)), State: get(State)}
	return trace.SpanContextFromContext(w3c.Extract(context.Background(), carrier))
}

// OfMeta is Of for the meta of a run.
func OfMeta(meta map[string]string) SpanContext {
	return Of(func(name string) string { return meta[name] })
}

// OfHeader is Of for HTTP headers. More than one traceparent is none, several tracestates are one.
func OfHeader(h http.Header) SpanContext {
	return Of(func(name string) string {
		values := h.Values(name)
		if name == Parent && len(values) != 1 {
			return ""
		}
		return strings.Join(values, ",")
	})
}

// With gives ctx with a trace context that came from elsewhere; ctx itself where sc is not valid.
func With(ctx context.Context, sc SpanContext) context.Context {
	if !sc.IsValid() {
		return ctx
	}
	return trace.ContextWithRemoteSpanContext(ctx, sc)
}

// Renew is With that leaves nothing of what ctx had.
func Renew(ctx context.Context, sc SpanContext) context.Context {
	return trace.ContextWithRemoteSpanContext(ctx, sc)
}

// From gives the trace context of ctx: that of a span of the program, or one that came from elsewhere.
func From(ctx context.Context) SpanContext { return trace.SpanContextFromContext(ctx) }

// Text gives the trace context of ctx as a traceparent; "" where there is none.
func Text(ctx context.Context) string { return values(From(ctx))[Parent] }

// Keep gives meta with the trace context sc in the place of the one that it had: meta itself where neither is there, else a copy. meta may be nil.
func Keep(meta map[string]string, sc SpanContext) map[string]string {
	if meta[Parent] == "" && meta[State] == "" && !sc.IsValid() {
		return meta
	}
	out := maps.Clone(meta)
	if out == nil {
		out = map[string]string{}
	}
	delete(out, Parent)
	delete(out, State)
	maps.Copy(out, values(sc))
	return out
}

// New makes a span context. state is a tracestate, left out where it is not valid.
func New(traceID [16]byte, spanID [8]byte, sampled bool, state string) SpanContext {
	s, _ := trace.ParseTraceState(state)
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, SpanID: spanID, TraceFlags: trace.TraceFlags(0).WithSampled(sampled), TraceState: s})
}

type outgoing struct{}

// Outgoing gives ctx with a trace context that requests made under it carry: sc is also that of ctx.
func Outgoing(ctx context.Context, sc SpanContext) context.Context {
	return context.WithValue(With(ctx, sc), outgoing{}, sc)
}

// Inject tells set the values that a request under ctx carries: those of the span of the program that Outgoing's context led to, or of Outgoing itself. Without
// Outgoing there are none.
func Inject(ctx context.Context, set func(name, value string)) {
	sc, ok := ctx.Value(outgoing{}).(SpanContext)
	if !ok {
		return
	}
	if own := From(ctx); own.TraceID() == sc.TraceID() { // a span of the program below ours
		sc = own
	}
	for name, v := range values(sc) {
		set(name, v)
	}
}

// Forward tells set the values of the trace context that came with ctx, for a request that is the caller's own, made in another place.
func Forward(ctx context.Context, set func(name, value string)) {
	for name, v := range values(From(ctx)) {
		set(name, v)
	}
}

// values are those of sc by name, nil where it is not valid.
func values(sc SpanContext) propagation.MapCarrier {
	if !sc.IsValid() {
		return nil
	}
	out := propagation.MapCarrier{}
	w3c.Inject(trace.ContextWithSpanContext(context.Background(), sc), out)
	return out
}
