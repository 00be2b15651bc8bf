package failure

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
)

// Code is the family of an error, which determines the exit status, the HTTP status and the code of
// a problem.
type Code = errcode.Family

// The error families of the service.
const (
	CodeInternal    = errcode.Internal
	CodeInvalid     = errcode.Invalid
	CodeNotFound    = errcode.NotFound
	CodeConflict    = errcode.Conflict
	CodeGone        = errcode.Gone
	CodeUnusable    = errcode.Unusable
	CodeLimit       = errcode.Limit
	CodeUnavailable = errcode.Unavailable
)

// ErrUnavailable is returned when the store did not respond in time.
var ErrUnavailable = errors.New("the store is temporarily unavailable")

// InvalidError is returned for an invalid request. Err, Diagnostics or both describe the reason.
// Its text is that of Err, or else of Diagnostics.
type InvalidError struct {
	// Diagnostics are the problems of a document, with their positions; empty for other requests.
	Diagnostics diag.List
	// Err is the reason, usually an *errcode.Error; if nil, Diagnostics are the reason.
	Err error
}

func (e *InvalidError) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return e.Diagnostics.Error()
}

// Coded implements errcode.Coded: it returns the code of the cause, or the code for documents with
// errors.
func (e *InvalidError) Coded() (errcode.Code, errcode.Fields) {
	if code, fields := reason(e.Err); code != "" {
		return code, fields
	}
	if len(e.Diagnostics) > 0 {
		return errcode.InvalidDocument, nil
	}
	return "", nil
}

// Unwrap returns the cause.
func (e *InvalidError) Unwrap() error { return e.Err }

// Refuse returns an *InvalidError with a code, its fields and its cause, which may be nil.
func Refuse(code errcode.Code, fields errcode.Fields, cause error) error {
	return &InvalidError{Err: errcode.New(code, fields, cause)}
}

// StoreError is returned when the store cannot be opened.
type StoreError struct {
	Path string
	Err  error
}

func (e *StoreError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *StoreError) Unwrap() error { return e.Err }

// NotFoundError is returned when the catalog does not contain an item (S1-6).
type NotFoundError struct {
	// What is `Workflow` or `Agent`.
	What, ID string
	// Hint is empty, or suggests the intended item.
	Hint string
}

func (e *NotFoundError) Error() string {
	s := e.What + " not found: " + e.ID
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Coded implements errcode.Coded.
func (e *NotFoundError) Coded() (errcode.Code, errcode.Fields) {
	fields := errcode.Fields{"id": e.ID, "what": e.What}
	if e.Hint != "" {
		fields["meant"] = e.Hint
	}
	switch e.What {
	case "Workflow":
		return errcode.WorkflowNotFound, fields
	case "Agent":
		return errcode.AgentNotFound, fields
	case "Version":
		return errcode.VersionNotFound, fields
	case "Webhook":
		return errcode.WebhookNotFound, fields
	}
	return errcode.DeliveryNotFound, fields
}

// Is makes errors.Is(err, catalog.ErrNotFound) report true.
func (e *NotFoundError) Is(target error) bool { return target == catalog.ErrNotFound }

// LimitError is returned when a limit of the service is reached (SEC17).
type LimitError struct {
	// Limit names what is counted: `runs that have not ended`.
	Limit string
	Max   int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("limit reached: %d %s at most", e.Max, e.Limit)
}

// Coded implements errcode.Coded.
func (e *LimitError) Coded() (errcode.Code, errcode.Fields) {
	return errcode.ServiceLimit, errcode.Fields{"limit": e.Limit, "max": e.Max}
}

// ChangedError is returned when a stored workflow or agent has changed since the caller read it
// (P39). Nothing was done.
type ChangedError struct {
	// What is `workflow` or `agent`.
	What, ID string
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("the %s %s was stored, changed or deleted by another client; read it again", e.What, e.ID)
}

// Coded implements errcode.Coded.
func (e *ChangedError) Coded() (errcode.Code, errcode.Fields) {
	return errcode.DefinitionChanged, errcode.Fields{"what": e.What, "id": e.ID}
}

// Is makes errors.Is(err, catalog.ErrChanged) report true.
func (e *ChangedError) Is(target error) bool { return target == catalog.ErrChanged }

// Changed converts catalog.ErrChanged to a *ChangedError with a message for people; all other
// errors are returned unchanged.
func Changed(what, id string, err error) error {
	if errors.Is(err, catalog.ErrChanged) {
		return &ChangedError{what, id}
	}
	return err
}

// ErrInUse matches every InUseError; its text is part of the text of each.
var ErrInUse = errors.New("is used by stored workflows")

// InUseError is returned when stored workflows need an agent.
type InUseError struct {
	Agent     string
	Workflows []string
}

func (e *InUseError) Error() string {
	return fmt.Sprintf("agent %s %v: %s", e.Agent, ErrInUse, strings.Join(e.Workflows, ", "))
}

// Coded implements errcode.Coded.
func (e *InUseError) Coded() (errcode.Code, errcode.Fields) {
	return errcode.AgentInUse, errcode.Fields{"id": e.Agent, "workflows": e.Workflows}
}

// Is makes errors.Is(err, ErrInUse) report true.
func (e *InUseError) Is(target error) bool { return target == ErrInUse }

// CommandsError is returned when a document requests what is not allowed (SEC5): to start commands;
// to reach files and programs of this machine, each as a line such as `read files under /home/x
// (toolset filesystem)`; or to send environment variables to servers, as `NAME to ADDRESS`, or
// `NAME to the model`.
type CommandsError struct {
	Commands [][]string
	Access   []string
	Sends    []string
}

func (e *CommandsError) Error() string {
	return "the document needs permission to " + strings.Join(e.lines(), ", ")
}

// Coded implements errcode.Coded.
func (e *CommandsError) Coded() (errcode.Code, errcode.Fields) {
	return errcode.PermissionNeeded, errcode.Fields{"lines": e.lines()}
}

// lines returns what the document requests, one line per item.
func (e *CommandsError) lines() []string {
	lines := make([]string, 0, len(e.Commands)+len(e.Sends))
	for _, c := range e.Commands {
		lines = append(lines, "start "+strings.Join(c, " "))
	}
	lines = append(lines, e.Access...)
	for _, s := range e.Sends {
		lines = append(lines, "send "+s)
	}
	return lines
}

// IsFull reports whether an error was caused by a disk without room for the store.
func IsFull(err error) bool { return errors.Is(err, journal.ErrFull) }
