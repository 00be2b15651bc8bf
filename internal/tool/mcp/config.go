package mcp

import (
	"cmp"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/hocket-run/hocket/internal/tool"
)

// Config holds the settings shared by all MCP toolsets of a process. The zero Config is sufficient
// for commands that refer to no variables.
type Config struct {
	// HTTPClient is used for remote servers; nil disables them. Its Timeout is not used, because
	// streams stay open; the limits below apply instead. Closing a toolset closes the client's idle
	// connections.
	HTTPClient *http.Client
	// Lookup returns the values of the references in a spec (${NAME}, ${env.NAME}, $NAME, and
	// ${file:PATH} as file:PATH); if it is nil, no reference has a value. Only names that a spec
	// refers to are looked up.
	Lookup func(name string) (string, bool)
	// Environ returns the environment of the process, from which a server gets a few harmless
	// variables. If nil, os.Environ is used.
	Environ func() []string
	// Version is the client version that is sent to servers; empty means "dev".
	Version string
	// ConnectTimeout limits starting a server, the handshake and listing the tools; 0 means 30 s.
	// IdleTimeout limits how long a call may go without a heartbeat (its response or a progress
	// notification); 0 means 5 minutes. A spec may override both. The total time of a call is
	// limited by the Set.
	ConnectTimeout time.Duration
	IdleTimeout    time.Duration
	// ReconnectDelay is the delay before a broken connection is re-established; 0 means 500 ms.
	ReconnectDelay time.Duration
	// CloseGrace is how long each of the three ways of stopping a server (closing its input,
	// SIGTERM, SIGKILL) is given before the next; 0 means 1 s.
	CloseGrace time.Duration
	// Logger receives what servers write to standard error, at debug level; if nil, it is
	// discarded.
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

// Type returns the tool type that opens toolsets of type `mcp`.
func Type(cfg Config) tool.Type {
	return tool.Type{Open: func(spec tool.Spec) (tool.Toolset, error) { return New(cfg, spec) }}
}
