package httpapi

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
)

// route is an operation as declared by the file that registers it.
type route struct {
	// Method and Path are the mux pattern; Path is relative to Prefix.
	Method, Path string
	// ID is the operationId. Summary is one line, Description holds the details in Markdown, and
	// Tag groups operations.
	ID, Summary, Description, Tag string
	// Role is the role that the caller must have (SEC2).
	Role access.Role
	// Status is the status on success; 0 means 200.
	Status int
	// Also lists further success statuses: 200 and 202 with the same body, 304 without one.
	Also []int
	// Errors lists the problem statuses beyond commonErrors.
	Errors []int
}

// bodyTimeout is the timeout for reading a request body.
const bodyTimeout = 30 * time.Second

// commonErrors are the error statuses that every operation may return: 400 for an unknown query
// parameter, 401 without a valid token, 403 for a missing role, 422 for invalid input, 429 for an
// exceeded limit, 500, and 503 for the store or the budget of bytes in flight.
var commonErrors = []int{
	http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusUnprocessableEntity,
	http.StatusTooManyRequests, http.StatusInternalServerError,
	http.StatusServiceUnavailable,
}

// add registers an operation. The handler is called with a caller who has the route's role;
// transport.ProblemOf maps its error to a problem. What does not depend on I and O is in
// registration, since the compiler generates add once for each pair of types.
func add[I, O any](a *API, r route, handle func(context.Context, *transport.Caller, *I) (*O, error)) {
	reg := a.register(r, reflect.TypeFor[O]())
	huma.Register(a.huma, reg.op, func(ctx context.Context, in *I) (*response, error) {
		c, _ := ctx.Value(requestKey{}).(huma.Context)
		_ = c.SetReadDeadline(time.Time{}) // the body was read; without a deadline there is none to clear
		out, err := handle(ctx, transport.From(ctx), in)
		if err != nil {
			return nil, responseError(ctx, err)
		}
		return reg.answer.write(ctx, c, reflect.ValueOf(out).Elem()), nil
	})
	reg.describe(a.huma.OpenAPI())
}

// registration is the registration of one operation.
type registration struct {
	route   route
	op      huma.Operation
	gate    *gate
	answer  output
	success *huma.Response
}

// register adds an operation with responses of type out to the API's list.
func (a *API) register(r route, out reflect.Type) *registration {
	answer, success := outputOf(out, r.Status, r.ID, a.huma.OpenAPI().Components.Schemas)
	op := huma.Operation{
		Method: r.Method, Path: Prefix + r.Path, OperationID: r.ID, Summary: r.Summary, Description: r.Description,
		Tags: []string{r.Tag},
		// huma rejects a body of exactly this size
		DefaultStatus: answer.status, MaxBodyBytes: a.cfg.MaxBody + 1, BodyReadTimeout: bodyTimeout,
		Security:   []map[string][]string{{securityScheme: {}}},
		Errors:     slices.Compact(slices.Sorted(slices.Values(slices.Concat(commonErrors, r.Errors)))),
		Extensions: map[string]any{"x-role": r.Role},
	}
	if r.Method == http.MethodPost || r.Method == http.MethodPut {
		op.Errors = append(op.Errors, http.StatusRequestTimeout, http.StatusUnsupportedMediaType)
	}
	g := &gate{role: r.Role}
	op.Middlewares = huma.Middlewares{g.pass}
	a.operations = append(a.operations, Operation{Method: r.Method, Path: op.Path, ID: r.ID, Role: r.Role})
	return &registration{route: r, op: op, gate: g, answer: answer, success: success}
}

// describe completes the operation in the document, and sets the query parameters of its gate.
func (r *registration) describe(document *huma.OpenAPI) {
	for _, o := range operationsOf(document.Paths[r.op.Path]) {
		if o.OperationID != r.route.ID {
			continue
		}
		for _, p := range o.Parameters {
			if p.In == "query" {
				r.gate.known = append(r.gate.known, p.Name)
			}
		}
		o.Responses[strconv.Itoa(r.answer.status)] = r.success
		r.route.describe(o)
	}
}

// describe adds the responses of an operation that huma cannot derive.
func (r route) describe(op *huma.Operation) {
	for _, status := range r.Also {
		also := huma.Response{Description: map[int]string{http.StatusOK: "It exists already",
			http.StatusNotModified: "Not modified", http.StatusAccepted: "Accepted; it is done later"}[status]}
		if status != http.StatusNotModified {
			made := op.Responses[strconv.Itoa(cmp.Or(r.Status, http.StatusOK))]
			also.Headers, also.Content = made.Headers, made.Content
		}
		op.Responses[strconv.Itoa(status)] = &also
	}
}

// requestKey is the key of the huma.Context in a handler's context.
type requestKey struct{}

// gate checks every request before its input is read.
type gate struct {
	role  access.Role
	known []string // query parameters
}

func (g *gate) pass(ctx huma.Context, next func(huma.Context)) {
	if _, err := transport.Require(ctx.Context(), g.role); err != nil {
		g.refuse(ctx, problemOf(err))
		return
	}
	for _, look := range []func(huma.Context) *Problem{g.query, headers} {
		if p := look(ctx); p != nil {
			g.refuse(ctx, p)
			return
		}
	}
	b := &bodyErrorContext{request: ctx}
	next(huma.WithValue(huma.WithValue(b, requestKey{}, ctx), bodyErrorKey{}, b))
}

// bodyErrorKey is the key of the bodyErrorContext in a request's context.
type bodyErrorKey struct{}

// bodyErrorContext records why a body could not be read. huma responds with 500 whatever the
// reason; SetStatus replaces that with the status of the actual error.
type bodyErrorContext struct {
	request
	err     error
	written bool // the response was written, with its status
}

// request is huma.Context under a name that does not collide with one of its methods.
type request huma.Context

// Unwrap returns the context of the adapter.
func (b *bodyErrorContext) Unwrap() huma.Context { return b.request }

// BodyReader implements huma.Context.
func (b *bodyErrorContext) BodyReader() io.Reader { return &boundedBody{b.request.BodyReader(), b} }

// SetStatus implements huma.Context.
func (b *bodyErrorContext) SetStatus(status int) {
	if b.written {
		return
	}
	if b.err != nil {
		p := transport.ProblemOf(b.err)
		status = p.Status
		if retry := p.RetryText(); retry != "" {
			b.SetHeader("Retry-After", retry)
		}
	}
	b.request.SetStatus(status)
}

type boundedBody struct {
	io.Reader
	of *bodyErrorContext
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if broken := transport.BodyError(err); broken != nil && b.of.err == nil {
		b.of.err = broken
	}
	return n, err
}

// pathOf returns the path of a resource.
func pathOf(kind, id string) string { return Prefix + "/" + kind + "/" + url.PathEscape(id) }
