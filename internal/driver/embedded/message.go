package embedded

import (
	"sync/atomic"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/workflow"
)

// message is an input for a run. done, where there is one, gets the outcome: the engine's refusal, or nil once the input is durable.
type message struct {
	at   time.Time
	data engine.InputData // nil for a touch, which fires deadlines that are due
	// resume: continue the run if it was interrupted.
	resume bool
	// ifRoom: only where another run may be driven.
	ifRoom bool
	// trace is the traceparent of a request to resume.
	trace string
	// asked is when a request out of the inbox was posted: an answer before the deadline of its wait counts, however late it is taken. Zero: at.
	asked time.Time
	// check: find out whether the run is still this process's.
	check bool
	done  func(error)
	// refused is what the engine said of it, until it is known that the engine spoke of the run as it is.
	refused error
	// part is what a run may use that is to be started, once done got nil.
	part *workflow.Budget
	// grant is the room of a model call that asked for it, once done got nil; parked is called when it has to wait.
	grant  driver.Grant
	parked func()
	// withdrawn: done is no longer awaited.
	withdrawn atomic.Bool
}

func reply(batch []*message, err error) {
	for _, m := range batch {
		m.answer(err)
	}
}

// answer tells the sender, once.
func (m *message) answer(err error) {
	if m.done != nil {
		m.done(err)
		m.done = nil
	}
}

// given is when a message was given by its sender.
func (m *message) given() time.Time {
	if m.asked.IsZero() || m.asked.After(m.at) {
		return m.at
	}
	return m.asked
}
