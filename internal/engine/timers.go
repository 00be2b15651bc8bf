package engine

import (
	"fmt"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/timer"
)

// startTimer starts a timer of the step of an event, unless at is nil.
func (s *state) startTimer(ev *event.Event, k timer.Key, at *time.Time) {
	if at != nil {
		s.Timers.Start(timer.Timer{Key: k, At: *at, Owner: ev.Step, Seq: ev.Seq})
	}
}

// isAsleep reports whether a step waits for its retry timer.
func (s *state) isAsleep(step int) bool {
	_, asleep := s.Timers.Get(timer.RetryOf(step, ""))
	return asleep
}

func checkTimerFired(s *state, ev *event.Event, d *event.TimerFired) string {
	k, _ := timer.Parse(d.Timer)
	if t, ok := s.Timers.Get(k); !ok || t.Owner != ev.Step {
		return "timer " + d.Timer + " is not running"
	}
	return ""
}

func applyTimerFired(s *state, _ *event.Event, d *event.TimerFired) {
	k, _ := timer.Parse(d.Timer)
	s.Timers.Stop(k)
	switch {
	case k.Kind == timer.Timeout:
		s.graph.Step(k.Step).Expire()
	case k.Kind == timer.Retry && k.Call != "":
		s.Loop.Wake(s, k.Call)
	case k.Kind == timer.Retry:
		s.Loop.WakeStep(s, k.Step)
	}
}

// startTimer returns the command for a timer.
func startTimer(t timer.Timer) *StartTimer {
	isDeadline := t.Kind == timer.Deadline || t.Kind == timer.Remind || t.Kind == timer.Timeout
	return &StartTimer{ID: t.String(), After: t.Seq, At: t.At, Deadline: isDeadline}
}

// timeLimit returns the timer of the run's own time limit, or false if there is none.
func (s *state) timeLimit(seq uint64) (timer.Timer, bool) {
	limit := time.Duration(s.Limits.Timeout)
	return timer.Timer{At: s.At.Add(max(0, limit-s.Active)), Seq: seq}, limit > 0 && s.Status == event.StatusRunning
}

func (m *machine) handleTimer(d TimerDue) {
	k, ok := timer.Parse(d.ID)
	t, running := m.state.Timers.Get(k)
	switch {
	case !ok || m.state.Status.Ended():
	case k.Kind == timer.Limit:
		m.timeUp()
	case k.Kind == timer.Settle:
		m.settleTimeUp()
	case !running: // it was stopped meanwhile
	case m.now.Before(t.At):
		m.addCommands(startTimer(t)) // it fired early
	default:
		m.emitStep(t.Owner, &event.TimerFired{Timer: d.ID})
		switch k.Kind {
		case timer.Timeout:
			m.expireStep(k.Step)
		case timer.Retry:
			m.retryDue(t.Owner, k)
		default:
			m.waitTimerDue(t.Owner, k)
		}
	}
}

// expireStep fails a step whose timeout has passed, with everything that runs inside it.
func (m *machine) expireStep(id int) {
	if m.state.Status == event.StatusPaused {
		m.emit(0, "", &event.RunResumed{Reason: "timeout"})
	}
	if m.graph.Step(id).Block != nil {
		m.cancelBranches(id, "the timeout of "+m.graph.StepNode(id).ID+" has passed")
	}
	limit := time.Duration(m.graph.StepNode(id).Timeout)
	m.failStep(id, event.Failure{Code: event.CodeTimeout,
		Message: fmt.Sprintf("the step took longer than its timeout of %s", limit)})
}
