package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/hocket-run/hocket/internal/engine/ledger"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/waits"
)

// Bounds of signals: of the value of one, and in number and bytes of those that a run keeps because no step has taken them.
const (
	MaxSignalBytes     = waits.MaxSignalBytes
	MaxKeptSignals     = waits.MaxKept
	MaxKeptSignalBytes = waits.MaxKeptBytes
)

// FailedAttempt is one failure of a run with typed state: of a function's attempt, or of a step as a whole (S2-78).
type FailedAttempt struct {
	Node    string
	Message string
	At      time.Time
	Attempt int // from 1
}

// Errors of Activate. They leave the run unchanged.
var (
	// ErrUnknownCommand: an input answers a call or timer that this run never asked for.
	ErrUnknownCommand = errors.New("input answers an unknown command")
	// ErrEnded: the run has ended and takes nothing but a reopening.
	ErrEnded = errors.New("run has ended")
	// ErrNotStarted, ErrStarted: Start must be the first input, and only the first.
	ErrNotStarted = errors.New("run has not started")
	ErrStarted    = errors.New("run has already started")
	// ErrNotReopenable: the run did not end at a limit (D20).
	ErrNotReopenable = errors.New("run did not end at a limit")
	// ErrAbove: the run met what the run above left for it, and goes on with that one only.
	ErrAbove = errors.New("the run used up the remaining budget of its parent run; give the parent run a larger budget")
	// ErrWaitNotFound: no wait has that id, or no wait is open.
	ErrWaitNotFound = waits.ErrNotFound
	// ErrWaitAmbiguous: several waits are open and none was named (P1, D17).
	ErrWaitAmbiguous = waits.ErrAmbiguous
	// ErrWaitAnswered: the wait has been answered otherwise before (P24).
	ErrWaitAnswered = waits.ErrAnswered
	// ErrWaitClosed: the wait was closed without an answer.
	ErrWaitClosed = waits.ErrClosed
	// ErrInput: the input of a run, or a result, holds a value that is not JSON.
	ErrInput = errors.New("value is not JSON")
	// ErrNoteLate: the call that a note belongs to has its result, was cancelled, or is at another attempt.
	ErrNoteLate = errors.New("call no longer accepts notes")
	// ErrNote: a note has no fit key or no JSON value, comes twice, or is one too many. The text says which.
	ErrNote = loop.ErrNote
	// ErrCallLate: the call that starts a run, or tells what it used, has its result, was cancelled, or is at another attempt.
	ErrCallLate = errors.New("call has ended")
	// ErrNoRoom: others hold what is left of a budget; there may be room when one of them has settled.
	ErrNoRoom = errors.New("other calls have reserved the remaining budget")
	// ErrPrice: a budget bounds money, and the price of the model that is to be called is unknown.
	ErrPrice error = priceError{}
	// ErrState: the input of a run with typed state is no object.
	ErrState = errors.New("the input of this workflow is its initial state, which must be a JSON object")
	// ErrAnswer: the answer is none that the wait can take (S0-31).
	ErrAnswer = waits.ErrAnswer
	// ErrWaitRole: the wait has roles, and who answers has none of them.
	ErrWaitRole = waits.ErrRole
	// ErrWaitSignal: the wait takes a signal, which no answer replaces.
	ErrWaitSignal = waits.ErrSignalWait
	// ErrSignalName, ErrSignal, ErrSignalsFull: see [waits.ErrSignalName] and the others.
	ErrSignalName  = waits.ErrSignalName
	ErrSignal      = waits.ErrSignal
	ErrSignalsFull = waits.ErrSignalsFull
)

type priceError struct{}

func (priceError) Error() string { return "a budget in USD needs the price of the model" }

// FailureCode is the code of the failure of a call that returns the error.
func (priceError) FailureCode() string { return CodeUncounted }

// BudgetError says that a budget leaves nothing for a run that is to be started, whatever others leave of what they hold. Detail names what is used up: `tokens`, `calls`
// or `micro-USD`.
type BudgetError struct{ Detail string }

func (e *BudgetError) Error() string {
	return "the budget has no " + e.Detail + " left"
}

// FailureCode is the code of the failure of a call that returns the error.
func (e *BudgetError) FailureCode() string { return CodeBudget }

// UncountedError says that work was not started whose use is never reported, because the budget Bound (`run`, `node`, `workflow`, or `above`: that of the run above) bounds tokens or money.
type UncountedError struct{ Bound string }

func (e *UncountedError) Error() string {
	of := map[string]string{ledger.BoundByRun: "the run", ledger.BoundByNode: "the node", ledger.BoundByParent: "the parent run", BoundByWorkflow: "all runs of the workflow"}[e.Bound]
	return "its usage is not reported, and the budget of " + of + " limits tokens or cost; to start it anyway, set uncounted: allow in the budget"
}

// FailureCode is the code of the failure of a call that returns the error.
func (e *UncountedError) FailureCode() string { return CodeUncounted }

// DivergenceError says that a journal cannot come from this definition and engine: nothing may run on it.
type DivergenceError struct {
	Seq    uint64
	Reason string
}

func (e *DivergenceError) Error() string {
	return fmt.Sprintf("journal does not match the workflow at event %d: %s", e.Seq, e.Reason)
}
