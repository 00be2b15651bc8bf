package telemetry

import (
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
)

// callSpan is a call in flight: one span for all its attempts, as the GenAI conventions require. A
// call of another model, which takes over from a failed one, is a separate operation with its own
// span.
type callSpan struct {
	*openSpan
	step  *stepSpan
	frame int
	// answers is the ID of the model's tool call that this call executes.
	answers string

	call    string
	attempt int
	ref     string // the called model
	// failures counts the earlier attempts that failed.
	failures int

	usage   *chat.Usage
	cost    *float64
	details *chat.CallDetails
	replied string
}

// undecidedFailure is a failure after which the next event shows whether the call is repeated.
type undecidedFailure struct {
	*callSpan
	at    time.Time
	cause *event.Failure
}

// callSpanOf returns the ID of the span of a call. nth is the index of the span among those of the
// call, from 1; calls of another model are counted separately.
func callSpanOf(run string, what What, step int, call, model string, nth int) SpanID {
	return spanOf(run, what, step, call+"\x00"+model, nth)
}

// startCall opens the span of a call, unless this is another attempt of a call in flight.
func (t *Tracer) startCall(e event.Event, st *stepSpan, parent *openSpan, what What, call string, attempt int, op,
	name,
	ref string) (c *callSpan, fresh bool) {
	if c := t.calls[call]; c != nil && c.ref == ref && !c.ended {
		c.attempt = attempt
		return c, false
	}
	key := call + "\x00" + ref
	if st.spans == nil {
		st.spans = map[string]int{}
	}
	st.spans[key]++
	c = &callSpan{openSpan: t.start(parent, e.At, what, e.Step, key, st.spans[key], op, name), step: st, call: call,
		attempt: attempt, ref: ref}
	c.set(Attr{RunID, t.run}, Attr{NodeID, e.Node}, Attr{Step, int64(e.Step)}, Attr{Call, call})
	t.calls[call] = c
	return c, true
}

// outstanding returns the call in flight with that attempt, or nil if there is none.
func (t *Tracer) outstanding(call string, attempt int) *callSpan {
	if c := t.calls[call]; c != nil && c.attempt == attempt {
		return c
	}
	return nil
}

// failed records the failure of an attempt.
func (t *Tracer) failed(e event.Event, c *callSpan, f *event.Failure, late bool) {
	if late {
		t.settle(c, e.At, f, true)
		return
	}
	t.doubt = &undecidedFailure{c, e.At, f}
}

// decide determines what becomes of a failed call: e is the event after the failure.
func (t *Tracer) decide(e event.Event) {
	d := t.doubt
	if d == nil {
		return
	}
	t.doubt = nil
	again := false
	switch n := e.Data.(type) {
	case *event.StepRetrying:
		again = n.Call == d.call
	case *event.ModelCalled:
		again = n.Call == d.call && n.Model == d.ref
	case *event.ToolCalled:
		again = n.Call == d.call
	case *event.WaitOpened:
		again = n.Call == d.call // a person decides what becomes of it
	}
	if !again {
		t.content.addToolResult(d.step.number, d.frame, d.answers, d.cause.Message)
		t.settle(d.callSpan, d.at, d.cause, false)
		return
	}
	d.failures++
	d.mark(Mark{"attempt failed", d.at, []Attr{{Attempt, int64(d.attempt)}, {ErrorType, d.cause.Code}}})
}

// settle ends a call, and removes its step if the step only waited for it.
func (t *Tracer) settle(c *callSpan, at time.Time, f *event.Failure, late bool) {
	delete(t.calls, c.call)
	if late {
		c.set(Attr{Late, true})
	}
	c.setTotals()
	t.fail(c.openSpan, f)
	t.finish(c.openSpan, at)
	if c.step.ended && c.step.kids == 0 {
		delete(t.steps, c.step.number)
	}
}

// addUsage adds the usage of an attempt of a model call, as far as it is known.
func (c *callSpan) addUsage(u *chat.Usage, cost *float64) {
	if u != nil {
		sum := *u
		if c.usage != nil {
			sum = c.usage.Add(sum)
		}
		c.usage = &sum
	}
	if cost != nil {
		sum := *cost
		if c.cost != nil {
			sum += *c.cost
		}
		c.cost = &sum
	}
}

// setDetails records what is known about an attempt of a model call; the last attempt counts.
func (c *callSpan) setDetails(d *chat.CallDetails) {
	if d != nil {
		c.details = d
	}
}

// setTotals puts the totals of all attempts into the span.
func (c *callSpan) setTotals() {
	c.set(Attr{Attempt, int64(c.attempt)})
	if u := c.usage; u != nil {
		c.set(Attr{InputTokens, u.InputTokens}, Attr{OutputTokens, u.OutputTokens})
		for _, n := range []struct {
			key   string
			count int64
		}{{CachedTokens, u.CachedTokens}, {CacheWriteTokens, u.CacheWriteTokens},
			{ReasoningTokens, u.ReasoningTokens}} {
			if n.count > 0 {
				c.set(Attr{n.key, n.count})
			}
		}
	}
	if c.cost != nil {
		c.set(Attr{CostUSD, *c.cost})
	}
	model := c.replied
	if d := c.details; d != nil {
		c.request(d)
		if d.Model != "" && model != "" {
			model = d.Model
		}
	}
	c.set(Attr{ResponseModel, model})
	c.usage, c.cost, c.details, c.replied = nil, nil, nil, ""
}

// request sets the attributes of the model request and its server.
func (c *callSpan) request(d *chat.CallDetails) {
	c.set(Attr{ResponseID, d.ID}, Attr{ReasoningLevel, d.Reasoning})
	for _, p := range []struct {
		key   string
		value *float64
	}{{Temperature, d.Temperature}, {TopP, d.TopP}, {FrequencyPenalty, d.FrequencyPenalty},
		{PresencePenalty, d.PresencePenalty}} {
		if p.value != nil {
			c.set(Attr{p.key, *p.value})
		}
	}
	if d.MaxTokens != nil {
		c.set(Attr{MaxTokens, *d.MaxTokens})
	}
	if len(d.Stop) > 0 {
		c.set(Attr{StopSequences, d.Stop})
	}
	if d.Stream {
		c.set(Attr{Stream, true})
	}
	if d.FirstChunk > 0 {
		c.set(Attr{FirstChunk, d.FirstChunk})
	}
	if d.JSON {
		c.set(Attr{OutputType, "json"})
	}
	if d.Server != "" {
		c.set(Attr{ServerAddress, d.Server}, Attr{ServerPort, int64(d.Port)})
	}
}
