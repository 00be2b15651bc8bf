package postgres

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// dialTimeout limits the time to connect.
	dialTimeout = 10 * time.Second
	// ackTimeout is how long the other side may leave sent data unacknowledged. Keep-alives are not
	// sent meanwhile.
	ackTimeout = 11 * time.Second
	// replyTimeout limits how long a server may neither send nor accept data while a statement
	// waits for it; a server that hangs, or whose machine is gone, is treated as lost.
	replyTimeout = time.Minute
	// closeTimeout limits the requests that Close makes to the server, and replaces replyTimeout
	// while a store is being closed.
	closeTimeout = 3 * time.Second
	// silenceCheckInterval is how often Close checks for silent connections.
	silenceCheckInterval = 200 * time.Millisecond
)

// errGivenUp is returned if the server does not answer while a store is being closed.
var errGivenUp = errors.New("the server does not answer, and the store is being closed")

// network holds the connections of a process to one database. Each is closed when the server is
// silent for too long, which ends the statement that waits for it.
type network struct {
	wrap func(net.Conn) net.Conn // for tests

	mu       sync.Mutex
	reply    time.Duration // replyTimeout; shorter in tests
	links    map[*link]struct{}
	dials    map[*dial]struct{}
	closing  int  // stores that are being closed
	isSilent bool // a store is being closed, and the server does not answer
	isOver   bool
}

// dial is a connection that is being made.
type dial struct {
	since  time.Time
	cancel context.CancelFunc
}

// link is a connection.
type link struct {
	net.Conn
	of *network

	mu     sync.Mutex
	active int         // reads and writes that wait
	since  time.Time   // when one of them last started or ended
	timer  *time.Timer // closes the connection; nil if it waits for notifications, since nothing closes it then
}

func newNetwork(wrap func(net.Conn) net.Conn) *network {
	return &network{wrap: wrap, reply: replyTimeout, links: map[*link]struct{}{}, dials: map[*dial]struct{}{}}
}

// dialer returns a function that makes connections. A connection that waits for notifications may
// be silent indefinitely.
func (n *network) dialer(waits bool) pgconn.DialFunc {
	// A vanished server is noticed after about 11 s if no data is in transit to it.
	d := net.Dialer{Timeout: dialTimeout, Control: boundAcks, KeepAliveConfig: net.KeepAliveConfig{Enable: true,
		Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 3}}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		one := &dial{time.Now(), cancel}
		n.mu.Lock()
		isRefused := n.isSilent || n.isOver
		if !isRefused {
			n.dials[one] = struct{}{}
		}
		n.mu.Unlock()
		if isRefused {
			return nil, errGivenUp
		}
		c, err := d.DialContext(ctx, network, address)
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.dials, one)
		if err != nil {
			return nil, err
		}
		k := &link{Conn: n.wrap(c), of: n}
		if !waits {
			k.timer = time.AfterFunc(n.reply, func() { _ = k.Conn.Close() })
			k.timer.Stop()
		}
		if n.isOver {
			_ = k.Conn.Close()
		}
		n.links[k] = struct{}{}
		return k, nil
	}
}

// Read implements net.Conn.
func (k *link) Read(b []byte) (int, error) {
	k.count(1)
	defer k.count(-1)
	return k.Conn.Read(b)
}

// Write implements net.Conn.
func (k *link) Write(b []byte) (int, error) {
	k.count(1)
	defer k.count(-1)
	return k.Conn.Write(b)
}

// Close implements net.Conn.
func (k *link) Close() error {
	k.of.mu.Lock()
	delete(k.of.links, k)
	k.of.mu.Unlock()
	return k.Conn.Close()
}

// count records that a read or write starts or ends: either shows that the connection is not
// silent.
func (k *link) count(by int) {
	k.of.mu.Lock()
	reply := k.of.reply
	k.of.mu.Unlock()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.active += by
	k.since = time.Now()
	switch {
	case k.timer == nil:
	case k.active > 0:
		k.timer.Reset(reply)
	default:
		k.timer.Stop()
	}
}

// silentFor returns how long a statement has waited for the server.
func (k *link) silentFor(now time.Time) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.timer == nil || k.active == 0 {
		return 0
	}
	return now.Sub(k.since)
}

// limitReplies limits the wait for the server to closeTimeout, until done is called.
func (n *network) limitReplies() (done func()) {
	n.mu.Lock()
	n.closing++
	n.mu.Unlock()
	began, stop := time.Now(), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		t := time.NewTicker(silenceCheckInterval)
		defer t.Stop()
		for {
			select {
			case now := <-t.C:
				if now.Sub(began) >= closeTimeout {
					n.cut(now)
				}
			case <-stop:
				return
			}
		}
	})
	return func() {
		close(stop)
		wg.Wait()
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.closing--; n.closing == 0 {
			n.isSilent = false
		}
	}
}

// cut closes the connections that have been silent for closeTimeout. If there is one, no new
// connections are made, and requests on others end as well.
func (n *network) cut(now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	most := closeTimeout
	if n.isSilent {
		most = silenceCheckInterval
	}
	for d := range n.dials {
		if now.Sub(d.since) >= most {
			d.cancel()
			n.isSilent = true
		}
	}
	for k := range n.links {
		if k.silentFor(now) >= most {
			_ = k.Conn.Close()
			n.isSilent = true
		}
	}
}

// silent reports whether the server was given up while a store was being closed.
func (n *network) silent() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.isSilent || n.isOver
}

// end closes all connections and prevents new ones.
func (n *network) end() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.isOver = true
	for d := range n.dials {
		d.cancel()
	}
	for k := range n.links {
		_ = k.Conn.Close()
	}
}
