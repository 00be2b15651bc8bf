package driver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/tool"
)

// ErrClosed is returned when the driver was closed.
var ErrClosed = errors.New("driver is closed")

// ErrInterrupted is the cause of the end of calls that are stopped so that the run can be resumed
// later.
var ErrInterrupted = errors.New("interrupted")

// QuarantineError means that a run cannot be driven by this program: its journal is damaged, was
// written by a newer Hocket, or does not match its definition, or the engine has a bug. Other runs
// are not affected. The journal is left unchanged, except that an internal error while the run was
// being driven ends it as failed.
type QuarantineError struct {
	Run string
	Err error
}

func (e *QuarantineError) Error() string {
	return fmt.Sprintf("run %s cannot continue: %v", e.Run, e.Err)
}

// Unwrap returns the cause.
func (e *QuarantineError) Unwrap() error { return e.Err }

// ForeignError means that a run needs functions that this program does not have: it continues in
// the program that registered its graph (D29). The run is unchanged.
type ForeignError struct {
	Run, Graph string
	// Program is the name of that program, or "" if it has none.
	Program string
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("run %s belongs to the Go graph %q; it continues in the program that registered it: %s", e.Run,
		e.Graph,
		cmp.Or(e.Program, "a program without a name"))
}

// ElsewhereError means that a run is not driven by this process, and currently by no other: it
// waits for a process at a place, or for any process, which continues it without a request.
type ElsewhereError struct {
	Run string
	// Place is where the run can continue; "" means anywhere.
	Place string
}

func (e *ElsewhereError) Error() string {
	if e.Place == "" {
		return fmt.Sprintf("run %s waits for a process that drives runs", e.Run)
	}
	return fmt.Sprintf("run %s waits for place %s", e.Run, e.Place)
}

// FailureOf converts the error of a call into the failure that is journaled: its code, the other
// side's own message, and whether the same call may succeed later. ctx is the call's context; its
// cancellation cause distinguishes a timeout from a cancellation.
func FailureOf(ctx context.Context, err error) *event.Failure {
	var (
		me *model.Error
		te *tool.Error
	)
	switch {
	case errors.As(err, &me):
		return &event.Failure{
			Code:         string(me.Kind),
			Message:      me.Message + retryAfterNote(me.RetryAfter),
			Retryable:    me.Kind.IsTransient(),
			RetryAfterMS: me.RetryAfter.Milliseconds(),
		}
	case errors.As(err, &te):
		// A call that may have been executed must not be repeated automatically (P12).
		transient := te.Kind == tool.KindTimeout || te.Kind == tool.KindNetwork
		return &event.Failure{Code: string(te.Kind), Message: te.Message, Retryable: transient && !te.OutcomeUnknown}
	case errors.Is(err, errTimeout), errors.Is(context.Cause(ctx), errTimeout),
		errors.Is(err, context.DeadlineExceeded):
		return &event.Failure{Code: event.CodeTimeout, Message: timeoutMessage(ctx, err), Retryable: true}
	case ctx.Err() != nil, errors.Is(err, context.Canceled):
		return &event.Failure{Code: event.CodeCancelled, Message: "cancelled"}
	}
	return &event.Failure{Code: codeInternal, Message: err.Error()}
}

// retryAfterNote returns a note that a call is not retried because the server asks to wait longer
// than the maximum, and when it could be; it returns "" if the wait is not too long.
func retryAfterNote(wait time.Duration) string {
	if wait <= engine.MaxRetryAfter {
		return ""
	}
	return fmt.Sprintf(" (the server asks to wait %s, until %s; Hocket waits for at most %s)", wait.Round(time.Second),
		time.Now().UTC().Add(wait).Format(time.RFC3339), engine.MaxRetryAfter)
}

// codeInternal is the code of a failure for which no adapter provides a code.
const codeInternal = "internal"

// errTimeout is the cause of a context that ended because the call's own time limit expired.
var errTimeout = errors.New("no answer in time")

func timeoutMessage(ctx context.Context, err error) string {
	if cause := context.Cause(ctx); errors.Is(cause, errTimeout) {
		return cause.Error()
	}
	return err.Error()
}
