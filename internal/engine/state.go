package engine

import (
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/graph"
	"github.com/hocket-run/hocket/internal/engine/ledger"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/workflow"
)

// state is everything that a run knows. It follows from the events, and only apply changes it.
type state struct {
	plan *Plan
	id   string

	Seq     uint64
	At      time.Time
	Status  Status
	Created *RunCreated
	// Limits are the limits in force, from the definition or an event.
	Limits *workflow.Limits
	// Active is the time spent running (D21).
	Active time.Duration

	graph runGraph
	Loop  loop.Loop
	Waits waits.Waits

	// kept converts large texts into stored texts.
	kept *keeper

	// Bytes is the size that counts against MaxBytes; 0 if there is no such limit.
	Bytes int64
	// Ledger records what the run may use and has used.
	Ledger ledger.Ledger
	// Ending is set once the run can only end, by failure, limit or cancellation.
	Ending *ending
	// Limit is the limit that ended the run, so that the run can be reopened (D20).
	Limit string
	// Trips counts transitions by trip, if Rules.Handoff is set (S3-15).
	Trips map[string]int
	// Errors are the failed attempts, and Updated is when a step last completed; both only with
	// typed state.
	Errors  []FailedAttempt
	Updated time.Time
}

// ending is why the run is about to end.
type ending struct {
	Status  Status
	Failure Failure
	// Reason is the reason of a cancellation.
	Reason string
	// Limit reports that a limit is ending the run, so that tokens and calls are kept for a
	// reopening.
	Limit bool
}

// runGraph is the graph of a run, whose steps hold the loop's state.
type runGraph = graph.Graph[loop.Step]

// stepRunning is the status of a step that has not ended.
const stepRunning = event.Running

// openLedger opens the account of a run.
func (s *state) openLedger(d *RunCreated) {
	s.Ledger.SetBudget(d.Limits.Budget())
	s.Ledger.SetParentBudget(d.Above)
	for i := range d.Prices {
		s.Ledger.SetRate(d.Prices[i].Model, d.Prices[i].Rate)
	}
}

// setLimits replaces the limits in force.
func (s *state) setLimits(l *workflow.Limits) {
	s.Limits = l
	s.Ledger.SetBudget(l.Budget())
}
