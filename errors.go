package hocket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/ledger"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
)

// Errors returned by calls; use errors.Is.
var (
	// ErrNotFound is returned when there is no such run or schedule.
	ErrNotFound = errors.New("no such run")
	// ErrExists is returned when a run with this id already exists.
	ErrExists = errors.New("a run with this id already exists")
	// ErrVersion is returned when the run belongs to another version of the graph, or another graph
	// has this name and version. See [VersionError].
	ErrVersion = errors.New("another version of the graph")
	// ErrEnded is returned when the run has ended.
	ErrEnded = errors.New("the run has ended")
	// ErrPaused is returned when the run waits for a person and cannot continue without an answer.
	ErrPaused = errors.New("the run waits for an answer")
	// ErrAnswer is returned when the run does not accept this answer or signal: no wait is open,
	// several are open and the answer names none, or the value is not one of those offered. The
	// message says which; the run is unchanged.
	ErrAnswer = errors.New("the run does not accept this answer")
	// ErrBusy is returned when another process drives the run.
	ErrBusy = errors.New("another process drives the run")
	// ErrInterrupted is returned when the call stopped following the run before it ended, because
	// the context was done or the engine was closed; the run can be resumed. See
	// [InterruptedError].
	ErrInterrupted = errors.New("run was interrupted")
	// ErrConflict is returned when the engine has a run with the snapshot's id whose history
	// differs or is longer. Continue that run by its id.
	ErrConflict = errors.New("the stored run differs from the snapshot")
	// ErrNotRegistered is returned when the run belongs to a Go graph that this engine does not
	// know. The message names the program that does.
	ErrNotRegistered = errors.New("the run's graph is not registered")
	// ErrNotReopenable is returned when the run did not end because of a limit that could be raised
	// by larger limits of its own.
	ErrNotReopenable = errors.New("the run did not end at a limit of its own")
	// ErrConcurrency is returned when the run was not started because the maximum number of
	// concurrent runs with its [Concurrency].Key was reached. The message names one of them.
	ErrConcurrency = errors.New("too many runs of the key have not ended")
	// ErrClosed is returned when the engine is closed.
	ErrClosed = errors.New("engine is closed")
)

// VersionError describes a mismatch between graphs. It matches [ErrVersion].
type VersionError struct {
	// Run is the id of the run that cannot continue, or "" for a registration.
	Run string
	// Graph is the graph's name, Have the digest of the graph that was passed, Want the digest of
	// the graph to which the run or the name belongs.
	Graph, Have, Want string
}

func (e *VersionError) Error() string {
	if e.Run == "" {
		return fmt.Sprintf("register graph %q: another graph has this name and version; set a different Version",
			e.Graph)
	}
	return fmt.Sprintf("run %s belongs to another version of graph %q (digest %.12s, not %.12s)", e.Run, e.Graph,
		e.Want, e.Have)
}

// Is reports whether target is ErrVersion.
func (e *VersionError) Is(target error) bool { return target == ErrVersion }

// InterruptedError is returned when a call stops following a run before it has ended. It matches
// [ErrInterrupted] and its cause.
type InterruptedError struct {
	Run string
	// Cause is the cause of the context, or ErrClosed, or an error saying that no process drives
	// the run any longer because the process that did has died or abandoned it.
	Cause error
}

func (e *InterruptedError) Error() string {
	return fmt.Sprintf("run %s was interrupted: %v", e.Run, e.Cause)
}

// Unwrap returns the cause.
func (e *InterruptedError) Unwrap() error { return e.Cause }

// Is reports whether target is ErrInterrupted.
func (e *InterruptedError) Is(target error) bool { return target == ErrInterrupted }

// SnapshotError is returned when the record of a snapshot is truncated or modified, or is not a run
// of the graph. None of it is stored.
type SnapshotError struct {
	// Run is the snapshot's ExecutionID.
	Run string
	Err error
}

func (e *SnapshotError) Error() string {
	return fmt.Sprintf("snapshot of run %s cannot be resumed: %v", e.Run, e.Err)
}

// Unwrap returns the underlying error.
func (e *SnapshotError) Unwrap() error { return e.Err }

// RunError is the recorded reason why a run or a node did not succeed: the Go error value of a
// function is lost, but its message is kept.
//
// errors.As finds a *graph.SchemaValidationError or *graph.NodeExecutionError if the failure was
// one, and a *[BudgetError] if a budget was exhausted. errors.Is(err, context.Canceled) matches a
// cancellation, and errors.Is(err, context.DeadlineExceeded) a time limit.
type RunError struct {
	// Code is a stable word: `func` for errors of functions, `schema_validation`, `node_execution`,
	// `timeout`, `max_steps`, `budget`, `state_conflict`, `cancelled`, and others listed in
	// docs/errors.md.
	Code    string `json:"code"`
	Message string `json:"message"`
	// Node is the node that failed, or "" if the failure concerns the run as a whole.
	Node string `json:"node,omitempty"`
	// Limit and Max are those of [BudgetError]; "" and 0 for other failures.
	Limit string  `json:"limit,omitempty"`
	Max   float64 `json:"max,omitempty"`
	// Problems are those of a graph.SchemaValidationError; nil for other failures.
	Problems []graph.SchemaProblem `json:"problems,omitempty"`
}

