package telemetry

import (
	"crypto/sha256"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/tracecontext"
)

// The IDs of the W3C trace context.
type (
	// TraceID is the ID of a trace.
	TraceID [16]byte
	// SpanID is the ID of a span. The zero SpanID means none.
	SpanID [8]byte
)

// TraceOf returns the trace ID of a run that joins no other trace.
func TraceOf(run string) TraceID {
	sum := sha256.Sum256([]byte("hocket trace\x00" + run))
	return TraceID(sum[:16])
}

// traceOf returns the trace ID of a run: that of the caller's span, if there is one.
func traceOf(run string, caller tracecontext.SpanContext) TraceID {
	if caller.IsValid() {
		return TraceID(caller.TraceID())
	}
	return TraceOf(run)
}

// What says what a span represents.
type What string

// The values of What, with what span IDs contain in addition to the run.
const (
	WhatRun    What = "run"   // how often it was reopened
	WhatPause  What = "pause" // the event: a mark without duration, so that the trace shows that the run is waiting
	WhatStep   What = "step"  // the step
	WhatAgent  What = "agent" // step and frame
	WhatModel  What = "model" // step, call, model and the index of the span among the spans of the call
	WhatTool   What = "tool"  // likewise, without model
	WhatFunc   What = "func"  // likewise
	WhatWait   What = "wait"  // step and wait
	spanIDSalt      = "hocket span"
)

// spanOf returns the ID of a span.
func spanOf(run string, what What, step int, key string, n int) SpanID {
	sum := sha256.Sum256(
		[]byte(strings.Join([]string{spanIDSalt, run, string(what), strconv.Itoa(step), key, strconv.Itoa(n)}, "\x00")))
	return SpanID(sum[:8])
}

// Kind is OpenTelemetry's span kind, with its number in the protocol.
type Kind int

// The kinds of spans.
const (
	KindInternal Kind = 1
	KindClient   Kind = 3
)

// Attr is an attribute; Value is a string, a []string, an int64, a float64 or a bool.
type Attr struct {
	Key   string
	Value any
}

// Span is one span that has ended. A receiver may keep it but must not change the data it points
// to.
type Span struct {
	What   What
	Run    string
	Trace  TraceID
	ID     SpanID
	Parent SpanID // zero for the first span of a trace
	// Remote means that the parent is a span of another program, or of another run.
	Remote bool
	// State is the tracestate of the trace, "" if there is none. Unsampled means that the trace is
	// not recorded, so that the span is counted but not sent.
	State     string
	Unsampled bool
	Name      string
	Kind      Kind
	// Start and End are in UTC; End is not before Start.
	Start, End time.Time
	Attrs      []Attr
	Events     []Mark
	// Dropped counts the events beyond the first 128.
	Dropped int
	Links   []Link
	// Failed sets the status to error; Message is its text, empty unless content is exported.
	Failed  bool
	Message string
}

// Mark is an event of a span.
type Mark struct {
	Name  string
	At    time.Time
	Attrs []Attr
}

// Link refers to a span elsewhere.
type Link struct {
	Trace TraceID
	ID    SpanID
}

// link adds a link to the span of a traceparent, which may be empty.
func (s *Span) link(traceparent string) {
	sc := tracecontext.OfMeta(map[string]string{tracecontext.Parent: traceparent})
	if sc.IsValid() && len(s.Links) < maxLinks {
		s.Links = append(s.Links, Link{TraceID(sc.TraceID()), SpanID(sc.SpanID())})
	}
}

// Attr returns the value of an attribute, or nil if there is none.
func (s *Span) Attr(key string) any {
	for _, a := range s.Attrs {
		if a.Key == key {
			return a.Value
		}
	}
	return nil
}

// Limits of OpenTelemetry's SDKs.
const (
	maxMarks = 128
	maxLinks = 128
)

func (s *Span) mark(m Mark) {
	if len(s.Events) == maxMarks {
		s.Dropped++
		return
	}
	s.Events = append(s.Events, m)
}

// set adds attributes, except empty strings.
func (s *Span) set(attrs ...Attr) {
	for _, a := range attrs {
		if a.Value != "" {
			s.Attrs = append(s.Attrs, a)
		}
	}
}

// replace changes the value of an attribute that is set.
func (s *Span) replace(a Attr) {
	for i := range s.Attrs {
		if s.Attrs[i].Key == a.Key {
			s.Attrs[i] = a
		}
	}
}

// openSpan is a span that has not ended, or whose children have not.
type openSpan struct {
	Span
	parent *openSpan
	kids   int
	ended  bool
	// base is the number of attributes that the span had before the run's end cut it off; 0 means
	// that it was not cut off.
	base int
}
