package openaiapi

import (
	"cmp"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
)

// Config is what the endpoint is made of. The zero Config is ready.
type Config struct {
	// MaxBody bounds requests, in bytes (SEC17); 0: 8 MiB.
	MaxBody int64
	// Heartbeat is how often a stream in which nothing is said shows that it is alive; 0: 15 s.
	Heartbeat time.Duration
	// WriteTimeout bounds how long a client may take for a piece of a stream; 0: 30 s.
	WriteTimeout time.Duration
}

const (
	defaultMaxBody      = 8 << 20
	defaultHeartbeat    = 15 * time.Second
	defaultWriteTimeout = 30 * time.Second
)

// Routes lists what New answers, as patterns of [http.ServeMux].
func Routes() []string {
	return []string{"POST /v1/chat/completions", "GET /v1/models", "GET /v1/models/{model...}"}
}

// New gives the handler of /v1 and everything below it. Each request needs a caller in its context ([transport.With]) who may run; without one it is 401, or 403.
// Safe for concurrent use.
func New(cfg Config) http.Handler {
	cfg.MaxBody = cmp.Or(cfg.MaxBody, defaultMaxBody)
	cfg.Heartbeat = cmp.Or(cfg.Heartbeat, defaultHeartbeat)
	cfg.WriteTimeout = cmp.Or(cfg.WriteTimeout, defaultWriteTimeout)
	a := &api{cfg}
	mux := http.NewServeMux()
	for i, handle := range []func(http.ResponseWriter, *http.Request, *transport.Caller) error{a.complete, listModels, getModel} {
		mux.HandleFunc(Routes()[i], guarded(handle))
	}
	unknown := guarded(notHere)
	mux.HandleFunc("/v1", unknown)
	mux.HandleFunc("/v1/", unknown)
	return mux
}

type api struct{ cfg Config }

// notHere answers what New does not: another path, or a path by another method.
func notHere(w http.ResponseWriter, r *http.Request, _ *transport.Caller) error {
	const has = "this endpoint has POST /v1/chat/completions and GET /v1/models"
	var allow string
	switch path := r.URL.Path; {
	case path == "/v1/chat/completions":
		allow = http.MethodPost
	case path == "/v1/models", strings.HasPrefix(path, "/v1/models/"):
		allow = http.MethodGet
	default:
		return &apiError{status: http.StatusNotFound, kind: typeInvalid, code: "unknown_url", message: "unknown path " + r.Method + " " + path + "; " + has}
	}
	w.Header().Set("Allow", allow)
	return &apiError{
		status: http.StatusMethodNotAllowed, kind: typeInvalid, code: "method_not_supported", message: r.Method + " is not allowed for " + r.URL.Path + ", use " + allow + "; " + has,
	}
}

// guarded has a handler done for callers who may run, and tells its error.
func guarded(handle func(http.ResponseWriter, *http.Request, *transport.Caller) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		caller, err := transport.Require(r.Context(), access.RoleRun)
		if err == nil {
			err = handle(w, r, caller)
		}
		if err != nil && !errors.Is(err, errLeft) {
			if e := errorOf(err); e.status >= http.StatusInternalServerError {
				transport.RecordError(r.Context(), err)
			}
			writeError(w, err)
		}
	}
}
