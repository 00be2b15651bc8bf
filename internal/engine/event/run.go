package event

import (
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/workflow"
)

// RunCreated is the first event of every run: what is to be run, with what.
type RunCreated struct {
	// Version is the version of the engine's behaviour. A run keeps it until it ends.
	Version  int    `json:"version"`
	Workflow string `json:"workflow,omitempty"` // id in the catalog
	Name     string `json:"name,omitempty"`
	Format   string `json:"format,omitempty"`
	// Digest is the definition's (P9).
	Digest string `json:"digest"`
	Input  Value  `json:"input,omitempty"`
	// Limits are those in force: those of the definition, overridden by the flags of the run.
	Limits workflow.Limits `json:"limits"`
	// Prices are those of the models of the run; others are unknown.
	Prices     []Price `json:"prices,omitempty"`
	ParentRun  string  `json:"parentRun,omitempty"`
	ForkedFrom string  `json:"forkedFrom,omitempty"`
	// Retry: the run goes on with ForkedFrom where that one failed, met a limit or was cancelled, or from one of its steps.
	Retry bool `json:"retry,omitempty"`
	// ForkedAt is when the run was made of ForkedFrom: events before it are of that one. Zero where ForkedFrom is empty.
	ForkedAt time.Time `json:"forkedAt,omitzero"`
	// Above is what the parent run allots to this one, in addition to Limits; nil: no bound. Only the parent run raises it, not a reopening and not an answer.
	Above *workflow.Budget `json:"above,omitempty"`
	// Facts are texts that agents may append to their system prompts, by the names FactDate, FactEnvironment and FactFile: facts about the world
	// as they were when the run began.
	Facts map[string]string `json:"facts,omitempty"`
	// Remind is how long waits are open before a reminder, where their node does not say; 0: there is none.
	Remind workflow.Duration `json:"remind,omitempty"`
	// Trigger says what began the run, and Labels are those by which it is found: the workflow's and its own. The engine does not read them.
	Trigger string          `json:"trigger,omitempty"`
	Labels  workflow.Labels `json:"labels,omitempty"`
	// Meta is for projections: target ids, branch, definition version. The engine does not read it.
	Meta map[string]string `json:"meta,omitempty"`
}

// Names of facts; that of a file is FactFile before its name in the document.
const (
	FactDate        = "date"
	FactEnvironment = "environment"
	FactFile        = "file:"
)

// Price is what a model costs, under the reference by which calls of the run name it; "" is the model of agents without one.
type Price struct {
	Model string    `json:"model"`
	Rate  chat.Rate `json:"rate"`
	// Window is the size of its context window in tokens, where an agent of the run shortens its conversations by that; 0: unknown.
	Window int64 `json:"window,omitempty"`
}

// RunStarted says that the entry received the input.
type RunStarted struct{}

// RunPaused says that nothing can continue before a wait is answered. Wait is the one that is shown first.
type RunPaused struct {
	Wait string `json:"wait"`
}

// ReasonReopened is the reason of RunResumed where the run had ended.
const ReasonReopened = "reopened"

// RunResumed says that a paused, interrupted or ended run continues. Reason is `answer`, `deadline`, `recovered` or `reopened` (with new Limits).
type RunResumed struct {
	Reason string           `json:"reason"`
	Limits *workflow.Limits `json:"limits,omitempty"`
	// Above takes the place of RunCreated.Above; nil leaves it.
	Above *workflow.Budget `json:"above,omitempty"`
	// By is who set Limits.
	By Actor `json:"by,omitzero"`
	// Trace is the W3C traceparent of the request that resumed the run; "" where it had none. The engine does not read it.
	Trace string `json:"trace,omitempty"`
}

// RunCompleted ends a run. OutputStep is the step whose output is the run's; 0: no output.
type RunCompleted struct {
	OutputStep int `json:"outputStep,omitempty"`
	// Output is the run's where the workflow says what it is; nil: that of OutputStep.
	Output Value `json:"output,omitempty"`
}

// RunFailed ends a run.
type RunFailed struct {
	Error Failure `json:"error"`
}

// RunCancelled ends a run.
type RunCancelled struct {
	Reason string `json:"reason,omitempty"`
}

// RunCancelling says that the run is being cancelled: no step starts, and results of functions within 5 s still count (S2-36, D10).
type RunCancelling struct {
	Reason string `json:"reason,omitempty"`
}

// SignalRaised is a signal of a node, or where Event is set an event of the program's own, whose meaning only the program knows.
type SignalRaised struct {
	Signal  string           `json:"signal"`
	Message string           `json:"message,omitempty"`
	Data    map[string]Value `json:"data,omitempty"`
	Event   bool             `json:"event,omitempty"`
	// At is when a function sent it, zero where that is the event's own time.
	At time.Time `json:"at,omitzero"`
}

// LimitReached says which bound was met: `max_steps`, `max_bytes`, `max_loop_iterations`, `max_rounds`, `max_turns`, `no_progress`, `timeout`,
// `budget`, `node_budget`, `parent_budget`, `workflow_budget` (Detail says which and what was used), `oscillation`.
type LimitReached struct {
	Limit string `json:"limit"`
	Max   int64  `json:"max"`
	// Round is the number of the round that ended, for max_rounds and for the trail.
	Detail string `json:"detail,omitempty"`
}

// DetailHandoff is the Detail of a bound at which a person takes over.
const DetailHandoff = "handoff"

// IsHandoff tells whether the workflow hands over to a person at the bound (S3-15).
func (d *LimitReached) IsHandoff() bool { return d.Detail == DetailHandoff }
