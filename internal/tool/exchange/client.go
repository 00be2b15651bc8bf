package exchange

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hocket-run/hocket/internal/outbound"
	"github.com/hocket-run/hocket/internal/process"
	"github.com/hocket-run/hocket/internal/tool"
)

// Defaults.
const (
	DefaultTotal    = 30 * time.Second
	DefaultIdle     = 30 * time.Second
	DefaultMaxBytes = 5 << 20
)

// closeWait limits how long Close waits for exchanges that were told to stop (P11).
const closeWait = 4 * time.Second

var (
	errIdle  = errors.New("idle timeout")
	errTotal = errors.New("incomplete response")
)

// Config configures how a toolset uses HTTP. HTTP is required.
type Config struct {
	// HTTP checks addresses (SEC8). Its Timeout is not used. Close closes its idle connections.
	HTTP *http.Client
	// Judge returns an error with the reason for each target that is not allowed, the first one and
	// those of redirects; nil allows all. Judge cannot know where an address leads; the HTTP client
	// checks that.
	Judge func(*url.URL) error
	// Total limits one exchange, Idle the time in which nothing arrives (P11); 0 means 30 s each.
	Total, Idle time.Duration
	// MaxBytes limits what is read of a body, after decompression (SEC17); 0 means 5 MiB.
	MaxBytes int
	// Redactor removes the toolset's secrets from errors (SEC11).
	Redactor process.Redactor
}

// Client makes exchanges. It is safe for concurrent use.
type Client struct {
	cfg  Config
	http *http.Client

	life context.Context
	end  context.CancelFunc

	mu     sync.Mutex
	closed bool
	busy   sync.WaitGroup
}

// Answer is a server's response.
type Answer struct {
	// URL is where the response came from, after redirects.
	URL    *url.URL
	Status int
	Header http.Header
	Body   []byte
	// Cut reports whether the body is longer than Body; Length is the length that the server
	// announced, or -1 if it announced none.
	Cut    bool
	Length int64
}

// New returns a Client. The caller must close it.
func New(cfg Config) *Client {
	cfg.Total, cfg.Idle = cmp.Or(cfg.Total, DefaultTotal), cmp.Or(cfg.Idle, DefaultIdle)
	cfg.MaxBytes = cmp.Or(cfg.MaxBytes, DefaultMaxBytes)
	c := &Client{cfg: cfg}
	c.life, c.end = context.WithCancel(context.Background())
	client := *cfg.HTTP
	client.Timeout = 0
	before := client.CheckRedirect
	client.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if before != nil {
			if err := before(req, via); err != nil {
				return err
			}
		}
		return c.checkRedirect(req, via)
	}
	c.http = &client
	return c
}

// checkRedirect checks a redirect. The contents of a writing request are only for the host that it
// was sent to; only reading requests follow redirects elsewhere.
func (c *Client) checkRedirect(req *http.Request, via []*http.Request) error {
	if first := via[0]; !reads(req.Method) && !strings.EqualFold(first.URL.Host, req.URL.Host) {
		return fmt.Errorf("%w: a redirect of a %s to another host (%s)", outbound.ErrRefused, req.Method, req.URL.Host)
	}
	if err := c.judge(req.URL); err != nil {
		return err
	}
	if hides, ok := req.Context().Value(hidesKey{}).(func(*url.URL) bool); ok && hides(req.URL) {
		return fmt.Errorf("%w: a redirect to %s, which the permissions of this run deny", outbound.ErrRefused,
			req.URL.Host)
	}
	return nil
}

type hidesKey struct{}

// Hiding returns a context for exchanges that follow no redirect to an address for which hides
// returns true.
func Hiding(ctx context.Context, hides func(*url.URL) bool) context.Context {
	return context.WithValue(ctx, hidesKey{}, hides)
}

func (c *Client) judge(u *url.URL) error {
	if c.cfg.Judge == nil {
		return nil
	}
	return c.cfg.Judge(u)
}

