package service

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
)

// Code is the family of an error as the doors tell it: exit status, HTTP status, MCP error.
type Code int

const (
	// CodeInternal is a defect or a failure of the machine.
	CodeInternal Code = iota
	// CodeInvalid: the document, flags, request or answer was not acceptable; nothing changed.
	CodeInvalid
	// CodeNotFound: no such run, workflow or wait.
	CodeNotFound
	// CodeConflict: right now something else is in the way.
	CodeConflict
	// CodeGone: the wait is closed.
	CodeGone
)

// InvalidError says that a request was not acceptable. Diagnostics, where there are any, say where and why.
type InvalidError struct {
	Message     string
	Diagnostics diag.List
	Err         error
}

func (e *InvalidError) Error() string {
	if e.Message == "" {
		return e.Diagnostics.Error()
	}
	return e.Message
}

// Unwrap gives the cause.
func (e *InvalidError) Unwrap() error { return e.Err }

func invalidf(format string, args ...any) error {
	return &InvalidError{Message: fmt.Sprintf(format, args...)}
}

// CommandsError says that a document wants to start commands that nobody allowed (SEC5).
type CommandsError struct{ Commands [][]string }

func (e *CommandsError) Error() string {
	lines := make([]string, len(e.Commands))
	for i, c := range e.Commands {
		lines[i] = "  " + strings.Join(c, " ")
	}
	return "the document wants to start commands:\n" + strings.Join(lines, "\n") + "\nallow them with --trust"
}

// CodeOf sorts an error into its family.
func CodeOf(err error) Code {
	var (
		invalid  *InvalidError
		commands *CommandsError
		ref      *model.RefError
		owned    *journal.OwnedError
		list     diag.List
	)
	switch {
	case errors.As(err, &invalid), errors.As(err, &commands), errors.As(err, &ref), errors.As(err, &list),
		errors.Is(err, engine.ErrAnswer), errors.Is(err, journal.ErrCursor), errors.Is(err, engine.ErrNotReopenable):
		return CodeInvalid
	case errors.Is(err, journal.ErrNotFound), errors.Is(err, engine.ErrWaitNotFound):
		return CodeNotFound
	case errors.Is(err, engine.ErrWaitClosed):
		return CodeGone
	case errors.Is(err, engine.ErrWaitAmbiguous), errors.Is(err, engine.ErrWaitAnswered), errors.Is(err, engine.ErrEnded),
		errors.Is(err, journal.ErrExists), errors.As(err, &owned):
		return CodeConflict
	}
	return CodeInternal
}

// IsUse tells whether an error is the caller's to mend rather than a failure of Hocket or the machine.
func IsUse(err error) bool {
	var quarantine *driver.QuarantineError
	return CodeOf(err) != CodeInternal || errors.As(err, &quarantine)
}
