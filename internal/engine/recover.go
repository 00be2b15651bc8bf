package engine

import (
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
)

// handleRecovered goes on after a crash: cancelled calls are given up, lost ones are treated by their policy, all others are given again (P12). All else is as the fold left it: open waits with
// their timers, the steps of blocks and sub-flows around them, tokens, and passes of loops. Scopes are looked at again because a fold decides nothing. A paused run has no call to give again and
// needs no event.
func (l *lifecycle) handleRecovered(d Recovered) {
	if l.state.Status == StatusRunning {
		l.emit(0, "", &RunResumed{Reason: reasonRecovered, Trace: event.Clean(d.Trace)})
	}
	l.graph.WakeAll()
	l.takeUp(d.Lost, "the process that made the call died")
}

// handleReopen goes on with a run that ended by a limit (D20).
func (l *lifecycle) handleReopen(d Reopen) {
	limits := MergeLimits(*l.state.Limits, d.Limits)
	l.emit(0, "", &RunResumed{Reason: reasonReopened, Limits: &limits, Above: d.Above, By: d.By.Clean(), Trace: event.Clean(d.Trace)})
	if l.state.Ending != nil {
		l.steps.cancelScope(0, "the run failed")
		l.abandon(endedBefore)
		return
	}
	l.takeUp(d.Lost, endedBefore)
	l.calls.callWithheld()
}

// Reasons of RunResumed after which calls that were out are made again.
const (
	reasonRecovered = "recovered"
	reasonReopened  = event.ReasonReopened
)

const endedBefore = "the run had ended before"

// takeUp goes on with the calls that were out when the run was left.
func (l *lifecycle) takeUp(lost []Lost, why string) {
	if l.state.cancelled() { // nothing is called again only to be stopped
		l.cutOff(why)
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
			l.calls.lost(key, "skip")
		case "fail":
			l.calls.lost(key, "fail")
		default:
			l.people.askAbout(key, c, "it was interrupted while it ran")
		}
	}
	l.abandon(why) // those that a failure just cancelled
	l.announced = 0
	l.commands.reissue()
}
