package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/process"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/refs"
)

// Limits of what one server may list. A server that exceeds them is broken or hostile.
const (
	maxPages       = 100
	maxTools       = 1000
	maxSchemaBytes = 256 << 10
)

var (
	errConnectTimeout = errors.New("connect timeout")
	errIdleTimeout    = errors.New("idle timeout")
)

// Toolset holds the tools of one server. It implements [tool.Toolset] and [tool.Instructor]. It
// connects on first use and, if the connection breaks, again on next use.
type Toolset struct {
	dial dialer
	cfg  Config
	red  process.Redactor
	// trusted is set if the server's annotations determine how calls of unknown outcome are
	// handled.
	trusted bool

	// life is cancelled by Close; every wait also ends with it.
	life   context.Context
	end    context.CancelFunc
	gate   chan struct{} // one token; its holder may connect and list
	closed chan struct{} // closed when Close has finished
	once   sync.Once
	err    error // result of Close

	mu           sync.Mutex
	conn         *conn
	tools        []tool.Tool
	listed       bool // tools were listed by conn
	everListed   bool
	instructions string
}

// New checks spec and resolves its references; it starts nothing. It returns a *tool.UntrustedError
// for an untrusted command, and a *tool.Error of kind not_supported for a catalog reference,
// another transport, or a remote server if there is no client to reach it.
func New(cfg Config, spec tool.Spec) (*Toolset, error) {
	cfg = cfg.withDefaults(spec)
	name := spec.Title()
	exp := &refs.Expander{Lookup: cfg.Lookup}
	d := dialer{name: name, cfg: cfg, dir: spec.Dir}
	var err error
	switch {
	case strings.HasPrefix(spec.Ref, "docker:"):
		return nil, tool.Errorf(tool.KindUnsupported, name,
			"toolset %q needs the Docker catalog (%s), which is not supported", name, spec.Ref)
	case spec.Ref != "" && spec.Command == "" && spec.Remote == nil:
		return nil, tool.Errorf(tool.KindFailed, name, "toolset %q refers to an unknown definition %q", name, spec.Ref)
	case spec.Remote != nil:
		err = d.prepareRemote(exp, *spec.Remote)
	case spec.Command == "":
		return nil, tool.Errorf(tool.KindFailed, name, "toolset %q has neither a command nor a remote", name)
	case !spec.Trusted:
		return nil, &tool.UntrustedError{Toolset: name, Command: spec.Argv()}
	default:
		d.argv = append([]string{spec.Command}, spec.Args...)
		d.env, err = environment(exp, cfg.Environ(), spec.Env)
	}
	if err != nil {
		if _, ok := errors.AsType[*tool.Error](err); ok {
			return nil, err
		}
		return nil, tool.Errorf(tool.KindFailed, name, "toolset %q: %w", name, err)
	}
	d.red = exp.Redactor()
	ts := &Toolset{dial: d, cfg: cfg, red: d.red, trusted: spec.Trusted, gate: make(chan struct{}, 1),
		closed: make(chan struct{})}
	ts.life, ts.end = context.WithCancel(context.Background())
	return ts, nil
}

func (d *dialer) prepareRemote(exp *refs.Expander, r tool.Remote) error {
	switch r.Transport {
	case "", "streamable", "streamable-http", "streamable_http", "http":
	default:
		return tool.Errorf(tool.KindUnsupported, d.name,
			"toolset %q: transport %q is not supported; use streamable HTTP", d.name, r.Transport)
	}
	if d.cfg.HTTPClient == nil {
		return tool.Errorf(tool.KindUnsupported, d.name,
			"toolset %q is remote, and remote servers are not allowed here", d.name)
	}
	text, err := exp.Expand(r.URL, true)
	if err != nil {
		return fmt.Errorf("url: %w", err)
	}
	d.endpoint, err = url.Parse(text)
	if err != nil || (d.endpoint.Scheme != "http" && d.endpoint.Scheme != "https") || d.endpoint.Host == "" {
		// as written: the expanded URL may hold a secret
		return fmt.Errorf("url %q is not an absolute http or https URL", r.URL)
	}
	d.headers = map[string]string{}
	for name, value := range r.Headers {
		if d.headers[name], err = exp.Named(name, value, true); err != nil {
			return fmt.Errorf("header %s: %w", name, err)
		}
	}
	return nil
}

// Name implements tool.Toolset.
func (ts *Toolset) Name() string { return ts.dial.name }

// Instructions returns the server's own instructions for its use.
func (ts *Toolset) Instructions() string {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.instructions
}

// Tools implements tool.Toolset.
func (ts *Toolset) Tools(ctx context.Context) ([]tool.Tool, error) {
	_, tools, err := ts.ready(ctx)
	return tools, err
}

// Close closes the connection and stops the server. Calls in flight fail with ErrClosed.
func (ts *Toolset) Close() error {
	ts.once.Do(func() {
		ts.end()
		ts.gate <- struct{}{} // a connection attempt aborts now; never released
		ts.mu.Lock()
		c := ts.conn
		ts.conn = nil
		ts.mu.Unlock()
		if c != nil {
			ts.err = c.end()
		}
		if ts.cfg.HTTPClient != nil {
			ts.cfg.HTTPClient.CloseIdleConnections()
		}
		close(ts.closed)
	})
	<-ts.closed
	return ts.err
}

// ready returns a live connection and its tools, connecting and listing if necessary.
func (ts *Toolset) ready(ctx context.Context) (*conn, []tool.Tool, error) {
	if c, tools := ts.live(); c != nil {
		return c, tools, nil
	}
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	select {
	case <-ts.life.Done():
		return nil, nil, tool.ErrClosed
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	case ts.gate <- struct{}{}:
	}
	defer func() { <-ts.gate }()
	if c, tools := ts.live(); c != nil {
		return c, tools, nil
	}
	ctx, cancel := ts.join(ctx)
	defer cancel(nil)
	limit := time.AfterFunc(ts.cfg.ConnectTimeout, func() { cancel(errConnectTimeout) })
	defer limit.Stop()
	c, tools, err := ts.connect(ctx)
	if err != nil {
		return nil, nil, ts.openError(ctx, err)
	}
	return c, tools, nil
}

