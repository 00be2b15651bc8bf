package runsapi

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/live"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/service"
)

// Actions that a request can perform.
const (
	ActionList    = "list"
	ActionShow    = "show"
	ActionAnswer  = "answer"
	ActionApprove = "approve"
	ActionCancel  = "cancel"
)

// DefaultMaxBody is the default maximum size of a request body in bytes.
const DefaultMaxBody = 1 << 20

// Config configures a Handler.
type Config struct {
	// Service provides the runs. It is required.
	Service *service.Service
	// Authorize returns the name of the caller if they may perform the action on the run; run is ""
	// for the list. It is required; a request for which it returns an empty name is rejected too.
	Authorize func(r *http.Request, action, run string) (name string, err error)
	// MaxBody is the maximum size of a request body in bytes; 0 means DefaultMaxBody.
	MaxBody int64
}

// Handler serves runs. It is safe for concurrent use.
type Handler struct {
	cfg    Config
	live   *live.Handler
	mux    *http.ServeMux
	origin *http.CrossOriginProtection
}

// serve handles a request from an authorized caller. An error is written as a problem; if serve
// returns an error, it must not have written anything.
type serve func(w http.ResponseWriter, r *http.Request, who string) error

// route is the implementation of a method of a path.
type route struct {
	action string
	serve  serve
	// params are the allowed query parameters.
	params []string
}

// New returns a Handler, which the caller must close. It returns an error if the configuration is
// incomplete.
func New(cfg Config) (*Handler, error) {
	switch {
	case cfg.Authorize == nil:
		return nil,
			errors.New("a handler of runs needs a function Authorize: without one everyone could answer and " +
				"cancel them")
	case cfg.Service == nil:
		return nil, errors.New("a handler of runs needs an engine")
	case cfg.MaxBody < 0:
		return nil, fmt.Errorf("MaxBody is %d; it must not be negative", cfg.MaxBody)
	case cfg.MaxBody == 0:
		cfg.MaxBody = DefaultMaxBody
	}
	h := &Handler{cfg: cfg, live: live.New(live.Config{}), mux: http.NewServeMux(),
		origin: http.NewCrossOriginProtection()}
	page := []string{"cursor", "limit"}
	h.add("/runs", map[string]route{http.MethodGet: {ActionList, h.list, slices.Concat(page, filters)}})
	h.add("/runs/{id}", map[string]route{http.MethodGet: {ActionShow, h.show, slices.Concat(page, []string{"steps"})}})
	h.add("/runs/{id}/context", map[string]route{http.MethodGet: {ActionShow, h.context, nil}})
	h.add("/runs/{id}/events",
		map[string]route{http.MethodGet: {ActionShow, h.events, []string{"cursor", "limit", "short", "expand", "after",
			"types", "mode", "view"}}})
	h.add("/runs/{id}/values/{digest}", map[string]route{http.MethodGet: {ActionShow, h.value, []string{"type"}}})
	h.add("/runs/{id}/resume", map[string]route{http.MethodPost: {ActionAnswer, h.resume, nil}})
	h.add("/runs/{id}/cancel", map[string]route{http.MethodPost: {ActionCancel, h.cancel, nil}})
	h.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { refuse(w, r, transport.NoPath(r.URL.Path)) })
	return h, nil
}

// Close ends all event streams and waits for them to end.
func (h *Handler) Close() { h.live.Close() }

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.mux.ServeHTTP(w, r) }

// add registers a path.
func (h *Handler) add(path string, methods map[string]route) {
	allow := slices.Sorted(maps.Keys(methods))
	if _, ok := methods[http.MethodGet]; ok {
		allow = append(allow, http.MethodHead)
	}
	h.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Cache-Control", "no-store")
		header.Set("X-Content-Type-Options", "nosniff")
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		to, ok := methods[method]
		if !ok {
			header.Set("Allow", strings.Join(allow, ", "))
			refuse(w, r, transport.NoMethod(r.URL.Path, strings.Join(allow, ", ")))
			return
		}
		if err := h.answer(w, r, to); err != nil {
			refuse(w, r, problemOf(err))
		}
	})
}

func (h *Handler) answer(w http.ResponseWriter, r *http.Request, to route) error {
	if err := h.origin.Check(r); err != nil { // cross-site request from a user's browser
		return &transport.ForbiddenError{Reason: "the request comes from a page of another site"}
	}
	who, err := h.authorize(r, to.action, r.PathValue("id"))
	if err != nil {
		return err
	}
	if err := checkQuery(r, to.params); err != nil {
		return err
	}
	return to.serve(w, r, who)
}

// authorize calls the program's function. Its error is not disclosed: it may reveal something about
// a run that the caller must not know.
func (h *Handler) authorize(r *http.Request, action, run string) (string, error) {
	who, err := h.cfg.Authorize(r, action, run)
	if err != nil || who == "" {
		return "", &transport.ForbiddenError{Reason: "you are not allowed to do this"}
	}
	return who, nil
}

// caller returns the caller of a request in the form that the code for all transports expects.
func (h *Handler) caller(who string) *transport.Caller {
	return &transport.Caller{Principal: access.Principal{Name: who, Role: access.RoleRun}, Service: h.cfg.Service}
}

// formError is returned when a request is malformed.
type formError struct {
	status int
	detail string
}

func (e *formError) Error() string { return e.detail }

func badf(status int, format string, args ...any) error {
	return &formError{status, fmt.Sprintf(format, args...)}
}

// problemOf returns the problem for an error.
func problemOf(err error) transport.Problem {
	if bad, ok := errors.AsType[*formError](err); ok {
		p := transport.NewProblem(errcode.Invalid, bad.detail)
		p.Status = bad.status
		return p
	}
	return transport.ProblemOf(err)
}

func refuse(w http.ResponseWriter, r *http.Request, p transport.Problem) {
	w.Header().Set("Cache-Control", "no-store")
	transport.WriteProblem(w, r, p)
}

// checkQuery rejects query parameters that the path does not have or that are repeated: an ignored
// filter would not filter (SEC7).
func checkQuery(r *http.Request, known []string) error {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return badf(http.StatusBadRequest, "malformed query")
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(known, name) {
			return badf(http.StatusBadRequest, "invalid query parameters: query.%s: unknown parameter; known: %s", name,
				strings.Join(known, ", "))
		}
		if len(values[name]) > 1 {
			return badf(http.StatusBadRequest, "invalid query parameters: query.%s: given more than once", name)
		}
	}
	return nil
}

// base returns the path under which the handler is served, or "" if that is the root of the server.
func base(r *http.Request) string {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	prefix, ok := strings.CutSuffix(path, r.URL.EscapedPath())
	if !ok || strings.Contains(prefix, "://") {
		return ""
	}
	return prefix
}
