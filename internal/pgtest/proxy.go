package pgtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Proxy is a port of 127.0.0.1 that forwards to a server. Its methods are safe for concurrent use.
type Proxy struct {
	url, network, address string
	listener              net.Listener
	done                  chan struct{} // closed when the proxy ends
	wg                    sync.WaitGroup

	mu       sync.Mutex
	delay    time.Duration
	toServer chan struct{}  // closed while bytes pass to the server
	toClient chan struct{}  // closed while bytes pass to the client
	kept     []*heldMessage // messages waiting for either gate
	// trigger is the text of HoldFrom or of HoldAnswersFrom; "" means none.
	trigger     string
	answersOnly bool
	links       map[net.Conn]net.Conn
}

// NewProxy starts a proxy to the server of a URL and stops it when the test ends.
func NewProxy(t testing.TB, at string) *Proxy {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	plain, q := *u, u.Query()
	q.Del("schema")
	plain.RawQuery = q.Encode()
	cfg, err := pgconn.ParseConfig(plain.String())
	if err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: l, done: make(chan struct{}), toServer: make(chan struct{}), toClient: make(chan struct{}),
		links: map[net.Conn]net.Conn{}}
	close(p.toServer)
	close(p.toClient)
	p.network, p.address = pgconn.NetworkAddress(cfg.Host, cfg.Port)
	q = u.Query()
	q.Del("host")
	q.Del("port")
	if p.network == "unix" { // PostgreSQL has no TLS on Unix sockets
		q.Set("sslmode", "disable")
	}
	u.Host, u.RawQuery = l.Addr().String(), q.Encode()
	p.url = u.String()
	p.wg.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// URL returns the URL of the server through the proxy.
func (p *Proxy) URL() string { return p.url }

// Delay delays by d everything that is sent from now on, in either direction.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Hold keeps back everything, in either direction, on all connections including new ones, and
// closes none, as when a cable is cut. Even the end of a connection is not forwarded. The system
// acknowledges what was sent, unlike after [Proxy.Vanish].
func (p *Proxy) Hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.toServer, p.toClient = shut(p.toServer), shut(p.toClient)
}

// HoldFrom holds everything, as Hold does, starting with the first client message that contains
// text. That message does not reach the server.
func (p *Proxy) HoldFrom(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trigger, p.answersOnly = text, false
}

// HoldAnswersFrom forwards the first client message that contains text to the server, and keeps
// back all that the server sends from then on, on all connections.
func (p *Proxy) HoldAnswersFrom(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trigger, p.answersOnly = text, true
}

// Release forwards what Hold has kept back, and everything that follows.
func (p *Proxy) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, gate := range []chan struct{}{p.toServer, p.toClient} {
		if !isOpen(gate) {
			close(gate)
		}
	}
	p.kept = nil
}

// Holds reports whether text occurs in the held messages.
func (p *Proxy) Holds(text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.kept, func(k *heldMessage) bool { return bytes.Contains(k.bytes, []byte(text)) })
}

// Deliver forwards the held message that contains text, and nothing else: neither what follows on
// its connection nor its end. It reports whether there is such a message.
func (p *Proxy) Deliver(text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := len(p.kept)
	p.kept = slices.DeleteFunc(p.kept, func(k *heldMessage) bool {
		has := bytes.Contains(k.bytes, []byte(text))
		if has {
			close(k.alone)
		}
		return has
	})
	return len(p.kept) < before
}

// Vanish makes both sides appear to be gone: nothing is forwarded, as after Hold, and anything that
// either side sends on an existing connection is not even acknowledged. The connections stay in
// that state until Reset. It works only on Linux, and for TCP connections.
func (p *Proxy) Vanish() error {
	p.Hold()
	p.mu.Lock()
	defer p.mu.Unlock()
	for a, b := range p.links {
		if err := errors.Join(ignorePackets(a), ignorePackets(b)); err != nil {
			return err
		}
	}
	return nil
}

// shut returns a closed gate.
func shut(gate chan struct{}) chan struct{} {
	if isOpen(gate) {
		return make(chan struct{})
	}
	return gate
}

func isOpen(gate chan struct{}) bool {
	select {
	case <-gate:
		return true
	default:
		return false
	}
}

// Reset resets all connections on both sides, discarding data in transit. New connections are
// accepted.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for a, b := range p.links {
		reset(a)
		reset(b)
	}
	clear(p.links)
}

// Connections returns the number of connections through the proxy.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

func (p *Proxy) close() {
	close(p.done)
	_ = p.listener.Close()
	p.Reset()
	p.wg.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.link(client) })
	}
}

// link connects a client to the server, and returns when both directions have ended.
func (p *Proxy) link(client net.Conn) {
	if !p.pass(nil, false) {
		reset(client)
		return
	}
	server, err := (&net.Dialer{}).DialContext(context.Background(), p.network, p.address)
	if err != nil {
		reset(client)
		return
	}
	p.mu.Lock()
	p.links[client] = server
	p.mu.Unlock()
	select {
	case <-p.done: // the proxy ended before the connection was registered
		p.Reset()
	default:
	}
	var both sync.WaitGroup
	both.Go(func() { p.pump(server, client, false) })
	both.Go(func() { p.pump(client, server, true) })
	both.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, client)
	_, _ = client.Close(), server.Close()
}

// pass waits until b may pass, back to the client or to the server. It returns false when the proxy
// ends.
func (p *Proxy) pass(b []byte, back bool) bool {
	p.mu.Lock()
	if !back && p.trigger != "" && bytes.Contains(b, []byte(p.trigger)) {
		p.trigger, p.toClient = "", shut(p.toClient)
		if !p.answersOnly {
			p.toServer = shut(p.toServer)
		}
	}
	open := p.toServer
	if back {
		open = p.toClient
	}
	alone := make(chan struct{})
	if !isOpen(open) {
		p.kept = append(p.kept, &heldMessage{b, alone})
	}
	p.mu.Unlock()
	select {
	case <-open:
		return true
	case <-alone:
		return true
	case <-p.done:
		return false
	}
}

// heldMessage is a message that is held until alone is closed or the gate of its direction is open.
type heldMessage struct {
	bytes []byte
	alone chan struct{}
}

type chunk struct {
	bytes []byte
	due   time.Time
	err   error
}

// pump forwards what one side sends to the other, and its end. back reports whether the sender is
// the server.
func (p *Proxy) pump(to, from net.Conn, back bool) {
	chunks := make(chan chunk, 1024)
	p.wg.Go(func() {
		defer close(chunks)
		for {
			buf := make([]byte, 32<<10)
			n, err := from.Read(buf)
			p.mu.Lock()
			due := time.Now().Add(p.delay)
			p.mu.Unlock()
			select {
			case chunks <- chunk{buf[:n], due, err}:
			case <-p.done:
				return
			}
			if err != nil {
				return
			}
		}
	})
	for c := range chunks {
		if wait := time.Until(c.due); wait > 0 {
			select {
			case <-time.After(wait):
			case <-p.done:
				return
			}
		}
		if !p.pass(c.bytes, back) {
			return
		}
		if len(c.bytes) > 0 {
			if _, err := to.Write(c.bytes); err != nil {
				reset(from)
				return
			}
		}
		switch {
		case errors.Is(c.err, io.EOF):
			if half, ok := to.(interface{ CloseWrite() error }); ok {
				_ = half.CloseWrite()
			}
		case c.err != nil:
			reset(to)
		}
	}
}
