package model

import (
	"errors"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
)

// ErrorKind classifies the failure of a call. Documents name kinds (`retry.on`) and journals store
// them: they are never renamed.
type ErrorKind string

const (
	// KindRateLimit means too many calls or tokens; Error.RetryAfter may hold how long to wait.
	KindRateLimit ErrorKind = "rate_limit"
	// KindTimeout means the provider did not respond in time.
	KindTimeout ErrorKind = "timeout"
	// KindOverloaded means the provider currently has no capacity.
	KindOverloaded ErrorKind = "overloaded"
	// KindAuth means no key, a wrong key, or a key without the necessary permissions.
	KindAuth ErrorKind = "auth"
	// KindNotFound means the provider has no such model for this key, or nothing responds at the
	// address.
	KindNotFound ErrorKind = "unknown_model"
	// KindInvalidRequest means the provider will never accept this request, whenever it is sent.
	KindInvalidRequest ErrorKind = "invalid_request"
	// KindQuota means the account's quota or money is used up; waiting for minutes does not help.
	KindQuota ErrorKind = "quota_exceeded"
	// KindContextLength means the request exceeds the model's context window. A model with a larger
	// window may accept it.
	KindContextLength ErrorKind = "context_length_exceeded"
	// KindContentFilter means the request or the response was withheld by a filter.
	KindContentFilter ErrorKind = "content_filter"
	// KindNetwork means there was no connection, or it broke before the response was complete.
	KindNetwork ErrorKind = "network"
	// KindServer means the provider failed, or sent an unreadable response.
	KindServer ErrorKind = "server"
	// KindNoReply means a reply script has no entry for the call.
	KindNoReply ErrorKind = "no_reply"
	// KindBudget means the operator's budget of the workflow leaves nothing for the call. It ends
	// the run with a limit and is not in ErrorKinds: documents cannot handle it.
	KindBudget ErrorKind = "workflow_budget"
)

// ErrorKinds lists every kind, for hints and documentation.
func ErrorKinds() []ErrorKind {
	return []ErrorKind{
		KindRateLimit, KindTimeout, KindOverloaded, KindAuth, KindNotFound, KindQuota, KindInvalidRequest,
		KindContextLength, KindContentFilter, KindNetwork, KindServer, KindNoReply,
	}
}

// IsTransient reports whether the same call may well succeed later. By default only such failures
// are retried (P12).
func (k ErrorKind) IsTransient() bool {
	switch k {
	case KindRateLimit, KindTimeout, KindOverloaded, KindNetwork, KindServer:
		return true
	}
	return false
}

// Error is a failed model call, as data for a journal: kind, the provider's own message, and the
// wait that it requested.
type Error struct {
	Kind ErrorKind
	// Message is the provider's own message if it sent one, never empty, without keys (SEC11).
	Message string
	// Status is the HTTP status, or 0 if there was none.
	Status int
	// RetryAfter is the wait that the provider requested, or 0 if it requested none.
	RetryAfter time.Duration
	// Usage is the usage of the failed call, if the provider reported it: the response was
	// complete, but withheld or unusable. Nil means unknown.
	Usage *chat.Usage
	// UsageEstimated is as in Reply.
	UsageEstimated string
	// Details are as in Reply.
	Details *chat.CallDetails
	// Source is the entry of the reply script that caused this failure, as in Reply.Source.
	Source int
	// Err is the cause if it is one of ours or the standard library's; never an SDK error, which
	// might hold the request and its key.
	Err error
}

// Error returns kind and message.
func (e *Error) Error() string { return string(e.Kind) + ": " + e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Interrupted is the error of a scripted call whose context ended while it waited. The entry counts
// as used: a call that exceeded a time limit was made.
type Interrupted struct {
	Source int
	Err    error
}

// Error returns the cause's message.
func (e *Interrupted) Error() string { return e.Err.Error() }

// Unwrap returns the context's error.
func (e *Interrupted) Unwrap() error { return e.Err }

// UsageOf returns the usage of a failed call, or nil if it is unknown.
func UsageOf(err error) *chat.Usage {
	if failed, ok := errors.AsType[*Error](err); ok {
		return failed.Usage
	}
	return nil
}

// DetailsOf returns what is known about a failed call, or nil if nothing is.
func DetailsOf(err error) *chat.CallDetails {
	if failed, ok := errors.AsType[*Error](err); ok {
		return failed.Details
	}
	return nil
}

// EstimatedOf returns the reason why the usage of a failed call is an estimate, or "" if it is not.
func EstimatedOf(err error) string {
	if failed, ok := errors.AsType[*Error](err); ok {
		return failed.UsageEstimated
	}
	return ""
}

// SourceOf returns the entry of the reply script that err used up, or 0 if it used none.
func SourceOf(err error) int {
	var failed *Error
	if errors.As(err, &failed) && failed.Source != 0 {
		return failed.Source
	}
	if stopped, ok := errors.AsType[*Interrupted](err); ok {
		return stopped.Source
	}
	return 0
}
