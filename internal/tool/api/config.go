package api

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/process"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/exchange"
	"github.com/hocket-run/hocket/internal/tool/refs"
)

// Limits on sizes that a document or a server determines (SEC17).
const (
	maxAnswerBytes   = 1 << 20
	maxTextBytes     = 100_000
	maxErrorBytes    = 4_000
	maxStructured    = 64 << 10
	maxDocumentBytes = 16 << 20
	maxDocumentNodes = 2_000_000
	maxDepth         = 100
	maxOperations    = 512
	maxSchemaNodes   = 2_000
	maxSchemaBytes   = 256 << 10
	maxDescription   = 1_000
	maxNameLen       = 64
)

// documentTimeout limits the time to fetch an OpenAPI document (P11).
const documentTimeout = 30 * time.Second

// Config is the configuration that all toolsets of these types in a process share. HTTP is
// required.
type Config struct {
	// HTTP returns the client of one toolset, a guarded one (SEC8).
	HTTP func(spec tool.Spec) *http.Client
	// Lookup returns the lookup for the references in a spec. If Lookup or its result is nil, no
	// reference has a value. Only trusted specs should get one (SEC11).
	Lookup func(spec tool.Spec) func(name string) (string, bool)
	// ReadFile reads the file of a trusted spec's OpenAPI document; if nil, files are not
	// supported. limit is the maximum size: a larger file is an error.
	ReadFile func(spec tool.Spec, path string, limit int) ([]byte, error)
	// Decode converts the body of a text answer to UTF-8, as fetch.Pages does; if nil, answers are
	// UTF-8.
	Decode func(body []byte, contentType string) string
	// Logger receives the operations that are left out; if nil, they are dropped.
	Logger *slog.Logger
}

// Type returns the type `api` of toolsets.
func Type(cfg Config) tool.Type {
	return tool.Type{Open: func(spec tool.Spec) (tool.Toolset, error) { return New(cfg, spec) }}
}

// OpenAPI returns the type `openapi` of toolsets.
func OpenAPI(cfg Config) tool.Type {
	return tool.Type{Open: func(spec tool.Spec) (tool.Toolset, error) { return NewOpenAPI(cfg, spec) }}
}

func (c Config) expander(spec tool.Spec) *refs.Expander {
	e := &refs.Expander{}
	if c.Lookup != nil {
		e.Lookup = c.Lookup(spec)
	}
	return e
}

// base is what both kinds of toolsets share: how they make requests, and what they send along.
type base struct {
	name   string
	client *exchange.Client
	// headers and query are sent with requests to origin and nowhere else.
	headers http.Header
	query   []pair
	origin  string
	red     process.Redactor
	decode  func(body []byte, contentType string) string // Config.Decode
}

func (b *base) Name() string { return b.name }

func (b *base) Close() error { return b.client.Close() }

// checkOpen returns an error if listing must stop: the toolset was closed, or ctx is done.
func (b *base) checkOpen(ctx context.Context) error {
	switch {
	case b.client.Closed():
		return tool.ErrClosed
	case ctx.Err() != nil:
		return fmt.Errorf("list tools of %q: %w", b.name, context.Cause(ctx))
	}
	return nil
}

// readHeaders expands and checks a spec's headers.
func readHeaders(exp *refs.Expander, headers map[string]string) (http.Header, error) {
	out := http.Header{}
	for name, text := range headers {
		if !isHeaderName(name) || reserved[strings.ToLower(name)] {
			return nil, fmt.Errorf("header %q cannot be set", name)
		}
		if strings.Contains(text, "${headers.") {
			return nil, fmt.Errorf("header %s refers to the headers of a request (%s), and runs have none", name, text)
		}
		value, err := exp.Named(name, text, strings.Contains(text, "$"))
		if err != nil {
			return nil, fmt.Errorf("header %s: %w", name, err)
		}
		if !isHeaderValue(value) {
			return nil, fmt.Errorf("header %s: its value has a line break or a control character", name)
		}
		out.Set(name, value)
	}
	return out, nil
}

// reserved lists headers that belong to the connection.
var reserved = map[string]bool{"host": true, "content-length": true, "transfer-encoding": true, "connection": true,
	"upgrade": true, "te": true, "trailer": true}

func isHeaderName(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r)
	}) < 0
}

func isHeaderValue(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) < 0
}

// originOf returns the origin to which credentials are bound.
func originOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return strings.ToLower(u.Scheme + "://" + u.Hostname() + ":" + port)
}
