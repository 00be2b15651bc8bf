package server

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/api/transport"
)

// hosts determines from Host and Origin whether a request was made by a foreign web page (SEC9). A
// page whose name was made to resolve to this address has that name in Host; a page served from
// elsewhere has its own origin in Origin.
type hosts struct {
	// names are in lower case; a leading dot matches all names below.
	names   []string
	origins []string
	cross   *http.CrossOriginProtection
}

func newHosts(cfg Config) (*hosts, error) {
	h := &hosts{names: []string{"localhost"}, cross: http.NewCrossOriginProtection()}
	for _, name := range cfg.Hosts {
		h.names = append(h.names, strings.ToLower(strings.Trim(strings.TrimPrefix(name, "*"), "[]")))
	}
	if u, err := url.Parse(cfg.URL); err == nil && u.Hostname() != "" {
		h.names = append(h.names, strings.ToLower(u.Hostname()))
	}
	if host, _, err := net.SplitHostPort(cfg.Addr); err == nil && host != "" {
		if a, err := netip.ParseAddr(host); err != nil || !a.IsUnspecified() {
			h.names = append(h.names, strings.ToLower(host))
		}
	}
	for _, o := range cfg.Origins {
		h.origins = append(h.origins, strings.ToLower(o))
		if err := h.cross.AddTrustedOrigin(o); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// check returns why a request is rejected, or nil if its Host is known and its Origin is the
// server's own or a known one.
func (h *hosts) check(r *http.Request) error {
	name := hostname(r.Host)
	if !h.known(name, r) {
		return &transport.ForbiddenError{
			Reason: "unknown Host in the request; allow hosts in hocket.yaml (server: {hosts: […]})",
		}
	}
	origins := r.Header.Values("Origin")
	if len(origins) > 1 {
		return &transport.ForbiddenError{Reason: "the request has several Origin headers"}
	}
	if len(origins) == 1 && !h.isSelfOrigin(origins[0], r) && !h.allowed(origins[0]) {
		return &transport.ForbiddenError{
			Reason: "unknown Origin of the request; allow origins in hocket.yaml (server: {origins: […]})",
		}
	}
	if err := h.cross.Check(r); err != nil {
		return &transport.ForbiddenError{Reason: "cross-site request refused"}
	}
	return nil
}

// hostname returns the name in a Host header, in lower case, without port and brackets; "" if it is
// not a name.
func hostname(host string) string {
	u, err := url.Parse("//" + host)
	if err != nil || u.Host != host || u.User != nil || u.Path != "" {
		return ""
	}
	return strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
}

// known reports whether a name is one of the server's: configured, a loopback address, or the exact
// address at which the connection arrived. Such an address cannot be a foreign name that resolves
// to this address.
func (h *hosts) known(name string, r *http.Request) bool {
	if name == "" {
		return false
	}
	if slices.ContainsFunc(h.names, func(k string) bool {
		return k == name || strings.HasPrefix(k, ".") && strings.HasSuffix(name, k)
	}) {
		return true
	}
	addr, err := netip.ParseAddr(name)
	if err != nil {
		return false
	}
	if addr.Unmap().IsLoopback() {
		return true
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	at, err := netip.ParseAddrPort(local.String())
	return err == nil && at.Addr().Unmap().WithZone("") == addr.Unmap().WithZone("")
}

// isSelfOrigin reports whether an origin is the server itself, as the client calls it. The scheme
// is ignored: a proxy may have terminated TLS.
func (h *hosts) isSelfOrigin(origin string, r *http.Request) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && strings.EqualFold(u.Host, r.Host)
}

// allowed reports whether the operator allowed an origin.
func (h *hosts) allowed(origin string) bool {
	return slices.Contains(h.origins, strings.ToLower(origin))
}

// handleCORS sets the CORS headers and reports whether it answered a preflight request. It allows
// nothing to origins that the operator did not name, and cookies to none.
func (h *hosts) handleCORS(w http.ResponseWriter, r *http.Request) (answered bool) {
	origin := r.Header.Get("Origin")
	if len(h.origins) > 0 {
		w.Header().Add("Vary", "Origin")
	}
	if origin == "" || !h.allowed(origin) {
		return false
	}
	head := w.Header()
	head.Set("Access-Control-Allow-Origin", origin)
	head.Set("Access-Control-Expose-Headers",
		"ETag, Hocket-Last-Event, Hocket-Run, Location, Retry-After, Mcp-Session-Id, X-Request-Id, X-Should-Retry")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	head.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE")
	head.Set("Access-Control-Allow-Headers", strings.Join(append(slices.Clone(corsHeaders), sdkHeaders(r)...), ", "))
	head.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// corsHeaders are the request headers that the transports read.
var corsHeaders = []string{
	"Accept", "Authorization", "Content-Type", "Idempotency-Key", "If-Match", "If-None-Match", "Last-Event-ID",
	"Mcp-Protocol-Version", "Mcp-Session-Id", "Prefer", "X-Request-Id",
}

// sdkHeaders returns the headers of a preflight request that official OpenAI clients send by
// default, and that are not read.
func sdkHeaders(r *http.Request) (names []string) {
	for name := range strings.SplitSeq(r.Header.Get("Access-Control-Request-Headers"), ",") {
		name = strings.ToLower(strings.TrimSpace(name))
		rest, ok := strings.CutPrefix(name, "x-stainless-")
		if !ok {
			rest, ok = strings.CutPrefix(name, "openai-")
		}
		if ok && len(names) < maxSDKHeaders && strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz-") == "" {
			names = append(names, name)
		}
	}
	return names
}

// maxSDKHeaders is the maximum number of headers that sdkHeaders returns.
const maxSDKHeaders = 32
