package engine

import (
	"time"

	"github.com/hocket-run/hocket/internal/engine/loop"
)

// callFailed decides what follows a failed call of a tool or function node, or of a model that has no fallback left.
func (r *Run) callFailed(key string, c *loop.Call, f Failure, cause error) {
	if c == nil {
		return
	}
	if f.Node == "" {
		f.Node = r.nodeID(c.Step)
	}
	if r.handledByProgram(c.Step, key, &f, cause) {
		return
	}
	if delay, ok := r.retry(c.Step, f, cause); ok && !isFinal(f.Code) {
		r.retryCall(c.Step, key, delay, f)
		return
	}
	r.steps.giveUp(c.Step, f)
}

// retryCall makes a call again after a delay, or the whole step where key is empty (ADR 6).
func (r *Run) retryCall(id int, key string, delay time.Duration, f Failure) {
	if key == "" {
		r.steps.unwind(id, -1, f)
	}
	r.emitStep(id, &StepRetrying{Attempt: r.step(id).Retries + 2, Call: key, Until: r.now.Add(delay), Error: f})
}

// restart begins a step anew after its retry timer.
func (r *Run) restart(id int) {
	if r.step(id).Status == stepRunning {
		r.starter.begin(id, r.stepNode(id))
	}
}
