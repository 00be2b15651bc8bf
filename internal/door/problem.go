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

// ErrUnauthorized says that nobody knows who calls.
var ErrUnauthorized = errors.New("a token is needed: Authorization: Bearer TOKEN")

// ForbiddenError says that the caller is known and may not.
type ForbiddenError struct{ Reason string }

func (e *ForbiddenError) Error() string { return e.Reason }

// TooLargeError says that a request is larger than the server takes (SEC17). Limit names the limit.
type TooLargeError struct{ Limit string }

func (e *TooLargeError) Error() string { return "the request is too large: " + e.Limit }

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
	service.CodeInternal: {Status: http.StatusInternalServerError, Code: "internal", Title: "Something is broken in the server"},
	service.CodeInvalid:  {Status: http.StatusUnprocessableEntity, Code: "invalid", Title: "The request is not acceptable; nothing was changed"},
	service.CodeNotFound: {Status: http.StatusNotFound, Code: "not_found", Title: "There is no such thing"},
	service.CodeConflict: {Status: http.StatusConflict, Code: "conflict", Title: "Something else is in the way right now"},
	service.CodeGone:     {Status: http.StatusGone, Code: "gone", Title: "It is closed"},
	service.CodeLimit:    {Status: http.StatusTooManyRequests, Code: "limit", Title: "A limit is reached; nothing was changed"},
	service.CodeUnusable: {Status: http.StatusInternalServerError, Code: "unusable", Title: "What is stored of this cannot be used"},
	service.CodeUnavailable: {
		Status: http.StatusServiceUnavailable, Code: "unavailable", Title: "The server cannot do this right now",
		Detail: "the store does not take it; nothing was changed that was not stored, and the same request may be made again",
	},
}

// NoPath is the problem of a path at which nothing is.
func NoPath(path string) Problem {
	p := families[service.CodeNotFound]
	p.Detail = "there is no " + cut(path)
	return p
}

// NoMethod is the problem of a path that takes other methods; allow are they, as the header Allow has them.
func NoMethod(path, allow string) Problem {
	return Problem{Status: http.StatusMethodNotAllowed, Code: "method_not_allowed", Title: "There is no such operation here", Detail: cut(path) + " takes " + allow}
}

// Unavailable is the problem of whoever has to come back later.
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

// ProblemOf tells an error to whoever made the request. What is broken inside is not described: the log has it.
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
		return Problem{Status: http.StatusUnauthorized, Code: "unauthorized", Title: "Nobody knows who calls", Detail: err.Error()}
	case errors.As(err, &forbidden), errors.Is(err, access.ErrNotGranted):
		return Problem{Status: http.StatusForbidden, Code: "forbidden", Title: "The caller may not do this", Detail: err.Error()}
	case errors.As(err, &large), errors.As(err, &bytes):
		return Problem{Status: http.StatusRequestEntityTooLarge, Code: "too_large", Title: "The request is too large", Detail: err.Error()}
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
		return Problem{Status: http.StatusRequestTimeout, Code: "timeout", Title: "The request took too long to arrive", Detail: slow.Error()}
	case errors.As(err, &broken):
		return Problem{Status: http.StatusBadRequest, Code: "invalid", Title: "The body did not arrive whole"}
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
