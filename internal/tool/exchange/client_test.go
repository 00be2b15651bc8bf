package exchange_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/leaktest"
	"github.com/hocket-run/hocket/internal/outbound"
	"github.com/hocket-run/hocket/internal/outbound/outboundtest"
	"github.com/hocket-run/hocket/internal/process"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/exchange"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func client(t *testing.T, cfg exchange.Config, allow ...string) *exchange.Client {
	t.Helper()
	cfg.HTTP = outbound.New(outbound.Config{Allow: allow, Proxy: outboundtest.NoProxy})
	c := exchange.New(cfg)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func request(t *testing.T, method, target, body string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// TestFailures checks the errors of exchanges without a complete response, and whether they report
// that the request may have been carried out (P11, P12).
func TestFailures(t *testing.T) {
	t.Parallel()
	srv := outboundtest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		switch r.URL.Path {
		case "/hang":
			<-r.Context().Done()
		case "/stall":
			io.WriteString(w, "begun")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case "/drip":
			for r.Context().Err() == nil {
				io.WriteString(w, ".")
				w.(http.Flusher).Flush()
			}
		case "/break":
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "x")
		case "/drop":
			if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
				conn.Close()
			}
		}
	})
	gone := outboundtest.Serve(t, nil)
	gone.Close()
	short := exchange.Config{Total: time.Minute, Idle: 100 * time.Millisecond}
	for name, tc := range map[string]struct {
		method, url string
		cfg         exchange.Config
		kind        tool.ErrorKind
		unknown     bool
		text        string
	}{
		"never answers": {"POST", srv.URL + "/hang", short, tool.KindTimeout, true,
			"sent no data for 100ms"},
		"reading changes nothing": {"GET", srv.URL + "/hang", short, tool.KindTimeout, false, "sent no data"},
		"stalls in the middle":    {"POST", srv.URL + "/stall", short, tool.KindTimeout, true, "sent no data"},
		"never ends": {"PUT", srv.URL + "/drip", exchange.Config{Total: 200 * time.Millisecond,
			MaxBytes: 1 << 30}, tool.KindTimeout, true, "did not send a complete response within 200ms"},
		"breaks off": {"POST", srv.URL + "/break", exchange.Config{}, tool.KindNetwork, true,
			"read the response"},
		"drops the connection": {"DELETE", srv.URL + "/drop", exchange.Config{}, tool.KindNetwork, true,
			"no response from"},
		"no listener": {"POST", gone.URL, exchange.Config{}, tool.KindNetwork, false, "no response from"},
		"refused address (SEC8)": {"POST", "http://10.0.0.1/?key=canary", exchange.Config{}, tool.KindFailed, false,
			"address refused"},
		"refused by the toolset": {"POST", srv.URL, exchange.Config{Judge: func(*url.URL) error {
			return outbound.ErrRefused
		}}, tool.KindFailed, false, "was not sent"},
		"secrets stay here (SEC11)": {"GET", gone.URL + "/?key=canary", exchange.Config{
			Redactor: process.NewRedactor([]string{"connection refused"}),
		}, tool.KindNetwork, false, "[redacted]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := client(t, tc.cfg, srv.URL, gone.URL).Do(t.Context(), request(t, tc.method, tc.url, "{}"))
			e, ok := errors.AsType[*tool.Error](err)
			if !ok || e.Kind != tc.kind || e.OutcomeUnknown != tc.unknown || !strings.Contains(e.Message, tc.text) ||
				strings.Contains(e.Message, "canary") {
				t.Errorf("got %#v (%v)", e, err)
			}
		})
	}
}

// TestExchange_CancelAndClose checks that a done context and Close each end an exchange with their
// own error.
func TestExchange_CancelAndClose(t *testing.T) {
	t.Parallel()
	srv := outboundtest.Serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	cause := errors.New("the run was cancelled")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := client(t, exchange.Config{}, srv.URL).Do(ctx, request(t, "POST", srv.URL, "")); !errors.Is(err,
		cause) {
		t.Errorf("done before: %v", err)
	}
	c := client(t, exchange.Config{}, srv.URL)
	if err := c.Close(); err != nil || !c.Closed() {
		t.Error(err)
	}
	if _, err := c.Do(t.Context(), request(t, "GET", srv.URL, "")); !errors.Is(err, tool.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// TestRedirects checks that the contents of a writing request stay with its host, and that reading
// requests follow redirects elsewhere, without credentials, if the toolset allows it (SEC8).
func TestRedirects(t *testing.T) {
	t.Parallel()
	var got *http.Request
	srv := outboundtest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/same":
			http.Redirect(w, r, "/end", http.StatusTemporaryRedirect)
		case "/other":
			http.Redirect(w, r, "http://localhost:1/", http.StatusTemporaryRedirect)
		default:
			got = r.Clone(context.Background())
		}
	})
	c := client(t, exchange.Config{}, srv.URL)
	req := request(t, "POST", srv.URL+"/same", "{}")
	req.Header.Set("X-Api-Key", "k")
	a, err := c.Do(t.Context(), req)
	if err != nil || a.URL.Path != "/end" || got.Method != http.MethodPost || got.Header.Get("X-Api-Key") != "k" {
		t.Errorf("same host: %+v, %v", a, err)
	}
	_, err = c.Do(t.Context(), request(t, "POST", srv.URL+"/other", "{}"))
	if !errors.Is(err, outbound.ErrRefused) || !strings.Contains(err.Error(), "a redirect of a POST to another host") {
		t.Errorf("other host: %v", err)
	}
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]struct {
		media        string
		text, isJSON bool
	}{
		"Application/JSON; charset=utf-8": {"application/json", true, true},
		"application/problem+json":        {"application/problem+json", true, true},
		"text/html; charset":              {"text/html", true, false},
		"image/svg+xml":                   {"image/svg+xml", true, false},
		"application/pdf":                 {"application/pdf", false, false},
		"":                                {"text/plain", true, false},
	} {
		a := exchange.Answer{Header: http.Header{"Content-Type": {header}}, Body: []byte("hello"), Status: 418}
		if m := a.Media(); m != want.media || exchange.IsText(m) != want.text || exchange.IsJSON(m) != want.isJSON {
			t.Errorf("%q: %q, %v, %v", header, m, exchange.IsText(m), exchange.IsJSON(m))
		}
	}
	for limit, want := range map[int]string{0: "", 1: "a", 2: "a", 3: "aß", 9: "aßc"} {
		if got, cut := exchange.Cut("aßc", limit); got != want || cut != (want != "aßc") {
			t.Errorf("%d: got %q, %v", limit, got, cut)
		}
	}
}
