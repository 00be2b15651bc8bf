package hocket

import (
	"errors"
	"net/http"

	"github.com/hocket-run/hocket/internal/api/runsapi"
)

// HandlerConfig specifies what [Handler] serves, and to whom.
type HandlerConfig struct {
	// Authorize authorizes each request, before anything of a run is read. It returns the name of
	// the requester, which is recorded with answers; if it returns an error or an empty name, the
	// request is rejected with status 403, and the error message is not disclosed. It may be called
	// by several goroutines simultaneously. Required.
	Authorize func(r *http.Request, a Access) (name string, err error)
	// MaxBody is the maximum size of a request body in bytes; 0 means 1 MiB.
	MaxBody int64
}

// Access describes what a request wants to do.
type Access struct {
	// Action is `list`, `show`, `answer`, `approve` or `cancel`. A list contains only the runs that
	// may be shown: Authorize is called for each. Answering an approval, a question about a budget
	// or a question about a call of unknown outcome requires `approve` in addition to `answer`.
	Action string
	// Run is the id of the run; "" for the list.
	Run string
}

// Handler returns a handler that serves the runs of an engine's store inside the program's own
// server: it lists and shows them, streams their events, answers their waits and cancels them. It
// can be mounted under any path:
//
//	mux.Handle("/ops/", http.StripPrefix("/ops", handler))
//
// Paths, queries and JSON are those of the HTTP API (docs/openapi.json) without /api/v1: GET /runs,
// /runs/{id}, /runs/{id}/events (a stream with Accept: text/event-stream),
// /runs/{id}/values/{digest}; POST /runs/{id}/resume and /runs/{id}/cancel. Requests that change a
// run must be JSON with that Content-Type, and must not come from a page of another site. Streams
// end when the engine is closed.
//
// It returns an error if e or Authorize is nil, or MaxBody is negative.
func Handler(e *Engine, cfg HandlerConfig) (http.Handler, error) {
	if e == nil {
		return nil, errors.New("the engine is nil; see the error of Open")
	}
	c := runsapi.Config{Service: e.service, MaxBody: cfg.MaxBody}
	if cfg.Authorize != nil {
		c.Authorize = func(r *http.Request, action, run string) (string, error) {
			return cfg.Authorize(r, Access{action, run})
		}
	}
	h, err := runsapi.New(c)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.served = append(e.served, h.Close)
	return h, nil
}

// endStreams ends the streams of the engine's handlers.
func (e *Engine) endStreams() {
	e.mu.Lock()
	served := e.served
	e.mu.Unlock()
	for _, end := range served {
		end()
	}
}
