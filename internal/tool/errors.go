package tool

import (
	"errors"
	"fmt"
	"strings"
)

// ErrClosed is returned by calls on a Set or Toolset that was closed.
var ErrClosed = errors.New("tools are closed")

// ErrorKind classifies the reasons why a call could not be carried out. The values are stable: they
// are journaled, and `retry.on` patterns of documents match them (S4-22).
type ErrorKind string

const (
	// KindUnknownTool means that the agent has no tool with that name; nothing was called.
	KindUnknownTool ErrorKind = "unknown_tool"
	// KindInvalidArguments means that the arguments do not match the tool's schema; nothing was
	// called.
	KindInvalidArguments ErrorKind = "invalid_arguments"
	// KindTimeout means that there was no connection, no answer or no activity in time.
	KindTimeout ErrorKind = "timeout"
	// KindNetwork means that the connection could not be made or was lost.
	KindNetwork ErrorKind = "network"
	// KindChanged means that the definition is not the one that this run pinned (SEC14); nothing
	// was called.
	KindChanged ErrorKind = "tool_changed"
	// KindUntrusted means that the tool needs a command that is not allowed (SEC5); see
	// [UntrustedError].
	KindUntrusted ErrorKind = "untrusted"
	// KindUnattended means that a person must decide whether the call is made, and nobody attends
	// the run; nothing was called.
	KindUnattended ErrorKind = "unattended"
	// KindUnsupported means that Hocket does not support the call, or that something it needs is
	// not configured.
	KindUnsupported ErrorKind = "not_supported"
	// KindFailed means any other reason.
	KindFailed ErrorKind = "failed"
)

// Error is the error of a call, or of opening a toolset, that could not be carried out. Message is
// written for the model as well as for people: it says what was wrong and, if possible, what would
// be right. It contains no secrets.
type Error struct {
	Kind ErrorKind
	// Tool is the name of the tool, or of the toolset if no tool is concerned.
	Tool    string
	Message string
	// OutcomeUnknown reports whether the call may have been carried out nevertheless: the request
	// was sent and no answer came back. Whether the call is repeated depends on the tool's Policy.
	OutcomeUnknown bool
	// Err is the cause; it may be nil.
	Err error
}

func (e *Error) Error() string { return e.Message }

func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an Error. A %w in format sets Err.
func Errorf(kind ErrorKind, tool, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Tool: tool, Message: err.Error(), Err: errors.Unwrap(err)}
}

// UntrustedError is returned for a command that may not be started, or for files and programs of
// this machine that may not be reached (SEC5). What it names may be shown to the person at the
// terminal for approval.
type UntrustedError struct {
	Toolset string
	// Command is the command as [Commands] shows it; nil if there is none.
	Command []string
	// Access describes what else the toolset would do, as [Access] does.
	Access []string
}

func (e *UntrustedError) Error() string {
	if len(e.Command) == 0 {
		return fmt.Sprintf("toolset %q is not allowed to %s", e.Toolset, strings.Join(e.Access, ", "))
	}
	return fmt.Sprintf("toolset %q is not allowed to start the command: %s", e.Toolset, strings.Join(e.Command, " "))
}
