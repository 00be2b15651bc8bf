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

// Proxy is a port of 127.0.0.1 that leads to a server. Its methods are safe for concurrent use.
type Proxy struct {
	url, network, address string
	listener              net.Listener
	done                  chan struct{} // closed when the proxy ends
	wg                    sync.WaitGroup

	mu    sync.Mutex
	delay time.Duration
	open  chan struct{} // closed while bytes pass to the server
	back  chan struct{} // closed while bytes pass to the client
	kept  []*kept       // what waits for either
	// trigger is the text of HoldFrom or of HoldAnswersFrom; "": none.
	trigger     string
	answersOnly bool
	links       map[net.Conn]net.Conn
}

// NewProxy starts a proxy to the server of a URL, that ends with the test.
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
	p := &Proxy{listener: l, done: make(chan struct{}), open: make(chan struct{}), back: make(chan struct{}), links: map[net.Conn]net.Conn{}}
	close(p.open)
	close(p.back)
	p.network, p.address = pgconn.NetworkAddress(cfg.Host, cfg.Port)
	q = u.Query()
	q.Del("host")
	q.Del("port")
	if p.network == "unix" { // PostgreSQL has no TLS there
		q.Set("sslmode", "disable")
	}
	u.Host, u.RawQuery = l.Addr().String(), q.Encode()
	p.url = u.String()
	p.wg.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// URL gives the URL of the server by the proxy.
func (p *Proxy) URL() string { return p.url }

// Delay makes what is sent from now on, in either direction, arrive later by d.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Hold keeps back everything, in either direction, on all connections and new ones, and closes none: as when a cable is cut. Not even an end is passed on. What was sent is
// acknowledged by the system, unlike after [Proxy.Vanish].
func (p *Proxy) Hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open, p.back = shut(p.open), shut(p.back)
}

// HoldFrom holds everything, as Hold does, from the message of a client on that has a text in it. That message does not reach the server.
func (p *Proxy) HoldFrom(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trigger, p.answersOnly = text, false
}

// HoldAnswersFrom lets the message of a client that has a text in it reach the server, and keeps back all that the server sends from then on, on all connections.
func (p *Proxy) HoldAnswersFrom(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trigger, p.answersOnly = text, true
}

// Release passes on what Hold has kept back, and all that follows.
func (p *Proxy) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, gate := range []chan struct{}{p.open, p.back} {
		if !isOpen(gate) {
			close(gate)
		}
	}
	p.kept = nil
}

// Holds tells whether a text is in what is kept back.
func (p *Proxy) Holds(text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.kept, func(k *kept) bool { return bytes.Contains(k.bytes, []byte(text)) })
}

// Deliver passes on what is kept back and has a text in it, and nothing else: neither what follows on its connection nor an end. It tells whether there is such a message.
func (p *Proxy) Deliver(text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := len(p.kept)
	p.kept = slices.DeleteFunc(p.kept, func(k *kept) bool {
		has := bytes.Contains(k.bytes, []byte(text))
		if has {
			close(k.alone)
		}
		return has
	})
	return len(p.kept) < before
}

// Vanish makes both sides seem to be gone: nothing is passed on, as after Hold, and what either of them sends on a connection that is there is not even acknowledged. The connections stay so until
// Reset. It works on Linux only, and for connections by TCP.
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

// shut gives a gate that is not open.
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

// Reset ends all connections by a reset on both sides, with what is on its way. New ones are accepted.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for a, b := range p.links {
		reset(a)
		reset(b)
	}
	clear(p.links)
}

// Connections tells how many connections lead through the proxy.
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

// link connects a client with the server, and ends with both.
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
	case <-p.done: // the proxy ended before the connection was in the list
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

// pass waits until b passes, back to the client or to the server. It is false when the proxy ends.
func (p *Proxy) pass(b []byte, back bool) bool {
	p.mu.Lock()
	if !back && p.trigger != "" && bytes.Contains(b, []byte(p.trigger)) {
		p.trigger, p.back = "", shut(p.back)
		if !p.answersOnly {
			p.open = shut(p.open)
		}
	}
	open := p.open
	if back {
		open = p.back
	}
	alone := make(chan struct{})
	if !isOpen(open) {
		p.kept = append(p.kept, &kept{b, alone})
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

// kept is a message that is kept back, until alone is closed or the gate of its direction is open.
type kept struct {
	bytes []byte
	alone chan struct{}
}

type chunk struct {
	bytes []byte
	due   time.Time
	err   error
}

// pump passes on what one side sends to the other, and its end. back tells that it is the server's.
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
