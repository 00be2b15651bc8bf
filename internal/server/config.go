package server

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/scheduler"
	"github.com/hocket-run/hocket/internal/service"
)

// DefaultAddr is the default listen address.
const DefaultAddr = "127.0.0.1:7788"

// Defaults of limits (SEC17).
const (
	// DefaultBody is the maximum size of a request body: the largest document, plus what surrounds
	// it.
	DefaultBody = service.MaxDocumentBytes + 1<<20
	// DefaultGrace is how long requests in flight may take when the server shuts down.
	DefaultGrace = 10 * time.Second
	// DefaultDrain is how long calls of active runs may continue when a worker shuts down.
	DefaultDrain = 20 * time.Second
)

// Config configures a Server. The zero Config serves the default store.
type Config struct {
	// Service is the configuration of the services of all namespaces; its Kind is
	// journal.KindServe, or journal.KindWorker for OnlyWork. Logger, Keeper, Env and Operator also
	// apply to the server.
	Service service.Config
	// Addr is host:port; "" means the operator's setting, else DefaultAddr, and for OnlyWork none.
	// Port 0 picks a free port.
	Addr string
	// OnlyWork makes the process a worker: it drives runs, and has no endpoints except probes and
	// metrics, no schedules and no notifications.
	OnlyWork bool
	// Schedules configures the scheduler; NoSchedules leaves schedules to other processes.
	Schedules   service.ScheduleRequest
	NoSchedules bool
	// Report is called for each scheduler event, one at a time; nil means no reports.
	Report func(namespace string, e scheduler.Event)
	// URL is the address at which clients reach the server; "" means the operator's setting. Its
	// host is a known host.
	URL string
	// Hosts and Origins are known in addition to the server's own and the operator's: names,
	// `*.example.com`, and `https://app.example.com`.
	Hosts, Origins []string
	// TrustedProxies are addresses and networks of proxies that report their client in
	// X-Forwarded-For or Forwarded, in addition to the operator's.
	TrustedProxies []string
	// Cert and Key are the files of a certificate; if both are "", the operator's setting applies,
	// else plain HTTP.
	Cert, Key string
	// NoPage disables the page for browsers; so does the operator's `page: false`.
	NoPage bool
	// Metrics determines who may read the metrics: config.MetricsToken or config.MetricsPublic; ""
	// means the operator's setting, and without one config.MetricsToken.
	Metrics string
	// Body is the maximum size of a request body in bytes; 0 means the operator's setting, else
	// DefaultBody.
	Body int64
	// Limits limit who may connect, and the number of concurrent requests.
	Limits Limits
	// MCPWorkflows are the published workflows that are separate MCP tools, in addition to the
	// operator's; mcpserver.All alone means every workflow.
	MCPWorkflows []string
	// Grace is how long requests in flight are waited for when the server shuts down; 0 means the
	// operator's setting, else DefaultGrace. Delay is how long before that /readyz reports the
	// shutdown while requests are still accepted; 0 means the operator's setting, else no delay.
	Grace, Delay time.Duration
	// Drain is how long calls of active runs may continue when the process shuts down; 0 means the
	// operator's setting, else DefaultDrain for a worker and no time for a server.
	Drain time.Duration
}

