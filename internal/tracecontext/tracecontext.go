// Package tracecontext carries W3C trace contexts between a context.Context and their carriers:
// HTTP headers, `_meta` of MCP requests, environment variables and the meta of a run.
//
// An incoming trace context is stored as the span context of OpenTelemetry's API, so that Go
// programs can pass one without using Hocket. Only a trace context that [Outgoing] has set is sent
// with requests: an incoming one is never forwarded by itself. Invalid values are ignored, as the
// specification requires.
//
// Source: W3C Trace Context, https://www.w3.org/TR/trace-context/; SEP-414 of the Model Context
// Protocol.
package tracecontext

import (
	"context"
	"maps"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Names of the two values of a trace context: HTTP headers, and keys of `_meta` and of the meta of
// a run. The names of environment variables are in upper case.
const (
	Parent = "traceparent"
	State  = "tracestate"
)

// SpanContext is OpenTelemetry's span context: trace, span, flags and state. The zero value means
// none.
type SpanContext = trace.SpanContext

var w3c propagation.TraceContext

// Of returns the trace context whose values get returns by name. It is the zero value if
// traceparent is missing or invalid.
func Of(get func(name string) string) SpanContext {
	carrier := propagation.MapCarrier{Parent: strings.TrimSpace(get(Parent)), State: get(State)}
	return trace.SpanContextFromContext(w3c.Extract(context.Background(), carrier))
}

// OfMeta is Of for the meta of a run.
func OfMeta(meta map[string]string) SpanContext {
	return Of(func(name string) string { return meta[name] })
}

// OfHeader is Of for HTTP headers. More than one traceparent counts as none; several tracestates
// are joined.
func OfHeader(h http.Header) SpanContext {
	return Of(func(name string) string {
		values := h.Values(name)
		if name == Parent && len(values) != 1 {
			return ""
		}
		return strings.Join(values, ",")
	})
}

// With returns ctx with a remote trace context, or ctx itself if sc is not valid.
func With(ctx context.Context, sc SpanContext) context.Context {
	if !sc.IsValid() {
		return ctx
	}
	return trace.ContextWithRemoteSpanContext(ctx, sc)
}

// Renew is like With but drops any trace context that ctx had.
func Renew(ctx context.Context, sc SpanContext) context.Context {
	return trace.ContextWithRemoteSpanContext(ctx, sc)
}

// From returns the trace context of ctx: that of a span of the program, or a remote one.
func From(ctx context.Context) SpanContext { return trace.SpanContextFromContext(ctx) }

// Text returns the trace context of ctx as a traceparent, or "" if there is none.
func Text(ctx context.Context) string { return values(From(ctx))[Parent] }

// Keep returns meta with its trace context replaced by sc: meta itself if there is neither,
// otherwise a copy. meta may be nil.
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

// New returns a span context. state is a tracestate, which is left out if invalid.
func New(traceID [16]byte, spanID [8]byte, sampled bool, state string) SpanContext {
	s, _ := trace.ParseTraceState(state)
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, SpanID: spanID,
		TraceFlags: trace.TraceFlags(0).WithSampled(sampled), TraceState: s})
}

type outgoing struct{}

// Outgoing returns ctx with a trace context that is sent with requests made under it; sc also
// becomes the trace context of ctx.
func Outgoing(ctx context.Context, sc SpanContext) context.Context {
	return context.WithValue(With(ctx, sc), outgoing{}, sc)
}

// Inject calls set with the values to send with a request under ctx: those of the program's current
// span, if it descends from Outgoing's context, or else of Outgoing's context itself. Without
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

// Forward calls set with the values of ctx's own trace context, including an incoming one. It is
// for a request that does the caller's work elsewhere, such as on a Hocket server.
func Forward(ctx context.Context, set func(name, value string)) {
	for name, v := range values(From(ctx)) {
		set(name, v)
	}
}

// values returns the values of sc by name, or nil if sc is not valid.
func values(sc SpanContext) propagation.MapCarrier {
	if !sc.IsValid() {
		return nil
	}
	out := propagation.MapCarrier{}
	w3c.Inject(trace.ContextWithSpanContext(context.Background(), sc), out)
	return out
}
