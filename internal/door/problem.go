package door

import (
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/inflight"
	"github.com/hocket-run/hocket/internal/service"
)

// ErrUnauthorized says that authentication is required.
var ErrUnauthorized = errors.New("authentication required: send Authorization: Bearer TOKEN")

// ForbiddenError says that the caller is known and may not.
type ForbiddenError struct{ Reason string }

func (e *ForbiddenError) Error() string { return e.Reason }

// TooLargeError says that a request is larger than the server takes (SEC17). Limit names the limit.
type TooLargeError struct{ Limit string }

func (e *TooLargeError) Error() string { return "request too large: " + e.Limit }

// Problem is an error as all doors tell it: RFC 9457 over HTTP, the same fields elsewhere.
type Problem struct {
	// Status is HTTP's.
	Status int `json:"status"`
	// Code is a word for programs: that of the family, which the command line tells by its exit status.
	Code   string `json:"code"`
	Title  string `json:"title"`
	Detail string `json:"detail,omitempty"`
	// Diagnostics say where a document is wrong.
	Diagnostics diag.List `json:"diagnostics,omitempty"`
	// RetryAfter is when the same request may be made again; 0: nothing is said of it, or RetryAfter with status 503.
	RetryAfter time.Duration `json:"-"`
}

// families is the table of problems by service.Code.
var families = map[service.Code]Problem{
	service.CodeInternal: {Status: http.StatusInternalServerError, Code: "internal", Title: "Internal server error"},
	service.CodeInvalid:  {Status: http.StatusUnprocessableEntity, Code: "invalid", Title: "Invalid request; nothing was changed"},
	service.CodeNotFound: {Status: http.StatusNotFound, Code: "not_found", Title: "Not found"},
	service.CodeConflict: {Status: http.StatusConflict, Code: "conflict", Title: "Conflict with the current state"},
	service.CodeGone:     {Status: http.StatusGone, Code: "gone", Title: "Closed"},
	service.CodeLimit:    {Status: http.StatusTooManyRequests, Code: "limit", Title: "Limit reached; nothing was changed"},
	service.CodeUnusable: {Status: http.StatusInternalServerError, Code: "unusable", Title: "Stored data cannot be used"},
	service.CodeUnavailable: {
		Status: http.StatusServiceUnavailable, Code: "unavailable", Title: "Temporarily unavailable",
		Detail: "the store is temporarily unavailable; only stored changes took effect, and the request may be retried",
	},
}

// NoPath is the problem of a path at which nothing is.
func NoPath(path string) Problem {
	p := families[service.CodeNotFound]
	p.Detail = "no such path: " + cut(path)
	return p
}

// NoMethod is the problem of a path that takes other methods; allow are they, as the header Allow has them.
func NoMethod(path, allow string) Problem {
	return Problem{Status: http.StatusMethodNotAllowed, Code: "method_not_allowed", Title: "Method not allowed", Detail: cut(path) + " allows only " + allow}
}

// Unavailable is the problem of a client that has to retry later.
func Unavailable(reason string) Problem {
	p := families[service.CodeUnavailable]
	p.Detail = reason
	return p
}

// maxEcho bounds what is told back of a path, in bytes.
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

// ProblemOf words an error for the client. What is broken inside is not described: the log has it.
func ProblemOf(err error) Problem {
	var (
		forbidden *ForbiddenError
		large     *TooLargeError
		bytes     *http.MaxBytesError
		full      *inflight.FullError
		slow      *SlowBodyError
		broken    *BrokenBodyError
		invalid   *service.InvalidError
		list      diag.List
	)
	switch {
	case errors.Is(err, ErrUnauthorized), errors.Is(err, access.ErrUnknownToken):
		return Problem{Status: http.StatusUnauthorized, Code: "unauthorized", Title: "Authentication required", Detail: err.Error()}
	case errors.As(err, &forbidden), errors.Is(err, access.ErrNotGranted):
		return Problem{Status: http.StatusForbidden, Code: "forbidden", Title: "Permission denied", Detail: err.Error()}
	case errors.As(err, &large), errors.As(err, &bytes):
		return Problem{Status: http.StatusRequestEntityTooLarge, Code: "too_large", Title: "Request too large", Detail: err.Error()}
	}
	p := families[codeOf(err)]
	switch {
	case errors.As(err, &full):
		if p = families[service.CodeUnavailable]; full.OfHolder {
			p = families[service.CodeLimit]
		}
		p.Detail, p.RetryAfter = full.Error(), full.RetryAfter
		return p
	case errors.As(err, &slow):
		return Problem{Status: http.StatusRequestTimeout, Code: "timeout", Title: "Request timeout", Detail: slow.Error()}
	case errors.As(err, &broken):
		return Problem{Status: http.StatusBadRequest, Code: "invalid", Title: "Incomplete request body"}
	}
	if p.Code == "internal" || p.Code == "unavailable" {
		return p
	}
	p.Detail = service.APIWords(service.Reason(err))
	if errors.As(err, &invalid) {
		p.Diagnostics = invalid.Diagnostics
	} else if errors.As(err, &list) {
		p.Diagnostics = list
	}
	p.Diagnostics = service.APIDiagnostics(p.Diagnostics)
	return p
}

// codeOf is service.CodeOf that also knows the errors of package access.
func codeOf(err error) service.Code {
	var wrong *access.InvalidError
	var limit *access.LimitError
	switch {
	case errors.As(err, &wrong):
		return service.CodeInvalid
	case errors.As(err, &limit):
		return service.CodeConflict
	case errors.Is(err, access.ErrNone), errors.Is(err, access.ErrNoNamespace):
		return service.CodeNotFound
	}
	return service.CodeOf(err)
}
