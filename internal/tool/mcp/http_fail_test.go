//go:build unix

package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
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
)

func TestHTTPOpenFailures(t *testing.T) {
	t.Parallel()
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "secret page", code) }
	}
	hang := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the end of the request goes unnoticed
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
		{"no JSON", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }),
			tool.KindNetwork, ""},
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
	t.Run("no listener", func(t *testing.T) {
		t.Parallel()
		srv := httptest.NewServer(nil)
		srv.Close()
		_, err := open(t, httpConfig(t), remote(srv.URL)).Tools(t.Context())
		wantError(t, err, tool.KindNetwork, false, "refused")
	})
}

// TestOpen_UnansweredStream checks that a server that accepts the request for announcements and
// never responds to it does not block the connection.
func TestOpen_UnansweredStream(t *testing.T) {
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
	cfg.ConnectTimeout = 30 * time.Second // waits a sixth of this for the stream
	r, err := call(t, open(t, cfg, remote(srv.URL)), "echo", `{"text":"hi"}`)
	if err != nil || r.Text != "hi" {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestSessionLost checks that after a restart, when the server has forgotten the session, the call
// is made over a new session, once, unless the tool has changed.
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

// TestSessionRefused checks that servers that reject an unknown session, with 404 or 400, get a new
// session; any other response, and any answer to the call itself, is final, and nothing is
// repeated.
func TestSessionRefused(t *testing.T) {
	t.Parallel()
	failure := func(id, message string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32000,"message":"` + message + `"}}`
	}
	for _, tc := range []struct {
		name   string
		status int
		says   string
		fails  string // what the error says; "" means that the call is made again
	}{
		{"no session", 400, failure("null", "Bad Request: No valid session ID provided"), ""},
		{"not initialized", 400, failure("null", "Bad Request: Server not initialized"), ""},
		{"id of its own", 404, failure(`"server-error"`, "Session has been terminated"), ""},
		{"text", 404, "session not found", ""},
		{"text, 400", 400, "Invalid session ID", ""},
		{"object", 400, `{"error":"Session not found"}`, ""},
		{"something else", 400, `the line is too long`, "Bad Request: the line is too long"},
		{"session of a tool", 400, "order 7 was placed; checkout session closed", "Bad Request: order 7 was placed"},
		{"session not found by a tool", 400, "order 7 was placed; session not found",
			"Bad Request: order 7 was placed"},
		{"answer", 400, failure("REQUEST", "payment made, but the browser session has expired"), "payment made"},
		{"answer, 404", 404, failure("REQUEST", "payment made, but the browser session has expired"), "payment made"},
		{"answer, id as text", 404, failure(`"REQUEST"`, "Session not found"), "Session not found"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := streamable(t, nil)
			var refuse, calls, opened atomic.Int64
			srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") == "" {
					opened.Add(1)
				}
				if r.Method == http.MethodPost && refuse.Load() > 0 {
					calls.Add(1)
					if refuse.Add(-1) >= 0 {
						var req struct{ ID json.RawMessage }
						_ = json.NewDecoder(r.Body).Decode(&req)
						http.Error(w, strings.ReplaceAll(tc.says, "REQUEST", string(req.ID)), tc.status)
						return
					}
				}
				h.ServeHTTP(w, r)
			}))
			ts := open(t, httpConfig(t), remote(srv.URL))
			echo := named(t, ts, "echo")
			refuse.Store(1)
			r, err := echo.Call(t.Context(), tool.Call{Arguments: json.RawMessage(`{"text":"hi"}`)})
			if tc.fails != "" {
				wantError(t, err, tool.KindFailed, false, tc.fails)
			} else if err != nil || r.Text != "hi" {
				t.Errorf("%+v, %v", r, err)
			}
			if n := calls.Load(); n != 1 {
				t.Errorf("%d requests were refused", n)
			}
			r, err = call(t, ts, "echo", `{"text":"next"}`)
			if err != nil || r.Text != "next" {
				t.Errorf("the next call: %+v, %v", r, err)
			}
			want := int64(1)
			if tc.fails == "" || tc.fails == "Session not found" {
				want = 2
			}
			if n := opened.Load(); n != want {
				t.Errorf("%d sessions were opened, want %d", n, want)
			}
		})
	}
}

// TestServerGone checks that a call that could not be sent is reported as not executed.
func TestServerGone(t *testing.T) {
	t.Parallel()
	srv := serve(t, streamable(t, nil))
	cfg := httpConfig(t)
	// A connection that is kept alive may be reset after the request was sent; a new one is always
	// refused.
	cfg.HTTPClient.Transport.(*http.Transport).DisableKeepAlives = true
	ts := open(t, cfg, remote(srv.URL))
	echo := named(t, ts, "echo")
	srv.CloseClientConnections()
	srv.Close()
	_, err := echo.Call(t.Context(), tool.Call{Arguments: json.RawMessage(`{"text":"hi"}`)})
	wantError(t, err, tool.KindNetwork, false, "refused")
}

// TestHTTPCallFailures checks that calls end in time, and that calls that may have been executed
// are reported as unknown.
func TestHTTPCallFailures(t *testing.T) {
	t.Parallel()
	t.Run("never answers", func(t *testing.T) {
		t.Parallel()
		srv, dir := serve(t, streamable(t, nil)), t.TempDir()
		spec := remote(srv.URL)
		spec.IdleTimeout = 10 * time.Second // the server starts earlier
		ts := open(t, httpConfig(t), spec)
		_, err := call(t, ts, "hang", `{"dir":"`+dir+`"}`)
		wantError(t, err, tool.KindTimeout, true, "sent no data")
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
		wantError(t, err, tool.KindFailed, false, "its answer has", "more than the limit of 16777216")
	})
}
