//go:build unix

package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// client gives an HTTP client whose idle connections end with the test.
func client(t *testing.T) *http.Client {
	t.Helper()
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: time.Minute}
}

// remote gives the spec of a server at url.
func remote(url string) tool.Spec {
	return tool.Spec{Type: tool.TypeMCP, Name: "srv", Remote: &tool.Remote{URL: url}}
}

func httpConfig(t *testing.T) mcp.Config {
	t.Helper()
	cfg := quick()
	cfg.HTTPClient = client(t)
	return cfg
}

// serve starts h and ends it with the test, cutting what is still open.
func serve(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv
}

// streamable serves the test server. One sdk.Server for all sessions, so that a change reaches them all. Sessions and calls that the client left
// behind end with the test.
func streamable(t *testing.T, opts *sdk.StreamableHTTPOptions) http.Handler {
	t.Helper()
	return streamableMode(t, "basic", opts)
}

func streamableMode(t *testing.T, mode string, opts *sdk.StreamableHTTPOptions) http.Handler {
	t.Helper()
	s := newServer(mode, t.Context().Done()) // is done before the cleanups run
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
		"stateful": {}, "stateless": {Stateless: true, PropagateRequestCancellation: true}, "json": {JSONResponse: true},
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

// TestHints: what a server says of its tools decides about calls of unknown outcome (P12) where the server is trusted, and nowhere else: a document can name any
// server without asking anybody.
func TestHints(t *testing.T) {
	t.Parallel()
	srv := serve(t, streamable(t, nil))
	for trusted, want := range map[bool]tool.Policy{true: tool.PolicyRetry, false: tool.PolicyAsk} {
		spec := remote(srv.URL)
		spec.Trusted = trusted
		ts := open(t, httpConfig(t), spec)
		for name, want := range map[string]tool.Policy{"echo": want, "put": want, "buy": tool.PolicyAsk} { // read-only, idempotent, neither
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

// TestCloseFreesConnections: a run's remote servers hold no connection after it.
func TestCloseFreesConnections(t *testing.T) {
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

// TestLiteralHeader: what a header holds that is written into the file is no less a secret (SEC11).
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
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"who is %s of the %s?"}}`, req.ID, who, r.Header.Get("X-Team"))
	}))
	spec := remote(srv.URL)
	spec.Remote.Headers = map[string]string{"Authorization": "Bearer " + canary, "X-Team": "red-team"}
	_, err := open(t, httpConfig(t), spec).Tools(t.Context())
	if text := fmt.Sprint(err); !strings.Contains(text, "who is [redacted] of the red-team?") {
		t.Errorf("got %v; want the server's words without the secret", err)
	}
}

// TestHTTPChanged: an announcement over the listening stream makes the list be read again (SEC14).
func TestHTTPChanged(t *testing.T) {
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

// TestHeaders: the spec's headers go to the named host, and to no other (SEC8).
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

func TestHTTPOpenFailures(t *testing.T) {
	t.Parallel()
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "secret page", code) }
	}
	hang := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else the end of the request is not noticed
		<-r.Context().Done()
	})
	for _, tc := range []struct {
		name  string
		h     http.Handler
		kind  tool.ErrorKind
		words string
	}{
		{"unauthorized", status(http.StatusUnauthorized), tool.KindNetwork, "Unauthorized"},
		{"unavailable", status(http.StatusServiceUnavailable), tool.KindNetwork, "Service Unavailable"},
		{"not found", status(http.StatusNotFound), tool.KindNetwork, "Not Found"},
		{"accepts and never answers (P11)", hang, tool.KindTimeout, "did not answer within"},
		{"no JSON", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }), tool.KindNetwork, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			srv := serve(t, tc.h)
			spec := remote(srv.URL + "/?key=${QUERY_KEY}")
			cfg := httpConfig(t)
			cfg.Lookup = func(string) (string, bool) { return "qqqqqq-secret", true }
			if tc.kind == tool.KindTimeout {
				cfg.ConnectTimeout = 200 * time.Millisecond
			}
			_, err := open(t, cfg, spec).Tools(t.Context())
			wantError(t, err, tc.kind, false, tc.words)
			if strings.Contains(err.Error(), "qqqqqq-secret") {
				t.Errorf("the error holds a secret: %v", err)
			}
		})
	}
	t.Run("nobody listens", func(t *testing.T) {
		t.Parallel()
		srv := httptest.NewServer(nil)
		srv.Close()
		_, err := open(t, httpConfig(t), remote(srv.URL)).Tools(t.Context())
		wantError(t, err, tool.KindNetwork, false, "refused")
	})
}

// TestSilentStream: a server that accepts the request for announcements and never answers it does not hold up the connection.
func TestSilentStream(t *testing.T) {
	t.Parallel()
	h := streamable(t, nil)
	srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			<-r.Context().Done()
			return
		}
		h.ServeHTTP(w, r)
	}))
	cfg := httpConfig(t)
	cfg.ConnectTimeout = 30 * time.Second // a sixth of it is waited for the stream
	r, err := call(t, open(t, cfg, remote(srv.URL)), "echo", `{"text":"hi"}`)
	if err != nil || r.Text != "hi" {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestSessionLost: a server that was started anew has forgotten the session; the call is made over a new one, once, unless the tool is another.
func TestSessionLost(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	h := streamable(t, nil)
	srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		now := h
		mu.Unlock()
		now.ServeHTTP(w, r)
	}))
	ts := open(t, httpConfig(t), remote(srv.URL))
	echo := named(t, ts, "echo")
	for _, mode := range []string{"basic", "basic", "other"} {
		mu.Lock()
		h = streamableMode(t, mode, nil)
		mu.Unlock()
		r, err := echo.Call(t.Context(), tool.Call{Arguments: json.RawMessage(`{"text":"hi"}`)})
		if mode == "other" {
			wantError(t, err, tool.KindChanged, false) // SEC14
		} else if err != nil || r.Text != "hi" {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

// TestSessionRefused: servers that refuse an unknown session by 400 instead of 404 get a new one too; any other 400 is an answer, and nothing is repeated.
func TestSessionRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, says string
		again      bool
	}{
		{"no session", `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`, true},
		{"not initialized", `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"},"id":null}`, true},
		{"something else", `the line is too long`, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := streamable(t, nil)
			var refuse, calls atomic.Int64
			srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost && refuse.Load() > 0 {
					calls.Add(1)
					if refuse.Add(-1) >= 0 {
						http.Error(w, tc.says, http.StatusBadRequest)
						return
					}
				}
				h.ServeHTTP(w, r)
			}))
			ts := open(t, httpConfig(t), remote(srv.URL))
			echo := named(t, ts, "echo")
			refuse.Store(1)
			r, err := echo.Call(t.Context(), tool.Call{Arguments: json.RawMessage(`{"text":"hi"}`)})
			if tc.again && (err != nil || r.Text != "hi") {
				t.Errorf("%+v, %v", r, err)
			}
			if !tc.again {
				wantError(t, err, tool.KindNetwork, true, "Bad Request")
			}
			if n := calls.Load(); n != 1 {
				t.Errorf("%d requests were refused", n)
			}
		})
	}
}

