package server

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/httpapi"
	"github.com/hocket-run/hocket/internal/api/live"
	"github.com/hocket-run/hocket/internal/api/mcpserver"
	"github.com/hocket-run/hocket/internal/api/openaiapi"
	"github.com/hocket-run/hocket/internal/api/transport"
)

// Mount is an entry point of the server.
type Mount struct {
	// Name identifies the mount in logs and metrics.
	Name string
	// Patterns are the http.ServeMux patterns of the handler, without methods: `/api/v1/`, `/mcp`.
	Patterns []string
	Handler  http.Handler
	// Routes are the routes behind the patterns, such as `GET /api/v1/runs/{id}`; nil means the
	// patterns. Tests request each one without a token and from foreign pages (SEC20).
	Routes []string
	// Open means that the caller has a separate secret in the path or body, so that no token is
	// required.
	Open bool
	// Fallback, if not nil, answers browsers at addresses without a mount; at most one mount may
	// set it.
	Fallback http.Handler
	// Problem writes the response to a request of this transport that the guard rejected; nil means
	// transport.WriteProblem.
	Problem func(http.ResponseWriter, *http.Request, transport.Problem)
	// Close, if not nil, is called after the last request, before services close.
	Close func() error
}

// probes returns the mounts that workers have too.
func (s *Server) probes() []Mount {
	return []Mount{
		s.metricsMount(),
		{Name: "health", Patterns: []string{"/healthz"}, Handler: getOnly(s.healthz), Routes: []string{"GET /healthz"},
			Open: true},
		{Name: "health", Patterns: []string{"/readyz"}, Handler: getOnly(s.readyz), Routes: []string{"GET /readyz"},
			Open: true},
	}
}

// mounts returns all other mounts.
func (s *Server) mounts() []Mount {
	assistants := mcpserver.New(mcpserver.Config{
		Version: s.cfg.Service.Version, Workflows: s.cfg.MCPWorkflows, MaxBody: s.cfg.Body, Logger: s.log,
		Audit: s.audit, Service: s.namespaces.Service,
	})
	s.revoked.On(assistants.Revoke)
	return append(s.hookMounts(), []Mount{
		{Name: "mcp", Patterns: []string{"/mcp"}, Handler: withLocalHost(assistants.Handler()),
			Routes: []string{"GET /mcp", "POST /mcp", "DELETE /mcp"}, Close: assistants.Close},
		s.apiMount(),
		{Name: "openai", Patterns: []string{"/v1", "/v1/"},
			Handler: openaiapi.New(openaiapi.Config{MaxBody: s.cfg.Body}), Routes: openaiapi.Routes(),
			Problem: openaiapi.WriteProblem},
	}...)
}

// mount fills the mux from the table.
func (s *Server) mount(mounts []Mount) error {
	s.table, s.byPattern, s.mux, s.taken = mounts, map[string]*Mount{}, http.NewServeMux(), map[string]bool{}
	for i := range mounts {
		d := &mounts[i]
		if d.Fallback != nil {
			s.fallback = d
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
	for i := range mounts { // the transport rejects a missing final slash: the mux would redirect with a page
		for _, p := range mounts[i].Patterns {
			if short := strings.TrimSuffix(p, "/"); short != "" && s.byPattern[short] == nil {
				s.byPattern[short] = &mounts[i]
				s.mux.Handle(short, mounts[i].Handler)
			}
		}
	}
	return nil
}

// isPlain reports whether a path is in the form of routes: without empty parts and dots. The mux
// would redirect other paths to the clean one with a page, and a client that follows would send its
// token; such paths are treated as not found.
func isPlain(u *url.URL) bool {
	p := u.EscapedPath()
	clean := path.Clean(p)
	return p == clean || p == clean+"/" && clean != "/"
}

// writeProblem answers a request that the guard rejected, in the form of its endpoint.
func (s *Server) writeProblem(w http.ResponseWriter, r *http.Request, p transport.Problem) {
	_, pattern := s.mux.Handler(r)
	if d := s.byPattern[pattern]; d != nil && d.Problem != nil {
		d.Problem(w, r, p)
		return
	}
	transport.WriteProblem(w, r, p)
}

// Routes returns all routes of all transports; public are those that require no token.
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

// getOnly serves only GET and HEAD.
func getOnly(h http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			transport.WriteProblem(w, r, transport.NoMethod(r.URL.Path, "GET, HEAD"))
			return
		}
		h(w, r)
	})
}

// withLocalHost passes requests on as if they were addressed to the machine itself. The guard has
// checked the name (SEC9); the MCP SDK, which checks it again, knows none of the names that an
// operator allows, and would reject them all behind a proxy on the same machine.
func withLocalHost(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(r.Context()) // the log keeps the original name
		r.Host = "localhost"
		h.ServeHTTP(w, r)
	})
}

// apiMount returns the mount of the HTTP API with its event streams, which browsers open with
// tickets.
func (s *Server) apiMount() Mount {
	tickets := &access.Tickets{}
	s.tickets = tickets
	s.revoked.Before(tickets.Revoke)
	streams := live.New(live.Config{
		Tickets: tickets, Logger: s.log, MaxWatchers: s.cfg.Limits.Streams,
		MaxOfNamespace: s.cfg.Limits.NamespaceStreams,
	})
	api := httpapi.New(httpapi.Config{Version: s.cfg.Service.Version, MaxBody: s.cfg.Body, Live: streams,
		Access: revokingStore{s.access, &s.revoked}, Hooks: s.hooks, Sessions: s.sessionConfig()})
	return Mount{
		Name: "api", Patterns: []string{httpapi.Prefix + "/", httpapi.SpecPath}, Handler: compress(api),
		Routes: apiRoutes(api),
		Close: func() error {
			streams.Close()
			return nil
		},
	}
}

// apiRoutes returns the routes of the API's operations and of its specification.
func apiRoutes(api *httpapi.API) []string {
	routes := []string{"GET " + httpapi.SpecPath}
	for _, o := range api.Operations() {
		routes = append(routes, o.Method+" "+o.Path)
	}
	return routes
}