// live returns the connection and its tools if the connection can be used as it is.
func (ts *Toolset) live() (*conn, []tool.Tool) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.life.Err() != nil || ts.conn == nil || ts.conn.isDead() || !ts.listed || ts.conn.stale.Load() {
		return nil, nil
	}
	return ts.conn, ts.tools
}

// join returns a context that ends with ctx and with the toolset.
func (ts *Toolset) join(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(ts.life, func() { cancel(tool.ErrClosed) })
	return ctx, func(cause error) {
		stop()
		cancel(cause)
	}
}

// connect establishes the connection, unless it is alive, and lists the tools. The caller holds the
// gate.
func (ts *Toolset) connect(ctx context.Context) (*conn, []tool.Tool, error) {
	ts.mu.Lock()
	c, again := ts.conn, ts.everListed
	ts.mu.Unlock()
	if c != nil && c.isDead() {
		_ = c.end() // reaps the process
		c = nil
	}
	reused := c != nil
	if c == nil {
		if again {
			if err := sleep(ctx, ts.cfg.ReconnectDelay); err != nil {
				return nil, nil, err
			}
		}
		var err error
		if c, err = ts.dial.dial(ctx); err != nil {
			return nil, nil, err
		}
		ts.mu.Lock()
		ts.conn, ts.listed = c, false
		ts.mu.Unlock()
	}
	c.stale.Store(false) // before listing, so as not to miss a change
	tools, err := ts.list(ctx, c)
	if err != nil && reused && ctx.Err() == nil && unsent(err) && !refused(err) {
		c.broken.Store(true) // the server announced a change, then lost the session
		return ts.connect(ctx)
	}
	if err != nil {
		return nil, nil, err
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.tools, ts.listed = tools, true
	if !ts.everListed {
		ts.everListed = true
		ts.instructions = c.sess.InitializeResult().Instructions
	}
	return c, tools, nil
}

// list reads all pages.
func (ts *Toolset) list(ctx context.Context, c *conn) ([]tool.Tool, error) {
	var out []tool.Tool
	params := &sdk.ListToolsParams{}
	seen := map[string]bool{}
	for range maxPages {
		page, err := do(ctx, c, func(ctx context.Context) (*sdk.ListToolsResult, error) {
			return c.sess.ListTools(ctx, params)
		})
		if he, ok := errors.AsType[*httpError](err); ok {
			return nil, fmt.Errorf("list tools: the server answered with %w", he)
		}
		if err != nil {
			return nil, fmt.Errorf("list tools: %w", err)
		}
		for _, t := range page.Tools {
			if t == nil || t.Name == "" || seen[t.Name] {
				continue
			}
			seen[t.Name] = true
			schema, err := json.Marshal(t.InputSchema)
			if err != nil || len(schema) > maxSchemaBytes {
				ts.cfg.Logger.Warn("tool left out: its schema cannot be used", "toolset", ts.Name(), "tool", t.Name,
					"bytes", len(schema))
				continue
			}
			if string(schema) == "null" {
				schema = nil
			}
			out = append(out, ts.newTool(t, schema))
			if len(out) > maxTools {
				return nil, fmt.Errorf("list tools: the server lists more than %d tools", maxTools)
			}
		}
		if page.NextCursor == "" {
			return out, nil
		}
		if page.NextCursor == params.Cursor {
			return nil, errors.New("list tools: the server returned the same page cursor twice")
		}
		params = &sdk.ListToolsParams{Cursor: page.NextCursor}
	}
	return nil, fmt.Errorf("list tools: the server's list has more than %d pages", maxPages)
}

func (ts *Toolset) newTool(t *sdk.Tool, schema json.RawMessage) *remoteTool {
	r := &remoteTool{set: ts, policy: tool.PolicyAsk}
	r.def = chat.ToolDef{Name: t.Name, Description: ts.red.Text(t.Description), Parameters: ts.red.JSON(schema)}
	if r.def.Description == "" {
		r.def.Description = t.Title
	}
	if a := t.Annotations; a != nil {
		r.reads = a.ReadOnlyHint
		if ts.trusted && (a.ReadOnlyHint || a.IdempotentHint) {
			r.policy = tool.PolicyRetry
		}
	}
	r.hash = tool.Hash(r.def, r.policy)
	return r
}

// openError converts a failure to connect or list into a *tool.Error.
func (ts *Toolset) openError(ctx context.Context, err error) error {
	kind := tool.KindNetwork
	if ts.dial.endpoint == nil || answer(err) != nil {
		kind = tool.KindFailed
	}
	err = ts.red.Error(plain(err))
	name := ts.Name()
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, tool.ErrClosed):
		return tool.ErrClosed
	case errors.Is(cause, errConnectTimeout):
		return tool.Errorf(tool.KindTimeout, name, "toolset %q did not answer within %s: %w", name,
			ts.cfg.ConnectTimeout, err)
	case cause != nil:
		return fmt.Errorf("connect toolset %q: %w", name, cause)
	}
	return tool.Errorf(kind, name, "connect toolset %q: %w", name, err)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// find returns the tool with the given name, or nil.
func find(tools []tool.Tool, name string) *remoteTool {
	i := slices.IndexFunc(tools, func(t tool.Tool) bool { return t.Def().Name == name })
	if i < 0 {
		return nil
	}
	return tools[i].(*remoteTool)
}
