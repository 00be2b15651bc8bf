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
func (m *machine) handleRecovered(d Recovered) error {
	if m.state.Status.Ended() {
		return ErrEnded
	}
	if m.state.Status == event.StatusRunning {
		m.emit(0, "", &event.RunResumed{Reason: reasonRecovered, Trace: event.Clean(d.Trace)})
	}
	m.graph.WakeAll()
	m.resumeCalls(d.Lost, "the process that made the call died")
	return nil
}

// handleReopen continues a run that was ended by a limit (D20).
func (m *machine) handleReopen(d Reopen) error {
	switch {
	case m.state.Status != event.StatusFailed || m.state.Limit == "":
		return ErrNotReopenable
	case m.state.Limit == event.CodeParentBudget && d.Above == nil:
		return ErrAbove
	}
	limits := MergeLimits(*m.state.Limits, d.Limits)
	m.emit(0, "", &event.RunResumed{Reason: reasonReopened, Limits: &limits, Above: d.Above, By: d.By.Clean(),
		Trace: event.Clean(d.Trace)})
	if m.state.Ending != nil {
		m.cancelScope(0, "the run failed")
		m.abandon(endedBefore)
		return nil
	}
	m.resumeCalls(d.Lost, endedBefore)
	m.callWithheld()
	return nil
}

// Reasons of RunResumed after which calls in flight are made again.
const (
	reasonRecovered = "recovered"
	reasonReopened  = event.ReasonReopened
)

const endedBefore = "the run had ended before"

// resumeCalls continues with the calls that were in flight when the run was interrupted.
func (m *machine) resumeCalls(lost []Lost, why string) {
	if m.state.cancelled() { // do not restart calls only to stop them
		m.abandonAll(why)
		return
	}
	m.abandon(why)
	for _, call := range lost {
		key, c := m.state.openCall(call.ID, loop.Tool)
		if c == nil || c.State != loop.Open {
			continue
		}
		switch call.Policy {
		case "retry":
		case "skip":
			m.settleLost(key, "skip")
		case "fail":
			m.settleLost(key, "fail")
		default:
			m.askAbout(key, c, "it was interrupted while it ran")
		}
	}
	m.abandon(why) // those that a failure has just cancelled
	m.announced = 0
	m.reissue()
}
