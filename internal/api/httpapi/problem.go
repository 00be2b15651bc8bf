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
)

// Problem is every error of the API (RFC 9457).
type Problem struct {
	Title  string         `json:"title" doc:"Kind of problem, for people"`
	Status int            `json:"status" doc:"The HTTP status" example:"422"`
	Code   errcode.Family `json:"code" doc:"Kind of problem, for programs; the command line has an exit status for each" example:"invalid"`
	Detail string         `json:"detail,omitempty" doc:"What is wrong in this case"`
	Reason errcode.Code   `json:"reason,omitempty" doc:"Code of this error within its kind; see docs/reasons.md" example:"workflow-draft-only"`
	Fields errcode.Fields `json:"fields,omitempty" doc:"Values of this case by name: texts, numbers and lists of texts"`
	Hint   string         `json:"hint,omitempty" doc:"What to do about it"`
	// Errors are those of the request's form.
	Errors []InputError `json:"errors,omitempty" doc:"Errors of the request itself"`
	// Diagnostics are those of a document.
	Diagnostics []diag.Diagnostic `json:"diagnostics,omitempty" doc:"Errors of a document"`

	retry string // the header Retry-After
	tag   string // the header ETag: the tag of what is stored, where a change was refused since that is another one
}

// InputError says where a request is wrong. The value is not repeated in the answer.
type InputError struct {
	Location string `json:"location" doc:"Place: path, query, header or body, then a dot and the field" example:"body.input"`
	Message  string `json:"message" doc:"What is wrong there"`
}

func (p *Problem) Error() string { return p.Detail }

// GetStatus implements huma.StatusError.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType implements huma.ContentTypeFilter.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// answered gives an error to the caller, by problemOf; what is broken inside goes to the log.
func answered(ctx context.Context, err error) error {
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

// problemOf tells an error by the table that all transports share.
func problemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	d := transport.ProblemOf(err)
	return &Problem{
		Title: d.Title, Status: d.Status, Code: d.Code, Detail: d.Detail, Reason: d.Reason, Fields: d.Fields, Hint: d.Hint, Diagnostics: d.Diagnostics, retry: d.RetryText(),
	}
}

// forms are the problems of a request's form, which no transport but this one has.
var forms = map[int]Problem{
	http.StatusBadRequest:           {Title: "Malformed request", Code: errcode.Invalid},
	http.StatusRequestTimeout:       {Title: "Request timeout", Code: errcode.Timeout},
	http.StatusUnsupportedMediaType: {Title: "Malformed request", Code: errcode.Invalid},
	http.StatusUnprocessableEntity:  {Title: "Invalid request; nothing was changed", Code: errcode.Invalid},
}

// formProblem makes a problem of a request's form.
func formProblem(status int, detail string, errs ...InputError) *Problem {
	p, ok := forms[status]
	if !ok {
		p = Problem{Title: "Internal server error", Code: errcode.Internal}
		status, detail, errs = http.StatusInternalServerError, "", nil
	}
	p.Status, p.Detail, p.Errors = status, detail, errs
	return &p
}

// problems is the huma.Transformer that gives huma's own errors the form of all others.
func problems(ctx huma.Context, _ string, v any) (any, error) {
	m, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	if b, ok := ctx.Context().Value(boundedKey{}).(*bounded); ok {
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
	slices.SortStableFunc(errs, func(a, b InputError) int { return strings.Compare(a.Location, b.Location) }) // huma finds unknown fields in any order
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

// refuse answers with a problem before huma read anything.
func (g *gate) refuse(ctx huma.Context, p *Problem) {
	ctx.SetHeader("Content-Type", p.ContentType(""))
	ctx.SetStatus(p.Status)
	_ = json.NewEncoder(ctx.BodyWriter()).Encode(p) // the client has left
}

// writeRefusal tells what the mux says of a path or method that no operation has.
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

// recorder takes the status and headers of an answer, and drops its text.
type recorder struct {
	header http.Header
	status int
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(p []byte) (int, error) { return len(p), nil }
