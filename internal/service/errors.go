package service

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/catalog"
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
	// CodeUnusable: the store, or what it holds of this run, cannot be used; nothing ran (P17).
	CodeUnusable
	// CodeLimit: a limit of the service is reached; nothing changed, and the same request may be taken later.
	CodeLimit
	// CodeUnavailable: the store takes or gives nothing right now, as when its disk is full; nothing changed, and the same request may be taken later.
	CodeUnavailable
)

// ErrUnavailable says that the store did not answer in time.
var ErrUnavailable = errors.New("the store is temporarily unavailable")

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

// StoreError says that the store cannot be opened.
type StoreError struct {
	Path string
	Err  error
}

func (e *StoreError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *StoreError) Unwrap() error { return e.Err }

// NotFoundError says that the catalog has no such thing (S1-6).
type NotFoundError struct {
	// What is `Workflow` or `Agent`.
	What, ID string
	// Hint is empty, or says what was meant.
	Hint string
}

func (e *NotFoundError) Error() string {
	s := e.What + " not found: " + e.ID
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Is makes errors.Is(err, catalog.ErrNotFound) hold.
func (e *NotFoundError) Is(target error) bool { return target == catalog.ErrNotFound }

// LimitError says that a limit of the service is reached (SEC17).
type LimitError struct {
	// Limit is what is counted: `runs that have not ended`.
	Limit string
	Max   int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("limit reached: %d %s at most", e.Max, e.Limit)
}

// ChangedError says that a stored workflow or agent is not what it was when somebody read it (P39). Nothing was done.
type ChangedError struct {
	// What is `workflow` or `agent`.
	What, ID string
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("the %s %s was stored, changed or deleted by another client; read it again", e.What, e.ID)
}

// Is makes errors.Is(err, catalog.ErrChanged) hold.
func (e *ChangedError) Is(target error) bool { return target == catalog.ErrChanged }

// changed words catalog.ErrChanged for people; all other errors stay.
func changed(what, id string, err error) error {
	if errors.Is(err, catalog.ErrChanged) {
		return &ChangedError{what, id}
	}
	return err
}

// ErrInUse is what InUseError is; its text is part of that of each.
var ErrInUse = errors.New("is used by stored workflows")

// InUseError says that stored workflows need an agent.
type InUseError struct {
	Agent     string
	Workflows []string
}

func (e *InUseError) Error() string {
	return fmt.Sprintf("agent %s %v: %s", e.Agent, ErrInUse, strings.Join(e.Workflows, ", "))
}

// Is makes errors.Is(err, ErrInUse) hold.
func (e *InUseError) Is(target error) bool { return target == ErrInUse }

// CommandsError says that a document wants what nobody allowed (SEC5): to start commands, to reach files and programs of this machine, each as a line
// such as `read files under /home/x (toolset filesystem)`, or to send variables of the environment to servers, as
// `NAME to ADDRESS`, or `NAME to the model`.
type CommandsError struct {
	Commands [][]string
	Access   []string
	Sends    []string
}

func (e *CommandsError) Error() string {
	lines := make([]string, 0, len(e.Commands)+len(e.Sends))
	for _, c := range e.Commands {
		lines = append(lines, "start "+strings.Join(c, " "))
	}
	lines = append(lines, e.Access...)
	for _, s := range e.Sends {
		lines = append(lines, "send "+s)
	}
	return "the document needs permission to " + strings.Join(lines, ", ")
}

// CodeOf sorts an error into its family.
func CodeOf(err error) Code {
	var (
		invalid  *InvalidError
		commands *CommandsError
		again    *AllowedElsewhereError
		ref      *model.RefError
		owned    *journal.OwnedError
		list     diag.List
		store    *StoreError
		corrupt  *journal.CorruptError
		newer    *journal.NewerError
		diverge  *engine.DivergenceError
		inUse    *InUseError
		foreign  *driver.ForeignError
		limit    *LimitError
		decision *NoApprovalError
		locked   *journal.LockedError
		rejected *journal.RejectedError
		notEnded *NotEndedError
	)
	switch {
	case errors.As(err, &locked):
		return CodeUnavailable // also where the store is not open yet
	case errors.Is(err, journal.ErrExists):
		return CodeConflict
	case errors.As(err, &invalid), errors.As(err, &commands), errors.As(err, &again), errors.As(err, &ref), errors.As(err, &list),
		errors.As(err, &foreign), errors.Is(err, engine.ErrAnswer), errors.Is(err, journal.ErrCursor), errors.As(err, &decision):
		return CodeInvalid
	case errors.Is(err, journal.ErrNotFound), errors.Is(err, catalog.ErrNotFound), errors.Is(err, engine.ErrWaitNotFound):
		return CodeNotFound
	case errors.Is(err, engine.ErrWaitClosed):
		return CodeGone
	case errors.Is(err, engine.ErrWaitAmbiguous), errors.Is(err, engine.ErrWaitAnswered), errors.Is(err, engine.ErrEnded), errors.As(err, &owned),
		errors.As(err, &inUse), errors.As(err, &notEnded), errors.Is(err, journal.ErrBusy), errors.Is(err, engine.ErrNotReopenable), errors.Is(err, engine.ErrAbove), errors.Is(err, catalog.ErrChanged):
		return CodeConflict
	case errors.As(err, &store), errors.As(err, &corrupt), errors.As(err, &newer), errors.As(err, &diverge), errors.As(err, &rejected):
		return CodeUnusable
	case errors.As(err, &limit):
		return CodeLimit
	case errors.Is(err, ErrUnavailable), errors.Is(err, journal.ErrClosed), errors.Is(err, journal.ErrUnavailable):
		return CodeUnavailable
	}
	return CodeInternal
}

// IsFull tells whether an error comes of a disk that has no room for the store.
func IsFull(err error) bool { return errors.Is(err, journal.ErrFull) }

// Reason gives the text of an error to whoever asked from outside, without the steps inside on which it came up. An error that words its reason keeps its text.
func Reason(err error) string {
	text := err.Error()
	if busy, ok := errors.AsType[*journal.BusyError](err); ok {
		return text[max(0, strings.LastIndex(text, busy.Error())):]
	}
	for inside, outside := range map[error]string{
		journal.ErrNotFound: "run not found", journal.ErrExists: "a run with this id already exists", journal.ErrCursor: "invalid cursor: use one from a previous page",
	} {
		if errors.Is(err, inside) && strings.HasSuffix(text, inside.Error()) {
			return outside
		}
	}
	return text
}
