package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-run/hocket/internal/jsontext"
	"github.com/hocket-run/hocket/internal/process"
	"github.com/hocket-run/hocket/internal/tool/refs"
	"github.com/hocket-run/hocket/internal/tracecontext"
)

// preferredVersion is the protocol version that is tried first: nearly every server understands its
// `initialize`, while a server that does not know the newer `server/discover` may hang or exit when
// it receives it. A server that knows only the newer handshake says so and is then contacted with
// it.
const preferredVersion = "2025-11-25"

// dialer connects to one server.
type dialer struct {
	name     string
	cfg      Config // with defaults applied
	argv     []string
	dir      string
	env      []string
	endpoint *url.URL
	headers  map[string]string
	red      process.Redactor
}

// conn is one connection to a server.
type conn struct {
	sess *sdk.ClientSession
	// kill breaks the transport immediately: pending reads and writes return, and the process and
	// its children end.
	kill func()
	proc *process.Process // nil over HTTP
	http *scoped          // nil for a process
	// dead is closed when either side has ended the session.
	dead  chan struct{}
	stale atomic.Bool // the server announced a changed tool list
	// broken is set when requests can no longer be written, even if responses can still be read, or
	// when the server no longer knows the session.
	broken atomic.Bool
	grace  time.Duration

	token atomic.Int64
	mu    sync.Mutex
	calls map[string]*inFlight // by progress token
}

// inFlight is a call that waits for its response.
type inFlight struct {
	alive func() // called on each heartbeat
	id    string // of the request, as encoded
	sent  bool   // whole request written; known for processes only
}

// dial connects and performs the handshake. If it fails, everything it started has been stopped.
func (d *dialer) dial(ctx context.Context) (*conn, error) {
	c, err := d.dialWith(ctx, preferredVersion)
	if refused := answer(err); refused != nil && (refused.Code == sdk.CodeUnsupportedProtocolVersion ||
		refused.Code == codeMethodNotFound) {
		return d.dialWith(ctx, "")
	}
	return c, err
}

const codeMethodNotFound = -32601

func (d *dialer) dialWith(ctx context.Context, version string) (*conn, error) {
	c := &conn{dead: make(chan struct{}), grace: d.cfg.CloseGrace, calls: map[string]*inFlight{}}
	transport, err := d.transport(ctx, c)
	if err != nil {
		return nil, err
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "hocket", Version: d.cfg.Version}, &sdk.ClientOptions{
		Logger:       d.cfg.Logger,
		Capabilities: &sdk.ClientCapabilities{}, // no roots, no sampling, no elicitation
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			c.stale.Store(true)
		},
		ProgressNotificationHandler: func(_ context.Context, req *sdk.ProgressNotificationClientRequest) {
			c.alive(fmt.Sprint(req.Params.ProgressToken))
		},
	})
	// The SDK's Connect does not always return when ctx is done: it may be blocked writing to a
	// server that does not read.
	unwatch := context.AfterFunc(ctx, c.kill)
	// A connection serves many calls, so it belongs to no single call's trace.
	sess, err := client.Connect(tracecontext.Outgoing(ctx, tracecontext.SpanContext{}), transport,
		&sdk.ClientSessionOptions{ProtocolVersion: version})
	if !unwatch() && err == nil {
		err = context.Cause(ctx)
		_ = sess.Close()
	}
	if err != nil {
		return nil, d.abort(ctx, c, err)
	}
	c.sess = sess
	go func() {
		_ = sess.Wait()
		close(c.dead)
	}()
	return c, nil
}

// transport starts the process or prepares the HTTP client, and sets c.kill.
func (d *dialer) transport(ctx context.Context, c *conn) (sdk.Transport, error) {
	if d.endpoint != nil {
		life, cancel := context.WithCancel(context.Background())
		c.http = &scoped{ctx: life, origin: origin(d.endpoint), headers: d.headers,
			listenWait: d.cfg.ConnectTimeout / 6, conn: c}
		t := &capture{Transport: &sdk.StreamableClientTransport{
			Endpoint:     d.endpoint.String(),
			HTTPClient:   scopedClient(d.cfg.HTTPClient, c.http),
			MaxEventSize: -1, // package mcp limits events itself
		}}
		c.kill = func() {
			cancel() // first, so that closing waits for nothing it sends
			t.close()
		}
		return t, nil
	}
	proc, err := process.Start(ctx, d.argv, d.dir, d.env, d.cfg.Logger, func(line string) {
		d.cfg.Logger.Debug("mcp server", "toolset", d.name, "stderr", d.red.Text(line))
	})
	if err != nil {
		return nil, fmt.Errorf("start %q: %w", d.argv[0], err)
	}
	c.proc = proc
	c.kill = sync.OnceFunc(proc.Kill)
	noise := func(line string) {
		proc.Note(line)
		d.cfg.Logger.Debug("mcp server", "toolset", d.name, "stdout", d.red.Text(line))
	}
	r := reader{isCall: c.isCall}
	return &sdk.IOTransport{Reader: process.Messages(proc.Stdout, jsontext.Filter{
		Max: maxMessageBytes,
		Message: func(m []byte, size int64) []byte {
			messages := r.read(m, size)
			if len(messages) == 0 {
				noise(shorten(string(m)))
			}
			return bytes.Join(messages, []byte("\n"))
		},
		Line: noise,
	}), Writer: c, MaxLineLength: -1}, nil // the filter limits messages
}

