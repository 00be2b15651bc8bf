package live

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/service"
)

// Config configures a Handler. The zero Config is ready to use.
type Config struct {
	// Tickets authorize browsers (SEC1). If nil, the server issues none.
	Tickets *access.Tickets
	// Heartbeat is the interval at which a comment is written when nothing else is; 0 means 15
	// seconds.
	Heartbeat time.Duration
	// WriteTimeout is the timeout of one write, after which the client is dropped; 0 means 30
	// seconds.
	WriteTimeout time.Duration
	// Retry is the reconnection delay sent to clients: each receives a value between Retry and
	// twice as much, so that they do not all reconnect at the same time. 0 means 1 second.
	Retry time.Duration
	// MaxWatchers is the maximum number of streams on the server, and MaxOfNamespace the maximum
	// for one namespace (SEC17). 0 means 4,096 and half of MaxWatchers, respectively.
	MaxWatchers, MaxOfNamespace int
	// RingBytes is the maximum size of the ring for each view of a watched run; 0 means 256 KiB.
	RingBytes int
	// Logger is the logger; nil means no logging.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.Heartbeat <= 0 {
		c.Heartbeat = 15 * time.Second
	}
	if c.WriteTimeout <= 0 {
		c.WriteTimeout = 30 * time.Second
	}
	if c.Retry <= 0 {
		c.Retry = time.Second
	}
	if c.MaxWatchers <= 0 {
		c.MaxWatchers = 4096
	}
	if c.MaxOfNamespace <= 0 {
		c.MaxOfNamespace = max(1, c.MaxWatchers/2)
	}
	if c.RingBytes <= 0 {
		c.RingBytes = 256 << 10
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// LastEvent is the response header of a stream with the number of the last event that was recorded
// when the stream started: a client that has this event has everything recorded until then.
const LastEvent = "Hocket-Last-Event"

// maxReplays is the maximum number of watchers that read journals themselves at a time, chunk by
// chunk, and maxPassThrough the maximum number of further watchers that write while they read.
const maxReplays, maxPassThrough = 4, 4

// Handler serves the events of runs. It takes the caller from the request's context (package
// transport) and the run from the path value `id`. It is safe for concurrent use.
type Handler struct {
	cfg         Config
	pumps       pumps
	taps        feedReaders
	replaySlots chan struct{} // slots of watchers that read chunk by chunk
	passSlots   chan struct{} // slots of watchers that write while they read
	reads       atomic.Int64  // how often watchers have read a journal

	mu sync.Mutex
	// watchers is the number of open streams, and byNamespace counts them by namespace; served
	// counts all streams ever opened.
	watchers, served int
	byNamespace      map[string]int
	closing          chan struct{}
	closed           bool
	left             *sync.Cond // signalled when a stream ends
}

// New returns a Handler. The caller must close it.
func New(cfg Config) *Handler {
	h := &Handler{cfg: cfg.withDefaults(), replaySlots: make(chan struct{}, maxReplays),
		passSlots: make(chan struct{}, maxPassThrough), byNamespace: map[string]int{}, closing: make(chan struct{})}
	h.left = sync.NewCond(&h.mu)
	return h
}

// Watchers returns the number of open streams.
func (h *Handler) Watchers() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.watchers
}

// Close ends all streams, so that their clients reconnect, and waits for them to end. Further calls
// of Close do nothing.
func (h *Handler) Close() {
	h.mu.Lock()
	if !h.closed {
		h.closed = true
		close(h.closing)
	}
	for h.watchers > 0 {
		h.left.Wait()
	}
	h.mu.Unlock()
	h.pumps.work.Wait()
	h.taps.work.Wait()
}

var errClosing = errors.New("the server is shutting down")

// enter registers a stream, and returns the number of streams before it.
func (h *Handler) enter(namespace string) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return 0, errClosing
	case h.watchers >= h.cfg.MaxWatchers:
		return 0, &service.LimitError{Limit: "event streams of this server", Max: int64(h.cfg.MaxWatchers)}
	case h.byNamespace[namespace] >= h.cfg.MaxOfNamespace:
		return 0, &service.LimitError{Limit: "event streams of this namespace", Max: int64(h.cfg.MaxOfNamespace)}
	}
	h.watchers++
	h.byNamespace[namespace]++
	h.served++
	return h.served, nil
}

func (h *Handler) leave(namespace string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watchers--
	if h.byNamespace[namespace]--; h.byNamespace[namespace] == 0 {
		delete(h.byNamespace, namespace)
	}
	h.left.Broadcast()
}

// ServeHTTP streams the events of a run.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	caller, err := transport.Require(r.Context(), access.RoleRun)
	if err != nil {
		refuse(w, r, err)
		return
	}
	a, err := parse(r)
	if err != nil {
		refuse(w, r, err)
		return
	}
	run := r.PathValue("id")
	head, def, err := caller.Service.RunDefinition(r.Context(), run)
	if err != nil {
		refuse(w, r, err)
		return
	}
	switch {
	case a.after > head.LastSeq:
		refuse(w, r,
			badQuery(
				fmt.Sprintf("run %s has %d events, not %d; omit Last-Event-ID and after to begin with the first event",
					run, head.LastSeq, a.after)))
		return
	case a.hasAfter && a.after == head.LastSeq && head.Status.Ended():
		w.WriteHeader(http.StatusNoContent) // an EventSource that receives this does not reconnect
		return
	}
	n, err := h.enter(caller.Namespace)
	if err != nil {
		refuse(w, r, err)
		return
	}
	defer h.leave(caller.Namespace)
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // proxies forward each message immediately
	header.Set(LastEvent, strconv.FormatUint(head.LastSeq, 10))
	if r.Method == http.MethodHead {
		return
	}
	var hold *access.Hold
	if a.ticket != "" && h.cfg.Tickets != nil {
		hold = h.cfg.Tickets.Hold(a.ticket, r.URL.Path)
		defer hold.Leave()
	}
	p := h.pumps.join(source{caller.Service, run, a.view()}, &a, def, h.cfg.RingBytes, h.cfg.Logger)
	defer h.pumps.leave(p)
	wt := &watcher{Handler: h, pump: p, ask: &a, hold: hold, sent: a.after, out: w,
		control: http.NewResponseController(w), more: make(chan struct{}, 1)}
	wt.serve(r.Context(), h.cfg.Retry+h.cfg.Retry*time.Duration(n%16)/16)
}

// refuse writes an error response in the form that all transports share.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := transport.ProblemOf(err)
	if bad, ok := errors.AsType[badQuery](err); ok {
		p = transport.Problem{Status: http.StatusBadRequest, Code: "invalid", Title: "Invalid request",
			Detail: bad.Error()}
	} else if errors.Is(err, errClosing) {
		p = transport.Unavailable(err.Error())
	}
	if p.Status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", transport.RetryAfter)
	}
	if p.Status >= http.StatusInternalServerError {
		transport.RecordError(r.Context(), err)
	}
	w.Header().Set("Cache-Control", "no-store")
	transport.WriteProblem(w, r, p)
}
