package server

import (
	"context"
	"net"
	"net/http"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/store"
)

// AddMount puts a transport beside those that there are.
func (s *Server) AddMount(d Mount) error { return s.mount(append(s.table, d)) }

// Swap replaces ports.
func (s *Server) Swap(t Tokens, a Audit, k Tickets) {
	if t != nil {
		s.tokens = t
	}
	if a != nil {
		s.audit = a
	}
	if k != nil {
		s.tickets = k
	}
}

// Bound is bound.
func Bound(ln net.Listener, n int) net.Listener { return bound(ln, n) }

// Store is where tokens and the audit log are.
func (s *Server) Store() store.Access { return s.access }

// Service is the service of a namespace.
func (s *Server) Service(ctx context.Context, name string) (*service.Service, error) {
	return s.namespaces.Service(ctx, name)
}

// Flight gives the bytes in flight, and the most that there were.
func (s *Server) Flight() (now, peak int64) { return s.flight.InUse() }

// BodyWeight is bodyWeight.
const BodyWeight = bodyWeight

// Validated is Validate after the defaults.
func (c Config) Validated() error { return c.withDefaults().Validate() }

// Tickets are those of the API.
func (s *Server) Tickets() *access.Tickets {
	t, _ := s.tickets.(*access.Tickets)
	return t
}

// ClientOf is the address of a request's client as a server with these trusted proxies knows it.
func ClientOf(trusted []string, r *http.Request) (string, error) {
	p, err := parseProxies(trusted)
	return p.client(r).String(), err
}
