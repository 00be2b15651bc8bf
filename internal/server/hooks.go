package server

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/hocket-run/hocket/internal/api/hooks"
	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/outbound"
	"github.com/hocket-run/hocket/internal/secret"
	"github.com/hocket-run/hocket/internal/service"
)

// openHooks opens the webhooks, notifications and approve links of all namespaces. Addresses
// configured by the operator are allowed; addresses created through the API must be public, or
// named in outbound.allow (SEC8).
func (s *Server) openHooks() (*hooks.Hooks, error) {
	op := cmp.Or(s.cfg.Service.Operator, &config.Config{})
	allow := slices.Clone(op.Outbound.Allow)
	var endpoints []hooks.Endpoint
	for _, name := range slices.Sorted(maps.Keys(op.Server.Notifications)) {
		n := op.Server.Notifications[name]
		e := hooks.Endpoint{Name: name, URL: n.URL, Workflows: n.Workflows, Children: n.Children,
			ApproveLinks: n.ApproveLinks}
		for _, t := range n.On {
			e.On = append(e.On, hooks.Type(t))
		}
		e, err := hooks.OperatorEndpoint(e, n.Secret)
		if err != nil {
			return nil, invalidSetting("notifications."+name, "server: %w", err)
		}
		if e.ApproveLinks && s.cfg.URL == "" {
			return nil, invalidSetting("notifications."+name,
				"server: notifications: %s: approveLinks needs the server's public address (server: {url: …})", name)
		}
		endpoints, allow = append(endpoints, e), append(allow, n.URL)
	}
	guarded := outbound.Config{Allow: op.Outbound.Allow, Trace: true}
	h, err := hooks.New(hooks.Config{
		Service: func(ctx context.Context, namespace string) (*service.Service, error) {
			return s.namespaces.Service(ctx, namespace)
		},
		PublicURL: s.cfg.URL, Endpoints: endpoints, Logger: s.log, Count: func(what, result string) {
			s.metrics.hooked(what, result)
		},
		Secrets:  secret.Resolver{Env: s.cfg.Service.Env, Keeper: s.cfg.Service.Keeper},
		Operator: outbound.New(outbound.Config{Allow: allow, Trace: true}),
		Guarded:  outbound.New(guarded),
		Refused:  func(ctx context.Context, url string) error { return outbound.Check(ctx, guarded, url) },
	})
	if err != nil {
		return nil, invalidSetting("notifications", "%w", err)
	}
	return h, nil
}

// hookMounts returns the mounts whose routes have their own secret.
func (s *Server) hookMounts() []Mount {
	return []Mount{
		{Name: "hooks", Patterns: []string{"/hooks/"}, Handler: s.hooks.Receive(),
			Routes: []string{"POST /hooks/{path}", "POST /hooks/{namespace}/{path}"}, Open: true},
		{
			Name: "approve", Patterns: []string{"/approve/"}, Handler: s.hooks.Approve(),
			Routes: []string{"GET /approve/{token}", "POST /approve/{token}", "GET /approve/-/style.css"}, Open: true,
		},
	}
}
