package engine

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
)

// stepTimeout returns the id of the timer of a step's timeout.
func stepTimeout(step int) string { return event.StepTimeoutPrefix + strconv.Itoa(step) }

// timeoutOf returns the running step that a timeout timer belongs to, or 0 if the timer is not a
// step's timeout or has fired.
func (s *state) timeoutOf(timer string) int {
	text, ok := strings.CutPrefix(timer, event.StepTimeoutPrefix)
	step, err := strconv.Atoi(text)
	if !ok || err != nil || step < 1 || step > s.graph.Steps.Len() || stepTimeout(step) != timer ||
		s.expiry(step) == nil {
		return 0
	}
	return step
}

// expiry returns the timer of a step's timeout, or nil if none is running.
func (s *state) expiry(step int) *StartTimer {
	st := s.graph.Step(step)
	at, seq, ok := st.Expiry()
	if !ok || st.Status != stepRunning {
		return nil
	}
	return &StartTimer{ID: stepTimeout(step), After: seq, At: at, Deadline: true}
}

// expireStep fails a step whose timeout has expired, with everything that runs inside it.
func (m *machine) expireStep(id int) {
	t := m.state.expiry(id)
	if m.now.Before(t.At) {
		m.addCommands(t) // it fired early
		return
	}
	m.emitStep(id, &event.TimerFired{Timer: t.ID})
	if m.state.Status == event.StatusPaused {
		m.emit(0, "", &event.RunResumed{Reason: "timeout"})
	}
	if m.graph.Step(id).Block != nil {
		m.cancelBranches(id, "the timeout of "+m.graph.StepNode(id).ID+" has passed")
	}
	limit := time.Duration(m.graph.StepNode(id).Timeout)
	m.failStep(id,
		event.Failure{Code: event.CodeTimeout, Message: fmt.Sprintf("the step took longer than its timeout of %s",
			limit)})
}
