package httpapi

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
)

// route is an operation as its file declares it.
type route struct {
	// Method and Path; Path is below Prefix.
	Method, Path string
	// ID is the operationId, Summary a line, Description what else there is to know, in Markdown; Tag groups operations.
	ID, Summary, Description, Tag string
	// Role is what the caller must have (SEC2).
	Role access.Role
	// Status of success; 0 is 200.
	Status int
	// Also are further statuses of success: 200 and 202 with the same body, 304 without one.
	Also []int
	// Errors are the statuses of problems beyond those that every operation may have.
	Errors []int
}

// bodyTime bounds how long a body may take to arrive.
const bodyTime = 30 * time.Second

// commonErrors are the statuses that every operation may answer with: 400 unknown query parameter, 401 no valid token, 403 role, 422 input, 429 a limit, 500, 503 the
// store or the budget of bytes in flight.
var commonErrors = []int{
	http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusUnprocessableEntity, http.StatusTooManyRequests, http.StatusInternalServerError,
	http.StatusServiceUnavailable,
}

// add registers an operation. The handler gets a caller who has the route's role; its error is told by transport.ProblemOf.
func add[I, O any](a *API, r route, handle func(context.Context, *transport.Caller, *I) (*O, error)) {
	op := huma.Operation{
		Method: r.Method, Path: Prefix + r.Path, OperationID: r.ID, Summary: r.Summary, Description: r.Description, Tags: []string{r.Tag},
		DefaultStatus: r.Status, MaxBodyBytes: a.cfg.MaxBody + 1, BodyReadTimeout: bodyTime, // huma refuses a body of that very size
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
	huma.Register(a.huma, op, func(ctx context.Context, in *I) (*O, error) {
		if c, ok := ctx.Value(requestKey{}).(huma.Context); ok {
			_ = c.SetReadDeadline(time.Time{}) // the body was read; where there is no deadline, none needs to go
		}
		out, err := handle(ctx, transport.From(ctx), in)
		if err != nil {
			return nil, answered(ctx, err)
		}
		return out, nil
	})
	for _, o := range operationsOf(a.huma.OpenAPI().Paths[op.Path]) {
		for _, p := range o.Parameters {
			if o.OperationID == r.ID && p.In == "query" {
				g.known = append(g.known, p.Name)
			}
		}
		if o.OperationID == r.ID {
			r.describe(o)
		}
	}
}

// describe adds what huma cannot know of an operation's answers.
func (r route) describe(op *huma.Operation) {
	for _, status := range r.Also {
		also := huma.Response{Description: map[int]string{http.StatusOK: "It exists already", http.StatusNotModified: "Not modified", http.StatusAccepted: "Accepted; it is done later"}[status]}
		if status != http.StatusNotModified {
			made := op.Responses[strconv.Itoa(cmp.Or(r.Status, http.StatusOK))]
			also.Headers, also.Content = made.Headers, made.Content
		}
		op.Responses[strconv.Itoa(status)] = &also
	}
}

// requestKey is that of the huma.Context in the context of a handler.
type requestKey struct{}

// gate is what every request passes before its input is read.
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
	b := &bounded{request: ctx}
	next(huma.WithValue(huma.WithValue(b, requestKey{}, ctx), boundedKey{}, b))
}

// boundedKey is that of the bounded in the context of a request.
type boundedKey struct{}

// bounded keeps why a body could not be read. huma answers 500 whatever the reason; the caller is told the true one.
type bounded struct {
	request
	err error
}

// request is huma.Context under a name that is none of its methods.
type request huma.Context

// Unwrap gives what the adapter knows.
func (b *bounded) Unwrap() huma.Context { return b.request }

// BodyReader implements huma.Context.
func (b *bounded) BodyReader() io.Reader { return &boundedBody{b.request.BodyReader(), b} }

// SetStatus implements huma.Context.
func (b *bounded) SetStatus(status int) {
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
	of *bounded
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if broken := transport.BodyError(err); broken != nil && b.of.err == nil {
		b.of.err = broken
	}
	return n, err
}

// pathOf gives the path of a resource.
func pathOf(kind, id string) string { return Prefix + "/" + kind + "/" + url.PathEscape(id) }
