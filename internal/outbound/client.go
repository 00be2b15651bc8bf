package outbound

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"code.dny.dev/ssrf"

	"github.com/hocket-run/hocket/internal/descriptors"
	"github.com/hocket-run/hocket/internal/tracecontext"
)

// ErrRefused is in the error chain of every request that was not sent because of its destination.
// Retrying does not help.
var ErrRefused = errors.New("address refused")

// maxRedirects is the limit of browsers and net/http.
const maxRedirects = 10

// Config specifies the permitted destinations of a client. The zero Config permits the public
// internet.
type Config struct {
	// Allow names targets that are not checked, because the operator specified them (environment,
	// configuration, flags): `host:port`, `host` for any port, or a URL, of which scheme and host
	// count. Case is ignored.
	Allow []string
	// Proxy chooses the proxy of a request; nil uses the process's HTTP_PROXY, HTTPS_PROXY and
	// NO_PROXY.
	Proxy func(*http.Request) (*url.URL, error)
	// DialTimeout limits name resolution and connecting; zero means 30 s.
	DialTimeout time.Duration
	// Trace makes requests send the W3C trace context that their context holds through
	// [tracecontext.Outgoing]; a redirect to another origin gets none.
	Trace bool
	// Resolve looks up the addresses of a host that is reached through a proxy; nil uses the system
	// resolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Logger receives a warning when no file descriptor is left to connect; nil means no logging.
	Logger *slog.Logger
}

// New returns a client with its own connections. It is safe for concurrent use and follows at most
// ten redirects. The caller should finally call CloseIdleConnections.
func New(cfg Config) *http.Client {
	if cfg.Proxy == nil {
		cfg.Proxy = http.ProxyFromEnvironment
	}
	if cfg.DialTimeout == 0 {
		cfg.DialTimeout = 30 * time.Second
	}
	if cfg.Resolve == nil {
		cfg.Resolve = lookup
	}
	guard := ssrf.New(ssrf.WithAnyPort())
	dialer := &net.Dialer{Timeout: cfg.DialTimeout, KeepAlive: 30 * time.Second}
	checked := *dialer
	checked.Control = guard.Safe

	t := &transport{
		allow:     hostSet(cfg.Allow),
		trace:     cfg.Trace,
		guard:     guard,
		proxy:     cfg.Proxy,
		resolve:   cfg.Resolve,
		unguarded: newTransport(dialer.DialContext, cfg),
		guarded:   newTransport(checked.DialContext, Config{Logger: cfg.Logger}),
	}
	return &http.Client{Transport: t, CheckRedirect: checkRedirect}
}

// dialFunc connects to an address.
type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// waiting returns a dial function that waits for a file descriptor if none is left. net/http dials
// with a context of its own, so the wait may outlast the request, by [descriptors.Limit] at most.
func waiting(dial dialFunc, log *slog.Logger) dialFunc {
	return func(ctx context.Context, network, address string) (c net.Conn, err error) {
		err = descriptors.Wait(ctx, log, address, func() (err error) {
			if c, err = dial(ctx, network, address); err != nil && isUnresolved(err) {
				// the resolver does not say that it could not open its files or a socket
				f, ferr := os.Open(os.DevNull)
				if descriptors.AreOut(ferr) {
					return fmt.Errorf("%w: %w", err, ferr)
				}
				_ = f.Close()
			}
			return err
		})
		return c, err
	}
}

func isUnresolved(err error) bool {
	_, is := errors.AsType[*net.DNSError](err)
	return is
}

