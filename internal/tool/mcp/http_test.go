//go:build unix

package mcp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/mcp"
	"github.com/hocket-run/hocket/internal/tool/tooltest"
)

// client returns an HTTP client whose idle connections are closed when the test ends.
func client(t *testing.T) *http.Client {
	t.Helper()
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: time.Minute}
}

// remote returns the spec of a server at url.
func remote(url string) tool.Spec {
	return tool.Spec{Type: tool.TypeMCP, Name: "srv", Remote: &tool.Remote{URL: url}}
}

func httpConfig(t *testing.T) mcp.Config {
	t.Helper()
	cfg := quick()
	cfg.HTTPClient = client(t)
	return cfg
}

// serve starts h and stops it when the test ends, closing connections that are still open.
func serve(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv
}

// streamable serves the test server. All sessions share one sdk.Server, so that a change reaches
// them all. Sessions and calls that the client left behind end with the test.
func streamable(t *testing.T, opts *sdk.StreamableHTTPOptions) http.Handler {
	t.Helper()
	return streamableMode(t, "basic", opts)
}

func streamableMode(t *testing.T, mode string, opts *sdk.StreamableHTTPOptions) http.Handler {
	t.Helper()
	s := newServer(mode, t.Context().Done()) // done before the cleanups run
	t.Cleanup(func() {
		for session := range s.Sessions() {
			_ = session.Close()
		}
	})
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, opts)
}

func TestConformHTTP(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]*sdk.StreamableHTTPOptions{
		"stateful": {}, "stateless": {Stateless: true, PropagateRequestCancellation: true},
		"json": {JSONResponse: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := serve(t, streamable(t, opts))
			tooltest.Conform(t, tooltest.Case{
				Open: func(t *testing.T) tool.Toolset { return open(t, httpConfig(t), remote(srv.URL)) },
				Good: tool.Call{Name: "echo", Arguments: json.RawMessage(`{"text":"x"}`)},
			})
		})
	}
}

// TestToolAnnotations checks that a server's tool annotations determine how calls of unknown
// outcome are handled (P12) only if the server is trusted: a document can name any server without
// anyone's consent.
func TestToolAnnotations(t *testing.T) {
	t.Parallel()
	srv := serve(t, streamable(t, nil))
	for trusted, want := range map[bool]tool.Policy{true: tool.PolicyRetry, false: tool.PolicyAsk} {
		spec := remote(srv.URL)
		spec.Trusted = trusted
		ts := open(t, httpConfig(t), spec)
		// read-only, idempotent, neither
		for name, want := range map[string]tool.Policy{"echo": want, "put": want, "buy": tool.PolicyAsk} {
			if got := named(t, ts, name).Policy(); got != want {
				t.Errorf("trusted %t: %s has policy %s, want %s", trusted, name, got, want)
			}
		}
	}
}

// counted counts how often idle connections were closed.
type counted struct {
	*http.Transport
	closed atomic.Int64
}

func (c *counted) CloseIdleConnections() {
	c.closed.Add(1)
	c.Transport.CloseIdleConnections()
}

// TestClose_Connections checks that closing the toolset of a remote server closes its idle
// connections.
func TestClose_Connections(t *testing.T) {
	t.Parallel()
	tr := &counted{Transport: &http.Transport{}}
	cfg := quick()
	cfg.HTTPClient = &http.Client{Transport: tr}
	ts := open(t, cfg, remote(serve(t, streamable(t, nil)).URL))
	if _, err := ts.Tools(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := ts.Close(); err != nil {
		t.Fatal(err)
	}
	if tr.closed.Load() == 0 {
		t.Error("idle connections stay open")
	}
}

// TestLiteralHeader checks that a header value that is written literally in the file is treated as
// a secret too (SEC11).
func TestLiteralHeader(t *testing.T) {
	t.Parallel()
	srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			ID json.RawMessage `json:"id"`
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil || req.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		who := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"who is %s of the %s?"}}`, req.ID,
			who, r.Header.Get("X-Team"))
	}))
	spec := remote(srv.URL)
	spec.Remote.Headers = map[string]string{"Authorization": "Bearer " + canary, "X-Team": "red-team"}
	_, err := open(t, httpConfig(t), spec).Tools(t.Context())
	if text := fmt.Sprint(err); !strings.Contains(text, "who is [redacted] of the red-team?") {
		t.Errorf("got %v; want the server's words without the secret", err)
	}
}

// TestHTTP_ListChanged checks that an announcement over the listening stream causes the list to be
// read again (SEC14).
func TestHTTP_ListChanged(t *testing.T) {
	t.Parallel()
	srv := serve(t, streamable(t, nil))
	ts := open(t, httpConfig(t), remote(srv.URL))
	echo, before := named(t, ts, "echo"), strings.Join(hashes(t, ts), " ")
	if _, err := call(t, ts, "change", `{"how":"describe"}`); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return strings.Join(hashes(t, ts), " ") != before })
	_, err := echo.Call(t.Context(), tool.Call{Arguments: json.RawMessage(`{"text":"x"}`)})
	wantError(t, err, tool.KindChanged, false)
}

// TestHeaders checks that the spec's headers are sent to the named host, and to no other (SEC8).
func TestHeaders(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[string][]string{}
	note := func(host string, next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			seen[host] = append(seen[host], r.Header.Get("Authorization")+r.Header.Get("X-Key"))
			mu.Unlock()
			next.ServeHTTP(w, r)
		})
	}
	other := serve(t, note("other", streamable(t, nil)))
	named := serve(t, note("named", http.RedirectHandler(other.URL, http.StatusTemporaryRedirect)))
	cfg := httpConfig(t)
	cfg.Lookup = func(name string) (string, bool) { return "s3cr3t-value", name == "TOKEN" }
	spec := remote(named.URL)
	spec.Remote.Headers = map[string]string{"Authorization": "Bearer ${TOKEN}", "X-Key": "${env.TOKEN}"}
	if _, err := open(t, cfg, spec).Tools(t.Context()); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, h := range seen["named"] {
		if h != "Bearer s3cr3t-values3cr3t-value" {
			t.Errorf("the named host got %q", h)
		}
	}
	if len(seen["other"]) == 0 {
		t.Error("the other host got nothing; the test tests nothing")
	}
	for _, h := range seen["other"] {
		if h != "" {
			t.Errorf("the other host got %q", h)
		}
	}
}
