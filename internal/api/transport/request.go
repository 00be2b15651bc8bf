package transport

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/access"
)

// Deed is one action of a principal, as recorded in the audit log. It contains neither bodies nor
// secrets.
type Deed struct {
	// At is the start time of the request, in UTC with microseconds.
	At time.Time
	// Principal is the principal that acted; the zero Principal is a client of a route that
	// requires no token.
	Principal access.Principal
	// Channel is the transport, such as `http` or `mcp`.
	Channel string
	// Action is the name of the action, such as `runs.start`, and Target the id of its object, or
	// "" if none was named.
	Action, Target string
	// Method, Route and Status describe the HTTP request; Route is the pattern, which contains no
	// ids and no secrets.
	Method, Route string
	Status        int
	// RequestID is the X-Request-Id of the response, and Remote the address of the connection.
	RequestID, Remote string
	// Intent is the number of the record that this one replaces; 0 means none.
	Intent int64
}

// Audit stores deeds.
type Audit interface {
	// Intend stores, before a deed, that it may be done, and returns the number of the record. Its
	// outcome is unknown until Record replaces the record by a deed with this number as Intent.
	Intend(ctx context.Context, d Deed) (intent int64, err error)
	// Record stores a deed and its outcome.
	Record(ctx context.Context, d Deed) error
}

// Request holds what the guard of a server knows about a request, apart from the caller. It is safe
// for concurrent use.
type Request struct {
	// ID is the id of the request in the log and in the response.
	ID string
	// Remote is the address of the connection, or of the client if a trusted proxy names it.
	Remote string
	// Closing is closed when the server starts to shut down.
	Closing <-chan struct{}
	// Intend, if not nil, records that a principal may now act. The caller must not act if it
	// returns an error.
	Intend func(ctx context.Context, p access.Principal) error

	mu    sync.Mutex
	acts  [][2]string
	who   access.Principal
	cause error
}

type requestKey struct{}

// WithRequest returns a context that carries the request.
func WithRequest(ctx context.Context, r *Request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

func requestOf(ctx context.Context) *Request {
	if r, ok := ctx.Value(requestKey{}).(*Request); ok {
		return r
	}
	return &Request{}
}

// RequestID returns the id by which the log and the response identify the request that ctx belongs
// to, or "" without a server.
func RequestID(ctx context.Context) string { return requestOf(ctx).ID }

// Remote returns the client address of the request that ctx belongs to, or "" without a server.
func Remote(ctx context.Context) string { return requestOf(ctx).Remote }

// Closing returns a channel that is closed when the server starts to shut down: anything that lasts
// longer than a moment must then end in a way that its client understands. Without a server it
// returns nil, which is never closed.
func Closing(ctx context.Context) <-chan struct{} { return requestOf(ctx).Closing }

// ActAnswer is the action of answering a wait; its target consists of the run id and the wait id,
// separated by a space.
const ActAnswer = "runs.answer"

// ActSchedule is the prefix of the actions on schedules, followed by pause, resume, skip or run.
// Their target is the workflow's id, and the schedule's branch and id if it has them.
const ActSchedule = "schedules."

// RecordAction records an action of the current request in the audit log, such as `runs.start`,
// with the id of its object. One request may perform several actions. Without a server, it does
// nothing.
func RecordAction(ctx context.Context, action, target string) {
	r := requestOf(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.acts = append(r.acts, [2]string{action, target})
}

// Known records the caller of an endpoint that needs no token, a webhook or the holder of a link,
// in the audit log, before they act: the outcome is unknown until the request ends. The caller must
// not act if it returns an error. Without a server, it does nothing.
func Known(ctx context.Context, p access.Principal) error {
	r := requestOf(ctx)
	r.mu.Lock()
	r.who = p
	r.mu.Unlock()
	if r.Intend == nil {
		return nil
	}
	return r.Intend(ctx, p)
}

// RecordError records in the server's log why the current request is answered with an error; the
// caller does not see it. Without a server, it does nothing.
func RecordError(ctx context.Context, cause error) {
	r := requestOf(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cause = cause
}

// Cause returns the error passed to RecordError, or nil if there is none.
func (r *Request) Cause() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cause
}

// Who returns the principal passed to Known.
func (r *Request) Who() access.Principal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.who
}

// Deeds returns the recorded actions, each as a copy of d with its action and target, and whether
// there were any. If there were none, it returns only d.
func (r *Request) Deeds(d Deed) (deeds []Deed, told bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.acts) == 0 {
		return []Deed{d}, false
	}
	for _, a := range r.acts {
		d.Action, d.Target = a[0], a[1]
		deeds = append(deeds, d)
		d.Intent = 0 // the first record replaces the intent
	}
	return deeds, true
}

// RetryAfter is the value of the Retry-After header, in seconds, of responses with status 503.
const RetryAfter = "5"

// WriteProblem writes a problem (RFC 9457) as the response to a request. An internal error is
// reported only with the id of the request, under which the log has the details.
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
