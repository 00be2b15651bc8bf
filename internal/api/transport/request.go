package transport

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/access"
)

// Deed is one action of a principal, as the audit log has it. It holds neither bodies nor secrets.
type Deed struct {
	// At is when the request began, UTC in microseconds.
	At time.Time
	// Principal is who did it; the zero Principal is a client of a route that requires no token.
	Principal access.Principal
	// Channel is the way in, such as `http` or `mcp`.
	Channel string
	// Action is a word such as `runs.start`, and Target the id of what it was done to; "" where none was named.
	Action, Target string
	// Method, Route and Status are HTTP's; Route is the pattern, which has no ids and no secrets.
	Method, Route string
	Status        int
	// RequestID is the one of the answer's X-Request-Id, Remote the address of the connection.
	RequestID, Remote string
}

// Request is what the guard of a server knows of a request, beside the caller. Safe for concurrent use.
type Request struct {
	// ID is what log and answer call the request.
	ID string
	// Remote is the address of the connection, or of the client if a trusted proxy names it.
	Remote string
	// Closing is closed when the server begins to end.
	Closing <-chan struct{}

	mu    sync.Mutex
	acts  [][2]string
	who   access.Principal
	cause error
}

type requestKey struct{}

// WithRequest gives a context that carries the request.
func WithRequest(ctx context.Context, r *Request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

func requestOf(ctx context.Context) *Request {
	if r, ok := ctx.Value(requestKey{}).(*Request); ok {
		return r
	}
	return &Request{}
}

// RequestID is what log and answer call the request of a context; "" without a server around it.
func RequestID(ctx context.Context) string { return requestOf(ctx).ID }

// Remote is the client's address of a context; "" without a server around it.
func Remote(ctx context.Context) string { return requestOf(ctx).Remote }

// Closing is closed when the server begins to end: what would last longer than a moment ends then, in a way that its client understands. Nil, which is never
// closed, without a server around it.
func Closing(ctx context.Context) <-chan struct{} { return requestOf(ctx).Closing }

// ActAnswer is the action of an answer to a wait; its target is the run's id, a blank and the wait's.
const ActAnswer = "runs.answer"

// ActSignal is the action of a signal to a run; its target is the run's id, a blank and the signal's name.
const ActSignal = "runs.signal"

// ActSchedule is what the actions of schedules begin with; pause, resume, skip or run follows. Their target is the workflow's id, and the schedule's branch and id where it has them.
const ActSchedule = "schedules."

// RecordAction records for the audit log what the request of a context does: an action such as `runs.start`, and the id of its object. One request may do several
// actions. Without a server, it does nothing.
func RecordAction(ctx context.Context, action, target string) {
	r := requestOf(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.acts = append(r.acts, [2]string{action, target})
}

// Known records for the audit log the caller of an endpoint that needs no token: a webhook, or the holder of a link. Without a server, it does nothing.
func Known(ctx context.Context, p access.Principal) {
	r := requestOf(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.who = p
}

// RecordError records for the server's log why the request of a context is answered with a status of 500 or above; the caller does not see it. Without a server,
// it does nothing.
func RecordError(ctx context.Context, cause error) {
	r := requestOf(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cause = cause
}

// Cause is the error that RecordError was given; nil: none.
func (r *Request) Cause() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cause
}

// Who is the principal that Known was given.
func (r *Request) Who() access.Principal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.who
}

// Deeds gives what RecordAction was given, each as d with its action and target; d alone if there was nothing.
func (r *Request) Deeds(d Deed) (deeds []Deed, told bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.acts) == 0 {
		return []Deed{d}, false
	}
	for _, a := range r.acts {
		d.Action, d.Target = a[0], a[1]
		deeds = append(deeds, d)
	}
	return deeds, true
}

// RetryAfter is the header of that name, in seconds, of answers with status 503.
const RetryAfter = "5"

// WriteProblem answers a request with a problem (RFC 9457). What is broken inside is told by the request's id alone, under which the log has it.
func WriteProblem(w http.ResponseWriter, r *http.Request, p Problem) {
	if id := RequestID(r.Context()); p.Status >= http.StatusInternalServerError && p.Detail == "" && id != "" {
		p.Detail = "see the server's log for request " + id
	}
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Del("Content-Length")
	if retry := p.RetryText(); retry != "" && h.Get("Retry-After") == "" {
		h.Set("Retry-After", retry)
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="hocket"`)
	}
	w.WriteHeader(p.Status)
	if r.Method != http.MethodHead {
		_ = json.NewEncoder(w).Encode(p) // the client may be gone
	}
}
