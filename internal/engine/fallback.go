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
func (s *calls) modelFailed(key string, c *loop.Call, f Failure) {
	id, fr := c.Step, c.Frame
	if a := s.agents.agent(id, fr).Agent; !s.state.isFailing() &&
		(s.agents.overflowed(key, c, f) || s.askAgain(key, c, a, f) || s.fallBack(key, c, a, f)) {
		return
	}
	if c.Compaction != nil && !s.state.isFailing() {
		f.Node = s.graph.NodeID(id)
		s.agents.unsummarized(id, fr, key, f)
		return
	}
	if !s.handled(id, key, &f, nil, 0) {
		s.agents.frameFailed(id, fr, f, s.steps.failForGood)
	}
}

// askAgain schedules another call to the same model after a delay, and reports whether it does.
func (s *calls) askAgain(key string, c *loop.Call, a *workflow.Agent, f Failure) bool {
	if c.Retries >= a.ModelRetries() || !event.CodeIs(f.Code, event.Transient) || f.RetryAfter() > maxAskedDelay {
		return false
	}
	wait := max(min(retryDelay<<min(c.Retries, 8), maxRetryDelay), f.RetryAfter())
	f.Node = s.graph.NodeID(c.Step)
	s.emitStep(c.Step, &StepRetrying{Attempt: c.Attempt + 1, Call: key, Model: c.Model, Until: s.now.Add(wait),
		Error: f})
	return true
}

// fallBack calls the next model of the agent, and reports whether there is one for such a failure.
func (s *calls) fallBack(key string, c *loop.Call, a *workflow.Agent, f Failure) bool {
	if !event.CodeIs(f.Code, event.Transient|event.OfModel) {
		return false
	}
	next, ok := c.Next(a)
	if ok {
		s.repeatCall(key, c, next, &event.FallbackFrom{Model: c.Model, Code: f.Code})
	}
	return ok
}
