package openaiapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/hocket-run/hocket/internal/api/transport"
)

// Values of the field `type` of errors: OpenAI's, and one of our own.
const (
	typeInvalid    = "invalid_request_error"
	typeAuth       = "authentication_error"
	typePermission = "permission_error"
	typeRateLimit  = "rate_limit_error"
	typeServer     = "server_error"
	typeRun        = "run_error" // the run did not end successfully
)

// Error codes that are not in the table of package transport.
const (
	codeModelNotFound  = "model_not_found"
	codeUnsupported    = "unsupported"
	codeStreamReplaced = "stream_replaced"
	codeInterrupted    = "interrupted"
)

// apiError is an error in OpenAI's form.
type apiError struct {
	status        int
	kind, code    string
	message       string
	param         string // "" is encoded as null
	run           string // the run concerned; "" means none
	after         string // Retry-After in seconds; "" means no header
	mayTry, retry bool   // retry tells the client whether to retry; it applies only if mayTry is set
}

func (e *apiError) Error() string { return e.message }

// invalidf returns the error for an invalid field of the request.
func invalidf(param, format string, args ...any) *apiError {
	return &apiError{status: http.StatusBadRequest, kind: typeInvalid, code: "invalid", param: param,
		message: fmt.Sprintf(format, args...)}
}

// unsupportedf returns the error for a field of the request that asks for something that no
// workflow supports.
func unsupportedf(param, format string, args ...any) *apiError {
	e := invalidf(param, format, args...)
	e.code = codeUnsupported
	return e
}

// errorOf converts any error to a type that clients know, using the problem table that all
// transports share. Errors that should not be retried are marked: clients retry 409 and 5xx
// automatically, and a request here is a run.
func errorOf(err error) *apiError {
	if known, ok := errors.AsType[*apiError](err); ok {
		return known
	}
	return problemError(transport.ProblemOf(err))
}

func problemError(p transport.Problem) *apiError {
	e := &apiError{status: p.Status, kind: typeInvalid, code: string(p.Code), message: p.Text(), after: p.RetryText()}
	switch {
	case p.Status == http.StatusUnauthorized:
		e.kind = typeAuth
	case p.Status == http.StatusForbidden:
		e.kind = typePermission
	case p.Status == http.StatusTooManyRequests:
		e.kind, e.mayTry, e.retry = typeRateLimit, true, true // nothing ran
	case p.Status >= http.StatusInternalServerError:
		e.kind = typeServer
	}
	if p.Status == http.StatusServiceUnavailable {
		e.retry = true
	}
	if p.Status == http.StatusConflict || p.Status >= http.StatusInternalServerError {
		e.mayTry = true
	}
	return e
}

// body returns the JSON of an error.
func (e *apiError) body() []byte {
	type inner struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    string  `json:"code"`
		Run     string  `json:"x_hocket_run,omitempty"`
	}
	in := inner{Message: e.message, Type: e.kind, Code: e.code, Run: e.run}
	if e.param != "" {
		in.Param = &e.param
	}
	text, err := json.Marshal(struct {
		Error inner `json:"error"`
	}{in})
	if err != nil {
		return []byte(`{"error":{"message":"","type":"server_error","param":null,"code":"internal"}}`)
	}
	return text
}

// WriteProblem writes a problem in OpenAI's form, for code that rejects requests under /v1/ before
// they reach this package.
func WriteProblem(w http.ResponseWriter, _ *http.Request, p transport.Problem) {
	writeError(w, problemError(p))
}

func writeError(w http.ResponseWriter, err error) {
	e := errorOf(err)
	h := w.Header()
	h.Set("Content-Type", "application/json")
	if e.mayTry {
		h.Set("X-Should-Retry", strconv.FormatBool(e.retry))
	}
	if e.after != "" && h.Get("Retry-After") == "" {
		h.Set("Retry-After", e.after)
	}
	if e.run != "" {
		h.Set(headerRun, e.run)
	}
	w.WriteHeader(e.status)
	_, _ = w.Write(append(e.body(), '\n')) // the client may be gone
}
