package engine

import (
	"math"
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/graph"
	"github.com/hocket-run/hocket/internal/engine/ledger"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/timer"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/workflow"
)

// state is everything that a run knows. It follows from the events, and only apply changes it.
type state struct {
	plan *Plan
	id   string

	Seq     uint64
	At      time.Time
	Status  event.Status
	Created *event.RunCreated
	// Limits are the limits in force, from the definition or an event.
	Limits *workflow.Limits
	// Active is the time spent running (D21).
	Active time.Duration

	graph runGraph
	Loop  loop.Loop
	Waits waits.Waits
	// Timers are the running timers of steps, calls and waits.
	Timers timer.Table

	// kept converts large texts into stored texts.
	kept *textStore
	// checks are the results of conditions that are known already; nil means none.
	checks *lineChecks

	// Bytes is the size that counts against MaxBytes; 0 if there is no such limit.
	Bytes int64
	// Ledger records what the run may use and has used.
	Ledger ledger.Ledger
	// Ending is set once the run can only end, by failure, limit or cancellation.
	Ending *ending
	// Limit is the limit that ended the run, so that the run can be reopened (D20).
	Limit string
	// Transitions counts transitions by transitionKey, if Rules.Handoff is set (S3-15).
	Transitions map[string]int
	// Errors are the failed attempts, and Updated is when a step last completed; both only with
	// typed state.
	Errors  []FailedAttempt
	Updated time.Time
}

// ending is why the run is about to end.
type ending struct {
	Status  event.Status
	Failure event.Failure
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
func (s *state) openLedger(d *event.RunCreated) {
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

// machine holds the state of a run and makes its decisions. It changes the state only by events,
// through emit. Each file has the methods of one topic: what starts (start.go), what follows from
// the end of a step (steps.go), from results (results.go) and from answers (answers.go), which calls
// are repeated (calls.go), agent loops (agents.go), blocks (blocks.go), budgets (budgets.go),
// commands (commands.go), and how the run pauses and ends (lifecycle.go).
type machine struct {
	state state
	graph *runGraph // points to state.graph
	mem   slabs
	// lastID is the last command id that was built, prefixed with the run's id.
	lastID string

	// Collected during one activation; empty between activations.
	now time.Time
	out []event.Event
	// due is set by Run.StopWhen. cut means that decisions of the last activation may be left.
	due func() bool
	cut bool
	// withheld means that there may be calls that wait until others have settled.
	withheld bool
	// made is the size of the outputs of this activation.
	made int32
	// first is the number of the first event of this activation. added are its commands that do not
	// follow from its events.
	first uint64
	added []Command

	freeCallFunc *CallFunc // a returned command for reuse; may be nil
	// announced is the time, in microseconds since 1970, for which the timer for cancelled calls
	// was last requested; 0 means none.
	announced int64
	// edgeBuf is the last result of passable.
	edgeBuf []int
	// cancelling is the cancellation of the whole run that the next cancelled step records.
	cancelling *event.RunCancelled
}

// emit records an event and applies it immediately.
func (m *machine) emit(step int, node string, d event.Data) {
	if len(m.out) == cap(m.out) {
		m.out = slices.Grow(m.out, 3*len(m.out)) // long activations, such as chains of decisions, are rarely copied
	}
	m.out = append(m.out, event.Event{Seq: m.state.Seq + 1, At: m.now, Node: node, Step: step, Data: d})
	m.state.apply(&m.out[len(m.out)-1])
	if done, ok := d.(*event.StepCompleted); ok {
		m.made = int32(min(int64(m.made)+int64(len(done.Output)), math.MaxInt32))
	}
}

// emitStep records an event of a step that has started.
func (m *machine) emitStep(step int, d event.Data) { m.emit(step, m.graph.NodeID(step), d) }

// expect makes room for events more events.
func (m *machine) expect(events int) { m.out = slices.Grow(m.out, events) }
