package telemetry

import (
	"crypto/sha256"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/tracecontext"
)

// TraceID and SpanID are those of the W3C trace context. The zero SpanID is none.
type (
	TraceID [16]byte
	SpanID  [8]byte
)

// TraceOf gives the id of the trace of a run that joins no other trace.
func TraceOf(run string) TraceID {
	sum := sha256.Sum256([]byte("hocket trace\x00" + run))
	return TraceID(sum[:16])
}

// traceOf gives the id of the trace of a run: that of the caller's span, where there is one.
func traceOf(run string, caller tracecontext.SpanContext) TraceID {
	if caller.IsValid() {
		return TraceID(caller.TraceID())
	}
	return TraceOf(run)
}

// What tells the sorts of spans apart.
type What string

// The sorts of spans, with what is in their ids beside the run.
const (
	WhatRun    What = "run"   // how often it was reopened
	WhatPause  What = "pause" // the event: a mark without duration, for a run that is waiting, so that its trace shows it
	WhatStep   What = "step"  // the step
	WhatAgent  What = "agent" // step and frame
	WhatModel  What = "model" // step, call, model and the number of the span among those of the call
	WhatTool   What = "tool"  // likewise, without model
	WhatFunc   What = "func"  // likewise
	WhatWait   What = "wait"  // step and wait
	spanIDSalt      = "hocket span"
)

// spanOf gives the id of a span.
func spanOf(run string, what What, step int, key string, n int) SpanID {
	sum := sha256.Sum256([]byte(strings.Join([]string{spanIDSalt, run, string(what), strconv.Itoa(step), key, strconv.Itoa(n)}, "\x00")))
	return SpanID(sum[:8])
}

// Kind is OpenTelemetry's kind of a span, with the number that the protocol has for it.
type Kind int

const (
	KindInternal Kind = 1
	KindClient   Kind = 3
)

// Attr is an attribute: Value is a string, a []string, an int64, a float64 or a bool.
type Attr struct {
	Key   string
	Value any
}

// Span is one span that is over. A receiver may keep it and must not change what it points at.
type Span struct {
	What   What
	Run    string
	Trace  TraceID
	ID     SpanID
	Parent SpanID // zero for the first of a trace
	// Remote: the parent is a span of another program, or of another run.
	Remote bool
	// State is the tracestate of the trace, "" for none. Unsampled: the trace is not recorded, so that the span is counted and not sent.
	State     string
	Unsampled bool
	Name      string
	Kind      Kind
	// Start and End are UTC; End is not before Start.
	Start, End time.Time
	Attrs      []Attr
	Events     []Mark
	// Dropped counts the events beyond the first 128.
	Dropped int
	Links   []Link
	// Failed sets the status to error; Message is its text, empty unless content is wanted.
	Failed  bool
	Message string
}

// Mark is an event of a span.
type Mark struct {
	Name  string
	At    time.Time
	Attrs []Attr
}

// Link names a span elsewhere.
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

// Attr gives the value of an attribute, nil where there is none.
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

// set adds attributes, without those that are empty texts.
func (s *Span) set(attrs ...Attr) {
	for _, a := range attrs {
		if a.Value != "" {
			s.Attrs = append(s.Attrs, a)
		}
	}
}

// replace gives an attribute that is set another value.
func (s *Span) replace(a Attr) {
	for i := range s.Attrs {
		if s.Attrs[i].Key == a.Key {
			s.Attrs[i] = a
		}
	}
}

// open is a span that is not over, or whose children are not.
type open struct {
	Span
	parent *open
	kids   int
	ended  bool
	// base counts the attributes that it had before the run's end cut it off; 0: it was not.
	base int
}
