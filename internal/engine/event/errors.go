package event

import (
	"encoding/json"
	"time"

	"github.com/hocket-run/hocket/internal/expr"
)

// Failure is the reason why a call, a step or a run did not succeed. It is data: it is part of
// events, survives replay, and is never a Go error.
type Failure struct {
	// Code is one of the Code constants, or a code defined by a provider or tool.
	Code    string `json:"code"`
	Message string `json:"message"`
	// Node is where the failure first happened.
	Node string `json:"node,omitempty"`
	// Retryable means that the same call may succeed later.
	Retryable bool `json:"retryable,omitempty"`
	// RetryAfterMS is how long the other side asked to wait, in milliseconds; 0 if it did not say.
	RetryAfterMS int64 `json:"retryAfterMs,omitempty"`
	// Limit is what the exhausted budget limits, as in BudgetError, and Max its amount; they are ""
	// and 0 for other failures.
	Limit string `json:"limit,omitempty"`
	Max   int64  `json:"max,omitempty"`
	// Stack is the stack trace if a function of a Go program panicked; otherwise "". It is for the
	// authors of the program, and never part of the message.
	Stack string `json:"stack,omitempty"`
	// Problems lists what a schema rejected in a state or an input, each with `path`, a JSON
	// pointer, and `message` (S2-45); nil for other failures.
	Problems Value `json:"problems,omitempty"`
}

// RetryAfter returns how long the other side asked to wait, or 0 if it did not say.
func (f *Failure) RetryAfter() time.Duration { return time.Duration(f.RetryAfterMS) * time.Millisecond }

// Codes of failures that the engine itself creates.
const (
	CodeMaxSteps          = "max_steps"
	CodeMaxLoopIterations = "max_loop_iterations"
	CodeMaxTurns          = "max_turns"
	CodeMaxBytes          = "max_bytes"
	CodeValueTooLarge     = "value_too_large"
	CodeNoProgress        = "no_progress"
	CodeTimeout           = "timeout"
	CodeBudget            = "budget"
	CodeNodeBudget        = "node_budget"
	CodeWorkflowBudget    = "workflow_budget"
	CodeParentBudget      = "parent_budget"
	CodeOscillation       = "oscillation"
	CodeNoRoute           = "no_route"
	CodeCondition         = "condition"
	CodeInvalidOutput     = "invalid_output"
	CodeStateConflict     = "state_conflict"
	CodeDeadline          = "deadline"
	CodeTool              = "tool"
	CodeOutcomeUnknown    = "outcome_unknown"
	CodeRejected          = "rejected"
	CodeUnattended        = "unattended"
	CodeFunc              = "func"
	CodeUncounted         = "uncounted"
	CodeNodeNotFound      = "node_not_found"
	CodeCancelled         = "cancelled"
	CodeStuck             = "stuck"
	CodeExpression        = "expression"
	CodeEnded             = "ended"
	CodeMaxItems          = "max_items"
	CodeItemsFailed       = "items_failed"
)

// Brief returns the failure as expressions read it.
func (f Failure) Brief() Value {
	return expr.Object([]expr.Member{{Name: "code", Value: expr.Quote(f.Code)},
		{Name: "message", Value: expr.Quote(f.Message)}, {Name: "node", Value: expr.Quote(f.Node)}})
}

// InList returns the failure in the form that replaces an item's output in the list of a map.
func (f Failure) InList() Value {
	return expr.Object([]expr.Member{{Name: "error", Value: f.Brief()}})
}

// Value returns the failure as the token of an error edge carries it (P30).
func (f Failure) Value() Value {
	b, err := json.Marshal(map[string]Failure{"error": f})
	if err != nil { // strings, numbers and booleans always encode
		return nil
	}
	return b
}
