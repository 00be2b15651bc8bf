package server

import (
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/memlimit"
	"github.com/hocket-run/hocket/internal/service"
)

// Limits bound who may come, and how many at once (SEC17). Zero values are the operator's, else the defaults.
type Limits struct {
	// Failures is how many wrong tokens and tickets an address may show in a minute.
	Failures int
	// Requests is how many requests are under way at once, but for event streams and probes. Connections is how many connections are open; more wait to be accepted.
	Requests, Connections int
	// InFlight bounds the bytes of requests and answers in memory, TokenInFlight those of one token. 0: DefaultInFlight; a quarter of InFlight, and room for one body.
	InFlight, TokenInFlight int64
	// BodyIdle is how long a body may bring less than leastBody bytes before it is cut off.
	BodyIdle time.Duration
	// Streams and NamespaceStreams are how many event streams of runs are open, of all namespaces and of one.
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

// overloadError says that the client must retry later.
type overloadError struct {
	service.LimitError
	after time.Duration
}

// Unwrap gives the limit.
func (e *overloadError) Unwrap() error { return &e.LimitError }

const (
	// failureTime is how long failures are counted together, from the first.
	failureTime = time.Minute
	// maxFailing bounds the addresses that are remembered.
	maxFailing = 4096
)

// failures counts wrong tokens and tickets by address. Only what is wrong is held up: a token is looked up first, so that a right one is let in whatever others at the same
// address sent. Safe for concurrent use.
type failures struct {
	most int
	mu   sync.Mutex
	by   map[netip.Prefix]*failing
}

type failing struct {
	n     int
	until time.Time
}

// check tells whether an address has shown too many wrong tokens. Errors: *overloadError.
func (f *failures) check(remote netip.Addr, now time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := f.by[network(remote)]
	if one == nil || one.n < f.most || !now.Before(one.until) {
		return nil
	}
	return &overloadError{service.LimitError{Limit: "failed authentications of an address per minute (server: {limits: {failures: …}})", Max: int64(f.most)}, one.until.Sub(now)}
}

// failed counts a wrong token.
func (f *failures) failed(remote netip.Addr, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	from := network(remote)
	one := f.by[from]
	if one == nil || !now.Before(one.until) {
		f.forget(now)
		one = &failing{until: now.Add(failureTime)}
		if f.by == nil {
			f.by = map[netip.Prefix]*failing{}
		}
		f.by[from] = one
	}
	one.n++
}

// forget makes room for an address: those whose time is over go, else any.
func (f *failures) forget(now time.Time) {
	if len(f.by) < maxFailing {
		return
	}
	for from, one := range f.by {
		if !now.Before(one.until) {
			delete(f.by, from)
		}
	}
	for from := range f.by {
		if len(f.by) < maxFailing {
			return
		}
		delete(f.by, from)
	}
}

// network is whom an address belongs to: an IPv4 address, or 64 bits of an IPv6 address, which one subscriber has. All without an address are one.
func network(ip netip.Addr) netip.Prefix {
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	p, _ := ip.Prefix(bits)
	return p
}

// DefaultInFlight is the budget of bytes in flight: a quarter of the process's memory limit.
func DefaultInFlight() int64 { return memlimit.Current().Bytes / 4 }

// enter counts a request in. Errors: *overloadError. The caller leaves where there is none.
func (s *Server) enter() (leave func(), err error) {
	if int(s.requests.Add(1)) > s.cfg.Limits.Requests {
		s.requests.Add(-1)
		return nil, &overloadError{service.LimitError{Limit: "concurrent requests (server: {limits: {requests: …}})", Max: int64(s.cfg.Limits.Requests)}, time.Second}
	}
	return func() { s.requests.Add(-1) }, nil
}

// bounded is a listener that lets so many connections in; others wait where the machine keeps them.
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
