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

// Config configures the endpoint. The zero Config is ready to use.
type Config struct {
	// MaxBody is the maximum size of a request body in bytes (SEC17); 0 means 8 MiB.
	MaxBody int64
	// Heartbeat is the interval at which an idle stream shows that it is alive; 0 means 15 s.
	Heartbeat time.Duration
	// WriteTimeout is the timeout for writing one chunk of a stream; 0 means 30 s.
	WriteTimeout time.Duration
}

const (
	defaultMaxBody      = 8 << 20
	defaultHeartbeat    = 15 * time.Second
	defaultWriteTimeout = 30 * time.Second
)

// Routes returns the routes that New serves, as patterns of [http.ServeMux].
func Routes() []string {
	return []string{"POST /v1/chat/completions", "GET /v1/models", "GET /v1/models/{model...}"}
}

// New returns the handler of /v1 and everything below it. Each request needs a caller in its
// context ([transport.With]) with the role run; otherwise the response is 401 or 403. The handler
// is safe for concurrent use.
func New(cfg Config) http.Handler {
	cfg.MaxBody = cmp.Or(cfg.MaxBody, defaultMaxBody)
	cfg.Heartbeat = cmp.Or(cfg.Heartbeat, defaultHeartbeat)
	cfg.WriteTimeout = cmp.Or(cfg.WriteTimeout, defaultWriteTimeout)
	a := &api{cfg}
	mux := http.NewServeMux()
	for i, handle := range []func(http.ResponseWriter, *http.Request, *transport.Caller) error{a.complete, listModels,
		getModel} {
		mux.HandleFunc(Routes()[i], guarded(handle))
	}
	unknown := guarded(notFound)
	mux.HandleFunc("/v1", unknown)
	mux.HandleFunc("/v1/", unknown)
	return mux
}

type api struct{ cfg Config }

// notFound responds to requests that New does not serve: an unknown path, or a known path with
// another method.
func notFound(w http.ResponseWriter, r *http.Request, _ *transport.Caller) error {
	const has = "this endpoint has POST /v1/chat/completions and GET /v1/models"
	var allow string
	switch path := r.URL.Path; {
	case path == "/v1/chat/completions":
		allow = http.MethodPost
	case path == "/v1/models", strings.HasPrefix(path, "/v1/models/"):
		allow = http.MethodGet
	default:
		return &apiError{status: http.StatusNotFound, kind: typeInvalid, code: "unknown_url", message: "unknown path " +
			r.Method + " " + path + "; " + has}
	}
	w.Header().Set("Allow", allow)
	return &apiError{
		status: http.StatusMethodNotAllowed, kind: typeInvalid, code: "method_not_supported",
		message: r.Method + " is not allowed for " + r.URL.Path + ", use " + allow + "; " + has,
	}
}

// guarded calls a handler for callers who may run workflows, and writes its error.
func guarded(handle func(http.ResponseWriter, *http.Request, *transport.Caller) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		caller, err := transport.Require(r.Context(), access.RoleRun)
		if err == nil {
			err = handle(w, r, caller)
		}
		if err != nil && !errors.Is(err, errDisconnected) {
			if e := errorOf(err); e.status >= http.StatusInternalServerError {
				transport.RecordError(r.Context(), err)
			}
			writeError(w, err)
		}
	}
}
