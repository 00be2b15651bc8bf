package tool

import (
	"errors"
	"fmt"
	"strings"
)

// ErrClosed is returned by calls on a Set or Toolset that was closed.
var ErrClosed = errors.New("tools are closed")

// ErrorKind sorts the reasons for which a call could not be carried out. The words are stable: they are journaled, and `retry.on` patterns of
// documents match them (S4-22).
type ErrorKind string

const (
	// KindUnknownTool: the agent has no tool of that name; nothing was called.
	KindUnknownTool ErrorKind = "unknown_tool"
	// KindInvalidArguments: the arguments do not fit the tool's schema; nothing was called.
	KindInvalidArguments ErrorKind = "invalid_arguments"
	// KindTimeout: no connection, no answer or no sign of life in time.
	KindTimeout ErrorKind = "timeout"
	// KindNetwork: the connection could not be made or broke.
	KindNetwork ErrorKind = "network"
	// KindChanged: the definition is not the one that this run pinned (SEC14); nothing was called.
	KindChanged ErrorKind = "tool_changed"
	// KindUntrusted: the tool needs a command that is not allowed (SEC5); see [UntrustedError].
	KindUntrusted ErrorKind = "untrusted"
	// KindUnsupported: Hocket cannot do this, or what it needs is not configured.
	KindUnsupported ErrorKind = "not_supported"
	// KindFailed is everything else.
	KindFailed ErrorKind = "failed"
)

// Error is a call, or the opening of a toolset, that could not be carried out. Message is written for the model as well as for people: it says
// what was wrong and, where it can, what would be right. It holds no secret.
type Error struct {
	Kind ErrorKind
	// Tool is the tool, or the toolset where no tool is concerned.
	Tool    string
	Message string
	// OutcomeUnknown tells that the call may have been carried out nevertheless: the request went out and no answer came back. Whether it is
	// repeated follows the tool's Policy.
	OutcomeUnknown bool
	// Err is the cause; may be nil.
	Err error
}

func (e *Error) Error() string { return e.Message }

func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error. A %w in format sets Err.
func Errorf(kind ErrorKind, tool, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Tool: tool, Message: err.Error(), Err: errors.Unwrap(err)}
}

// UntrustedError refuses to start a command, or to reach files and programs of this machine (SEC5). The person at the terminal may be shown what it
// names and asked.
type UntrustedError struct {
	Toolset string
	// Command is the command as [Commands] shows it; nil where there is none.
	Command []string
	// Access says what else the toolset would do, as [Access] does.
	Access []string
}

func (e *UntrustedError) Error() string {
	if len(e.Command) == 0 {
		return fmt.Sprintf("toolset %q is not allowed to %s", e.Toolset, strings.Join(e.Access, ", "))
	}
	return fmt.Sprintf("toolset %q is not allowed to start the command: %s", e.Toolset, strings.Join(e.Command, " "))
}
