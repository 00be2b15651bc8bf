package transport

import (
	"cmp"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/inflight"
	"github.com/hocket-run/hocket/internal/service"
)

// ErrUnauthorized is returned when a request has no valid token.
var ErrUnauthorized = errors.New("authentication required: send Authorization: Bearer TOKEN")

// ForbiddenError is returned when the caller is known but lacks the permission.
type ForbiddenError struct{ Reason string }

func (e *ForbiddenError) Error() string { return e.Reason }

// TooLargeError is returned when a request exceeds the size that the server accepts (SEC17). Limit
// names the limit.
type TooLargeError struct{ Limit string }

func (e *TooLargeError) Error() string { return "request too large: " + e.Limit }

// Problem is an error in the form that all transports report: RFC 9457 over HTTP, the same fields
// elsewhere.
type Problem struct {
	// Status is the HTTP status.
	Status int `json:"status"`
	// Code is the code for programs: the error family, which determines the exit status of the
	// command line.
	Code   errcode.Family `json:"code"`
	Title  string         `json:"title"`
	Detail string         `json:"detail,omitempty"`
	// Reason is the code within the family, and Fields are its values; "" and nil mean that the
	// error has none.
	Reason errcode.Code   `json:"reason,omitempty"`
	Fields errcode.Fields `json:"fields,omitempty"`
	// Hint says what to do about the problem, in the terms of the transport; "" means that there is
	// nothing to add.
	Hint string `json:"hint,omitempty"`
	// Diagnostics are the problems of a document.
	Diagnostics diag.List `json:"diagnostics,omitempty"`
	// RetryAfter is the time after which the same request may be repeated; 0 means that it is
	// unspecified, or the constant RetryAfter with status 503.
	RetryAfter time.Duration `json:"-"`
}

// NewProblem returns the problem for a family. If detail is "", the family's own detail is used.
func NewProblem(f errcode.Family, detail string) Problem {
	g := errcode.GroupOf(f)
	return Problem{Status: g.Status, Code: g.Family, Title: g.Title, Detail: cmp.Or(detail, g.Detail)}
}

// Text returns the detail of a problem with its hint, or its title if it has no detail.
func (p Problem) Text() string {
	text := cmp.Or(p.Detail, p.Title)
	if p.Hint != "" {
		text += "; " + p.Hint
	}
	return text
}

// NoPath returns the problem for a path that does not exist.
func NoPath(path string) Problem { return NewProblem(errcode.NotFound, "no such path: "+cut(path)) }

// NoMethod returns the problem for a path that supports only other methods, which allow lists in
// the form of the Allow header.
func NoMethod(path, allow string) Problem {
	return NewProblem(errcode.MethodNotAllowed, cut(path)+" allows only "+allow)
}

// Unavailable returns the problem for a request that may be repeated later.
func Unavailable(reason string) Problem { return NewProblem(errcode.Unavailable, reason) }

// maxEcho is the maximum number of bytes of a path that a response repeats.
const maxEcho = 200

func cut(path string) string {
	path = strings.ToValidUTF8(path, "\uFFFD")
	if len(path) <= maxEcho {
		return path
	}
	n := maxEcho
	for !utf8.RuneStart(path[n]) {
		n--
	}
	return path[:n] + "…"
}

// ProblemOf returns the problem for an error, with hints in the terms of HTTP. An internal error is
// not described; its details are in the log.
func ProblemOf(err error) Problem { return ProblemFor(err, errcode.HTTP) }

// ProblemFor is ProblemOf with hints in the terms of the given transport.
func ProblemFor(err error, t errcode.Transport) Problem {
	var (
		forbidden *ForbiddenError
		large     *TooLargeError
		bytes     *http.MaxBytesError
		full      *inflight.FullError
		slow      *SlowBodyError
		broken    *BrokenBodyError
	)
	switch {
	case errors.Is(err, ErrUnauthorized), errors.Is(err, access.ErrUnknownToken), errors.Is(err, access.ErrNoSession):
		return NewProblem(errcode.Unauthorized, err.Error())
	case errors.As(err, &forbidden), errors.Is(err, access.ErrNotGranted):
		return NewProblem(errcode.Forbidden, err.Error())
	case errors.As(err, &large), errors.As(err, &bytes):
		return NewProblem(errcode.TooLarge, err.Error())
	case errors.As(err, &full):
		p := NewProblem(errcode.Unavailable, full.Error())
		if full.OfHolder {
			p = NewProblem(errcode.Limit, full.Error())
		}
		p.RetryAfter = full.RetryAfter
		return p
	case errors.As(err, &slow):
		return NewProblem(errcode.Timeout, slow.Error())
	case errors.As(err, &broken):
		return Problem{Status: http.StatusBadRequest, Code: errcode.Invalid, Title: "Incomplete request body"}
	}
	return described(err, t)
}

// described returns the problem for an error from the service or package access.
func described(err error, t errcode.Transport) Problem {
	d := service.Describe(err)
	if f := accessFamily(err); f != "" {
		d.Family = f
	}
	p := NewProblem(d.Family, "")
	p.Reason, p.Fields = d.Code, d.Fields
	if p.Reason == "" && d.Family == errcode.Invalid && errors.As(err, new(*access.InvalidError)) {
		p.Reason = errcode.InvalidAccess
	}
	if d.Family == errcode.Internal || d.Family == errcode.Unavailable {
		return p
	}
	p.Detail, p.Hint = d.Message, errcode.Hint(d.Code, d.Fields, t)
	if invalid, ok := errors.AsType[*service.InvalidError](err); ok {
		p.Diagnostics = invalid.Diagnostics
	} else if list, ok := errors.AsType[diag.List](err); ok {
		p.Diagnostics = list
	}
	p.Diagnostics = errcode.Hinted(p.Diagnostics, t)
	return p
}

// accessFamily returns the family of an error of package access, or "" for any other error.
func accessFamily(err error) errcode.Family {
	var wrong *access.InvalidError
	var limit *access.LimitError
	switch {
	case errors.As(err, &wrong):
		return errcode.Invalid
	case errors.As(err, &limit):
		return errcode.Conflict
	case errors.Is(err, access.ErrNone), errors.Is(err, access.ErrNoNamespace):
		return errcode.NotFound
	}
	return ""
}