func newTransport(dial dialFunc, cfg Config) *http.Transport {
	return &http.Transport{
		Proxy:                 cfg.Proxy,
		DialContext:           waiting(dial, cfg.Logger),
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          100,
		MaxIdleConnsPerHost:   32,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
}

// transport chooses one of two connection pools for each request. They are separate, so that a
// connection opened to a named target is never used for a request that may not use it.
type transport struct {
	allow              map[string]bool
	trace              bool
	guard              *ssrf.Guardian
	proxy              func(*http.Request) (*url.URL, error)
	resolve            func(context.Context, string) ([]netip.Addr, error)
	unguarded, guarded *http.Transport
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	req = withoutSilentRetry(req)
	if t.trace {
		req = withTrace(req)
	}
	if t.isNamed(req) {
		return t.unguarded.RoundTrip(req)
	}
	via, err := t.proxy(req)
	if err != nil {
		closeBody(req)
		return nil, err
	}
	if via != nil {
		if err := t.checkTarget(req); err != nil {
			closeBody(req)
			return nil, err
		}
		return t.unguarded.RoundTrip(req)
	}
	resp, err := t.guarded.RoundTrip(req)
	if isProhibited(err) {
		return nil, refusedError(req.URL.Host, err)
	}
	return resp, err
}

// CloseIdleConnections is called by http.Client.CloseIdleConnections.
func (t *transport) CloseIdleConnections() {
	t.unguarded.CloseIdleConnections()
	t.guarded.CloseIdleConnections()
}

// withoutSilentRetry spells Idempotency-Key in lower case, which is equivalent on the wire. In
// canonical form it makes net/http resend a POST automatically when a reused connection breaks, and
// only the engine may repeat a call (D8, D11).
func withoutSilentRetry(req *http.Request) *http.Request {
	const name = "Idempotency-Key"
	key, ok := req.Header[name]
	if !ok {
		return req
	}
	req = req.Clone(req.Context())
	delete(req.Header, name)
	req.Header[strings.ToLower(name)] = key
	return req
}

// withTrace returns req with the trace context of its context, unless it has its own or was
// redirected to another origin.
func withTrace(req *http.Request) *http.Request {
	if req.Header.Get(tracecontext.Parent) != "" || !isOfOneOrigin(req) {
		return req
	}
	traced := req
	tracecontext.Inject(req.Context(), func(name, value string) {
		if traced == req {
			traced = req.Clone(req.Context())
		}
		traced.Header.Set(name, value)
	})
	return traced
}

// isNamed reports whether the operator named the target of req. Another page that redirects to such
// a target does not inherit the operator's permission.
func (t *transport) isNamed(req *http.Request) bool {
	return (t.allow[hostPort(req.URL)] || t.allow[strings.ToLower(req.URL.Hostname())]) && isOfOneOrigin(req)
}

// isOfOneOrigin reports whether all redirects that led to req came from its own origin.
func isOfOneOrigin(req *http.Request) bool {
	for r := req; r.Response != nil && r.Response.Request != nil; {
		r = r.Response.Request
		if !sameOrigin(r.URL, req.URL) {
			return false
		}
	}
	return true
}

// checkTarget resolves the target of a request that a proxy will dial. A single address that is not
// public rejects the entire name, and so does a name that cannot be resolved here: a target that
// cannot be checked is not contacted.
func (t *transport) checkTarget(req *http.Request) error {
	host := req.URL.Hostname()
	addrs, err := addresses(req.Context(), t.resolve, host)
	if err != nil {
		return fmt.Errorf("%w: %s cannot be resolved, which is required for requests through a proxy: %w", ErrRefused,
			host, err)
	}
	if len(addrs) == 0 {
		return fmt.Errorf("%w: %s has no address", ErrRefused, host)
	}
	return arePublic(t.guard, req.URL.Host, addrs)
}

// addresses returns the addresses of a host: the host itself if it is an address.
func addresses(ctx context.Context, resolve func(context.Context, string) ([]netip.Addr, error), host string) (
	[]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, nil
	}
	found, err := resolve(ctx, host)
	for i := range found {
		found[i] = found[i].Unmap() // the resolver returns IPv4 addresses in IPv6 form
	}
	return found, err
}

// arePublic returns an error if any address of the host is not public.
func arePublic(guard *ssrf.Guardian, host string, addrs []netip.Addr) error {
	for _, addr := range addrs {
		if err := guard.SafeAddr(addr); err != nil {
			return refusedError(host, err)
		}
	}
	return nil
}

func isProhibited(err error) bool {
	return errors.Is(err, ssrf.ErrProhibitedIP) || errors.Is(err, ssrf.ErrProhibitedNetwork) ||
		errors.Is(err, ssrf.ErrInvalidHostPort)
}

