package scheduler

import (
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

// EventKind is a kind of Event.
type EventKind string

// The kinds of events.
const (
	// EventLeading means that this process now executes the schedules. EventWaiting means that
	// another process, named by Detail, does.
	EventLeading EventKind = "leading"
	EventWaiting EventKind = "waiting"
	// EventRegistered reports a new or changed schedule. EventRemoved means that it is gone.
	// EventBroken means that it cannot be read, for the reason in Err.
	EventRegistered EventKind = "registered"
	EventRemoved    EventKind = "removed"
	EventBroken     EventKind = "broken"
	// EventStarted means that Run began. EventEnded means that it ended with Status. EventSkipped
	// means that Run was still active at a planned time (S1-37). EventRefused means that the run
	// was not acceptable, for the reason in Err.
	EventStarted EventKind = "started"
	EventEnded   EventKind = "ended"
	EventSkipped EventKind = "skipped"
	// EventPaused and EventResumed report the action of a person, named by Detail. EventHeld means
	// that a planned time started nothing because the schedule was paused or the time is skipped;
	// Detail says which.
	EventPaused  EventKind = "paused"
	EventResumed EventKind = "resumed"
	EventHeld    EventKind = "held"
	EventRefused EventKind = "refused"
	// EventMissed means that Count planned times passed while no scheduler ran, the last of them at
	// Planned; CatchUp is the number to be caught up.
	EventMissed EventKind = "missed"
	// EventClock means that the clock was set back by more than a day.
	EventClock EventKind = "clock"
)

// IsFailure reports whether runs do not start for a reason that a person must remove.
func (k EventKind) IsFailure() bool { return k == EventRefused || k == EventBroken }

// Event is one thing that a scheduler did or observed. Fields that do not apply are zero.
type Event struct {
	Kind EventKind
	At   time.Time
	Key
	// Planned is the planned time that the event is about; Next is the planned time after now, zero
	// if there is none.
	Planned, Next time.Time
	// CatchUp and Count are numbers of planned times: those to be caught up, and those missed,
	// counted up to MaxCatchUp.
	CatchUp, Count int
	Run            string
	Status         journal.Status
	// Took is the duration of the run as observed by the scheduler.
	Took   time.Duration
	Detail string
	Err    error
}
