package model

import (
	"errors"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
)

// ErrorKind says what went wrong with a call. Documents name kinds (`retry.on`), journals keep them: they are never renamed.
type ErrorKind string

const (
	// KindRateLimit: too many calls or tokens; Error.RetryAfter may say how long to wait.
	KindRateLimit ErrorKind = "rate_limit"
	// KindTimeout: the provider did not answer in time.
	KindTimeout ErrorKind = "timeout"
	// KindOverloaded: the provider has no capacity now.
	KindOverloaded ErrorKind = "overloaded"
	// KindAuth: no key, a wrong key, or one that may not do this.
	KindAuth ErrorKind = "auth"
	// KindNotFound: the provider has no such model for this key, or nothing answers at the address.
	KindNotFound ErrorKind = "unknown_model"
	// KindInvalidRequest: the provider will never take this request, whenever it is sent.
	KindInvalidRequest ErrorKind = "invalid_request"
	// KindQuota: the account's quota or money is used up; waiting for minutes does not help.
	KindQuota ErrorKind = "quota_exceeded"
	// KindContextLength: the request has more than the model's context window holds. A model with a larger window may take it.
	KindContextLength ErrorKind = "context_length_exceeded"
	// KindContentFilter: the request or the answer was withheld by a filter.
	KindContentFilter ErrorKind = "content_filter"
	// KindNetwork: no connection, or it broke before the answer was complete.
	KindNetwork ErrorKind = "network"
	// KindServer: the provider failed, or answered what cannot be read.
	KindServer ErrorKind = "server"
	// KindNoReply: a reply script has no entry for the call.
	KindNoReply ErrorKind = "no_reply"
	// KindBudget: the operator's budget of the workflow leaves nothing for the call. It ends the run by a limit and is none of ErrorKinds: documents
	// cannot handle it.
	KindBudget ErrorKind = "workflow_budget"
)

// ErrorKinds lists every kind, for hints and documentation.
func ErrorKinds() []ErrorKind {
	return []ErrorKind{
		KindRateLimit, KindTimeout, KindOverloaded, KindAuth, KindNotFound, KindQuota, KindInvalidRequest, KindContextLength, KindContentFilter, KindNetwork, KindServer, KindNoReply,
	}
}

// IsTransient tells whether the same call may well succeed later. Only such failures are retried where nothing else is said (P12).
func (k ErrorKind) IsTransient() bool {
	switch k {
	case KindRateLimit, KindTimeout, KindOverloaded, KindNetwork, KindServer:
		return true
	}
	return false
}

// Error is a failed model call, as data for a journal: kind, the provider's own words, and how long it asks to wait.
type Error struct {
	Kind ErrorKind
	// Message is the provider's own text where it gave one, never empty, without keys (SEC11).
	Message string
	// Status is the HTTP status, 0 where there was none.
	Status int
	// RetryAfter is the wait that the provider asked for, 0 where it asked for none.
	RetryAfter time.Duration
	// Usage is what the failed call cost, where the provider told: the answer was complete, and withheld or not fit for use. Nil: unknown.
	Usage *chat.Usage
	// UsageEstimated is that of Reply.
	UsageEstimated string
	// Details are those of Reply.
	Details *chat.CallDetails
	// Source is the entry of the reply script that told this failure, as Reply.Source.
	Source int
	// Err is the cause where it is one of ours or the standard library's; never an error of an SDK, which might hold the request and its key.
	Err error
}

// Error gives kind and message.
func (e *Error) Error() string { return string(e.Kind) + ": " + e.Message }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Interrupted is the error of a scripted call whose context ended while it waited. The entry counts as used: a call that ran into a
// time limit was made.
type Interrupted struct {
	Source int
	Err    error
}

// Error gives the cause's text.
func (e *Interrupted) Error() string { return e.Err.Error() }

// Unwrap gives the context's error.
func (e *Interrupted) Unwrap() error { return e.Err }

// UsageOf gives what a failed call used, nil where it is unknown.
func UsageOf(err error) *chat.Usage {
	if failed, ok := errors.AsType[*Error](err); ok {
		return failed.Usage
	}
	return nil
}

// DetailsOf gives what is known of a failed call; nil: nothing.
func DetailsOf(err error) *chat.CallDetails {
	if failed, ok := errors.AsType[*Error](err); ok {
		return failed.Details
	}
	return nil
}

// EstimatedOf says why the usage of a failed call is an estimate; "" where it is not.
func EstimatedOf(err error) string {
	if failed, ok := errors.AsType[*Error](err); ok {
		return failed.UsageEstimated
	}
	return ""
}

// SourceOf gives the entry of the reply script that err used up, 0 where it used none.
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
