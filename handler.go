package hocket

import (
	"errors"
	"net/http"

	"github.com/hocket-run/hocket/internal/api/runsapi"
)

// HandlerConfig says what [Handler] serves, and to whom.
type HandlerConfig struct {
	// Authorize decides about each request, before anything is read of a run. It gives the name of who makes it, which is recorded with answers; an error, or no name, refuses the request with status
	// 403, and its text is not told. It is asked by several goroutines at once. Required.
	Authorize func(r *http.Request, a Access) (name string, err error)
	// MaxBody bounds the bytes of a request's body; 0: 1 MiB.
	MaxBody int64
}

// Access is what a request wants.
type Access struct {
	// Action is `list`, `show`, `answer`, `approve` or `cancel`. A list has only the runs that may be shown: Authorize is asked for each. An answer to an approval, to a question about a budget and
	// to one about a call of unknown outcome needs `approve` beside `answer`.
	Action string
	// Run is the id of the run; "" for the list.
	Run string
}

// Handler serves the runs of an engine's store inside a server of the program: lists and shows them, streams their events, answers their waits and cancels them. It is to be mounted under any path:
//
//	mux.Handle("/ops/", http.StripPrefix("/ops", handler))
//
// Paths, queries and JSON are those of the HTTP API (docs/openapi.json) without /api/v1: GET /runs, /runs/{id}, /runs/{id}/events (with Accept: text/event-stream a stream), /runs/{id}/values/{digest};
// POST /runs/{id}/resume and /runs/{id}/cancel. What changes a run must be JSON with that Content-Type, and from no page of another site. It ends streams when the engine is closed.
//
// Errors: the engine is nil; Authorize is nil; MaxBody is negative.
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

// endStreams ends what the engine's handlers stream.
func (e *Engine) endStreams() {
	e.mu.Lock()
	served := e.served
	e.mu.Unlock()
	for _, end := range served {
		end()
	}
}
