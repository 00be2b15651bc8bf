package fetch

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/hocket-run/hocket/internal/outbound"
	"github.com/hocket-run/hocket/internal/tool"
)

// options are the toolset's own keys.
type options struct {
	// AllowedDomains, if not empty, lists the only domains that are fetched. BlockedDomains are not
	// fetched, and take precedence. An entry is a host, which includes its subdomains; with a port
	// it matches that port only.
	AllowedDomains []string `json:"allowed_domains"`
	BlockedDomains []string `json:"blocked_domains"`
}

func readOptions(spec tool.Spec) (options, error) {
	var o options
	if len(spec.Options) == 0 {
		return o, nil
	}
	if err := json.Unmarshal(spec.Options, &o); err != nil {
		return o, fmt.Errorf("allowed_domains and blocked_domains must be lists of hosts: %w", err)
	}
	for _, list := range [][]string{o.AllowedDomains, o.BlockedDomains} {
		for i, e := range list {
			if list[i] = strings.TrimPrefix(canonicalHost(e), "*."); !tool.IsHostEntry(list[i]) {
				return o, fmt.Errorf("%q is not a host: write example.com or example.com:8080", e)
			}
		}
	}
	return o, nil
}

// Hosts returns the names in a spec's allowed_domains, for a wiring that exempts names that the
// operator specified (SEC8, D34); nil if they cannot be read.
func Hosts(spec tool.Spec) []string {
	o, err := readOptions(spec)
	if err != nil {
		return nil
	}
	return o.AllowedDomains
}

// judge returns the reason why u may not be fetched; nil means that it may.
func (o options) judge(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%w: only http and https URLs can be fetched, not %q", outbound.ErrRefused, u.Scheme)
	}
	host := canonicalHost(u.Hostname())
	switch {
	case host == "":
		return fmt.Errorf("%w: the URL has no host", outbound.ErrRefused)
	case u.User != nil:
		return fmt.Errorf("%w: a URL with a user name or a password is not fetched", outbound.ErrRefused)
	case !isASCII(host):
		return fmt.Errorf("%w: write the host in its ASCII form (xn--...)", outbound.ErrRefused)
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	if matches(o.BlockedDomains, host, port) {
		return fmt.Errorf("%w: %s is in the toolset's blocked_domains", outbound.ErrRefused, host)
	}
	if len(o.AllowedDomains) > 0 && !matches(o.AllowedDomains, host, port) {
		return fmt.Errorf("%w: %s is not in the toolset's allowed_domains (%s)", outbound.ErrRefused, host,
			strings.Join(o.AllowedDomains, ", "))
	}
	return nil
}

// matches reports whether an entry matches host and port, by whole labels, never by a part of one
// (SEC13).
func matches(entries []string, host, port string) bool {
	for _, e := range entries {
		name := e
		if h, p, err := net.SplitHostPort(e); err == nil {
			if p != port {
				continue
			}
			name = h
		}
		if name = strings.Trim(name, "[]"); host == name {
			return true
		}
		if _, err := netip.ParseAddr(name); err != nil && strings.HasSuffix(host, "."+name) {
			return true
		}
	}
	return false
}

// canonicalHost returns a host in the form in which hosts are compared.
func canonicalHost(h string) string {
	h = strings.ToLower(strings.TrimSpace(h))
	if addr, err := netip.ParseAddr(h); err == nil {
		return addr.Unmap().String()
	}
	return strings.TrimSuffix(h, ".")
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
