package fetch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hocket-run/hocket/internal/leaktest"
	"github.com/hocket-run/hocket/internal/outbound"
	"github.com/hocket-run/hocket/internal/outbound/outboundtest"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/fetch"
	"github.com/hocket-run/hocket/internal/tool/fetch/page"
	"github.com/hocket-run/hocket/internal/tool/tooltest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// open returns a toolset with a guarded client; allow lists the exceptions.
func open(t *testing.T, options string, allow ...string) *fetch.Toolset {
	t.Helper()
	return openWith(t, options, outbound.Config{Allow: allow, Proxy: outboundtest.NoProxy})
}

func openWith(t *testing.T, options string, cfg outbound.Config) *fetch.Toolset {
	t.Helper()
	ts, err := fetch.New(fetch.Config{
		HTTP: func(tool.Spec) *http.Client { return outbound.New(cfg) }, Pages: page.Reader{},
	}, tool.Spec{Type: tool.TypeFetch, Options: json.RawMessage(options)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ts.Close(); err != nil {
			t.Error(err)
		}
	})
	return ts
}

func call(t *testing.T, args map[string]any) tool.Call {
	t.Helper()
	b, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return tool.Call{Name: "fetch", Arguments: b, Key: "k"}
}

func get(t *testing.T, ts *fetch.Toolset, urls ...string) tool.Result {
	t.Helper()
	res, err := ts.Call(t.Context(), call(t, map[string]any{"urls": urls}))
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// site serves pages of many kinds.
func site(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/page":
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, "<title>T</title><nav>n</nav><p>Hello <b>you</b>, see <a href='/more'>more</a></p>")
	case "/json":
		w.Header().Set("Content-Type", "application/vnd.x+json")
		io.WriteString(w, `{"a":1}`)
	case "/latin":
		w.Header().Set("Content-Type", "text/plain; charset=iso-8859-1")
		io.WriteString(w, "s\xfc\xdf")
	case "/image":
		w.Header().Set("Content-Type", "image/png")
		io.WriteString(w, "\x89PNG....")
	case "/missing":
		http.Error(w, "nothing here", http.StatusNotFound)
	case "/moved":
		http.Redirect(w, r, "/json", http.StatusFound)
	case "/long":
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, strings.Repeat("0123456789", 30_000))
	case "/deep":
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, strings.Repeat("<div>", 5000))
	case "/untyped":
		w.Header()["Content-Type"] = nil
		io.WriteString(w, "<html><body><p>guessed</p></body></html>")
	}
}

func TestConform(t *testing.T) {
	t.Parallel()
	srv := outboundtest.Serve(t, site)
	tooltest.Conform(t, tooltest.Case{
		Open: func(t *testing.T) tool.Toolset { return open(t, "", srv.URL) },
		Good: tool.Call{Name: "fetch", Arguments: json.RawMessage(`{"urls":["` + srv.URL + `/page"]}`)},
	})
}

func TestFetch(t *testing.T) {
	t.Parallel()
	srv := outboundtest.Serve(t, site)
	for name, tc := range map[string]struct {
		path, format string
		want         []string
		not          string
		isError      bool
	}{
		"markdown": {"/page", "", []string{"# T", "Hello **you**, see [more](" + srv.URL + "/more)",
			"Content type: text/html"}, "<p>", false},
		"text":          {"/page", "text", []string{"Hello you, see more"}, "**", false},
		"html":          {"/page", "html", []string{"<nav>n</nav>"}, "**", false},
		"JSON as it is": {"/json", "", []string{`{"a":1}`, "application/vnd.x+json"}, "", false},
		"character set": {"/latin", "", []string{"süß"}, "", false},
		"not dumped":    {"/image", "", []string{"[not shown: image/png, 8 bytes]"}, "PNG....", false},
		"status": {"/missing", "", []string{"Error: the server answered 404 Not Found",
			"nothing here"}, "", true},
		"redirect told": {"/moved", "", []string{"Redirected to: " + srv.URL + "/json", `{"a":1}`}, "",
			false},
		"nested too deep (SEC17)":      {"/deep", "", []string{"Error: the page is nested too deep"}, "<div>", true},
		"type guessed where none said": {"/untyped", "", []string{"guessed", "Content type: text/html"}, "<p>", false},
		"fragment is ours":             {"/json#part", "", []string{`{"a":1}`}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := map[string]any{"urls": []string{srv.URL + tc.path}}
			if tc.format != "" {
				args["format"] = tc.format
			}
			res, err := open(t, "", srv.URL).Call(t.Context(), call(t, args))
			if err != nil || res.IsError != tc.isError {
				t.Fatalf("%+v, %v", res, err)
			}
			for _, want := range tc.want {
				if !strings.Contains(res.Text, want) {
					t.Errorf("%q is not in\n%s", want, res.Text)
				}
			}
			if tc.not != "" && strings.Contains(res.Text, tc.not) {
				t.Errorf("%q is in\n%s", tc.not, res.Text)
			}
		})
	}
}

