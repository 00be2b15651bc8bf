package server

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/door"
	"github.com/hocket-run/hocket/internal/journal"
)

// Times of looking whether the store answers: whoever asks without a token does not reach it more often than readyEvery.
const (
	readyTime  = 2 * time.Second
	readyEvery = time.Second
)

// readiness remembers whether the store answered.
type readiness struct {
	mu   sync.Mutex
	at   time.Time
	last error
}

// healthz tells that the process lives.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) { writeStatus(w, "ok") }

// readyz tells whether requests are welcome: the store answers, and the server does not end.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	reason := ""
	if s.leaving.Load() {
		reason = "the server ends"
	} else if err := s.ready.look(r.Context(), s.askStore); err != nil {
		s.log.Error("the store does not answer", "err", err)
		reason = "the store does not answer"
	}
	if reason != "" {
		door.WriteProblem(w, r, door.Unavailable(reason))
		return
	}
	writeStatus(w, "ready")
}

func writeStatus(w http.ResponseWriter, status string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"status":"` + status + `"}` + "\n")) // whoever asked may be gone
}

func (s *Server) askStore(ctx context.Context) error {
	svc, err := s.namespaces.Service(ctx, access.DefaultNamespace)
	if err == nil {
		_, _, err = svc.List(ctx, journal.Query{Limit: 1})
	}
	return err
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
