package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/hocket-run/hocket/internal/api/mcpserver"
	"github.com/hocket-run/hocket/internal/api/openaiapi"
	"github.com/hocket-run/hocket/internal/api/transport"
)

// Mount is a way into the server.
type Mount struct {
	// Name is a word for logs and metrics.
	Name string
	// Patterns are where the handler stands, as http.ServeMux reads them, without methods: `/api/v1/`, `/mcp`.
	Patterns []string
	Handler  http.Handler
	// Routes are what is behind the patterns, such as `GET /api/v1/runs/{id}`; nil: the patterns. Tests ask each without a token and from foreign pages (SEC20).
	Routes []string
	// Open: the caller has a secret of its own in path or body, so that no token is required.
	Open bool
	// Elsewhere, if not nil, answers browsers at addresses where no mount is; of one mount at most.
	Elsewhere http.Handler
	// Problem tells a request of this transport why the guard refused it; nil: transport.WriteProblem.
	Problem func(http.ResponseWriter, *http.Request, transport.Problem)
	// Close, if not nil, is called after the last request, before services close.
	Close func() error
}

// probes are the ways in that a worker has too.
func (s *Server) probes() []Mount {
	return []Mount{
		s.metricsMount(),
		{Name: "health", Patterns: []string{"/healthz"}, Handler: reading(s.healthz), Routes: []string{"GET /healthz"}, Open: true},
		{Name: "health", Patterns: []string{"/readyz"}, Handler: reading(s.readyz), Routes: []string{"GET /readyz"}, Open: true},
	}
}

// mounts are the other ways in.
func (s *Server) mounts() []Mount {
	assistants := mcpserver.New(mcpserver.Config{
		Version: s.cfg.Service.Version, Workflows: s.cfg.MCPWorkflows, MaxBody: s.cfg.Body, Logger: s.log,
		Audit: func(ctx context.Context, d transport.Deed) error {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditTime)
			defer cancel()
			return s.audit.Record(ctx, d)
		},
	})
	s.revoked.On(assistants.Revoke)
	return append(s.hookMounts(), []Mount{
		{Name: "mcp", Patterns: []string{"/mcp"}, Handler: byOwnName(assistants.Handler()), Routes: []string{"GET /mcp", "POST /mcp", "DELETE /mcp"}, Close: assistants.Close},
		s.apiMount(),
		{Name: "openai", Patterns: []string{"/v1", "/v1/"}, Handler: openaiapi.New(openaiapi.Config{MaxBody: s.cfg.Body}), Routes: openaiapi.Routes(), Problem: openaiapi.WriteProblem},
	}...)
}

// mount fills the mux from the table.
func (s *Server) mount(mounts []Mount) error {
	s.table, s.byPattern, s.mux, s.taken = mounts, map[string]*Mount{}, http.NewServeMux(), map[string]bool{}
	for i := range mounts {
		d := &mounts[i]
		if d.Elsewhere != nil {
			s.elsewhere = d
		}
		if d.Handler == nil || len(d.Patterns) == 0 {
			return fmt.Errorf("the endpoint %s has no handler or no pattern", d.Name)
		}
		for _, p := range d.Patterns {
			if s.byPattern[p] != nil {
				return errors.New("duplicate endpoint " + p)
			}
			s.byPattern[p] = d
			s.taken[firstPart(p)] = true
			s.mux.Handle(p, d.Handler)
		}
	}
	for i := range mounts { // what is one slash short is the transport's to refuse: the mux would lead there with a page
		for _, p := range mounts[i].Patterns {
			if short := strings.TrimSuffix(p, "/"); short != "" && s.byPattern[short] == nil {
				s.byPattern[short] = &mounts[i]
				s.mux.Handle(short, mounts[i].Handler)
			}
		}
	}
	return nil
}

// isPlain tells whether a path is written as routes are: without empty parts and dots. The mux would lead others to the plain one with a page, and a client that
// follows with a token; they are paths at which nothing is.
func isPlain(u *url.URL) bool {
	p := u.EscapedPath()
	clean := path.Clean(p)
	return p == clean || p == clean+"/" && clean != "/"
}

// writeProblem answers a request that the guard refused, in the form of its endpoint.
func (s *Server) writeProblem(w http.ResponseWriter, r *http.Request, p transport.Problem) {
	_, pattern := s.mux.Handler(r)
	if d := s.byPattern[pattern]; d != nil && d.Problem != nil {
		d.Problem(w, r, p)
		return
	}
	transport.WriteProblem(w, r, p)
}

// Routes gives all routes of all transports, public those that ask for no token.
func (s *Server) Routes() (guarded, public []string) {
	for _, d := range s.table {
		routes := d.Routes
		if routes == nil {
			routes = d.Patterns
		}
		if d.Open {
			public = append(public, routes...)
		} else {
			guarded = append(guarded, routes...)
		}
	}
	return guarded, public
}

// reading serves GET and HEAD alone.
func reading(h http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			transport.WriteProblem(w, r, transport.NoMethod(r.URL.Path, "GET, HEAD"))
			return
		}
		h(w, r)
	})
}

// byOwnName hands requests on as if they named the machine itself. The guard has checked the name (SEC9); the MCP SDK, which checks it again, knows none of the
// names that an operator allows, and would refuse them all behind a proxy on the same machine.
func byOwnName(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(r.Context()) // the log keeps the name that was used
		r.Host = "localhost"
		h.ServeHTTP(w, r)
	})
}
