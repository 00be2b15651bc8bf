package held

import (
	"errors"
	"fmt"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/text"
)

// refusals lists the errors with which the engine rejects inputs. It is never modified.
var refusals = []error{
	engine.ErrUnknownCommand, engine.ErrEnded, engine.ErrNotStarted, engine.ErrStarted, engine.ErrNotReopenable,
	waits.ErrNotFound,
	waits.ErrAmbiguous, waits.ErrAnswered, waits.ErrClosed, waits.ErrAnswer, loop.ErrNote,
	engine.ErrNoteLate,
	waits.ErrRole, waits.ErrSignalWait, waits.ErrSignalName, waits.ErrSignal, waits.ErrSignalsFull,
	engine.ErrCallLate, engine.ErrNoRoom, engine.ErrAbove, engine.ErrPrice,
}

// IsRefusal reports whether err is the engine's rejection of an input. Every other error is an
// internal error.
func IsRefusal(err error) bool {
	if _, ok := errors.AsType[*engine.BudgetError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*engine.UncountedError](err); ok {
		return true
	}
	for _, known := range refusals {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// Recovered converts a panic of the engine into an error: a bug that affects one run must not stop
// the others. A string that cannot be loaded is not a bug.
func Recovered(err *error) {
	switch v := recover().(type) {
	case nil:
	case *text.LoadError:
		*err = v
	default:
		*err = &DefectError{fmt.Errorf("engine panicked: %v", v)}
	}
}

// DefectError is an error that would recur however often the operation is retried.
type DefectError struct{ Err error }

func (e *DefectError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *DefectError) Unwrap() error { return e.Err }

// IsDefect reports whether err is a DefectError.
func IsDefect(err error) bool {
	_, ok := errors.AsType[*DefectError](err)
	return ok
}

// IsPermanent reports whether retrying a store operation would return the same error.
func IsPermanent(err error) bool {
	return IsDamage(err) || errors.Is(err, journal.ErrNotFound) || errors.Is(err, journal.ErrClosed) ||
		errors.Is(err, journal.ErrOwned)
}

// IsDamage reports whether the store contains data that this program cannot read, or will never
// accept what this run writes.
func IsDamage(err error) bool {
	var (
		corrupt  *journal.CorruptError
		newer    *journal.NewerError
		rejected *journal.RejectedError
	)
	return errors.As(err, &corrupt) || errors.As(err, &newer) || errors.As(err, &rejected) ||
		errors.Is(err, journal.ErrNotStore)
}