func reads(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// Closed reports whether Close was called.
func (c *Client) Closed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// Close ends exchanges in flight and waits for them. It is idempotent.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.end()
	done := make(chan struct{})
	go func() { c.busy.Wait(); close(done) }()
	late := time.NewTimer(closeWait)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
		return errors.New("requests did not end in time")
	}
	c.http.CloseIdleConnections()
	return nil
}

// Do sends req with ctx, whatever the request's own context, and reads the response. A response
// with any status is returned as an Answer.
//
// Errors are tool.ErrClosed; one that wraps the cause of ctx; otherwise a *tool.Error without a
// Tool: timeout, network, or failed with outbound.ErrRefused in its chain for a target that may not
// be reached. OutcomeUnknown is set if the request was sent, unless it only reads.
func (c *Client) Do(ctx context.Context, req *http.Request) (*Answer, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, tool.ErrClosed
	}
	c.busy.Add(1)
	c.mu.Unlock()
	defer c.busy.Done()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("request to %s: %w", req.URL.Host, context.Cause(ctx))
	}
	if err := c.judge(req.URL); err != nil {
		return nil, c.failure(req, err)
	}
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.life, func() { cancel(tool.ErrClosed) })()
	total := time.AfterFunc(c.cfg.Total, func() { cancel(errTotal) })
	defer total.Stop()
	idle := time.AfterFunc(c.cfg.Idle, func() { cancel(errIdle) })
	defer idle.Stop()
	var sent atomic.Bool
	traced := httptrace.WithClientTrace(inner, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})

	a, err := c.exchange(req.WithContext(traced), idle)
	if err == nil {
		return a, nil
	}
	unknown := sent.Load() && !reads(req.Method)
	switch cause := context.Cause(inner); {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("request to %s: %w", req.URL.Host, context.Cause(ctx))
	case errors.Is(cause, tool.ErrClosed):
		return nil, tool.ErrClosed
	case errors.Is(cause, errTotal):
		return nil, late(unknown, "%s did not send a complete response within %s", req.URL.Host, c.cfg.Total)
	case errors.Is(cause, errIdle):
		return nil, late(unknown, "%s sent no data for %s", req.URL.Host, c.cfg.Idle)
	}
	e := c.failure(req, err)
	e.OutcomeUnknown = unknown && !errors.Is(err, outbound.ErrRefused)
	return nil, e
}

func late(unknown bool, format string, args ...any) error {
	e := tool.Errorf(tool.KindTimeout, "", format, args...)
	e.OutcomeUnknown = unknown
	return e
}

// failure converts the reason why a request was not answered to a *tool.Error.
func (c *Client) failure(req *http.Request, err error) *tool.Error {
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err // its text contains the whole address
	}
	if errors.Is(err, outbound.ErrRefused) {
		// The chain is kept; its text is Hocket's own and names hosts only.
		return tool.Errorf(tool.KindFailed, "", "request to %s was not sent: %w", req.URL.Host, err)
	}
	return tool.Errorf(tool.KindNetwork, "", "no response from %s: %w", req.URL.Host, c.cfg.Redactor.Error(err))
}

func (c *Client) exchange(req *http.Request, idle *time.Timer) (*Answer, error) {
	resp, err := c.http.Do(req) //nolint:gosec // the client checks where every request goes (SEC8)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	idle.Reset(c.cfg.Idle)
	body, err := io.ReadAll(io.LimitReader(&idleReader{resp.Body, idle, c.cfg.Idle}, int64(c.cfg.MaxBytes)+1))
	if err != nil {
		return nil, fmt.Errorf("read the response: %w", err)
	}
	a := &Answer{URL: resp.Request.URL, Status: resp.StatusCode, Header: resp.Header, Body: body,
		Length: resp.ContentLength}
	if len(body) > c.cfg.MaxBytes {
		a.Body, a.Cut = body[:c.cfg.MaxBytes], true
	}
	return a, nil
}

// idleReader resets the idle timer at each read.
type idleReader struct {
	r     io.Reader
	timer *time.Timer
	wait  time.Duration
}

func (b *idleReader) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if n > 0 {
		b.timer.Reset(b.wait)
	}
	return n, err
}
