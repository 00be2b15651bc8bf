package outbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"code.dny.dev/ssrf"

	"github.com/hocket-run/hocket/internal/tracecontext"
)

// ErrRefused is in the chain of every error of a request that was not sent because of where it led. Trying again does not help.
var ErrRefused = errors.New("address refused")

// maxRedirects is what browsers and net/http allow too.
const maxRedirects = 10

// Config says where a client may go. The zero Config may go wherever the public internet is.
type Config struct {
	// Allow names targets that are not checked, because the operator named them himself (environment, configuration, flags):
	// `host:port`, `host` for any port, or a URL, of which scheme and host count. Case does not matter.
	Allow []string
	// Proxy chooses the proxy of a request; nil follows HTTP_PROXY, HTTPS_PROXY and NO_PROXY of the process.
	Proxy func(*http.Request) (*url.URL, error)
	// DialTimeout bounds name resolution and connection, 30 s where zero.
	DialTimeout time.Duration
	// Trace lets requests carry the W3C trace context that their context has by [tracecontext.Outgoing]; a redirect to another origin gets none.
	Trace bool
	// Resolve looks up the addresses of a host that is reached through a proxy; nil asks the system.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
}

// New gives a client of its own, with its own connections. It is safe for concurrent use and follows at most ten redirects.
// The caller calls CloseIdleConnections in the end.
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
		unguarded: newTransport(dialer, cfg.Proxy),
		guarded:   newTransport(&checked, nil),
	}
	return &http.Client{Transport: t, CheckRedirect: checkRedirect}
}

func newTransport(d *net.Dialer, proxy func(*http.Request) (*url.URL, error)) *http.Transport {
	return &http.Transport{
		Proxy:                 proxy,
		DialContext:           d.DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          100,
		MaxIdleConnsPerHost:   32,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
}

// transport decides for each request by which of two sets of connections it goes. They are apart, so that a connection that was
// opened to a named target is never taken for a request that may not use it.
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
		return nil, refused(req.URL.Host, err)
	}
	return resp, err
}

// CloseIdleConnections is what http.Client.CloseIdleConnections calls.
func (t *transport) CloseIdleConnections() {
	t.unguarded.CloseIdleConnections()
	t.guarded.CloseIdleConnections()
}

// withoutSilentRetry spells an Idempotency-Key in lower case, which says the same on the wire. Spelled the canonical way it makes
// net/http send a POST again by itself when a used connection breaks, and no call is repeated but by the engine (D8, D11).
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

// withTrace gives req with the trace context of its context, unless it has one of its own or was led to another origin than it was made for.
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

// isNamed tells whether the operator named the target of req. A page elsewhere that redirects to such a target does not inherit the
// operator's word.
func (t *transport) isNamed(req *http.Request) bool {
	return (t.allow[hostPort(req.URL)] || t.allow[strings.ToLower(req.URL.Hostname())]) && isOfOneOrigin(req)
}

// isOfOneOrigin tells whether all redirects that led to req came from its own origin.
func isOfOneOrigin(req *http.Request) bool {
	for r := req; r.Response != nil && r.Response.Request != nil; {
		r = r.Response.Request
		if !sameOrigin(r.URL, req.URL) {
			return false
		}
	}
	return true
}

// checkTarget resolves the target of a request that a proxy will dial. One address that is not public refuses the whole name, and so
// does a name that cannot be resolved here: what cannot be checked is not sent.
func (t *transport) checkTarget(req *http.Request) error {
	host := req.URL.Hostname()
	addrs, err := addresses(req.Context(), t.resolve, host)
	if err != nil {
		return fmt.Errorf("%w: %s cannot be resolved, which is required for requests through a proxy: %w", ErrRefused, host, err)
	}
	if len(addrs) == 0 {
		return fmt.Errorf("%w: %s has no address", ErrRefused, host)
	}
	return arePublic(t.guard, req.URL.Host, addrs)
}

// addresses gives what a host stands for: itself, where it is an address.
func addresses(ctx context.Context, resolve func(context.Context, string) ([]netip.Addr, error), host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, nil
	}
	found, err := resolve(ctx, host)
	for i := range found {
		found[i] = found[i].Unmap() // the resolver writes IPv4 addresses in IPv6 form
	}
	return found, err
}

// arePublic refuses a host with an address that is not public.
func arePublic(guard *ssrf.Guardian, host string, addrs []netip.Addr) error {
	for _, addr := range addrs {
		if err := guard.SafeAddr(addr); err != nil {
			return refused(host, err)
		}
	}
	return nil
}

func isProhibited(err error) bool {
	return errors.Is(err, ssrf.ErrProhibitedIP) || errors.Is(err, ssrf.ErrProhibitedNetwork) || errors.Is(err, ssrf.ErrInvalidHostPort)
}

// refused keeps the library's reason as text; callers are to look for ErrRefused.
func refused(host string, err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		err = op.Err
	}
	return fmt.Errorf("%w: %s: %s", ErrRefused, host, err.Error())
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

// checkRedirect bounds redirects and leaves credentials behind. net/http itself drops Authorization and cookies only, and only when the
// domain changes; keys travel in X-Api-Key, X-Goog-Api-Key and whatever else a document names.
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

// isPlainHeader lists what a foreign origin may know: how the request reads, nothing about who sends it or where it came from.
func isPlainHeader(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Accept", "Accept-Encoding", "Accept-Language", "Content-Encoding", "Content-Language", "Content-Type", "User-Agent":
		return true
	}
	return false
}

func sameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && hostPort(a) == hostPort(b) }

// hostPort gives the lower-case host:port of u, with the port that its scheme means where none is written.
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

// Allows tells whether a list of the form of Config.Allow names the target of an address.
func Allows(allow []string, address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return false
	}
	set := hostSet(allow)
	return set[hostPort(u)] || set[strings.ToLower(u.Hostname())]
}

// checkTime bounds how long Check looks a name up.
const checkTime = 5 * time.Second

// Check tells whether a client of cfg would refuse an address, before anything is sent: its error is ErrRefused for an address that is not public, for a name that
// leads to one now, and for a number that only some resolvers take for an address, unless cfg.Allow names it. A name that does not resolve at present is no error. This
// is for the writer of an address, who learns of a mistake at once; it replaces no check of the client, which is made when it connects (SEC8).
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

// isNumber tells whether a host that is no address ends in a number, as 2130706433, 0x7f.1 and 127.0.1 do: no name does.
func isNumber(host string) bool {
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	last := strings.ToLower(labels[len(labels)-1])
	hex, isHex := strings.CutPrefix(last, "0x")
	return last != "" && strings.Trim(last, "0123456789") == "" || isHex && strings.Trim(hex, "0123456789abcdef") == ""
}

// lookup asks the system for the addresses of a name.
func lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// hostSet reads the forms that Config.Allow documents. Entries that are empty or no URL name nothing.
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
