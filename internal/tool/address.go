package tool

import (
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// AddressOf returns an address in the form that permissions compare, under the argument that
// contains it. Its Names are spellings of one address: scheme and host in lower case, no user name,
// no default port, no trailing dot of the host, no fragment, a path without `.` and `..`,
// percent-encoding only if required. Its Also contains other forms in which servers and readers may
// interpret it.
func AddressOf(argument string, u *url.URL) Resource {
	r := Resource{Argument: argument}
	scheme, host := strings.ToLower(u.Scheme), plainHost(u.Hostname())
	if host == "" {
		return r
	}
	defaultPort := map[string]string{"http": "80", "https": "443"}[scheme]
	at := host
	if strings.Contains(host, ":") {
		at = "[" + host + "]"
	}
	withPort := at + ":" + u.Port()
	switch p := u.Port(); p {
	case "", defaultPort:
		withPort = at + ":" + defaultPort
	default:
		if n, err := strconv.Atoi(p); err == nil { // 080 is 80
			withPort = at + ":" + strconv.Itoa(n)
			if strconv.Itoa(n) != defaultPort {
				at = withPort
			}
		}
	}
	p := cleanPath(plainEscapes(u.EscapedPath()))
	rest := p
	if u.RawQuery != "" {
		rest += "?" + plainEscapes(u.RawQuery)
	}
	names := []string{scheme + "://" + at + rest}
	if rest == "/" {
		names = append(names, scheme+"://"+at)
	}
	r.Names = [][]string{names}
	decoded := rest
	for range 3 { // encoded again, for servers that decode again
		text, err := url.PathUnescape(decoded)
		if err != nil || text == decoded {
			break
		}
		decoded = text
		r.Also = append(r.Also, scheme+"://"+at+decoded, at+decoded)
	}
	r.Also = append(r.Also, scheme+"://"+withPort+rest, at+rest, withPort+rest, at, scheme+"://"+at+u.EscapedPath(),
		scheme+"://"+at+collapse(rest), scheme+"://"+at+".:"+defaultPort+rest)
	if written, err := idna.Lookup.ToUnicode(host); err == nil && written != host {
		other := written + strings.TrimPrefix(at, host)
		r.Also = append(r.Also, scheme+"://"+other+rest, other+rest, other)
	}
	r.Also = slices.Compact(r.Also)
	return r
}

// plainHost returns the canonical form of a host; an IPv4 address in any notation becomes the usual
// one. Characters that clients map to others are mapped.
func plainHost(host string) string {
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		host = ascii
	}
	host = strings.ToLower(strings.TrimRight(host, "."))
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().WithZone("").String()
	}
	if ip, ok := parseLegacyIPv4(host); ok {
		return ip.String()
	}
	return host
}

// parseLegacyIPv4 parses addresses like inet_aton: one to four parts, each decimal, octal or
// hexadecimal; the last part fills the remaining bytes.
func parseLegacyIPv4(host string) (netip.Addr, bool) {
	parts := strings.Split(host, ".")
	if host == "" || len(parts) > 4 {
		return netip.Addr{}, false
	}
	var sum uint64
	for i, p := range parts {
		base := 10
		switch {
		case strings.HasPrefix(p, "0x"):
			p, base = p[2:], 16
		case len(p) > 1 && p[0] == '0':
			p, base = p[1:], 8
		}
		n, err := strconv.ParseUint(p, base, 32)
		bits := 8
		if i == len(parts)-1 {
			bits = 8 * (5 - len(parts))
		}
		if err != nil || n >= 1<<bits {
			return netip.Addr{}, false
		}
		sum = sum<<bits | n
	}
	return netip.AddrFrom4([4]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}), true
}

// plainEscapes decodes percent-encoded characters that need no encoding, and writes the rest in
// upper case (RFC 3986, 6.2.2).
func plainEscapes(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' || i+2 >= len(s) {
			b.WriteByte(s[i])
			continue
		}
		n, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
		if err != nil {
			b.WriteByte(s[i])
			continue
		}
		if c := byte(n); c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			strings.IndexByte("-._~", c) >= 0 {
			b.WriteByte(c)
		} else {
			b.WriteString(strings.ToUpper(s[i : i+3]))
		}
		i += 2
	}
	return b.String()
}

// cleanPath removes `.` and `..`; doubled slashes stay, because servers distinguish them.
func cleanPath(p string) string {
	var out []string
	parts := strings.Split(strings.TrimPrefix(p, "/"), "/")
	for i, part := range parts {
		switch part {
		case ".", "..":
			if part == ".." && len(out) > 0 {
				out = out[:len(out)-1]
			}
			if i == len(parts)-1 {
				out = append(out, "")
			}
		default:
			out = append(out, part)
		}
	}
	return "/" + strings.Join(out, "/")
}

// collapse merges consecutive slashes in the path at the start of rest, which is the part of an
// address after the host.
func collapse(rest string) string {
	p, query, ok := strings.Cut(rest, "?")
	clean := path.Clean(p)
	if strings.HasSuffix(p, "/") && clean != "/" {
		clean += "/"
	}
	if ok {
		return clean + "?" + query
	}
	return clean
}
