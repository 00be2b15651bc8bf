package scheduler

import (
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

// EventKind is a kind of Event.
type EventKind string

const (
	// EventLeading: this process carries out the schedules from now on. EventWaiting: another does, which Detail names.
	EventLeading EventKind = "leading"
	EventWaiting EventKind = "waiting"
	// EventRegistered: a schedule is new or another one than before. EventRemoved: it is gone. EventBroken: it cannot be read, for the reason in Err.
	EventRegistered EventKind = "registered"
	EventRemoved    EventKind = "removed"
	EventBroken     EventKind = "broken"
	// EventStarted: Run began. EventEnded: it ended with Status. EventSkipped: a planned time found Run still going on (S1-37). EventRefused: the run
	// was not acceptable, for the reason in Err.
	EventStarted EventKind = "started"
	EventEnded   EventKind = "ended"
	EventSkipped EventKind = "skipped"
	// EventPaused, EventResumed: a person, named by Detail, said so. EventHeld: a planned time started nothing as the schedule was paused or the time is skipped, which Detail tells.
	EventPaused  EventKind = "paused"
	EventResumed EventKind = "resumed"
	EventHeld    EventKind = "held"
	EventRefused EventKind = "refused"
	// EventMissed: Count planned times passed while no scheduler ran, the last of them at Planned; CatchUp tells how many are made up for.
	EventMissed EventKind = "missed"
	// EventClock: the clock was set back by more than a day.
	EventClock EventKind = "clock"
)

// Event is one thing that a scheduler did or found. Fields that do not apply are zero.
type Event struct {
	Kind EventKind
	At   time.Time
	Key
	// Planned is the planned time that the event is about; Next the one after now, zero where there is none.
	Planned, Next time.Time
	// CatchUp and Count are numbers of planned times: those to be made up for, and those missed, of which no more than MaxCatchUp are counted.
	CatchUp, Count int
	Run            string
	Status         journal.Status
	// Took is how long the run took as seen from here.
	Took   time.Duration
	Detail string
	Err    error
}
