package mcp

import (
	"cmp"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/hocket-run/hocket/internal/tool"
)

// Config is what all MCP toolsets of a process have in common. The zero Config is enough for commands that refer to no variables.
type Config struct {
	// HTTPClient reaches remote servers; nil refuses them. Its Timeout is not used, because streams stay open: the limits below hold instead. A
	// toolset that is closed closes the client's idle connections.
	HTTPClient *http.Client
	// Lookup gives the values of the references in a spec (${NAME}, ${env.NAME}, $NAME, and ${file:PATH} as file:PATH); nil: none has a value. Only what a spec names is looked up.
	Lookup func(name string) (string, bool)
	// Environ gives our environment, of which a server gets a few harmless variables; nil: os.Environ.
	Environ func() []string
	// Version is the version of the client that servers are sent; "": "dev".
	Version string
	// ConnectTimeout bounds starting, greeting and listing; 0: 30 s. IdleTimeout bounds how long a call may show no sign of life (its answer or a
	// progress notification); 0: 5 minutes. A spec may say otherwise. The total of a call is the Set's matter.
	ConnectTimeout time.Duration
	IdleTimeout    time.Duration
	// ReconnectDelay is waited before a broken connection is made anew; 0: 500 ms.
	ReconnectDelay time.Duration
	// CloseGrace is given to each of the three ways of ending a server (closed input, SIGTERM, SIGKILL) before the next; 0: 1 s.
	CloseGrace time.Duration
	// Logger gets what servers write to standard error, at debug level; nil: dropped.
	Logger *slog.Logger
}

const (
	defaultConnectTimeout = 30 * time.Second
	defaultIdleTimeout    = 5 * time.Minute
	defaultReconnectDelay = 500 * time.Millisecond
	defaultCloseGrace     = time.Second
)

func (c Config) withDefaults(spec tool.Spec) Config {
	c.ConnectTimeout = cmp.Or(spec.ConnectTimeout, c.ConnectTimeout, defaultConnectTimeout)
	c.IdleTimeout = cmp.Or(spec.IdleTimeout, c.IdleTimeout, defaultIdleTimeout)
	c.ReconnectDelay = cmp.Or(c.ReconnectDelay, defaultReconnectDelay)
	c.CloseGrace = cmp.Or(c.CloseGrace, defaultCloseGrace)
	c.Version = cmp.Or(c.Version, "dev")
	if c.Lookup == nil {
		c.Lookup = func(string) (string, bool) { return "", false }
	}
	if c.Environ == nil {
		c.Environ = os.Environ
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Type opens toolsets of type `mcp`.
func Type(cfg Config) tool.Type {
	return tool.Type{Open: func(spec tool.Spec) (tool.Toolset, error) { return New(cfg, spec) }}
}
