package server

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// proxies are the addresses that are trusted to report the client's address.
type proxies []netip.Prefix

// parseProxies parses addresses and networks in CIDR form. The error names the entry that is
// neither.
func parseProxies(list []string) (proxies, error) {
	var out proxies
	for _, text := range list {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			a, aerr := netip.ParseAddr(text)
			if aerr != nil || a.Zone() != "" {
				return nil, fmt.Errorf("%q is not an address or network of a proxy; write it as 10.0.0.7 or 10.0.0.0/8",
					text)
			}
			p = netip.PrefixFrom(a, a.BitLen())
		}
		if p.Addr().Is4In6() {
			return nil, fmt.Errorf("%q is an IPv4-mapped IPv6 address; write it as IPv4", text)
		}
		out = append(out, p.Masked())
	}
	return out, nil
}

// trusts reports whether an address belongs to a proxy.
func (p proxies) trusts(a netip.Addr) bool {
	return slices.ContainsFunc(p, func(one netip.Prefix) bool { return one.Contains(a) })
}

// client returns the address of the client of a request. That is the address of the connection,
// unless it is a trusted proxy: then it is the rightmost address of X-Forwarded-For, or of
// Forwarded (RFC 7239), that is not a trusted proxy. Anything to its left was written by the
// client. If an address that a proxy wrote cannot be parsed, or the two headers do not agree, which
// means that a proxy passed one of them on, the result is the last proxy known for certain. It is
// the zero Addr if the connection has no address.
func (p proxies) client(r *http.Request) netip.Addr {
	conn, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	from := conn.Addr().Unmap().WithZone("")
	if !p.trusts(from) {
		return from
	}
	xff, forwarded := r.Header.Values("X-Forwarded-For"), r.Header.Values("Forwarded")
	switch {
	case len(forwarded) == 0:
		return p.rightmost(from, xff, func(item string) string { return item })
	case len(xff) == 0:
		return p.rightmost(from, forwarded, forOf)
	}
	a, b := p.rightmost(from, xff, func(item string) string { return item }), p.rightmost(from, forwarded, forOf)
	if a != b {
		return from
	}
	return a
}

// rightmost walks the items of a header from the right, as long as each was written by a trusted
// proxy.
func (p proxies) rightmost(from netip.Addr, values []string, address func(item string) string) netip.Addr {
	for _, value := range slices.Backward(values) {
		for rest, more := value, true; more; {
			var item string
			if i := strings.LastIndexByte(rest, ','); i >= 0 {
				rest, item = rest[:i], rest[i+1:]
			} else {
				rest, item, more = "", rest, false
			}
			a, ok := parseHop(address(strings.TrimSpace(item)))
			if !ok {
				return from
			}
			if from = a; !p.trusts(a) {
				return a
			}
		}
	}
	return from
}

// forOf returns the parameter `for` of an item of the header Forwarded; "" if it has none, or two.
func forOf(item string) string {
	found := ""
	for pair := range strings.SplitSeq(item, ";") {
		name, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if !ok || !strings.EqualFold(strings.TrimSpace(name), "for") {
			continue
		}
		if found != "" {
			return ""
		}
		found = strings.TrimSpace(value)
		if len(found) >= 2 && found[0] == '"' && found[len(found)-1] == '"' {
			found = found[1 : len(found)-1]
		}
	}
	return found
}

// parseHop parses an address with or without a port, IPv6 with or without brackets.
func parseHop(text string) (netip.Addr, bool) {
	if ap, err := netip.ParseAddrPort(text); err == nil {
		return ap.Addr().Unmap().WithZone(""), true
	}
	if strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
		text = text[1 : len(text)-1]
	}
	a, err := netip.ParseAddr(text)
	return a.Unmap().WithZone(""), err == nil
}
