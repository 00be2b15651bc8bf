package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/op"
)

// Problem is the body of every error response of the API (RFC 9457).
type Problem struct {
	Title  string         `json:"title" doc:"Kind of problem, for people"`
	Status int            `json:"status" doc:"The HTTP status" example:"422"`
	Code   errcode.Family `json:"code" doc:"Kind of problem, for programs; sets the CLI exit status" example:"invalid"`
	Detail string         `json:"detail,omitempty" doc:"What is wrong in this case"`
	Reason errcode.Code   `json:"reason,omitempty" doc:"Error code; see docs/reasons.md" example:"workflow-draft-only"`
	Fields errcode.Fields `json:"fields,omitempty" doc:"Values of this case by name: texts, numbers and lists of texts"`
	Hint   string         `json:"hint,omitempty" doc:"What to do about it"`
	// Errors lists what is wrong with the form of the request.
	Errors []InputError `json:"errors,omitempty" doc:"Errors of the request itself"`
	// Diagnostics are the problems in a document.
	Diagnostics []diag.Diagnostic `json:"diagnostics,omitempty" doc:"Errors of a document"`

	retry string // the header Retry-After
	tag   string // the ETag header: the current tag, if a change was rejected because it differs
}

// InputError locates an error in a request. The response does not repeat the value.
type InputError struct {
	Location string `json:"location" doc:"path, query, header or body, then a dot and the field" example:"body.input"`
	Message  string `json:"message" doc:"What is wrong there"`
}

func (p *Problem) Error() string { return p.Detail }

// GetStatus implements huma.StatusError.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType implements huma.ContentTypeFilter.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// responseError maps an error to the response with problemOf, and logs internal errors.
func responseError(ctx context.Context, err error) error {
	p := problemOf(err)
	if p.Status >= http.StatusInternalServerError {
		transport.RecordError(ctx, err)
		if id := transport.RequestID(ctx); p.Detail == "" && id != "" {
			p.Detail = "see the server's log for request " + id
		}
	}
	header := http.Header{}
	if p.retry != "" {
		header.Set("Retry-After", p.retry)
	}
	if p.tag != "" {
		header.Set("ETag", quote(p.tag))
	}
	if len(header) > 0 {
		return huma.ErrorWithHeaders(p, header)
	}
	return p
}

// problemOf maps an error to a problem with the table that all transports share.
func problemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if e, ok := errors.AsType[*op.FieldError](err); ok {
		return fieldProblem(e)
	}
	d := transport.ProblemOf(err)
	return &Problem{
		Title: d.Title, Status: d.Status, Code: d.Code, Detail: d.Detail, Reason: d.Reason, Fields: d.Fields,
		Hint: d.Hint, Diagnostics: d.Diagnostics, retry: d.RetryText(),
	}
}

// formProblems holds the problems for malformed requests, which only this transport has.
var formProblems = map[int]Problem{
	http.StatusBadRequest:           {Title: "Malformed request", Code: errcode.Invalid},
	http.StatusRequestTimeout:       {Title: "Request timeout", Code: errcode.Timeout},
	http.StatusUnsupportedMediaType: {Title: "Malformed request", Code: errcode.Invalid},
	http.StatusUnprocessableEntity:  {Title: "Invalid request; nothing was changed", Code: errcode.Invalid},
}

// formProblem returns a problem for a malformed request.
func formProblem(status int, detail string, errs ...InputError) *Problem {
	p, ok := formProblems[status]
	if !ok {
		p = Problem{Title: "Internal server error", Code: errcode.Internal}
		status, detail, errs = http.StatusInternalServerError, "", nil
	}
	p.Status, p.Detail, p.Errors = status, detail, errs
	return &p
}

// problems is the huma.Transformer that converts huma's own errors to the common form.
func problems(ctx huma.Context, _ string, v any) (any, error) {
	m, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	if b, ok := ctx.Context().Value(bodyErrorKey{}).(*bodyErrorContext); ok {
		if unread := b.err; unread != nil {
			return problemOf(unread), nil
		}
	}
	return ofModel(m), nil
}

func ofModel(m *huma.ErrorModel) *Problem {
	errs := make([]InputError, 0, len(m.Errors))
	for _, e := range m.Errors {
		errs = append(errs, InputError{Location: e.Location, Message: e.Message})
	}
	// huma reports unknown fields in random order
	slices.SortStableFunc(errs, func(a, b InputError) int { return strings.Compare(a.Location, b.Location) })
	if m.Status == http.StatusRequestEntityTooLarge {
		return problemOf(&transport.TooLargeError{Limit: m.Detail})
	}
	detail := m.Detail
	if len(errs) > 0 {
		texts := make([]string, len(errs))
		for i, e := range errs {
			texts[i] = strings.TrimPrefix(e.Location+": ", ": ") + e.Message
		}
		detail = strings.Join(texts, "; ")
	}
	if m.Status == http.StatusUnsupportedMediaType {
		detail += "; send Content-Type: application/json"
	}
	return formProblem(m.Status, detail, errs...)
}

// refuse responds with a problem before huma reads any input.
func (g *gate) refuse(ctx huma.Context, p *Problem) {
	ctx.SetHeader("Content-Type", p.ContentType(""))
	ctx.SetStatus(p.Status)
	_ = json.NewEncoder(ctx.BodyWriter()).Encode(p) // the client is gone
}

// writeRefusal converts the mux's response for a path or method without an operation to a problem.
func writeRefusal(w http.ResponseWriter, h http.Handler, r *http.Request) {
	took := &recorder{header: http.Header{}}
	h.ServeHTTP(took, r)
	if allow := took.header.Get("Allow"); allow != "" {
		w.Header().Set("Allow", allow)
	}
	if took.status == http.StatusMethodNotAllowed {
		transport.WriteProblem(w, r, transport.NoMethod(r.URL.Path, took.header.Get("Allow")))
		return
	}
	transport.WriteProblem(w, r, transport.NoPath(r.URL.Path))
}

// recorder records the status and headers of a response, and drops its body.
type recorder struct {
	header http.Header
	status int
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(p []byte) (int, error) { return len(p), nil }
