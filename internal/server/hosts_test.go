package server_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/server"
	"github.com/hocket-run/hocket/internal/service"
)

// TestHosts checks that known Hosts and Origins are accepted, and that those with which foreign
// pages could drive the server are not (SEC9).
func TestHosts(t *testing.T) {
	t.Parallel()
	plain := open(t, server.Config{})
	named := open(t, server.Config{
		Addr: "192.0.2.7:7788", URL: "https://hocket.example.com/base", Hosts: []string{"Box.Lan", "*.internal.example",
			"2001:db8::1"}, Origins: []string{"https://app.example.com:8443"},
		Service: service.Config{Documents: linked.Kit(), Operator: &config.Config{
			Server: config.Server{Hosts: []string{"yaml.example"}, Origins: []string{"https://yaml.example"}},
		}},
	})
	for _, c := range []struct {
		name, host, origin string
		w                  *world
		status             int
	}{
		{"localhost", "localhost:7788", "", plain, 200}, {"in capitals", "LOCALHOST", "", plain, 200},
		{"rooted", "localhost.:7788", "", plain, 200},
		{"loopback", "127.0.0.1:7788", "", plain, 200}, {"another loopback", "127.9.9.9", "", plain, 200},
		{"IPv6", "[::1]:7788", "", plain, 200},
		{"mapped", "[::ffff:127.0.0.1]:7788", "", plain, 200}, {"forwarded port", "localhost:9999", "", plain, 200},
		{"where it arrived", "198.51.100.4:7788", "", plain, 200},
		{"another address", "198.51.100.5:7788", "", plain, 403},
		{"no host", "", "", plain, 403}, {"another name", "evil.example", "", plain, 403},
		{"begins like", "localhost.evil.example", "", plain, 403}, {"ends like", "evil-localhost", "", plain, 403},
		{"with a user", "localhost@evil.example", "", plain, 403}, {"with a path", "localhost/evil.example", "", plain,
			403}, {"decimal", "2130706433", "", plain, 403}, {"octal", "0177.0.0.1", "", plain, 403},
		{"unspecified", "0.0.0.0:7788", "", plain, 403},
		{"own origin", "localhost:7788", "http://localhost:7788", plain, 200},
		{"own origin behind TLS", "localhost:7788", "https://localhost:7788", plain, 200},
		{"another port", "localhost:7788", "http://localhost:3000", plain, 403},
		{"another loopback's page", "localhost:7788", "http://127.0.0.1:7788", plain, 403},
		{"another origin", "localhost:7788", "https://evil.example", plain, 403},
		{"no origin", "localhost:7788", "null", plain, 403}, {"a file", "localhost:7788", "file://", plain, 403},
		{"an extension", "localhost:7788", "chrome-extension://localhost:7788", plain, 403},
		{"own address", "192.0.2.7:7788", "", named, 200}, {"public name", "hocket.example.com",
			"https://hocket.example.com", named, 200}, {"named", "box.lan:7788", "", named, 200},
		{"below a name", "a.b.internal.example", "", named, 200}, {"the name itself", "internal.example", "", named,
			403}, {"named address", "[2001:DB8::1]:7788", "", named, 200},
		{"of hocket.yaml", "yaml.example", "https://yaml.example", named, 200},
		{"named origin", "hocket.example.com", "https://app.example.com:8443", named, 200},
		{"its other port", "hocket.example.com", "https://app.example.com", named, 403},
		{"named origin without TLS", "hocket.example.com", "http://app.example.com:8443", named, 403},
	} {
		for _, method := range []string{"GET", "POST"} {
			path := map[string]string{"GET": "/test/who", "POST": "/test/change/1"}[method]
			rec := c.w.ask(t, method, path, "", func(r *http.Request) {
				r.Host = c.host
				if c.origin != "" {
					r.Header.Set("Origin", c.origin)
				}
				at := &net.TCPAddr{IP: net.IPv4(198, 51, 100, 4), Port: 7788}
				*r = *r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(at)))
			})
			want := c.status
			if want == 200 && method == "POST" {
				want = 204
			}
			if rec.Code != want {
				t.Errorf("%s: %s: status %d, want %d: %s", c.name, method, rec.Code, want, rec.Body)
			}
			allowed := rec.Header().Get("Access-Control-Allow-Origin")
			crossing := rec.Code < 300 && c.origin == "https://app.example.com:8443"
			if crossing != (allowed == c.origin && allowed != "") && c.name != "of hocket.yaml" {
				t.Errorf("%s: Access-Control-Allow-Origin is %q", c.name, allowed)
			}
			if rec.Header().Get("Access-Control-Allow-Credentials") != "" {
				t.Errorf("%s: cookies are let in", c.name)
			}
		}
	}
}

// TestCrossOrigin checks that only preflight requests of named origins are answered, and that
// requests from other origins are rejected (SEC9).
func TestCrossOrigin(t *testing.T) {
	t.Parallel()
	w := open(t, server.Config{Origins: []string{"https://app.example.com"}})
	preflight := func(origin string) func(*http.Request) {
		return func(r *http.Request) {
			r.Header.Del("Authorization")
			r.Header.Set("Origin", origin)
			r.Header.Set("Access-Control-Request-Method", "PUT")
			r.Header.Set("Access-Control-Request-Headers",
				"authorization,x-stainless-os, openai-beta,x-evil,x-stainless-a/b")
		}
	}
	rec := w.ask(t, "OPTIONS", "/test/who", "", preflight("https://app.example.com"))
	if rec.Code != 204 || rec.Header().Get("Access-Control-Allow-Origin") != "https://app.example.com" ||
		rec.Header().Get("Vary") != "Origin" {
		t.Errorf("named: %d %v", rec.Code, rec.Header())
	}
	if may := rec.Header().Get("Access-Control-Allow-Headers"); !strings.Contains(may, "Idempotency-Key") ||
		!strings.Contains(may, "Prefer") || !strings.HasSuffix(may, ", x-stainless-os, openai-beta") {
		t.Errorf("headers that may be sent: %q", may)
	}
	if rec := w.ask(t, "OPTIONS", "/test/who", "", preflight("https://evil.example")); rec.Code != 403 ||
		rec.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("another: %d %v", rec.Code, rec.Header())
	}
	for site, want := range map[string]int{"cross-site": 403, "same-site": 403, "same-origin": 204, "none": 204} {
		rec := w.ask(t, "POST", "/test/change/1", "", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", site) })
		if rec.Code != want {
			t.Errorf("%s: status %d, want %d", site, rec.Code, want)
		}
	}
	rec = w.ask(t, "POST", "/test/change/1", "", func(r *http.Request) {
		r.Header["Origin"] = []string{"https://app.example.com", "https://evil.example"}
	})
	if rec.Code != 403 {
		t.Errorf("two origins: status %d", rec.Code)
	}
}

// TestMCP_PublicHost checks that behind a proxy on the same machine the MCP endpoint
// accepts the server's public name, and no name that was not allowed (SEC9).
func TestMCP_PublicHost(t *testing.T) {
	t.Parallel()
	s := serve(t, server.Config{Hosts: []string{"hocket.example.com"}})
	const hello = `{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", ` +
		`"capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}`
	for host, want := range map[string]int{"hocket.example.com": http.StatusOK, "evil.example": http.StatusForbidden} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/mcp", strings.NewReader(hello))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s: %d, want %d", host, res.StatusCode, want)
		}
	}
}
