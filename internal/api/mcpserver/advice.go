package mcpserver

import (
	"errors"
	"strings"

	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/errcode"
)

// advice returns what a model should do next about a problem: the hint of the error, or advice for
// its whole family of errors; "" if the error message already includes it.
func advice(err error, p transport.Problem) string {
	if p.Hint != "" {
		return capitalize(p.Hint) + "."
	}
	var (
		said   *conflictError
		person *personError
	)
	if errors.As(err, &said) || errors.As(err, &person) {
		return ""
	}
	return errcode.GroupOf(p.Code).Next
}

// capitalize capitalizes the first letter of a sentence, unless the sentence starts with the name
// of a tool.
func capitalize(text string) string {
	if first, _, _ := strings.Cut(text, " "); text == "" || strings.Contains(first, "_") {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// personError is returned when only a person may decide and the caller may not; its message says
// how a person can (SEC12).
type personError struct{ reason string }

func (e *personError) Error() string { return e.reason }
func (e *personError) Unwrap() error { return &transport.ForbiddenError{Reason: e.reason} }
