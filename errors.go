package hocket

import (
	"context"
	"errors"
	"fmt"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/ledger"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
)

// What may be wrong with a call; use errors.Is.
var (
	// ErrNotFound: there is no such run, or no such schedule.
	ErrNotFound = errors.New("no such run")
	// ErrExists: a run with this id already exists.
	ErrExists = errors.New("a run with this id already exists")
	// ErrVersion: the run belongs to another version of the graph, or another graph has this name and version. See [VersionError].
	ErrVersion = errors.New("another version of the graph")
	// ErrEnded: the run has ended.
	ErrEnded = errors.New("the run has ended")
	// ErrPaused: the run waits for a person, so it cannot go on without an answer.
	ErrPaused = errors.New("the run waits for an answer")
	// ErrAnswer: the run does not accept this answer or signal: no wait is open, several do and it names none, or it is not one of those that are offered. The
	// text says which; the run is unchanged.
	ErrAnswer = errors.New("the run does not accept this answer")
	// ErrBusy: another process drives the run.
	ErrBusy = errors.New("another process drives the run")
	// ErrInterrupted: the run was left before it ended, because the context was done or the engine was closed, and can be resumed. See
	// [InterruptedError].
	ErrInterrupted = errors.New("run was interrupted")
	// ErrConflict: the engine has a run of the snapshot's id that went another way or further. Go on with that one by its id.
	ErrConflict = errors.New("the stored run differs from the snapshot")
	// ErrNotRegistered: the run belongs to a Go graph that this engine does not know. Its text names the program that does (D29).
	ErrNotRegistered = errors.New("the run's graph is not registered")
	// ErrNotReopenable: the run did not end by a limit that larger limits of its own could lift.
	ErrNotReopenable = errors.New("the run did not end at a limit of its own")
	// ErrConcurrency: the run was not started, since as many of its [Concurrency].Key as may run at once have not ended. The text names one.
	ErrConcurrency = errors.New("too many runs of the key have not ended")
	// ErrClosed: the engine was closed.
	ErrClosed = errors.New("engine is closed")
)

// VersionError says which graphs do not fit. It matches [ErrVersion].
type VersionError struct {
	// Run is the run that cannot go on, "" for a registration.
	Run string
	// Graph is the graph's name, Have the digest of the one that was given, Want of the one that the run or the name belongs to.
	Graph, Have, Want string
}

func (e *VersionError) Error() string {
	if e.Run == "" {
		return fmt.Sprintf("register graph %q: another graph has this name and version; set a different Version", e.Graph)
	}
	return fmt.Sprintf("run %s belongs to another version of graph %q (digest %.12s, not %.12s)", e.Run, e.Graph, e.Want, e.Have)
}

// Is makes errors.Is(err, ErrVersion) hold.
func (e *VersionError) Is(target error) bool { return target == ErrVersion }

// InterruptedError says that a run was left before it ended. It matches [ErrInterrupted] and its cause.
type InterruptedError struct {
	Run string
	// Cause is that of the context, or ErrClosed, or says that no process drives the run any more: the process that did has died or left it.
	Cause error
}

func (e *InterruptedError) Error() string {
	return fmt.Sprintf("run %s was interrupted: %v", e.Run, e.Cause)
}

// Unwrap gives the cause.
func (e *InterruptedError) Unwrap() error { return e.Cause }

// Is makes errors.Is(err, ErrInterrupted) hold.
func (e *InterruptedError) Is(target error) bool { return target == ErrInterrupted }

// SnapshotError says that a snapshot's record was cut or changed, or is no run of the graph (P17). Nothing of it was stored.
type SnapshotError struct {
	// Run is the snapshot's ExecutionID.
	Run string
	Err error
}

func (e *SnapshotError) Error() string {
	return fmt.Sprintf("snapshot of run %s cannot be resumed: %v", e.Run, e.Err)
}

// Unwrap gives what is wrong.
func (e *SnapshotError) Unwrap() error { return e.Err }

// RunError is why a run or a node did not succeed, as it was recorded: the Go error of a function is gone, its text stays.
//
// errors.As finds a *graph.SchemaValidationError or *graph.NodeExecutionError where the failure was one; errors.Is(err, context.Canceled) tells a
// cancellation, errors.Is(err, context.DeadlineExceeded) a time limit. errors.As finds a *[BudgetError] where a budget was used up.
type RunError struct {
	// Code is a stable word: `func` for errors of functions, `schema_validation`, `node_execution`, `timeout`, `max_steps`, `budget`, `state_conflict`, `cancelled`,
	// and others that docs/errors.md lists.
	Code    string `json:"code"`
	Message string `json:"message"`
	// Node is where it happened, "" where it concerns the run alone.
	Node string `json:"node,omitempty"`
	// Limit and Max are those of [BudgetError]; "" and 0 for other failures.
	Limit string  `json:"limit,omitempty"`
	Max   float64 `json:"max,omitempty"`
}

