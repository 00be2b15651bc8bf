package server_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/server"
	"github.com/hocket-run/hocket/internal/service"
)

// SEC17: only a trusted proxy is believed about its client, and only for entries written by trusted
// proxies.
func TestClientBehindProxies(t *testing.T) {
	t.Parallel()
	trusted := []string{"10.0.0.0/8", "192.0.2.1", "2001:db8:7::/48"}
	const proxy, stranger = "10.1.1.1:99", "203.0.113.9:99"
	for _, c := range []struct {
		name, remote   string
		xff, forwarded []string
		want           string
	}{
		{"no header", proxy, nil, nil, "10.1.1.1"},
		{"a stranger is not believed", stranger, []string{"198.51.100.1"}, []string{"for=198.51.100.1"}, "203.0.113.9"},
		{"one hop", proxy, []string{"198.51.100.1"}, nil, "198.51.100.1"},
		{"what the client wrote", proxy, []string{"127.0.0.1, 198.51.100.1"}, nil, "198.51.100.1"},
		{"the client claims to be a proxy", proxy, []string{"198.51.100.7, 10.9.9.9, 198.51.100.1, 10.2.2.2"}, nil,
			"198.51.100.1"},
		{"two headers", proxy, []string{"127.0.0.1", "198.51.100.1, 192.0.2.1"}, nil, "198.51.100.1"},
		{"two proxies in two headers", proxy, []string{"198.51.100.1", "192.0.2.1"}, nil, "198.51.100.1"},
		{"proxies alone", proxy, []string{"10.3.3.3, 192.0.2.1"}, nil, "10.3.3.3"},
		{"a port", proxy, []string{"198.51.100.1:4711"}, nil, "198.51.100.1"},
		{"IPv6", "[2001:db8:7::1]:9", []string{"2001:db8:8::5"}, nil, "2001:db8:8::5"},
		{"IPv6 with port", proxy, []string{"[2001:db8:8::5]:80"}, nil, "2001:db8:8::5"},
		{"IPv6 with zone", proxy, []string{"[fe80::1%eth0]"}, nil, "fe80::1"},
		{"IPv4 in IPv6", "[::ffff:10.1.1.1]:9", []string{"::ffff:198.51.100.1"}, nil, "198.51.100.1"},
		{"no address", proxy, []string{"198.51.100.1, unknown"}, nil, "10.1.1.1"},
		{"no address behind a proxy", proxy, []string{"198.51.100.1, nonsense, 10.4.4.4"}, nil, "10.4.4.4"},
		{"empty", proxy, []string{""}, nil, "10.1.1.1"},
		{"a list of commas", proxy, []string{"198.51.100.1,,"}, nil, "10.1.1.1"},
		{"Forwarded", proxy, nil, []string{`for=198.51.100.1;proto=https;by=10.1.1.1`}, "198.51.100.1"},
		{"Forwarded, other case", proxy, nil, []string{`proto=https; For="198.51.100.1:99"`}, "198.51.100.1"},
		{"Forwarded, IPv6", proxy, nil, []string{`for=127.0.0.1, for="[2001:db8:8::5]:1"`}, "2001:db8:8::5"},
		{"Forwarded, an open quotation mark", proxy, nil, []string{`for="x, for=198.51.100.1`}, "198.51.100.1"},
		{"Forwarded, hidden", proxy, nil, []string{`for=198.51.100.1, for=_hidden`}, "10.1.1.1"},
		{"Forwarded, twice for", proxy, nil, []string{`for=198.51.100.1;for=127.0.0.1`}, "10.1.1.1"},
		{"Forwarded without for", proxy, nil, []string{`proto=https`}, "10.1.1.1"},
		{"both agree", proxy, []string{"198.51.100.1"}, []string{"for=198.51.100.1"}, "198.51.100.1"},
		{"one was passed on", proxy, []string{"198.51.100.1"}, []string{"for=127.0.0.1"}, "10.1.1.1"},
	} {
		r := &http.Request{RemoteAddr: c.remote,
			Header: http.Header{"X-Forwarded-For": c.xff, "Forwarded": c.forwarded}}
		if got, err := server.ClientOf(trusted, r); got != c.want || err != nil {
			t.Errorf("%s: %s, want %s; %v", c.name, got, c.want, err)
		}
	}
	for _, bad := range []string{"", "proxy.example.com", "10.0.0.0/33", "fe80::1%eth0", "10.0.0.1:80",
		"::ffff:10.0.0.1", "*"} {
		if _, err := server.Open(t.Context(), server.Config{TrustedProxies: []string{bad}, Service: service.Config{
			Documents: linked.Kit(), DB: service.Memory,
		}}); service.CodeOf(err) != service.CodeInvalid ||
			!strings.Contains(err.Error(), "trustedProxies") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// SEC17: behind a trusted proxy wrong tokens are counted by client, and log and audit name the
// client. A client that sends a different address with each request still counts as one.
func TestFailedAuthentications_BehindProxy(t *testing.T) {
	t.Parallel()
	w := open(t, server.Config{Limits: server.Limits{Failures: 3}, TrustedProxies: []string{"10.0.0.0/8"}})
	ask := func(client, auth string) int {
		return w.ask(t, "POST", "/test/change/7", "", func(r *http.Request) {
			r.RemoteAddr = "10.0.0.1:4"
			r.Header.Set("X-Forwarded-For", client)
			r.Header.Set("Authorization", "Bearer "+auth)
		}).Code
	}
	for i := range 5 {
		want := 401
		if i >= 3 {
			want = 429
		}
		if got := ask(fmt.Sprintf("192.0.2.%d, 198.51.100.1", i), "wrong"); got != want {
			t.Errorf("%d: %d, want %d", i, got, want)
		}
	}
	if got := ask("198.51.100.2", "wrong"); got != 401 {
		t.Errorf("another client: %d", got)
	}
	if got := ask("198.51.100.1", token); got != 204 {
		t.Errorf("the right token: %d", got)
	}
	w.audit.mu.Lock()
	defer w.audit.mu.Unlock()
	if len(w.audit.deeds) == 0 {
		t.Fatal("nothing was audited")
	}
	if last := w.audit.deeds[len(w.audit.deeds)-1]; last.Remote != "198.51.100.1" ||
		!strings.Contains(w.log.String(), "remote=198.51.100.1") {
		t.Errorf("the audit names %q", last.Remote)
	}
}

// SEC1: a guessable token does not protect an address that others can reach, directly or through a
// proxy.
func TestShortToken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		addr, url, token string
		refused          bool
	}{
		{"0.0.0.0:0", "", "a", true}, {"0.0.0.0:0", "", "0123456789abcdefghi", true},
		{"0.0.0.0:0", "", "0123456789abcdefghij", false},
		{"[::]:0", "", "a", true}, {":0", "", "short", true}, {"0.0.0.0:0", "", strings.Repeat("a", 40), true},
		{"0.0.0.0:0", "", "a" + strings.Repeat(" ", 40), true},
		{"127.0.0.1:0", "", "a", false}, {"localhost:0", "", "a", false},
		{"127.0.0.1:0", "https://hocket.example.com", "a", true}, {"127.0.0.1:0", "http://localhost:7788", "a", false},
		{"127.0.0.1:0", "http://127.0.0.1:7788", "a", false},
	} {
		s, err := server.Open(t.Context(), server.Config{Addr: c.addr, URL: c.url, Service: service.Config{
			Documents: linked.Kit(), DB: service.Memory, Env: func(name string) string {
				return map[string]string{server.EnvToken: c.token}[name]
			}}})
		if err != nil {
			t.Fatal(err)
		}
		ln, _, err := s.Listen(t.Context())
		var short *server.ShortTokenError
		if got := errors.As(err, &short); got != c.refused || c.refused && service.CodeOf(err) != service.CodeInvalid {
			t.Errorf("%+v: %v", c, err)
		}
		if c.refused && err != nil && (!strings.Contains(err.Error(), "openssl") ||
			strings.Contains(err.Error(), c.token+" ")) && len(c.token) > 1 {
			t.Errorf("the error says %v", err)
		}
		if ln != nil {
			_ = ln.Close()
		}
		_ = s.Close()
	}
}

// SEC1: a host or a proxy in the operator's configuration means, as a URL does, that others can
// reach a server on a loopback address.
func TestShortTokenBehindProxy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		hosts, proxies []string
		refused        bool
	}{
		{[]string{"hocket.example.com"}, nil, true}, {[]string{"localhost", "*.example.com"}, nil, true},
		{[]string{"10.0.0.7"}, nil, true},
		{nil, []string{"127.0.0.1"}, true}, {[]string{"localhost", "127.0.0.1", "[::1]"}, nil, false},
	} {
		s, err := server.Open(t.Context(), server.Config{Addr: "127.0.0.1:0", Hosts: c.hosts, TrustedProxies: c.proxies,
			Service: service.Config{Documents: linked.Kit(), DB: service.Memory, Env: func(name string) string {
				return map[string]string{server.EnvToken: "a"}[name]
			}}})
		if err != nil {
			t.Fatal(err)
		}
		ln, _, err := s.Listen(t.Context())
		var short *server.ShortTokenError
		if errors.As(err, &short) != c.refused {
			t.Errorf("hosts %q, proxies %q: %v", c.hosts, c.proxies, err)
		}
		if ln != nil {
			_ = ln.Close()
		}
		_ = s.Close()
	}
}
