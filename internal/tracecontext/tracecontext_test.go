package tracecontext_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/tracecontext"
)

const (
	id     = "4bf92f3577b34da6a3ce929d0e0e4736"
	span   = "00f067aa0ba902b7"
	parent = "00-" + id + "-" + span + "-01"
)

// TestHeaders checks that headers are parsed as specified and that invalid values are ignored.
func TestHeaders(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name         string
		header       http.Header
		valid        bool
		sampled      bool
		state, again string
	}{
		{name: "none"},
		{name: "plain", header: http.Header{"Traceparent": {parent}}, valid: true, sampled: true},
		{name: "not sampled", header: http.Header{"Traceparent": {"00-" + id + "-" + span + "-00"}}, valid: true},
		{name: "blanks", header: http.Header{"Traceparent": {" " + parent + " "}}, valid: true, sampled: true},
		{name: "state", header: http.Header{"Traceparent": {parent}, "Tracestate": {"a=1", "b=2"}}, valid: true,
			sampled: true, state: "a=1,b=2"},
		{name: "broken state", header: http.Header{"Traceparent": {parent}, "Tracestate": {"a"}}, valid: true,
			sampled: true},
		{name: "state alone", header: http.Header{"Tracestate": {"a=1"}}},
		{name: "twice", header: http.Header{"Traceparent": {parent, parent}}},
		{name: "later version", header: http.Header{"Traceparent": {"01-" + id + "-" + span + "-01-more"}}, valid: true,
			sampled: true},
		{name: "version ff", header: http.Header{"Traceparent": {"ff-" + id + "-" + span + "-01"}}},
		{name: "longer version 00", header: http.Header{"Traceparent": {parent + "-more"}}},
		{name: "upper case", header: http.Header{"Traceparent": {strings.ToUpper(parent)}}},
		{name: "zero trace",
			header: http.Header{"Traceparent": {"00-" + strings.Repeat("0", 32) + "-" + span + "-01"}}},
		{name: "zero span", header: http.Header{"Traceparent": {"00-" + id + "-" + strings.Repeat("0", 16) + "-01"}}},
		{name: "text", header: http.Header{"Traceparent": {"hello"}}},
		{name: "huge", header: http.Header{"Traceparent": {strings.Repeat("0", 1<<16)}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			sc := tracecontext.OfHeader(tc.header)
			if sc.IsValid() != tc.valid || sc.IsSampled() != tc.sampled || sc.TraceState().String() != tc.state {
				t.Fatalf("got valid %v, sampled %v, state %q; want %v, %v, %q", sc.IsValid(), sc.IsSampled(),
					sc.TraceState(), tc.valid, tc.sampled, tc.state)
			}
			if !tc.valid {
				return
			}
			if again := tracecontext.OfMeta(tracecontext.Keep(nil, sc)); !again.WithRemote(true).Equal(sc) {
				t.Errorf("kept %v, got %v", sc, again)
			}
		})
	}
}

// TestInject checks that only the context set by Outgoing, or that of a span of the program below
// it, is sent.
func TestInject(t *testing.T) {
	t.Parallel()
	in := tracecontext.OfHeader(http.Header{"Traceparent": {parent}})
	ctx := tracecontext.With(t.Context(), in)
	h := http.Header{}
	tracecontext.Inject(ctx, h.Set)
	if len(h) > 0 || tracecontext.Text(ctx) != parent {
		t.Errorf("what came in goes out: %v, %q", h, tracecontext.Text(ctx))
	}
	own := tracecontext.New(in.TraceID(), [8]byte{1}, true, "a=1")
	ctx = tracecontext.Outgoing(ctx, own)
	tracecontext.Inject(ctx, h.Set)
	if got, want := h.Get("Traceparent"), "00-"+id+"-0100000000000000-01"; got != want || h.Get("Tracestate") != "a=1" {
		t.Errorf("got %v, want %q", h, want)
	}
	below := tracecontext.New(in.TraceID(), [8]byte{2}, true, "")
	tracecontext.Inject(tracecontext.With(ctx, below), h.Set)
	if got, want := h.Get("Traceparent"), "00-"+id+"-0200000000000000-01"; got != want {
		t.Errorf("below a span of the program: got %q, want %q", got, want)
	}
	foreign := tracecontext.New([16]byte{7}, [8]byte{2}, true, "")
	tracecontext.Inject(tracecontext.With(ctx, foreign), h.Set)
	if got, want := h.Get("Traceparent"), "00-"+id+"-0100000000000000-01"; got != want {
		t.Errorf("below a span of another trace: got %q, want %q", got, want)
	}
}

// FuzzParent checks that any input yields a valid context that can be written and read again, or
// none.
func FuzzParent(f *testing.F) {
	f.Add(parent, "a=1")
	f.Add("00-", "=")
	f.Fuzz(func(t *testing.T, p, state string) {
		sc := tracecontext.OfHeader(http.Header{"Traceparent": {p}, "Tracestate": {state}})
		if !sc.IsValid() {
			return
		}
		if again := tracecontext.OfMeta(tracecontext.Keep(nil, sc)); !again.WithRemote(true).Equal(sc) {
			t.Errorf("%q, %q: kept %v, got %v", p, state, sc, again)
		}
	})
}