func (c Config) withDefaults() Config {
	c.Service.Kind = journal.KindServe
	if c.OnlyWork {
		c.Service.Kind = journal.KindWorker
		c.NoSchedules = true
	}
	c.Service.Metrics = true
	if c.Service.Logger == nil {
		c.Service.Logger = slog.New(slog.DiscardHandler)
	}
	var op config.Server
	if c.Service.Operator != nil {
		op = c.Service.Operator.Server
	}
	if !c.OnlyWork {
		c.Addr = cmp.Or(c.Addr, op.Addr, DefaultAddr)
	}
	if c.Service.Place = cmp.Or(c.Service.Place, op.Place); c.Service.Place == "" && !c.Service.NoDrive {
		c.Service.Place = service.HostPlace()
	}
	c.URL = cmp.Or(c.URL, op.URL)
	c.Hosts = slices.Concat(c.Hosts, op.Hosts)
	c.Origins = slices.Concat(c.Origins, op.Origins)
	c.TrustedProxies = slices.Concat(c.TrustedProxies, op.TrustedProxies)
	if c.Cert == "" && c.Key == "" {
		c.Cert, c.Key = op.TLS.Cert, op.TLS.Key
	}
	c.NoPage = c.NoPage || op.Page != nil && !*op.Page
	c.Metrics = cmp.Or(c.Metrics, op.Metrics, config.MetricsToken)
	c.Body = cmp.Or(c.Body, op.Limits.Body, DefaultBody)
	l := op.Limits
	c.Limits.Failures = cmp.Or(c.Limits.Failures, l.Failures, DefaultFailures)
	c.Limits.Requests = cmp.Or(c.Limits.Requests, l.Requests, DefaultRequests)
	c.Limits.Connections = cmp.Or(c.Limits.Connections, l.Connections, DefaultConnections)
	c.Limits.BodyIdle = cmp.Or(c.Limits.BodyIdle, time.Duration(l.BodyIdle), DefaultBodyIdle)
	one := bodyWeight * c.Body // cost of the largest body
	if c.Limits.InFlight = cmp.Or(c.Limits.InFlight, l.InFlight); c.Limits.InFlight == 0 {
		c.Limits.InFlight = max(DefaultInFlight(), one)
	}
	if c.Limits.TokenInFlight = cmp.Or(c.Limits.TokenInFlight, l.TokenInFlight); c.Limits.TokenInFlight == 0 {
		c.Limits.TokenInFlight = min(max(c.Limits.InFlight/4, one), c.Limits.InFlight)
	}
	c.Limits.Streams = cmp.Or(c.Limits.Streams, l.Streams, DefaultStreams)
	c.Limits.NamespaceStreams = cmp.Or(c.Limits.NamespaceStreams, l.NamespaceStreams, max(1, c.Limits.Streams/2))
	c.Grace = cmp.Or(c.Grace, time.Duration(op.Shutdown.Grace), DefaultGrace)
	c.MCPWorkflows = slices.Concat(c.MCPWorkflows, op.MCP.Workflows)
	c.Delay = cmp.Or(c.Delay, time.Duration(op.Shutdown.Delay))
	if c.Drain = cmp.Or(c.Drain, time.Duration(op.Shutdown.Drain)); c.Drain == 0 && c.OnlyWork {
		c.Drain = DefaultDrain
	}
	return c
}

// Validate returns a *service.InvalidError if the configuration cannot be served.
func (c Config) Validate() error {
	if err := service.CheckPlace(c.Service.Place); err != nil {
		return err
	}
	if c.Addr != "" {
		if _, _, err := net.SplitHostPort(c.Addr); err != nil {
			return invalidSetting("addr", "the address %q is not host:port, such as %s", c.Addr, DefaultAddr)
		}
	}
	if c.URL != "" {
		if u, err := url.Parse(c.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" ||
			u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return invalidSetting("url", "the public address %q must be a full http or https URL", c.URL)
		}
	}
	for _, h := range c.Hosts {
		if !isHost(h) {
			return invalidSetting("hosts", "%q is not a host; write a name such as hocket.example.com or "+
				"*.example.com, without scheme and port", h)
		}
	}
	for _, o := range c.Origins {
		if u, err := url.Parse(o); err != nil || u.Host == "" || u.Scheme == "" || u.Scheme+"://"+u.Host != o {
			return invalidSetting("origins",
				"%q is not an origin; write scheme://host[:port], such as https://app.example.com", o)
		}
	}
	if (c.Cert == "") != (c.Key == "") {
		return invalidSetting("tls",
			"a certificate and its key must be given together (server: {tls: {cert: …, key: …}})")
	}
	l := c.Limits
	if min(c.Body, int64(c.Grace), int64(c.Delay), int64(c.Drain), l.InFlight, l.TokenInFlight,
		int64(l.BodyIdle)) < 0 || min(l.Failures, l.Requests, l.Connections, l.Streams, l.NamespaceStreams) < 0 {
		return invalidSetting("limits", "a limit of the server is negative")
	}
	switch one := bodyWeight * c.Body; {
	case l.InFlight < one:
		return invalidSetting("limits.inFlight", "the budget of %d bytes in flight (server: {limits: {inFlight: …}}) "+
			"is too small for one body: it must be at least twice the limit of a body, %d", l.InFlight, one)
	case l.TokenInFlight < one:
		return invalidSetting("limits.tokenInFlight",
			"a token's share of %d bytes in flight (server: {limits: {tokenInFlight: …}}) is too small for one body: "+
				"it must be at least twice the limit of a body, %d", l.TokenInFlight, one)
	}
	return nil
}

// invalidSetting describes the error in a setting, identified by its key in the server section of
// hocket.yaml.
func invalidSetting(setting, format string, args ...any) error {
	return service.Refuse(errcode.InvalidServerSetting, errcode.Fields{"setting": setting}, fmt.Errorf(format, args...))
}

// isHost reports whether a string is a host name, a wildcard for all names below one, or an
// address.
func isHost(h string) bool {
	if _, err := netip.ParseAddr(strings.Trim(h, "[]")); err == nil {
		return true
	}
	h = strings.TrimPrefix(h, "*.")
	return h != "" && !strings.ContainsAny(h, "*/:@? \t") && !strings.HasPrefix(h, ".")
}

// listen opens the listener for the configured address.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, service.Refuse(errcode.AddressUnusable, errcode.Fields{"address": addr}, err)
	}
	return ln, nil
}
