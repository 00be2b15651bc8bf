package engine

import (
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/workflow"
)

const (
	// retryDelay and maxRetryDelay are the first and the longest delay of an agent's own retries.
	retryDelay, maxRetryDelay = 200 * time.Millisecond, 2 * time.Second
	// maxAskedDelay is the longest delay requested by a provider after which its agent still calls
	// the same model again.
	maxAskedDelay = time.Minute
)

// modelFailed calls the same model again or a fallback, as the agent specifies; after that the
// step's retry policy decides (D11), and then the failure is final.
func (m *machine) modelFailed(key string, c *loop.Call, f event.Failure) {
	id, fr := c.Step, c.Frame
	if a := m.agent(id, fr).Agent; !m.state.isFailing() &&
		(m.overflowed(key, c, f) || m.askAgain(key, c, a, f) || m.fallBack(key, c, a, f)) {
		return
	}
	if c.Compaction != nil && !m.state.isFailing() {
		f.Node = m.graph.NodeID(id)
		m.unsummarized(id, fr, key, f)
		return
	}
	if !m.handled(id, key, &f, nil, 0) {
		m.frameFailed(id, fr, f, m.failForGood)
	}
}

// askAgain schedules another call to the same model after a delay, and reports whether it does.
func (m *machine) askAgain(key string, c *loop.Call, a *workflow.Agent, f event.Failure) bool {
	if c.Retries >= a.ModelRetries() || !event.CodeIs(f.Code, event.SameModel) || f.RetryAfter() > maxAskedDelay {
		return false
	}
	wait := max(min(retryDelay<<min(c.Retries, 8), maxRetryDelay), f.RetryAfter())
	f.Node = m.graph.NodeID(c.Step)
	m.emitStep(c.Step, &event.StepRetrying{Attempt: c.Attempt + 1, Call: key, Model: c.Model, Until: m.now.Add(wait),
		Error: f})
	return true
}

// fallBack calls the next model of the agent, and reports whether there is one for such a failure.
func (m *machine) fallBack(key string, c *loop.Call, a *workflow.Agent, f event.Failure) bool {
	if !event.CodeIs(f.Code, event.SameModel|event.OtherModel) {
		return false
	}
	next, ok := c.Next(a)
	if ok {
		m.repeatCall(key, c, next, &event.FallbackFrom{Model: c.Model, Code: f.Code})
	}
	return ok
}
