package engine

import (
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
)

// handleRecovered continues a run after a crash: cancelled calls are abandoned, lost calls are
// handled according to their policy, all other calls are issued again (P12). Everything else is as
// the fold left it: open waits with their timers, the steps of blocks and sub-flows around them,
// tokens, and loop iterations. Scopes are examined again because a fold decides nothing. A paused
// run has no call to issue again and needs no event.
func (l *lifecycle) handleRecovered(d Recovered) {
	if l.state.Status == StatusRunning {
		l.emit(0, "", &RunResumed{Reason: reasonRecovered, Trace: event.Clean(d.Trace)})
	}
	l.graph.WakeAll()
	l.resumeCalls(d.Lost, "the process that made the call died")
}

// handleReopen continues a run that was ended by a limit (D20).
func (l *lifecycle) handleReopen(d Reopen) {
	limits := MergeLimits(*l.state.Limits, d.Limits)
	l.emit(0, "", &RunResumed{Reason: reasonReopened, Limits: &limits, Above: d.Above, By: d.By.Clean(),
		Trace: event.Clean(d.Trace)})
	if l.state.Ending != nil {
		l.steps.cancelScope(0, "the run failed")
		l.abandon(endedBefore)
		return
	}
	l.resumeCalls(d.Lost, endedBefore)
	l.calls.callWithheld()
}

// Reasons of RunResumed after which calls in flight are made again.
const (
	reasonRecovered = "recovered"
	reasonReopened  = event.ReasonReopened
)

const endedBefore = "the run had ended before"

// resumeCalls continues with the calls that were in flight when the run was interrupted.
func (l *lifecycle) resumeCalls(lost []Lost, why string) {
	if l.state.cancelled() { // do not restart calls only to stop them
		l.abandonAll(why)
		return
	}
	l.abandon(why)
	for _, call := range lost {
		key, c := l.state.openCall(call.ID, loop.Tool)
		if c == nil || c.State != loop.Open {
			continue
		}
		switch call.Policy {
		case "retry":
		case "skip":
			l.calls.settleLost(key, "skip")
		case "fail":
			l.calls.settleLost(key, "fail")
		default:
			l.people.askAbout(key, c, "it was interrupted while it ran")
		}
	}
	l.abandon(why) // those that a failure has just cancelled
	l.announced = 0
	l.commands.reissue()
}
