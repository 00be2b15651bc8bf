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
	// Limits are those in force, as the definition or an event has them.
	Limits *workflow.Limits
	// Active is the time spent running (D21).
	Active time.Duration

	graph runGraph
	Loop  loop.Loop
	Waits waits.Waits

	// kept makes stored texts of large ones.
	kept *keeper

	// Bytes count against MaxBytes; 0 where there is no such bound.
	Bytes int64
	// Ledger is what the run may use and has used.
	Ledger ledger.Ledger
	// Ending is set once the run can only end, by failure, limit or cancellation.
	Ending *ending
	// Limit is the bound that ended the run, so that it may be reopened (D20).
	Limit string
	// Trips counts transitions by trip, where Rules.Handoff is set (S3-15).
	Trips map[string]int
	// Errors are the failed attempts, and Updated is when a step completed last, where the state is typed.
	Errors  []FailedAttempt
	Updated time.Time
}

// ending is why the run is about to end.
type ending struct {
	Status  Status
	Failure Failure
	// Reason is that of a cancellation.
	Reason string
	// Limit: tokens and calls are kept for a reopening.
	Limit bool
}

// runGraph is the graph of a run, whose steps hold what the loop keeps of them.
type runGraph = graph.Graph[loop.Step]

// stepRunning is the status of a step that has not ended.
const stepRunning = event.Running

// openLedger begins the account of a run.
func (s *state) openLedger(d *RunCreated) {
	s.Ledger.SetBudget(d.Limits.Budget())
	s.Ledger.SetParentBudget(d.Above)
	for i := range d.Prices {
		s.Ledger.SetRate(d.Prices[i].Model, d.Prices[i].Rate)
	}
}

// setLimits puts other limits into force.
func (s *state) setLimits(l *workflow.Limits) {
	s.Limits = l
	s.Ledger.SetBudget(l.Budget())
}