// capture is a transport whose connection can be closed directly, bypassing the session, which
// would wait for its calls.
type capture struct {
	sdk.Transport
	mu   sync.Mutex
	conn sdk.Connection
}

func (t *capture) Connect(ctx context.Context) (sdk.Connection, error) {
	conn, err := t.Transport.Connect(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.conn = conn
	return conn, err
}

func (t *capture) close() {
	t.mu.Lock()
	conn := t.conn
	t.mu.Unlock()
	if conn != nil {
		_ = conn.Close()
	}
}

// abort stops what dialWith started and returns an error that says why it failed, including the
// last output of a server that exited by itself.
func (d *dialer) abort(ctx context.Context, c *conn, err error) error {
	if c.proc == nil {
		err = d.noServer(ctx, c, err)
		c.kill()
		return err
	}
	if ctx.Err() != nil {
		c.kill()
	}
	_ = c.proc.Stop(c.grace)
	words := d.red.Text(c.proc.StderrTail())
	switch {
	case answer(err) != nil:
		return err
	case ctx.Err() != nil && words != "":
		return fmt.Errorf("%w; the server said: %s", err, words)
	case ctx.Err() != nil:
		return err
	}
	return fmt.Errorf("the server %s: %w", c.proc.ExitMessage(d.red), err)
}

// isDead reports whether the session has ended or is no longer usable.
func (c *conn) isDead() bool {
	if c.broken.Load() {
		return true
	}
	select {
	case <-c.dead:
		return true
	default:
		return false
	}
}

// end closes the session and the process. It returns when both have ended, at the latest after a
// few multiples of the grace period.
func (c *conn) end() error {
	closed := make(chan struct{})
	go func() {
		_ = c.sess.Close() // a session that fails to close has ended as well
		close(closed)
	}()
	t := time.NewTimer(c.grace)
	defer t.Stop()
	select {
	case <-closed:
	case <-t.C:
		c.kill() // makes Close return
		select {
		case <-closed:
		case <-time.After(c.grace):
			return errors.New("session did not end")
		}
	}
	if c.proc != nil {
		return c.proc.Stop(c.grace)
	}
	c.kill()
	return nil
}

// watch registers a call and returns its progress token.
func (c *conn) watch(alive func()) (token string) {
	token = "call-" + strconv.FormatInt(c.token.Add(1), 10)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[token] = &inFlight{alive: alive}
	return token
}

// unwatch removes a call and reports whether its request may have reached the server.
func (c *conn) unwatch(token string) (sent bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	call := c.calls[token]
	delete(c.calls, token)
	return c.proc == nil || call.sent
}

func (c *conn) alive(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if call := c.calls[token]; call != nil {
		call.alive()
	}
}

// Write forwards a message to the process and records which call it belonged to. When a connection
// breaks, the SDK fails calls with the same error whether or not they were written before, and only
// those that were not written may be retried over another connection.
func (c *conn) Write(line []byte) (int, error) {
	id := c.begin(line)
	n, err := c.proc.Stdin.Write(line)
	if err != nil {
		return n, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call := range c.calls {
		call.sent = call.sent || id != "" && call.id == id
	}
	return n, nil
}

// begin records the id of the call that a message makes, if it makes one, and returns the id of
// the request that the message is, as encoded; "" if it is no request.
func (c *conn) begin(message []byte) (id string) {
	var m struct {
		envelope
		Params struct {
			Meta struct {
				ProgressToken any `json:"progressToken"`
			} `json:"_meta"`
		} `json:"params"`
	}
	if json.Unmarshal(message, &m) != nil || m.Method == nil || !m.hasID() {
		return ""
	}
	if string(m.Method) == `"`+methodCall+`"` {
		c.mu.Lock()
		defer c.mu.Unlock()
		if call := c.calls[fmt.Sprint(m.Params.Meta.ProgressToken)]; call != nil {
			call.id = string(m.ID)
		}
	}
	return string(m.ID)
}

// isCall reports whether the request with the given id, as encoded, is a call that waits.
func (c *conn) isCall(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call := range c.calls {
		if call.id == id {
			return true
		}
	}
	return false
}

// Close closes the process's input.
func (c *conn) Close() error { return c.proc.Stdin.Close() }

// do makes a request and returns when ctx is done, even if the server does not read what it is
// sent.
func do[R any](ctx context.Context, c *conn, request func(context.Context) (R, error)) (R, error) {
	type outcome struct {
		res R
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		res, err := request(ctx)
		done <- outcome{res, err}
	}()
	select {
	case o := <-done:
		return o.res, o.err
	case <-ctx.Done():
	}
	// The SDK now returns and notifies the server, unless it is blocked writing to a full pipe that
	// nobody reads. Such a server is no longer usable.
	t := time.NewTimer(c.grace)
	defer t.Stop()
	select {
	case o := <-done:
		return o.res, o.err
	case <-t.C:
		c.kill()
		o := <-done
		return o.res, o.err
	}
}

// environment returns the environment of a server: the inherited variables and those that the spec
// names, which take precedence.
func environment(e *refs.Expander, environ []string, vars map[string]string) ([]string, error) {
	out := process.Inherited(environ)
	for name, text := range vars {
		value, err := e.Named(name, text, false)
		if err != nil {
			return nil, fmt.Errorf("env %s: %w", name, err)
		}
		out[name] = value
	}
	return process.Environ(out), nil
}
