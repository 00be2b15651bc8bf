package event

import (
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/workflow"
)

// RunCreated is the first event of every run: what to run, and with what.
type RunCreated struct {
	// Version is the version of the engine's behavior. A run keeps it until it ends.
	Version  int    `json:"version"`
	Workflow string `json:"workflow,omitempty"` // id in the catalog
	Name     string `json:"name,omitempty"`
	Format   string `json:"format,omitempty"`
	// Digest is the digest of the definition (P9).
	Digest string `json:"digest"`
	Input  Value  `json:"input,omitempty"`
	// Limits are the limits in force: those of the definition, overridden by the flags of the run.
	Limits workflow.Limits `json:"limits"`
	// Prices are the prices of the run's models; all other prices are unknown.
	Prices     []Price `json:"prices,omitempty"`
	ParentRun  string  `json:"parentRun,omitempty"`
	ForkedFrom string  `json:"forkedFrom,omitempty"`
	// Retry means that the run continues ForkedFrom after it failed, reached a limit or was
	// cancelled, or from one of its steps.
	Retry bool `json:"retry,omitempty"`
	// ForkedAt is when the run was forked from ForkedFrom: earlier events belong to that run. It is
	// zero if ForkedFrom is empty.
	ForkedAt time.Time `json:"forkedAt,omitzero"`
	// Above is what the parent run allots to this one, in addition to Limits; nil means no limit.
	// Only the parent run raises it; a reopening or an answer does not.
	Above *workflow.Budget `json:"above,omitempty"`
	// Facts are texts that agents may append to their system prompts, under the names FactDate,
	// FactEnvironment and FactFile: facts about the environment as of the start of the run.
	Facts map[string]string `json:"facts,omitempty"`
	// Remind is how long waits are open before a reminder, unless their node says otherwise; 0
	// means no reminder.
	Remind workflow.Duration `json:"remind,omitempty"`
	// Trigger is what started the run, and Labels are the labels by which it is found: the
	// workflow's and its own. The engine does not read them.
	Trigger string          `json:"trigger,omitempty"`
	Labels  workflow.Labels `json:"labels,omitempty"`
	// Meta is for projections: target ids, branch, definition version. The engine does not read it.
	Meta map[string]string `json:"meta,omitempty"`
}

// Names of facts; the name of a file's fact is FactFile followed by the file's name in the
// document.
const (
	FactDate        = "date"
	FactEnvironment = "environment"
	FactFile        = "file:"
)

// Price is the price of a model, under the model reference that calls of the run use; "" is the
// model of agents that name none.
type Price struct {
	Model string    `json:"model"`
	Rate  chat.Rate `json:"rate"`
	// Window is the size of the model's context window in tokens, set if an agent of the run
	// shortens its conversations based on it; 0 means unknown.
	Window int64 `json:"window,omitempty"`
}

// RunStarted records that the entry received the input.
type RunStarted struct{}

// RunPaused records that nothing can continue until a wait is answered. Wait is the wait to show
// first.
type RunPaused struct {
	Wait string `json:"wait"`
}

// ReasonReopened is the reason of RunResumed if the run had ended.
const ReasonReopened = "reopened"

// RunResumed records that a paused, interrupted or ended run continues. Reason is `answer`,
// `deadline` (of a wait), `timeout` (of a step), `recovered` or `reopened` (with new Limits).
type RunResumed struct {
	Reason string           `json:"reason"`
	Limits *workflow.Limits `json:"limits,omitempty"`
	// Above replaces RunCreated.Above; nil leaves it unchanged.
	Above *workflow.Budget `json:"above,omitempty"`
	// By is who set Limits.
	By Actor `json:"by,omitzero"`
	// Trace is the W3C traceparent of the request that resumed the run; "" if it had none. The
	// engine does not read it.
	Trace string `json:"trace,omitempty"`
}

// RunCompleted ends a run. OutputStep is the step whose output is the run's; 0 means that there is
// no output.
type RunCompleted struct {
	OutputStep int `json:"outputStep,omitempty"`
	// Output is the run's output if the workflow defines it; nil means the output of
	// OutputStep.
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

// RunCancelling records that the run is being cancelled: no step starts, but results that functions
// return within 5 s still count (S2-36, D10).
type RunCancelling struct {
	Reason string `json:"reason,omitempty"`
}

// SignalRaised records a signal of a node or, if Event is set, an event of the program itself,
// whose meaning only the program knows.
type SignalRaised struct {
	Signal  string           `json:"signal"`
	Message string           `json:"message,omitempty"`
	Data    map[string]Value `json:"data,omitempty"`
	Event   bool             `json:"event,omitempty"`
	// At is when a function sent it; zero means the event's own time.
	At time.Time `json:"at,omitzero"`
}

// LimitReached records which limit was reached: `max_steps`, `max_bytes`, `max_loop_iterations`,
// `max_rounds`, `max_turns`, `no_progress`, `timeout`, `budget`, `node_budget`, `parent_budget`,
// `workflow_budget` (Detail says which and what was used), `oscillation`.
type LimitReached struct {
	Limit string `json:"limit"`
	// Max is the limit: bytes for max_bytes, milliseconds for timeout, what Detail says for a
	// budget (tokens, calls, or millionths of a US dollar), 0 for workflow_budget, and a number of
	// steps, passes, rounds, turns or repetitions for the others.
	Max int64 `json:"max"`
	// Detail is what a budget that was reached limits, the number of the round that ended for
	// max_rounds and for the trail, or DetailHandoff; it is empty for other limits.
	Detail string `json:"detail,omitempty"`
}

// DetailHandoff is the Detail of a limit at which a person takes over.
const DetailHandoff = "handoff"

// IsHandoff reports whether the workflow hands over to a person at the limit (S3-15).
func (d *LimitReached) IsHandoff() bool { return d.Detail == DetailHandoff }
