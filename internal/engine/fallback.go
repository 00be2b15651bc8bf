package engine

import (
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/workflow"
)

// Codes of failures of model calls, by what an agent does itself. Of others, such as an answer that a filter withheld, its step decides.
var (
	// passing failures may be over soon: the same model is asked again, and then the next one.
	passing = []string{"server", "network", "timeout", "overloaded"}
	// another model may not have these: it is asked at once.
	ofModel = []string{"rate_limit", "quota_exceeded", "auth", "unknown_model", "invalid_request", "context_length_exceeded"}
)

const (
	// Delays of an agent's own retries: the first one, and the longest.
	retryDelay, maxRetryDelay = 200 * time.Millisecond, 2 * time.Second
	// maxAskedDelay is how long a provider may ask to wait before the same model is asked again by its agent.
	maxAskedDelay = time.Minute
)

// modelFailed asks the same model again or a fallback, as the agent says; then the step's retry policy decides (D11), and then the failure stands.
func (s *calls) modelFailed(key string, c *loop.Call, f Failure) {
	id, fr := c.Step, c.Frame
	if a := s.agents.agent(id, fr).Agent; !s.state.isFailing() && (s.agents.overflowed(key, c, f) || s.askAgain(key, c, a, f) || s.fallBack(key, c, a, f)) {
		return
	}
	if c.Compaction != nil && !s.state.isFailing() {
		f.Node = s.graph.NodeID(id)
		s.agents.unsummarized(id, fr, key, f)
		return
	}
	if !s.handled(id, key, &f, nil, func(string) bool { return false }) {
		s.agents.frameFailed(id, fr, f, s.steps.giveUp)
	}
}

// askAgain asks the same model again after a delay, and tells whether it does.
func (s *calls) askAgain(key string, c *loop.Call, a *workflow.Agent, f Failure) bool {
	if c.Retries >= a.ModelRetries() || !slices.Contains(passing, f.Code) || f.RetryAfter() > maxAskedDelay {
		return false
	}
	wait := max(min(retryDelay<<min(c.Retries, 8), maxRetryDelay), f.RetryAfter())
	f.Node = s.graph.NodeID(c.Step)
	s.emitStep(c.Step, &StepRetrying{Attempt: c.Attempt + 1, Call: key, Model: c.Model, Until: s.now.Add(wait), Error: f})
	return true
}

// fallBack asks the next model of the agent, and tells whether there is one for such a failure.
func (s *calls) fallBack(key string, c *loop.Call, a *workflow.Agent, f Failure) bool {
	if !slices.Contains(passing, f.Code) && !slices.Contains(ofModel, f.Code) {
		return false
	}
	next, ok := c.Next(a)
	if ok {
		s.again(key, c, next, &event.Instead{Model: c.Model, Code: f.Code})
	}
	return ok
}
