package server

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/store"
)

// AddMount adds a transport to the existing ones.
func (s *Server) AddMount(d Mount) error { return s.mount(append(s.table, d)) }

// Swap replaces ports.
func (s *Server) Swap(t Tokens, a transport.Audit, k Tickets) {
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

// Bound wraps a listener with bounded.
func Bound(ln net.Listener, n int) net.Listener { return bound(ln, n) }

// Store returns the store of tokens and the audit log.
func (s *Server) Store() store.Access { return s.access }

// Service returns the service of a namespace.
func (s *Server) Service(ctx context.Context, name string) (*service.Service, error) {
	return s.namespaces.Service(ctx, name)
}

// Flight returns the current and the peak number of bytes in flight.
func (s *Server) Flight() (now, peak int64) { return s.flight.InUse() }

// BodyWeight exports bodyWeight.
const BodyWeight = bodyWeight

// Validated calls Validate after the defaults are applied.
func (c Config) Validated() error { return c.withDefaults().Validate() }

// Tickets returns the tickets of the API.
func (s *Server) Tickets() *access.Tickets {
	t, _ := s.tickets.(*access.Tickets)
	return t
}

// ClientOf returns the address of a request's client as seen by a server with the given trusted
// proxies.
func ClientOf(trusted []string, r *http.Request) (string, error) {
	p, err := parseProxies(trusted)
	return p.client(r).String(), err
}

// WhyNotWritable returns what strangers learn if the store cannot be written for a reason.
func WhyNotWritable(cause error) string { return whyNotReady(&notWritableError{cause}) }

// IdleFor returns how long a namespace has no work.
func (s *Server) IdleFor(ctx context.Context, name string, svc *service.Service) time.Duration {
	return time.Until(s.idleUntil(ctx, name, svc))
}
