package server

import (
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/memlimit"
	"github.com/hocket-run/hocket/internal/service"
)

// Limits limit who may connect, and the number of concurrent requests (SEC17). Zero values mean the
// operator's settings, else the defaults.
type Limits struct {
	// Failures is the maximum number of wrong tokens and tickets from one address per minute.
	Failures int
	// Requests is the maximum number of concurrent requests, not counting event streams and probes.
	// Connections is the maximum number of open connections; further ones wait to be accepted.
	Requests, Connections int
	// InFlight limits the bytes of requests and responses in memory, TokenInFlight those of one
	// token. If they are 0, InFlight is DefaultInFlight, and TokenInFlight a quarter of InFlight
	// plus room for one body.
	InFlight, TokenInFlight int64
	// BodyIdle is how long a request body may deliver less than minBodyBytes bytes before it is cut
	// off.
	BodyIdle time.Duration
	// Streams and NamespaceStreams are the maximum numbers of open event streams of runs, over all
	// namespaces and in one namespace.
	Streams, NamespaceStreams int
}

// Defaults of Limits.
const (
	DefaultFailures    = 300
	DefaultRequests    = 4096
	DefaultConnections = 16384
	DefaultStreams     = 4096
	DefaultBodyIdle    = 10 * time.Second
)

// overloadError is returned when the client must retry later.
type overloadError struct {
	service.LimitError
	after time.Duration
}

// Unwrap returns the LimitError.
func (e *overloadError) Unwrap() error { return &e.LimitError }

const (
	// failureTime is the period over which failures are counted, starting at the first one.
	failureTime = time.Minute
	// maxFailing is the maximum number of addresses that are remembered.
	maxFailing = 4096
)

// failures counts wrong tokens and tickets by address. Only wrong tokens are delayed: a token is
// looked up first, so that a valid one is accepted whatever other clients at the same address sent.
// It is safe for concurrent use.
type failures struct {
	most      int
	mu        sync.Mutex
	byNetwork map[netip.Prefix]*failing
}

type failing struct {
	n     int
	until time.Time
}

// check returns an *overloadError if an address has sent too many wrong tokens.
func (f *failures) check(remote netip.Addr, now time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := f.byNetwork[network(remote)]
	if one == nil || one.n < f.most || !now.Before(one.until) {
		return nil
	}
	return &overloadError{
		service.LimitError{Limit: "failed authentications of an address per minute (server: {limits: {failures: …}})",
			Max: int64(f.most)}, one.until.Sub(now),
	}
}

// failed counts a wrong token.
func (f *failures) failed(remote netip.Addr, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	from := network(remote)
	one := f.byNetwork[from]
	if one == nil || !now.Before(one.until) {
		f.forget(now)
		one = &failing{until: now.Add(failureTime)}
		if f.byNetwork == nil {
			f.byNetwork = map[netip.Prefix]*failing{}
		}
		f.byNetwork[from] = one
	}
	one.n++
}

// forget makes room for an address: it removes expired entries and, if that is not enough,
// arbitrary ones.
func (f *failures) forget(now time.Time) {
	if len(f.byNetwork) < maxFailing {
		return
	}
	for from, one := range f.byNetwork {
		if !now.Before(one.until) {
			delete(f.byNetwork, from)
		}
	}
	for from := range f.byNetwork {
		if len(f.byNetwork) < maxFailing {
			return
		}
		delete(f.byNetwork, from)
	}
}

// network returns the client network of an address: an IPv4 address, or the 64-bit prefix of an
// IPv6 address, which one subscriber has. All clients without an address share one network.
func network(ip netip.Addr) netip.Prefix {
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	p, _ := ip.Prefix(bits)
	return p
}

// DefaultInFlight returns the budget of bytes in flight: a quarter of the process's memory limit.
func DefaultInFlight() int64 { return memlimit.Current().Bytes / 4 }

// enter counts a request. It returns an *overloadError if there are too many; otherwise the caller
// must call leave.
func (s *Server) enter() (leave func(), err error) {
	if int(s.requests.Add(1)) > s.cfg.Limits.Requests {
		s.requests.Add(-1)
		return nil, &overloadError{service.LimitError{Limit: "concurrent requests (server: {limits: {requests: …}})",
			Max: int64(s.cfg.Limits.Requests)}, time.Second}
	}
	return func() { s.requests.Add(-1) }, nil
}

// bounded is a listener that limits the number of connections; further ones wait in the operating
// system's backlog.
type bounded struct {
	net.Listener
	slots  chan struct{}
	closed chan struct{}
	once   sync.Once
}

func bound(ln net.Listener, n int) *bounded {
	return &bounded{Listener: ln, slots: make(chan struct{}, n), closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (l *bounded) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &boundConn{Conn: c, leave: sync.OnceFunc(func() { <-l.slots })}, nil
}

// Close implements net.Listener.
func (l *bounded) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type boundConn struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (c *boundConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