// TestCut checks that contents that are too long are cut, that the cut is reported, and that
// several addresses share the limit of a call (SEC17).
func TestCut(t *testing.T) {
	t.Parallel()
	srv := outboundtest.Serve(t, site)
	ts := open(t, "", srv.URL)
	if res := get(t, ts, srv.URL+"/long"); len(res.Text) < 200_000 || len(res.Text) > 200_400 ||
		!strings.Contains(res.Text, "Truncated: the page is longer") {
		t.Errorf("%d bytes: %.200s", len(res.Text), res.Text)
	}
	if res := get(t, ts, srv.URL+"/long", srv.URL+"/json"); len(res.Text) > 100_800 ||
		!strings.Contains(res.Text, `{"a":1}`) {
		t.Errorf("%d bytes", len(res.Text))
	}
}

// TestReadLimit checks that no more than the limit is read (SEC17).
func TestReadLimit(t *testing.T) {
	t.Parallel()
	srv := outboundtest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		for range 1000 {
			if _, err := io.WriteString(w, strings.Repeat("x", 1<<16)); err != nil {
				return
			}
		}
	})
	ts, err := fetch.New(fetch.Config{
		HTTP: func(tool.Spec) *http.Client {
			return outbound.New(outbound.Config{Allow: []string{srv.URL}, Proxy: outboundtest.NoProxy})
		},
		Pages: page.Reader{}, MaxBytes: 1000,
	}, tool.Spec{Type: tool.TypeFetch})
	if err != nil {
		t.Fatal(err)
	}
	defer ts.Close()
	if res := get(t, ts, srv.URL); strings.Count(res.Text, "x") > 1100 || !strings.Contains(res.Text, "Truncated") {
		t.Errorf("%d bytes", len(res.Text))
	}
}

// TestFetch_PartialFailure checks that the failure of one address is returned along with the
// answers of the others.
func TestFetch_PartialFailure(t *testing.T) {
	t.Parallel()
	srv := outboundtest.Serve(t, site)
	res := get(t, open(t, "", srv.URL), srv.URL+"/json", "http://10.0.0.1/", "nowhere", "ftp://example.com/",
		srv.URL+"/missing")
	if res.IsError {
		t.Error("the call failed as a whole")
	}
	var list []struct{ URL, Error, Text string }
	if err := json.Unmarshal(res.Structured, &list); err != nil || len(list) != 5 {
		t.Fatalf("%s: %v", res.Structured, err)
	}
	if list[0].Text != `{"a":1}` || list[1].Text != "" || list[4].Text == "" {
		t.Errorf("the structured result lacks the content: %s", res.Structured)
	}
	for i, want := range []string{"", "address refused", "has no scheme", "only http and https", "404"} {
		if got := list[i].Error; (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: got error %q, want %q", list[i].URL, got, want)
		}
	}
}

// TestPrivate checks that an address that is not public is never requested, however it is written
// and whatever leads there (SEC8).
func TestPrivate(t *testing.T) {
	t.Parallel()
	var hits atomic.Int64
	inner := outboundtest.Serve(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	_, port, _ := strings.Cut(inner.Listener.Addr().String(), ":")
	outer := outboundtest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, inner.URL+"/x", http.StatusFound)
	})
	ts := open(t, "", outer.URL)
	for _, address := range []string{
		inner.URL, "http://localhost:" + port, "http://[::1]:" + port, "http://[::ffff:127.0.0.1]:" + port,
		"http://[::ffff:7f00:1]:" + port, "http://0.0.0.0:" + port, "http://127.1.2.3:" + port,
		"http://10.0.0.1", "http://172.16.0.1", "http://192.168.1.1", "http://169.254.169.254/latest/meta-data/",
		"http://[fd00:ec2::254]/", "http://100.64.0.1", "http://[64:ff9b::7f00:1]/",
		"http://user:pass@" + inner.Listener.Addr().String(), "http://１２７.0.0.1:" + port, "http://127.0.0.1.:" +
			port,
		outer.URL, "file:///etc/passwd", "gopher://127.0.0.1:" + port, "http://:" + port,
	} {
		res := get(t, ts, address)
		if !res.IsError || !strings.Contains(res.Text, "address refused") &&
			!strings.Contains(res.Text, "no response from") {
			t.Errorf("%s: %s", address, res.Text)
		}
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("the private server was asked %d times", n)
	}
}

// TestResolved checks that names are judged by the addresses they resolve to, including decimal,
// octal and short forms (SEC8).
func TestResolved(t *testing.T) {
	t.Parallel()
	proxy := outboundtest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, "reached "+r.URL.Host)
	})
	via, _ := url.Parse(proxy.URL)
	names := map[string]string{"public.example": "93.184.216.34", "inner.example": "10.1.1.1",
		"2130706433": "127.0.0.1", "0177.0.0.1": "127.0.0.1", "0x7f.1": "127.0.0.1", "127.1": "127.0.0.1"}
	ts := openWith(t, "", outbound.Config{
		Proxy: func(*http.Request) (*url.URL, error) { return via, nil },
		Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
			if a, ok := names[host]; ok {
				return []netip.Addr{netip.MustParseAddr(a)}, nil
			}
			return nil, errors.New("no such host")
		},
	})
	for host := range names {
		res := get(t, ts, "http://"+host+"/")
		if reached := strings.Contains(res.Text, "reached"); reached != (host == "public.example") {
			t.Errorf("%s: %s", host, res.Text)
		}
	}
}