// TestServerGone: a call that could not be sent was not carried out.
func TestServerGone(t *testing.T) {
	t.Parallel()
	srv := serve(t, streamable(t, nil))
	cfg := httpConfig(t)
	ts := open(t, cfg, remote(srv.URL))
	echo := named(t, ts, "echo")
	srv.CloseClientConnections()
	srv.Close()
	cfg.HTTPClient.CloseIdleConnections()
	_, err := echo.Call(t.Context(), tool.Call{Arguments: json.RawMessage(`{"text":"hi"}`)})
	wantError(t, err, tool.KindNetwork, false, "refused")
}

// TestHTTPCallFailures: calls end in time, and what may have been carried out is said to be unknown.
func TestHTTPCallFailures(t *testing.T) {
	t.Parallel()
	t.Run("never answers", func(t *testing.T) {
		t.Parallel()
		srv, dir := serve(t, streamable(t, nil)), t.TempDir()
		spec := remote(srv.URL)
		spec.IdleTimeout = 3 * time.Second // the server begins before
		ts := open(t, httpConfig(t), spec)
		_, err := call(t, ts, "hang", `{"dir":"`+dir+`"}`)
		wantError(t, err, tool.KindTimeout, true, "no sign of life")
		waitFor(t, func() bool { return exists(dir, "cancelled") })
	})
	t.Run("cancel", func(t *testing.T) {
		t.Parallel()
		srv, dir := serve(t, streamable(t, nil)), t.TempDir()
		ts := open(t, httpConfig(t), remote(srv.URL))
		hang := named(t, ts, "hang")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		failed := make(chan error, 1)
		go func() {
			_, err := hang.Call(ctx, tool.Call{Arguments: json.RawMessage(`{"dir":"` + dir + `"}`)})
			failed <- err
		}()
		waitFor(t, func() bool { return exists(dir, "began") })
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
		waitFor(t, func() bool { return exists(dir, "cancelled") })
	})
	t.Run("the connection breaks in the call", func(t *testing.T) {
		t.Parallel()
		srv, dir := serve(t, streamable(t, nil)), t.TempDir()
		ts := open(t, httpConfig(t), remote(srv.URL))
		hang := named(t, ts, "hang")
		failed := make(chan error, 1)
		go func() {
			_, err := hang.Call(t.Context(), tool.Call{Arguments: json.RawMessage(`{"dir":"` + dir + `"}`)})
			failed <- err
		}()
		waitFor(t, func() bool { return exists(dir, "began") })
		srv.CloseClientConnections()
		wantError(t, <-failed, tool.KindNetwork, true)
	})
	t.Run("too much", func(t *testing.T) {
		t.Parallel()
		h := streamable(t, &sdk.StreamableHTTPOptions{JSONResponse: true})
		srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Mcp-Session-Id") == "" || r.Method != http.MethodPost {
				h.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			chunk := []byte(strings.Repeat(" ", 1<<20))
			for range 64 {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}))
		cfg := httpConfig(t)
		_, err := open(t, cfg, remote(srv.URL)).Tools(t.Context())
		wantError(t, err, tool.KindNetwork, false)
	})
}
