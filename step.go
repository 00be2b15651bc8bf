package hocket

import (
	"encoding/json"
	"time"

	"github.com/hocket-run/hocket/graph"
)

// Status is the state of a run.
type Status string

const (
	StatusPending   Status = "pending"
	StatusRunning   Status = "running"
	StatusPaused    Status = "paused"
	StatusCompleted Status = "completed"
	StatusFailed    Status = "failed"
	StatusCancelled Status = "cancelled"
)

// IsExecutionStatus tells whether s is one of the six (S2-60).
func IsExecutionStatus(s string) bool {
	switch Status(s) {
	case StatusPending, StatusRunning, StatusPaused, StatusCompleted, StatusFailed, StatusCancelled:
		return true
	}
	return false
}

// Step is one node of a Go graph that has settled: it ended, failed for good, waits for a person, or was cancelled (S2-73).
type Step[S any] struct {
	NodeID string
	// Seq is the journal position at which it settled: a place for Engine.Fork.
	Seq uint64
	// State is the run's state after the node; inside a branch of a parallel block, as that branch sees it.
	State S
	// Result is what the node gave: what it changed in Update (nil: nothing), its output, gotos and signals.
	Result StepResult
	// Status is the run's status with this step: running, and for the last one how the run ended or that it is paused.
	Status Status
	// Error is why the node failed; nil where it did not.
	Error error
	// ExecutionTime is the time from the node's start, over all attempts.
	ExecutionTime time.Duration
	// RetryCount is the number of attempts after the first.
	RetryCount int
	// ModelUsed is the model that the node resolved to, "" where it used none.
	ModelUsed string
	// EmittedEvents are those that the node sent by Context.Emit, in order.
	EmittedEvents []EmittedEvent
}

// StepResult is what a node gave, as it was recorded.
type StepResult struct {
	// Update holds the top-level fields of the state that the node changed, by their names in JSON; nil: none.
	Update map[string]json.RawMessage `json:"stateUpdate,omitempty"`
	// Output is the node's output; nil: none.
	Output  json.RawMessage `json:"output,omitempty"`
	Goto    []string        `json:"goto,omitempty"`
	Signals []graph.Signal  `json:"signals,omitempty"`
}

// EmittedEvent is an event of the program's own that a node sent while it ran.
type EmittedEvent struct {
	Type      string         `json:"type"`
	Data      map[string]any `json:"data,omitempty"`
	Timestamp time.Time      `json:"timestamp"`
}

// Result is how a run of a Go graph ended, or where it waits.
type Result[S any] struct {
	State    S
	Status   Status
	Snapshot Snapshot[S]
	// Err is why the run failed or was cancelled; nil otherwise.
	Err error
}

// Snapshot is everything about a run at one moment (S2-63). It survives JSON and can be resumed by RunOptions.ResumeFrom, in another process too.
type Snapshot[S any] struct {
	ExecutionID string `json:"executionId"`
	State       S      `json:"state"`
	// Outputs are the outputs of nodes, by id, and those that the run began with.
	Outputs map[string]json.RawMessage `json:"outputs"`
	// ContextWindowUsage is what the last agent or context monitor node told; nil: none did (S2-75).
	ContextWindowUsage *graph.ContextWindowUsage `json:"contextWindowUsage,omitempty"`
	Status             Status                    `json:"status"`
	// CurrentNodeID is the node that settled last, or that waits.
	CurrentNodeID string `json:"currentNodeId,omitempty"`
	// VisitedNodes are the nodes in the order in which they ended, once for each execution; those that were cancelled are none.
	VisitedNodes []string `json:"visitedNodes"`
	// Pending are the nodes that would run next.
	Pending []string               `json:"pending"`
	Errors  []graph.ExecutionError `json:"errors"`
	// Signals are those of its nodes and, last, that of the DebugReport (S2-59).
	Signals []graph.Signal `json:"signals"`
	// Waiting are the open questions to people.
	Waiting     []Wait     `json:"waiting,omitempty"`
	StartedAt   time.Time  `json:"startedAt"`
	UpdatedAt   time.Time  `json:"updatedAt"`
	CompletedAt *time.Time `json:"completedAt,omitempty"`
	// NodeExecutionCount counts the executions of nodes over all resumes.
	NodeExecutionCount int `json:"nodeExecutionCount"`
	// DebugReport tells of a failed run (S2-59); nil for all others.
	DebugReport *graph.DebugReport `json:"debugReport,omitempty"`
	// Journal is the run's own record, which a resume on another store needs. Its form is Hocket's own.
	Journal json.RawMessage `json:"journal,omitempty"`
}

// Wait is an open question to a person.
type Wait struct {
	ID      string    `json:"id"`
	Node    string    `json:"node"`
	Kind    string    `json:"kind"`
	Prompt  string    `json:"prompt"`
	Options []string  `json:"options,omitempty"`
	Since   time.Time `json:"since"`
	// Input is what came to the node that waits: the text that is to be approved, or that the question follows. Nil for tool calls and budgets, and in a [Snapshot].
	Input json.RawMessage `json:"input,omitempty"`
	// Tool and Arguments are those of a tool call that waits for a person, as it would be made (SEC12); empty for nodes that wait and for calls whose outcome
	// is unknown. Changed: the tool's definition is not the one that the run began with, and approving accepts the new one. Schema is what the
	// answer to a tool's question must fit.
	Tool      string          `json:"tool,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Changed   bool            `json:"changed,omitempty"`
	Schema    json.RawMessage `json:"schema,omitempty"`
}
