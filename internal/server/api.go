package server

import (
	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/httpapi"
	"github.com/hocket-run/hocket/internal/api/live"
)

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
		Access: revoking{s.access, &s.revoked}, Hooks: s.hooks, Sessions: s.sessionConfig()})
	return Mount{
		Name: "api", Patterns: []string{httpapi.Prefix + "/", httpapi.SpecPath}, Handler: packed(api),
		Routes: apiRoutes(api),
		Close: func() error {
			streams.Close()
			return nil
		},
	}
}

// apiRoutes returns the operations of the API, and its document.
func apiRoutes(api *httpapi.API) []string {
	routes := []string{"GET " + httpapi.SpecPath}
	for _, o := range api.Operations() {
		routes = append(routes, o.Method+" "+o.Path)
	}
	return routes
}
