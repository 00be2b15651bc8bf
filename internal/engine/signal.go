package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
)

// Signals arrive from outside, by name. The oldest open wait with that name whose schema and filter
// accept the value takes it. If there is none, the signal is kept, and a step that opens a wait
// later takes the oldest signal that it accepts. Filters are evaluated when the signal arrives and
// when the wait opens, against the outputs at that time.

// readSignal returns the event that a signal produces: see [waits.Waits.ReadSignal]. Errors:
// ErrEnded, ErrSignalName, ErrSignal, ErrSignalsFull.
func (m *machine) readSignal(d Answer) (*event.WaitAnswered, *event.SignalReceived, error) {
	if m.state.Status.Ended() {
		known, err := m.state.Waits.HasSignal(waits.Answer(d))
		if !known && err == nil {
			err = ErrEnded
		}
		return nil, nil, err
	}
	if names := m.state.plan.signals; !slices.Contains(names, d.Signal) {
		if len(names) == 0 {
			return nil, nil, fmt.Errorf("%w: it waits for none", waits.ErrSignalName)
		}
		return nil, nil, fmt.Errorf("%w: %.80q is none of %s", waits.ErrSignalName, d.Signal, strings.Join(names, ", "))
	}
	if err := checkValues("the signal", d.Value); err != nil || len(d.Value) == 0 {
		return nil, nil, fmt.Errorf("%w: its value is not JSON", waits.ErrSignal)
	}
	return m.state.Waits.ReadSignal(waits.Answer(d), m.acceptsSignal)
}

// acceptsSignal implements [waits.Takes].
func (m *machine) acceptsSignal(w *waits.Wait, value event.Value) (event.Value, bool, error) {
	n := m.graph.StepNode(w.Step)
	fitted, err := waits.FitSignal(n.Schema, value)
	if err != nil || n.Wait.Filter == nil {
		return fitted, err == nil, err
	}
	ok, err := m.state.isTrue(w.Step, n.Wait.Filter, n.Filter, &event.StepCompleted{Output: fitted})
	return fitted, ok && err == nil, nil // a filter that cannot be evaluated rejects the value
}

func (m *machine) handleSignal(d Answer) error {
	ans, in, err := m.readSignal(d)
	switch {
	case ans != nil:
		if m.state.Status == event.StatusPaused {
			m.emit(0, "", &event.RunResumed{Reason: "answer"})
		}
		m.signalled(m.state.Waits.Get(ans.Wait).Step, ans)
	case in != nil:
		m.emit(0, "", in)
	}
	return err
}

// takeKept ends a wait that has just been opened with a signal that arrived earlier.
func (m *machine) takeKept(step int, wait string) {
	if ans := m.state.Waits.TakeKept(wait, m.acceptsSignal); ans != nil {
		m.signalled(step, ans)
	}
}

// signalled completes a step with the value of a signal.
func (m *machine) signalled(step int, ans *event.WaitAnswered) {
	m.emitStep(step, ans)
	m.answeredQuestion(step, ans.Answer, &event.StepCompleted{Given: true})
}

// TakesSignal returns the open wait that a signal would answer now, or "" if none would. known
// reports that the signal arrived before, with the same key.
func (r *Run) TakesSignal(d Answer) (wait string, known bool) {
	switch ans, in, err := r.readSignal(d); {
	case err != nil || in != nil:
		return "", false
	case ans == nil:
		return "", true
	default:
		return ans.Wait, false
	}
}

// Signals returns the signals that no step has taken, in order of arrival. The caller owns the
// slice.
func (r *Run) Signals() []*event.SignalReceived {
	var out []*event.SignalReceived
	for _, k := range r.state.Waits.Signals() {
		out = append(out, k.SignalReceived)
	}
	return out
}
