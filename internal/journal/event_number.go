package journal

import "github.com/hocket-run/hocket/internal/engine"

// typeNumbers are the event types that records identify by a number, starting at 1: the types that
// are in most journals. A number is never reassigned to another type; a new type is added at the
// end, with a new RecordVersion.
var typeNumbers = []engine.Type{
	1: "run.created", "run.started", "run.completed", "run.paused", "run.resumed", "step.started", "step.completed",
	"edge.taken", "condition.checked",
	"model.called", "model.replied", "tool.called", "tool.returned", "func.called", "func.returned", "func.noted",
	"wait.opened", "wait.answered", "wait.closed",
	"signal.raised", "timer.fired", "child.started", "call.used",
}

// numberOf is the inverse of typeNumbers.
var numberOf = func() map[engine.Type]int {
	m := make(map[engine.Type]int, len(typeNumbers))
	for n, t := range typeNumbers {
		if n > 0 {
			m[t] = n
		}
	}
	return m
}()
