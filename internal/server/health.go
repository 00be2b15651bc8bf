package server

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
)

// Times of looking whether the store answers: requests without a token do not reach it more often than readyEvery.
const (
	readyTime  = 2 * time.Second
	readyEvery = time.Second
)

// readiness remembers whether the store answered.
type readiness struct {
	mu   sync.Mutex
	at   time.Time
	last error
	told string // the reason that was logged last
}

// healthz tells that the process lives.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) { writeStatus(w, "ok") }

// readyz tells whether requests are welcome: the store answers and takes what is written, and the server does not end.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	reason := ""
	if s.leaving.Load() {
		reason = "the server is shutting down"
	} else if err := s.ready.look(r.Context(), s.askStore); err != nil {
		reason = whyNotReady(err)
		if s.ready.tell(reason) {
			s.log.Error("not ready: "+reason, "err", err)
		}
	} else if s.ready.tell("") {
		s.log.Info("ready again")
	}
	if reason != "" {
		transport.WriteProblem(w, r, transport.Unavailable(reason))
		return
	}
	writeStatus(w, "ready")
}

func writeStatus(w http.ResponseWriter, status string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"status":"` + status + `"}` + "\n")) // the client may be gone
}

func (s *Server) askStore(ctx context.Context) error {
	svc, err := s.namespaces.Service(ctx, access.DefaultNamespace)
	if err == nil {
		_, _, err = svc.List(ctx, journal.Query{Limit: 1})
	}
	if err == nil {
		if cause := svc.Health(); cause != nil {
			err = &notWritableError{cause}
		}
	}
	if c := s.cfg.Service.Carrier; err == nil && c != nil {
		err = c.Ready()
	}
	return err
}

// notWritableError says that the store is read and takes nothing.
type notWritableError struct{ err error }

func (e *notWritableError) Error() string { return "the store is not writable: " + e.err.Error() }
func (e *notWritableError) Unwrap() error { return e.err }

// carried words why Temporal could not be used since the server began.
var carried = map[errcode.Code]string{
	errcode.TemporalUnreachable: "the Temporal server cannot be reached",
	errcode.TemporalTLS:         "the connection to the Temporal server is not secure",
	errcode.TemporalRefused:     "the Temporal server refused the credentials",
	errcode.TemporalNamespace:   "the namespace of Temporal does not exist",
}

// whyNotReady words why the server is not ready for callers who may be strangers: it names no file and no process.
func whyNotReady(err error) string {
	var (
		locked *journal.LockedError
		write  *notWritableError
	)
	code, _ := errcode.Of(err)
	switch {
	case carried[code] != "":
		return carried[code]
	case errors.As(err, &locked):
		return "the store is locked by another process"
	case service.IsFull(err):
		return "the store is not writable: the disk is full"
	case errors.As(err, &write):
		return "the store is read-only"
	}
	return "the store is temporarily unavailable"
}

// tell tells whether a reason is another one than before; "" is none.
func (r *readiness) tell(reason string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	changed := r.told != reason
	r.told = reason
	return changed
}

// look asks, or gives the last answer where that is fresh.
func (r *readiness) look(ctx context.Context, ask func(context.Context) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); r.at.IsZero() || now.Sub(r.at) >= readyEvery {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTime)
		defer cancel()
		r.last, r.at = ask(ctx), now
	}
	return r.last
}