// refusedError keeps the library's reason as a string; callers should match ErrRefused.
func refusedError(host string, err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		err = op.Err
	}
	return fmt.Errorf("%w: %s: %s", ErrRefused, host, strings.TrimPrefix(err.Error(),
		ssrf.ErrProhibitedIP.Error()+": "))
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

// checkRedirect limits redirects and drops credentials. net/http itself drops only Authorization
// and cookies, and only if the domain changes; keys are sent in X-Api-Key, X-Goog-Api-Key and any
// other header that a document names.
func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) >= maxRedirects {
		return fmt.Errorf("stopped after %d redirects", maxRedirects)
	}
	if s := req.URL.Scheme; s != "http" && s != "https" {
		return fmt.Errorf("%w: redirect to scheme %q", ErrRefused, s)
	}
	for _, prev := range via {
		if sameOrigin(prev.URL, req.URL) {
			continue
		}
		for name := range req.Header {
			if !isPlainHeader(name) {
				delete(req.Header, name)
			}
		}
		break
	}
	return nil
}

// isPlainHeader reports whether a foreign origin may receive a header: those about the form of the
// request, none about its sender or where it came from.
func isPlainHeader(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Accept", "Accept-Encoding", "Accept-Language", "Content-Encoding", "Content-Language", "Content-Type",
		"User-Agent":
		return true
	}
	return false
}

func sameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && hostPort(a) == hostPort(b) }

// hostPort returns the lower-case host:port of u, with the default port of its scheme if none is
// specified.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "80"
		if u.Scheme == "https" {
			port = "443"
		}
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// Allows reports whether a list in the form of Config.Allow names the target of an address.
func Allows(allow []string, address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return false
	}
	set := hostSet(allow)
	return set[hostPort(u)] || set[strings.ToLower(u.Hostname())]
}

// checkTime is the maximum time that Check spends looking up a name.
const checkTime = 5 * time.Second

// Check reports whether a client of cfg would reject an address, before anything is sent: it
// returns ErrRefused for an address that is not public, for a name that currently resolves to one,
// and for a number that only some resolvers treat as an address, unless cfg.Allow names it. A name
// that currently does not resolve is not an error. Check provides immediate feedback to the author
// of an address; it does not replace the client's own check, which is made when it connects (SEC8).
func Check(ctx context.Context, cfg Config, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return fmt.Errorf("%w: %q is not a URL", ErrRefused, address)
	}
	if Allows(cfg.Allow, address) {
		return nil
	}
	if cfg.Resolve == nil {
		cfg.Resolve = lookup
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	addrs, err := addresses(ctx, cfg.Resolve, u.Hostname())
	if err == nil && len(addrs) > 0 {
		return arePublic(ssrf.New(ssrf.WithAnyPort()), u.Host, addrs)
	}
	if isNumber(u.Hostname()) {
		return fmt.Errorf("%w: %s: it is a number, not a host name", ErrRefused, u.Host)
	}
	return nil
}

// isNumber reports whether a host that is not an address ends in a number, as 2130706433, 0x7f.1
// and 127.0.1 do: no name does.
func isNumber(host string) bool {
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	last := strings.ToLower(labels[len(labels)-1])
	hex, isHex := strings.CutPrefix(last, "0x")
	return last != "" && strings.Trim(last, "0123456789") == "" || isHex && strings.Trim(hex, "0123456789abcdef") == ""
}

// lookup resolves a name with the system resolver.
func lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// hostSet parses the forms that Config.Allow documents. Entries that are empty or not URLs are
// ignored.
func hostSet(entries []string) map[string]bool {
	set := make(map[string]bool, len(entries))
	for _, e := range entries {
		e = strings.TrimSpace(e)
		switch {
		case e == "":
		case strings.Contains(e, "://"):
			if u, err := url.Parse(e); err == nil && u.Hostname() != "" {
				set[hostPort(u)] = true
			}
		default:
			set[strings.ToLower(e)] = true
		}
	}
	return set
}
