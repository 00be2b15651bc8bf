package outbound_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hocket-run/hocket/internal/leaktest"
	"github.com/hocket-run/hocket/internal/outbound"
	"github.com/hocket-run/hocket/internal/outbound/outboundtest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func newClient(t *testing.T, cfg outbound.Config) *http.Client {
	t.Helper()
	if cfg.Proxy == nil {
		cfg.Proxy = outboundtest.NoProxy
	}
	c := outbound.New(cfg)
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func get(t *testing.T, c *http.Client, url string, header ...string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// TestAddresses checks SEC8: an address that is not public is rejected unless the operator named
// it, however it is spelled.
func TestAddresses(t *testing.T) {
	t.Parallel()
	var hits atomic.Int64
	srv := outboundtest.Serve(t, func(w http.ResponseWriter, _ *http.Request) { hits.Add(1); io.WriteString(w, "ok") })
	addr := srv.Listener.Addr().String()
	_, port, _ := net.SplitHostPort(addr)

	for name, target := range map[string]string{
		"loopback":            "http://" + addr,
		"loopback by name":    "http://localhost:" + port,
		"loopback v6":         "http://[::1]:" + port,
		"v4 in v6":            "http://[::ffff:127.0.0.1]:" + port,
		"unspecified":         "http://0.0.0.0:" + port,
		"other loopback":      "http://127.8.9.10:" + port,
		"private":             "http://10.0.0.1:" + port,
		"link-local metadata": "http://169.254.169.254/latest/meta-data",
		"carrier":             "http://100.64.0.1",
		"unique local v6":     "http://[fd00::1]",
		"translated v6":       "http://[64:ff9b::7f00:1]",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if body, err := get(t, newClient(t, outbound.Config{}), target); !errors.Is(err, outbound.ErrRefused) {
				t.Errorf("got %q, %v; want ErrRefused", body, err)
			}
		})
	}
	for name, allow := range map[string]string{"host and port": addr, "host": "127.0.0.1", "URL": srv.URL + "/v1"} {
		t.Run("named by "+name, func(t *testing.T) {
			t.Parallel()
			before := hits.Load()
			if body, err := get(t, newClient(t, outbound.Config{Allow: []string{"", allow}}), srv.URL); body != "ok" ||
				err != nil {
				t.Errorf("got %q, %v; want ok", body, err)
			}
			if hits.Load() == before {
				t.Error("the server saw nothing")
			}
		})
	}
	t.Run("another port is another target", func(t *testing.T) {
		t.Parallel()
		if _, err := get(t, newClient(t, outbound.Config{Allow: []string{"127.0.0.1:1"}}), srv.URL); !errors.Is(err,
			outbound.ErrRefused) {
			t.Errorf("got %v; want ErrRefused", err)
		}
	})
}

// TestCheck checks SEC8: before anything is sent, Check rejects what a client rejects when it
// connects, and numbers that resolvers interpret differently; it leaves names that do not resolve
// to the client.
func TestCheck(t *testing.T) {
	t.Parallel()
	cfg := outbound.Config{Allow: []string{"desk.internal", "10.0.0.9:8080"},
		Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
			switch host {
			case "inside.example":
				return []netip.Addr{netip.MustParseAddr("::ffff:192.168.1.5")}, nil
			case "both.example":
				return []netip.Addr{netip.MustParseAddr("93.184.216.34"), netip.MustParseAddr("127.0.0.1")}, nil
			case "public.example":
				return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
			}
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		}}
	for address, isRefused := range map[string]bool{
		"http://127.0.0.1/": true, "http://[::1]:9/": true, "https://169.254.169.254/x": true, "http://10.0.0.9/": true,
		"http://[fd00::1]": true, "http://[::ffff:10.0.0.1]": true,
		"https://inside.example/": true, "https://both.example/": true, "http://2130706433/": true,
		"http://0x7f000001/": true, "http://0177.0.0.1": true, "http://127.1/": true,
		"http://1.2.3.4.": true, "http:///x": true, "%": true,
		"https://public.example/": false, "https://93.184.216.34/": false, "https://unknown.example": false,
		"http://desk.internal:1/": false, "http://10.0.0.9:8080/x": false, "https://x1.example/": false,
	} {
		if err := outbound.Check(t.Context(), cfg, address); errors.Is(err, outbound.ErrRefused) != isRefused ||
			isRefused != (err != nil) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestRedirectToPrivate checks SEC8: the operator's permission for a target does not extend to
// servers that redirect to it.
func TestRedirectToPrivate(t *testing.T) {
	t.Parallel()
	var hits atomic.Int64
	inner := outboundtest.Serve(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	outer := outboundtest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, inner.URL, http.StatusFound)
	})

	for name, allow := range map[string][]string{
		"target not named": {outer.URL},
		"target named":     {outer.URL, inner.URL},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := get(t, newClient(t, outbound.Config{Allow: allow}), outer.URL); !errors.Is(err,
				outbound.ErrRefused) {
				t.Errorf("got %v; want ErrRefused", err)
			}
			if n := hits.Load(); n != 0 {
				t.Errorf("the inner server was reached %d times", n)
			}
		})
	}
	t.Run("same origin", func(t *testing.T) {
		t.Parallel()
		srv := outboundtest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/a" {
				http.Redirect(w, r, "/b", http.StatusFound)
				return
			}
			io.WriteString(w, r.Header.Get("X-Api-Key"))
		})
		got, err := get(t, newClient(t, outbound.Config{Allow: []string{srv.URL}}), srv.URL+"/a", "X-Api-Key", "k")
		if got != "k" || err != nil {
			t.Errorf("got %q, %v; want the key kept", got, err)
		}
	})
	t.Run("endless", func(t *testing.T) {
		t.Parallel()
		srv := outboundtest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/", http.StatusFound)
		})
		if _, err := get(t, newClient(t, outbound.Config{Allow: []string{srv.URL}}), srv.URL); err == nil {
			t.Error("got no error from an endless redirect")
		}
	})
	t.Run("other scheme", func(t *testing.T) {
		t.Parallel()
		srv := outboundtest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		})
		if _, err := get(t, newClient(t, outbound.Config{Allow: []string{srv.URL}}), srv.URL); !errors.Is(err,
			outbound.ErrRefused) {
			t.Errorf("got %v; want ErrRefused", err)
		}
	})
}

