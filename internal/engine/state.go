package engine

import (
	"time"

	"github.com/hocket-run/hocket/internal/engine/ledger"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/workflow"
)

// state is everything that a run knows. It follows from the events, and only apply changes it.
type state struct {
	Seq     uint64
	At      time.Time
	Status  Status
	Created *RunCreated
	Limits  workflow.Limits
	// Active is the time spent running (D21).
	Active time.Duration

	Loop  loop.Loop
	Waits waits.Waits

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

// step is one execution of a node. A run keeps each of its steps: what only a running one needs is in work.
type step struct {
	Node  int
	Scope int
	From  int
	Group int
	// Approval is the last answered approval on the path to the step, the step itself included: the number of its wait; 0: there is none.
	Approval int
	Calls    int // calls that were numbered, once the step has ended
	Status   stepStatus
	Output   output
	*work
}

// work is what a step has while it runs. An ended step keeps Input, Block and By, and its work until its last call has settled; one that has none of these has the one that holds nothing, which is
// never written.
type work struct {
	// Input is what the step was given where that is neither the output of From nor made by a recipe.
	Input   Value
	Iter    int
	Retries int
	Last    *Failure
	Wait    string
	// Seen and View are what a function sees: the outputs and the state as they were when the step started.
	Seen []entry
	View typed.State
	// Loop is what the loop knows of the step.
	Loop  loop.Step
	Block *block
	// By is the agent that gave the output, where the conversation was handed over to it.
	By string
	// Flow is the sub-flow that the step runs.
	Flow int
	// given is the last result of the step, changed what it changes in View. Both are there only within the activation that brought the result.
	given   Data
	changed typed.Changes
}

// works gives steps their work, that of ended ones first. The zero works is ready for use.
type works struct {
	none  *work
	spare []*work
	more  slab[work]
}

// begin gives a step that starts its work.
func (m *works) begin(w work) *work {
	n := len(m.spare)
	if n == 0 {
		return m.more.put(w)
	}
	p := m.spare[n-1]
	m.spare = m.spare[:n-1]
	*p = w
	return p
}

// end gives what an ended step keeps of its work.
func (m *works) end(w *work) *work {
	*w = work{Input: w.Input, Block: w.Block, By: w.By, Loop: w.Loop}
	if w.Input != nil || w.Block != nil || w.By != "" || w.Loop.Calls > 0 {
		return w
	}
	if m.none == nil {
		m.none = new(work)
	}
	m.spare = append(m.spare, w)
	return m.none
}

// openLedger begins the account of a run.
func (s *state) openLedger(d *RunCreated) {
	s.Ledger.SetBudget(d.Limits.Budget())
	s.Ledger.SetParentBudget(d.Above)
	for i := range d.Prices {
		s.Ledger.SetRate(d.Prices[i].Model, d.Prices[i].Rate)
	}
}

// setLimits puts other limits into force.
func (s *state) setLimits(l workflow.Limits) {
	s.Limits = l
	s.Ledger.SetBudget(l.Budget())
}
