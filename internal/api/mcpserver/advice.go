package mcpserver

import (
	"errors"
	"strings"

	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/errcode"
)

// advice tells a model what to do next about a problem: its hint, or what helps with all of its family; "" where the error says so itself.
func advice(err error, p transport.Problem) string {
	if p.Hint != "" {
		return capital(p.Hint) + "."
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

// capital begins a sentence with a capital letter, but not one that begins with the name of a tool.
func capital(text string) string {
	if first, _, _ := strings.Cut(text, " "); text == "" || strings.Contains(first, "_") {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// personError says that a person decides, and how: the caller may not (SEC12).
type personError struct{ reason string }

func (e *personError) Error() string { return e.reason }
func (e *personError) Unwrap() error { return &transport.ForbiddenError{Reason: e.reason} }
