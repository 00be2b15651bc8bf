package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
)

// Timing of store checks: requests without a token do not reach the store more often than
// readyEvery.
const (
	readyTime  = 2 * time.Second
	readyEvery = time.Second
)

// readiness caches whether the store responded.
type readiness struct {
	mu         sync.Mutex
	at         time.Time
	last       error
	lastReason string // reason that was logged last
}

// healthz reports that the process is alive.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) { writeStatus(w, "ok") }

// readyz reports whether the server is ready: the store responds and is writable, and the server is
// not shutting down.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	reason := ""
	if s.leaving.Load() {
		reason = "the server is shutting down"
	} else if err := s.ready.check(r.Context(), s.askStore); err != nil {
		reason = whyNotReady(err)
		if s.ready.setReason(reason) {
			s.log.Error("not ready: "+reason, "err", err)
		}
	} else if s.ready.setReason("") {
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
	_, _ = w.Write([]byte(`{"status":"` + status + `"}` + "\n")) // the client may have disconnected
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

// notWritableError is returned when the store can be read but not written.
type notWritableError struct{ err error }

func (e *notWritableError) Error() string { return "the store is not writable: " + e.err.Error() }
func (e *notWritableError) Unwrap() error { return e.err }

// temporalReasons describes why Temporal has been unusable since the server started.
var temporalReasons = map[errcode.Code]string{
	errcode.TemporalUnreachable: "the Temporal server cannot be reached",
	errcode.TemporalTLS:         "the connection to the Temporal server is not secure",
	errcode.TemporalRefused:     "the Temporal server refused the credentials",
	errcode.TemporalNamespace:   "the namespace of Temporal does not exist",
}

// whyNotReady describes why the server is not ready to callers who may be strangers: it names no
// file and no process.
func whyNotReady(err error) string {
	var (
		locked *journal.LockedError
		write  *notWritableError
	)
	code, _ := errcode.Of(err)
	switch {
	case temporalReasons[code] != "":
		return temporalReasons[code]
	case errors.As(err, &locked):
		return "the store is locked by another process"
	case service.IsFull(err):
		return "the store is not writable: the disk is full"
	case errors.As(err, &write) && !errors.As(err, new(net.Error)):
		return "the store is not writable"
	}
	return "the store is temporarily unavailable"
}

// setReason records a reason and reports whether it differs from the previous one; "" means none.
func (r *readiness) setReason(reason string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	changed := r.lastReason != reason
	r.lastReason = reason
	return changed
}

// check calls ask, or returns its last result if that is recent.
func (r *readiness) check(ctx context.Context, ask func(context.Context) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); r.at.IsZero() || now.Sub(r.at) >= readyEvery {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTime)
		defer cancel()
		r.last, r.at = ask(ctx), now
	}
	return r.last
}