func (e *RunError) Error() string { return e.Message }

// Unwrap returns the Go error for the kind of failure.
func (e *RunError) Unwrap() error {
	switch e.Code {
	case "schema_validation":
		return &graph.SchemaValidationError{Message: e.Message, Problems: e.Problems}
	case "node_execution":
		return &graph.NodeExecutionError{NodeID: e.Node, Cause: errors.New(e.Message)}
	case event.CodeCancelled:
		return context.Canceled
	case event.CodeTimeout:
		return context.DeadlineExceeded
	case event.CodeBudget, event.CodeNodeBudget, event.CodeParentBudget, event.CodeWorkflowBudget:
		return &BudgetError{Code: e.Code, Limit: e.Limit, Max: e.Max, Message: e.Message}
	}
	return nil
}

// BudgetError is returned when a budget is exhausted: the call that would have exceeded it was not
// made. errors.As finds it in [Result].Err and [RunInfo].Err, and in the error of a call that a
// budget withheld inside a node function. A run that exceeded its own budget (code `budget`) can be
// continued with [Engine.Reopen] and a larger one.
type BudgetError struct {
	// Code is `budget` for the budget of the run, `node_budget` for that of a node, `parent_budget`
	// for what the parent run had left, `workflow_budget` for the budget of all runs of a workflow.
	Code string
	// Limit is the exhausted quantity: `tokens`, `costUSD` or `calls`; "" for the budget of a
	// workflow, whose message names it. Max is the budgeted amount.
	Limit   string
	Max     float64
	Message string
}

func (e *BudgetError) Error() string { return e.Message }

// FailureCode returns Code, which becomes the code of a node that fails with the error. Such a
// failure is not retried.
func (e *BudgetError) FailureCode() string { return e.Code }

// limitNames maps the engine's names of budgeted quantities to public names.
var limitNames = map[string]string{ledger.DetailTokens: "tokens", ledger.DetailMoney: "costUSD",
	ledger.DetailCalls: "calls"}

// amountOf returns the amount of a budgeted quantity; the engine counts money in millionths of a
// dollar.
func amountOf(limit string, n int64) float64 {
	if limit == ledger.DetailMoney {
		return ledger.USD(n)
	}
	return float64(n)
}

// runError returns the error for a failure, or nil if f is nil.
func runError(f *event.Failure, node string) error {
	if f == nil {
		return nil
	}
	e := &RunError{Code: f.Code, Message: f.Message, Node: f.Node, Limit: limitNames[f.Limit],
		Max: amountOf(f.Limit, f.Max)}
	if e.Node == "" {
		e.Node = node
	}
	e.Problems = problems(f.Problems)
	return e
}

// problems returns recorded problems of a schema error; nil if there are none.
func problems(recorded event.Value) (out []graph.SchemaProblem) {
	if len(recorded) > 0 && json.Unmarshal(recorded, &out) != nil {
		return nil // the journal comes from elsewhere
	}
	return out
}

// knownError wraps an internal error under an error of this package.
type knownError struct{ is, err error }

func (e *knownError) Error() string        { return e.err.Error() }
func (e *knownError) Unwrap() error        { return e.err }
func (e *knownError) Is(target error) bool { return target == e.is }

// known maps an internal error to the corresponding error of this package.
func known(err error) error {
	if foreign, ok := errors.AsType[*driver.ForeignError](err); ok {
		return &knownError{ErrNotRegistered, foreign}
	}
	if errors.Is(err, engine.ErrNotReopenable) || errors.Is(err, engine.ErrAbove) {
		return &knownError{ErrNotReopenable, err}
	}
	for _, k := range []struct{ is, from error }{
		{ErrNotFound, journal.ErrNotFound}, {ErrNotFound, service.ErrNoSchedule}, {ErrExists, journal.ErrExists},
		{ErrEnded, engine.ErrEnded}, {ErrBusy, journal.ErrOwned},
		{ErrConcurrency, journal.ErrBusy}, {ErrClosed, driver.ErrClosed}, {ErrClosed, journal.ErrClosed},
		{ErrConflict, journal.ErrConflict},
		{ErrAnswer, waits.ErrAnswer}, {ErrAnswer, waits.ErrNotFound}, {ErrAnswer, waits.ErrAmbiguous},
		{ErrAnswer, waits.ErrAnswered}, {ErrAnswer, waits.ErrClosed}, {ErrAnswer, waits.ErrSignalWait},
		{ErrAnswer, waits.ErrSignalName}, {ErrAnswer, waits.ErrSignal}, {ErrAnswer, waits.ErrSignalsFull},
	} {
		if errors.Is(err, k.from) {
			return &knownError{k.is, err}
		}
	}
	return err
}
