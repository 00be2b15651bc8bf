package embedded

import (
	"sync/atomic"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/workflow"
)

// message is an input for a run. done, if set, receives the outcome: the engine's rejection, or nil
// once the input is durable.
type message struct {
	at   time.Time
	data engine.InputData // nil for a touch, which fires deadlines that are due
	// resume continues the run if it was interrupted.
	resume bool
	// ifRoom handles the message only if the driver can take another run.
	ifRoom bool
	// trace is the traceparent of a resume request.
	trace string
	// postedAt is the time at which a request from the inbox was posted: an answer before the
	// deadline of its wait counts, however late it is taken. The zero time means at.
	postedAt time.Time
	// check verifies that the run still belongs to this process.
	check bool
	done  func(error)
	// refused is the engine's rejection, kept until it is known that the engine's state of the run
	// was current.
	refused error
	// part is the budget of the run to be started, valid once done was called with nil.
	part *workflow.Budget
	// grant is the budget reserved for a model call, valid once done was called with nil; parked is
	// called if the call has to wait.
	grant  driver.Grant
	parked func()
	// withdrawn means that the sender no longer waits for done.
	withdrawn atomic.Bool
}

func reply(batch []*message, err error) {
	for _, m := range batch {
		m.answer(err)
	}
}

// answer reports the outcome to the sender, once.
func (m *message) answer(err error) {
	if m.done != nil {
		m.done(err)
		m.done = nil
	}
}

// submitted returns when the sender submitted the message.
func (m *message) submitted() time.Time {
	if m.postedAt.IsZero() || m.postedAt.After(m.at) {
		return m.at
	}
	return m.postedAt
}
