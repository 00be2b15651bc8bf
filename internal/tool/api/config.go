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

// What a document and a server may make large (SEC17).
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

// documentTimeout bounds fetching an OpenAPI document (P11).
const documentTimeout = 30 * time.Second

// Config is what all such toolsets of a process have in common. HTTP is required.
type Config struct {
	// HTTP gives the client of one toolset, a guarded one (SEC8).
	HTTP func(spec tool.Spec) *http.Client
	// Lookup gives the lookup for the references in a spec; nil, or a nil lookup: none has a value. Only trusted specs should get one (SEC11).
	Lookup func(spec tool.Spec) func(name string) (string, bool)
	// ReadFile reads the file of a trusted spec's OpenAPI document; nil: files are not supported. limit is the most that it gives: more is an error.
	ReadFile func(spec tool.Spec, path string, limit int) ([]byte, error)
	// Logger gets the operations that are left out; nil: dropped.
	Logger *slog.Logger
}

// Type opens toolsets of type `api`, OpenAPI those of type `openapi`.
func Type(cfg Config) tool.Type {
	return tool.Type{Open: func(spec tool.Spec) (tool.Toolset, error) { return New(cfg, spec) }}
}

// OpenAPI opens toolsets of type `openapi`.
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

// base is what both toolsets are made of: how they ask, and what they send along.
type base struct {
	name   string
	client *exchange.Client
	// headers and query go along with requests to origin and to nowhere else.
	headers http.Header
	query   []pair
	origin  string
	red     process.Redactor
}

func (b *base) Name() string { return b.name }

func (b *base) Close() error { return b.client.Close() }

// alive tells whether listing may go on.
func (b *base) alive(ctx context.Context) error {
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

// reserved are headers that belong to the connection.
var reserved = map[string]bool{"host": true, "content-length": true, "transfer-encoding": true, "connection": true, "upgrade": true, "te": true, "trailer": true}

func isHeaderName(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r)
	}) < 0
}

func isHeaderValue(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) < 0
}

// originOf tells what credentials are bound to.
func originOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return strings.ToLower(u.Scheme + "://" + u.Hostname() + ":" + port)
}