// TestDomains checks that lists of domains are compared by whole labels, also for redirects, and
// that no spelling bypasses them (SEC13).
func TestDomains(t *testing.T) {
	t.Parallel()
	proxy := outboundtest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/go" {
			http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, "reached")
	})
	via, _ := url.Parse(proxy.URL)
	const options = `{"allowed_domains":["Good.example","*.wild.example","port.example:8080"],` +
		`"blocked_domains":["bad.good.example"]}`
	ts := openWith(t, options, outbound.Config{
		Proxy: func(*http.Request) (*url.URL, error) { return via, nil },
		Resolve: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
		},
	})
	for address, want := range map[string]bool{
		"http://good.example/": true, "http://GOOD.example./": true, "http://www.good.example/": true,
		"http://x.wild.example/": true, "http://port.example:8080/": true,
		"http://port.example/": false, "http://notgood.example/": false, "http://good.example.evil.example/": false,
		"http://bad.good.example/": false, "http://BAD.good.example./": false,
		"http://x.bad.good.example/": false, "http://other.example/": false,
		"http://other.example/?good.example": false, "http://good.example@other.example/": false,
		"http://good.example/go?to=http://www.good.example/":  true,
		"http://good.example/go?to=http://other.example/":     false,
		"http://good.example/go?to=http://bad.good.example/x": false,
	} {
		if res := get(t, ts, address); strings.Contains(res.Text, "reached") != want {
			t.Errorf("%s: %s", address, res.Text)
		}
	}
}

// TestFetch_Timeout checks that a server that accepts and never answers uses up only its own time,
// and that the other addresses of the call are still answered (P11).
func TestFetch_Timeout(t *testing.T) {
	t.Parallel()
	srv := outboundtest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hang" {
			<-r.Context().Done()
			return
		}
		site(w, r)
	})
	res, err := open(t, "", srv.URL).Call(t.Context(),
		call(t, map[string]any{"urls": []string{srv.URL + "/hang", srv.URL + "/json"}, "timeout": 1}))
	if err != nil || res.IsError || !strings.Contains(res.Text, "no complete response within 1s") ||
		!strings.Contains(res.Text, `{"a":1}`) {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestCancel checks that a call ends with its context while a server hangs (P11).
func TestCancel(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{})
	srv := outboundtest.Serve(t, func(_ http.ResponseWriter, r *http.Request) { close(entered); <-r.Context().Done() })
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-entered; cancel() }()
	if _, err := open(t, "", srv.URL).Call(ctx, call(t, map[string]any{"urls": []string{srv.URL}})); !errors.Is(err,
		context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestCloseInFlight checks that closing ends a call in flight (P11).
func TestCloseInFlight(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{})
	srv := outboundtest.Serve(t, func(_ http.ResponseWriter, r *http.Request) { close(entered); <-r.Context().Done() })
	ts := open(t, "", srv.URL)
	closed := make(chan error, 1)
	go func() { <-entered; closed <- ts.Close() }()
	if _, err := ts.Call(t.Context(), call(t, map[string]any{"urls": []string{srv.URL}})); !errors.Is(err,
		tool.ErrClosed) {
		t.Errorf("got %v", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	ts := open(t, "")
	many := make([]string, 11)
	for i := range many {
		many[i] = fmt.Sprint("http://example.com/", i)
	}
	for _, urls := range [][]string{nil, many} {
		_, err := ts.Call(t.Context(), call(t, map[string]any{"urls": urls}))
		if e, ok := errors.AsType[*tool.Error](err); !ok || e.Kind != tool.KindInvalidArguments {
			t.Errorf("%d addresses: %v", len(urls), err)
		}
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	cfg := fetch.Config{HTTP: func(tool.Spec) *http.Client { return outbound.New(outbound.Config{}) },
		Pages: page.Reader{}}
	for _, bad := range []string{`{"allowed_domains":"x"}`, `{"allowed_domains":["http://x/"]}`,
		`{"blocked_domains":["a b"]}`, `{"blocked_domains":[""]}`, `{"blocked_domains":["x:99999"]}`} {
		_, err := fetch.New(cfg, tool.Spec{Type: tool.TypeFetch, Options: json.RawMessage(bad)})
		if e, ok := errors.AsType[*tool.Error](err); !ok || e.Kind != tool.KindFailed {
			t.Errorf("%s: %v", bad, err)
		}
	}
	cfg.Pages = nil
	_, err := fetch.New(cfg, tool.Spec{Type: tool.TypeFetch})
	if e, ok := errors.AsType[*tool.Error](err); !ok || e.Kind != tool.KindUnsupported {
		t.Errorf("without pages: %v", err)
	}
}