// proxied returns a client behind a proxy that serves every host with h, and a resolver that knows
// hosts.
func proxied(t *testing.T, hosts map[string]string, h http.HandlerFunc, allow ...string) *http.Client {
	t.Helper()
	via, err := url.Parse(outboundtest.Serve(t, h).URL)
	if err != nil {
		t.Fatal(err)
	}
	return newClient(t, outbound.Config{
		Allow: allow,
		Proxy: func(*http.Request) (*url.URL, error) { return via, nil },
		Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
			var out []netip.Addr
			for a := range strings.FieldsSeq(hosts[host]) {
				out = append(out, netip.MustParseAddr(a))
			}
			if out == nil {
				return nil, errors.New("no such host")
			}
			return out, nil
		},
	})
}

// TestProxy checks D34: behind a proxy the target is resolved and checked first.
func TestProxy(t *testing.T) {
	t.Parallel()
	hosts := map[string]string{
		"public.example": "93.184.216.34", "mapped.example": "::ffff:93.184.216.34",
		"inner.example": "192.168.1.4", "both.example": "93.184.216.34 10.0.0.8", "2130706433": "127.0.0.1",
		"0x7f.1": "127.0.0.1",
	}
	echo := func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "via proxy "+r.URL.Host) }
	for target, ok := range map[string]bool{
		"http://public.example/": true, "http://mapped.example/": true, "http://93.184.216.34/": true,
		"http://inner.example/": false, "http://both.example/": false, "http://127.0.0.1/": false,
		"http://[::ffff:127.0.0.1]/": false,
		"http://2130706433/":         false, "http://0x7f.1/": false, "http://unknown.example/": false,
	} {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			body, err := get(t, proxied(t, hosts, echo), target)
			switch {
			case ok && (err != nil || !strings.HasPrefix(body, "via proxy ")):
				t.Errorf("got %q, %v; want the proxy's answer", body, err)
			case !ok && !errors.Is(err, outbound.ErrRefused):
				t.Errorf("got %q, %v; want ErrRefused", body, err)
			}
		})
	}
	t.Run("named", func(t *testing.T) {
		t.Parallel()
		if body, err := get(t, proxied(t, nil, echo, "corp.example"), "http://corp.example/"); err != nil ||
			body == "" {
			t.Errorf("got %q, %v; want the proxy's answer", body, err)
		}
	})
}

// TestRedirect_DropsCredentials checks SEC8: credentials are bound to hosts and dropped on a
// cross-host redirect, in every header and on every later hop.
func TestRedirect_DropsCredentials(t *testing.T) {
	t.Parallel()
	hosts := map[string]string{"one.example": "93.184.216.34", "two.example": "93.184.216.35"}
	var leaked atomic.Pointer[http.Header]
	c := proxied(t, hosts, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Host + r.URL.Path {
		case "one.example/":
			http.Redirect(w, r, "http://two.example/a", http.StatusFound)
		case "two.example/a":
			http.Redirect(w, r, "/b", http.StatusFound)
		default:
			h := r.Header.Clone()
			leaked.Store(&h)
		}
	})
	_, err := get(t, c, "http://one.example/?key=canary",
		"Authorization", "Bearer canary", "X-Api-Key", "canary", "X-Goog-Api-Key", "canary", "Cookie", "s=canary",
		"Accept", "text/plain")
	if err != nil {
		t.Fatal(err)
	}
	got := *leaked.Load()
	for name, values := range got {
		if strings.Contains(strings.Join(values, " "), "canary") {
			t.Errorf("header %s crossed hosts: %q", name, values)
		}
	}
	if got.Get("Accept") != "text/plain" {
		t.Errorf("got Accept %q; want it kept", got.Get("Accept"))
	}
}

// TestNoSilentRetry checks D8 and D11: net/http repeats nothing automatically. It would when a
// reused connection breaks during a request with an Idempotency-Key.
func TestNoSilentRetry(t *testing.T) {
	t.Parallel()
	var posts atomic.Int64
	srv := outboundtest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if posts.Add(1) == 1 {
			return // leaves a used connection in the pool
		}
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			conn.Close()
		}
	})
	c := newClient(t, outbound.Config{Allow: []string{srv.URL}})
	post := func() (string, error) {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL, strings.NewReader("{}"))
		req.Header.Set("Idempotency-Key", "k1")
		resp, err := c.Do(req)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
		return req.Header.Get("Idempotency-Key"), err
	}
	if _, err := post(); err != nil {
		t.Fatal(err)
	}
	if _, err := post(); err == nil {
		t.Error("got no error from a broken connection")
	}
	if n := posts.Load(); n != 2 {
		t.Errorf("the server saw %d requests; want 2", n)
	}
}

// TestCancel checks that a done context ends a request to a server that accepts and never responds
// (P11).
func TestCancel(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{})
	srv := outboundtest.Serve(t, func(_ http.ResponseWriter, r *http.Request) { close(entered); <-r.Context().Done() })
	c := newClient(t, outbound.Config{Allow: []string{srv.URL}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-entered; cancel() }()
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL, nil)
	resp, err := c.Do(req)
	if err == nil {
		resp.Body.Close()
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v; want context.Canceled", err)
	}
}
