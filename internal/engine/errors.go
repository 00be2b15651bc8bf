package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/ledger"
)

// FailedAttempt is a failure in a run with typed state: of an attempt of a function, or of a step
// as a whole (S2-78).
type FailedAttempt struct {
	Node    string
	Message string
	At      time.Time
	Attempt int // counted from 1
}

// Errors returned by Activate. They leave the run unchanged.
var (
	// ErrUnknownCommand is returned when an input answers a call or timer that this run never
	// requested.
	ErrUnknownCommand = errors.New("input answers an unknown command")
	// ErrEnded is returned when the run has ended and accepts nothing but a reopening.
	ErrEnded = errors.New("run has ended")
	// ErrNotStarted is returned for any other input before Start, and ErrStarted for a second
	// Start.
	ErrNotStarted = errors.New("run has not started")
	ErrStarted    = errors.New("run has already started")
	// ErrNotReopenable is returned when the run did not end at a limit (D20).
	ErrNotReopenable = errors.New("run did not end at a limit")
	// ErrAbove is returned when the run used up what its parent run left for it; it can only
	// continue together with the parent run.
	ErrAbove = errors.New("the run used up the remaining budget of its parent run; give the parent run a larger budget")
	// ErrInput is returned when the input of a run, or a result, contains a value that is not JSON.
	ErrInput = errors.New("value is not JSON")
	// ErrNoteLate is returned when the call of a note has its result, was cancelled, or is at
	// another attempt.
	ErrNoteLate = errors.New("call no longer accepts notes")
	// ErrCallLate is returned when a call that starts a run, or reports what it used, has its
	// result, was cancelled, or is at another attempt.
	ErrCallLate = errors.New("call has ended")
	// ErrNoRoom is returned when other calls hold what is left of a budget; there may be room when
	// one of them has settled.
	ErrNoRoom = errors.New("other calls have reserved the remaining budget")
	// ErrPrice is returned when a budget limits money and the price of the model to be called is
	// unknown.
	ErrPrice error = priceError{}
	// ErrState is returned when the input of a run with typed state is not an object.
	ErrState = errors.New("the input of this workflow is its initial state, which must be a JSON object")
)

type priceError struct{}

func (priceError) Error() string { return "a budget in USD needs the price of the model" }

// FailureCode returns the failure code of a call that returns the error.
func (priceError) FailureCode() string { return event.CodeUncounted }

// BudgetError is returned when a budget leaves nothing for a run to be started, even if others
// release everything that they hold. Detail names what is used up: one of ledger.Details.
type BudgetError struct{ Detail string }

func (e *BudgetError) Error() string {
	return "the budget has no " + e.Detail + " left"
}

// FailureCode returns the failure code of a call that returns the error.
func (e *BudgetError) FailureCode() string { return event.CodeBudget }

// UncountedError is returned when work was not started because its usage is never reported and the
// budget Bound (`run`, `node`, `workflow`, or `above` for that of the parent run) limits tokens or
// money.
type UncountedError struct{ Bound string }

func (e *UncountedError) Error() string {
	of := map[string]string{ledger.BoundByRun: "the run", ledger.BoundByNode: "the node",
		ledger.BoundByParent: "the parent run", BoundByWorkflow: "all runs of the workflow"}[e.Bound]
	return "its usage is not reported, and the budget of " + of +
		" limits tokens or cost; to start it anyway, set uncounted: allow in the budget"
}

// FailureCode returns the failure code of a call that returns the error.
func (e *UncountedError) FailureCode() string { return event.CodeUncounted }

// DivergenceError means that a journal cannot come from this definition and engine: nothing may run
// on it.
type DivergenceError struct {
	Seq    uint64
	Reason string
}

func (e *DivergenceError) Error() string {
	return fmt.Sprintf("journal does not match the workflow at event %d: %s", e.Seq, e.Reason)
}
