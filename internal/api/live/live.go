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

// Config is what a Handler is made of. The zero Config is fit for use.
type Config struct {
	// Tickets let browsers in (SEC1); nil: there are none.
	Tickets *access.Tickets
	// Heartbeat is how often a comment is written where nothing else is; 0: 15 seconds.
	Heartbeat time.Duration
	// WriteTimeout is how long one write may take; who has not read by then is dropped. 0: 30 seconds.
	WriteTimeout time.Duration
	// Retry is how soon a client shall come back; each is told this or up to twice as much, so that not all come at once. 0: 1 second.
	Retry time.Duration
	// MaxWatchers bounds the streams of the server, MaxOfNamespace those of one tenant (SEC17). 0: 4,096, and half of MaxWatchers.
	MaxWatchers, MaxOfNamespace int
	// RingBytes bounds what is kept of a run that is watched, for each view of it; 0: 256 KiB.
	RingBytes int
	// Logger; nil: none.
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

// LastEvent is the header of a stream that has the number of the last event that was recorded when it began: who has that one has all that was there.
const LastEvent = "Hocket-Last-Event"

// maxReplays bounds how many watchers read journals themselves at a time, piece by piece, and maxThrough how many more write while they read.
const maxReplays, maxThrough = 4, 4

// Handler serves the events of runs. It takes the caller from the request's context (package transport) and the run from the path value `id`. Safe for concurrent
// use.
type Handler struct {
	cfg     Config
	pumps   pumps
	taps    taps
	replays chan struct{} // the turns of those who read piece by piece
	through chan struct{} // the places of those who write while they read
	reads   atomic.Int64  // how often watchers have read a journal

	mu sync.Mutex
	// watchers are all streams, and of counts them by namespace; served counts those there ever were.
	watchers, served int
	of               map[string]int
	closing          chan struct{}
	closed           bool
	left             *sync.Cond // a stream is over
}

// New makes a Handler. The caller closes it.
func New(cfg Config) *Handler {
	h := &Handler{cfg: cfg.withDefaults(), replays: make(chan struct{}, maxReplays), through: make(chan struct{}, maxThrough), of: map[string]int{}, closing: make(chan struct{})}
	h.left = sync.NewCond(&h.mu)
	return h
}

// Watchers gives the number of streams that are open.
func (h *Handler) Watchers() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.watchers
}

// Close ends all streams, so that those who watch come back, and waits for them. A second Close does nothing more.
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

// enter counts a stream in, and gives how many there were before.
func (h *Handler) enter(namespace string) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return 0, errClosing
	case h.watchers >= h.cfg.MaxWatchers:
		return 0, &service.LimitError{Limit: "event streams of this server", Max: int64(h.cfg.MaxWatchers)}
	case h.of[namespace] >= h.cfg.MaxOfNamespace:
		return 0, &service.LimitError{Limit: "event streams of this namespace", Max: int64(h.cfg.MaxOfNamespace)}
	}
	h.watchers++
	h.of[namespace]++
	h.served++
	return h.served, nil
}

func (h *Handler) leave(namespace string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watchers--
	if h.of[namespace]--; h.of[namespace] == 0 {
		delete(h.of, namespace)
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
		refuse(w, r, badQuery(fmt.Sprintf("run %s has %d events, not %d; omit Last-Event-ID and after to begin with the first event", run, head.LastSeq, a.after)))
		return
	case a.given && a.after == head.LastSeq && head.Status.Ended():
		w.WriteHeader(http.StatusNoContent) // an EventSource that gets this does not come back
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
	header.Set("X-Accel-Buffering", "no") // proxies pass each message on at once
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
	wt := &watcher{Handler: h, pump: p, ask: &a, hold: hold, sent: a.after, out: w, control: http.NewResponseController(w), more: make(chan struct{}, 1)}
	wt.serve(r.Context(), h.cfg.Retry+h.cfg.Retry*time.Duration(n%16)/16)
}

// refuse tells an error as all transports do.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := transport.ProblemOf(err)
	if bad, ok := errors.AsType[badQuery](err); ok {
		p = transport.Problem{Status: http.StatusBadRequest, Code: "invalid", Title: "Invalid request", Detail: bad.Error()}
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