func (e *RunError) Error() string { return e.Message }

// Unwrap gives the kind of the failure as an error of Go.
func (e *RunError) Unwrap() error {
	switch e.Code {
	case "schema_validation":
		return &graph.SchemaValidationError{Message: e.Message}
	case "node_execution":
		return &graph.NodeExecutionError{NodeID: e.Node, Cause: errors.New(e.Message)}
	case engine.CodeCancelled:
		return context.Canceled
	case engine.CodeTimeout:
		return context.DeadlineExceeded
	case engine.CodeBudget, engine.CodeNodeBudget, engine.CodeParentBudget, engine.CodeWorkflowBudget:
		return &BudgetError{Code: e.Code, Limit: e.Limit, Max: e.Max, Message: e.Message}
	}
	return nil
}

// BudgetError says that a budget is used up: the call that would not fit was not made. errors.As finds it in [Result].Err and [RunInfo].Err, and in the error of a call that a budget
// withheld inside a node function. A run that met its own budget (code `budget`) goes on where it was by [Engine.Reopen] with a larger one.
type BudgetError struct {
	// Code is `budget` for that of the run, `node_budget` for that of a node, `parent_budget` for what the run above left, `workflow_budget` for that of all runs of a workflow.
	Code string
	// Limit is what is used up: `tokens`, `costUSD` or `calls`; "" for a workflow's, whose message says it. Max is how much there was.
	Limit   string
	Max     float64
	Message string
}

func (e *BudgetError) Error() string { return e.Message }

// FailureCode makes Code the code of a node that fails with the error. Such a failure is not tried again.
func (e *BudgetError) FailureCode() string { return e.Code }

// limitNames are the names of what a budget bounds, by those of the engine.
var limitNames = map[string]string{ledger.DetailTokens: "tokens", ledger.DetailMoney: "costUSD", ledger.DetailCalls: "calls"}

// amountOf gives how much of something there was; the engine counts money in millionths of a dollar.
func amountOf(limit string, n int64) float64 {
	if limit == ledger.DetailMoney {
		return ledger.USD(n)
	}
	return float64(n)
}

// runError makes the error of a failure, nil of none.
func runError(f *engine.Failure, node string) error {
	if f == nil {
		return nil
	}
	e := &RunError{Code: f.Code, Message: f.Message, Node: f.Node, Limit: limitNames[f.Limit], Max: amountOf(f.Limit, f.Max)}
	if e.Node == "" {
		e.Node = node
	}
	return e
}

// knownError is an error of the rooms below under a name of this package.
type knownError struct{ is, err error }

func (e *knownError) Error() string        { return e.err.Error() }
func (e *knownError) Unwrap() error        { return e.err }
func (e *knownError) Is(target error) bool { return target == e.is }

// known gives an error the name that this package has for it.
func known(err error) error {
	if foreign, ok := errors.AsType[*driver.ForeignError](err); ok {
		return &knownError{ErrNotRegistered, foreign}
	}
	if errors.Is(err, engine.ErrNotReopenable) || errors.Is(err, engine.ErrAbove) {
		return &knownError{ErrNotReopenable, err}
	}
	for _, k := range []struct{ is, from error }{
		{ErrNotFound, journal.ErrNotFound}, {ErrNotFound, service.ErrNoSchedule}, {ErrExists, journal.ErrExists}, {ErrEnded, engine.ErrEnded}, {ErrBusy, journal.ErrOwned},
		{ErrConcurrency, journal.ErrBusy}, {ErrClosed, driver.ErrClosed}, {ErrClosed, journal.ErrClosed}, {ErrConflict, journal.ErrConflict},
		{ErrAnswer, engine.ErrAnswer}, {ErrAnswer, engine.ErrWaitNotFound}, {ErrAnswer, engine.ErrWaitAmbiguous},
		{ErrAnswer, engine.ErrWaitAnswered}, {ErrAnswer, engine.ErrWaitClosed}, {ErrAnswer, engine.ErrWaitSignal},
		{ErrAnswer, engine.ErrSignalName}, {ErrAnswer, engine.ErrSignal}, {ErrAnswer, engine.ErrSignalsFull},
	} {
		if errors.Is(err, k.from) {
			return &knownError{k.is, err}
		}
	}
	return err
}
