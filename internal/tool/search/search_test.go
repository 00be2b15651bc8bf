package search_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/leaktest"
	"github.com/hocket-run/hocket/internal/outbound"
	"github.com/hocket-run/hocket/internal/outbound/outboundtest"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/search"
	"github.com/hocket-run/hocket/internal/tool/tooltest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const canary = "canary-0123456789"

func config(env map[string]string) search.Config {
	return search.Config{
		HTTP: func(allow string) *http.Client {
			return outbound.New(outbound.Config{Allow: []string{allow}, Proxy: outboundtest.NoProxy})
		},
		Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	}
}

// engine starts a server that responds like all three providers and records the last request.
func engine(t *testing.T) (*httptest.Server, chan string) {
	t.Helper()
	asked := make(chan string, 10)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked <- r.Method + " " + r.RequestURI + " " + string(body) + " " + r.Header.Get("Authorization") +
			r.Header.Get("X-Subscription-Token")
		switch {
		case strings.Contains(string(body)+r.URL.RawQuery, "fail"):
			http.Error(w, "no "+r.Header.Get("Authorization"), http.StatusTooManyRequests)
		case strings.Contains(string(body)+r.URL.RawQuery, "odd"):
			io.WriteString(w, "<html>")
		case r.URL.Path == "/res/v1/web/search":
			io.WriteString(w,
				`{"web":{"results":[{"title":"A &amp; `+
					`B","url":"https://a.example/","description":"<strong>bold</strong>\nwords",`+
					`"page_age":"2026-01-02"},{"title":"2","url":"https://b.example/"},{"title":"3"}]}}`)
		default:
			io.WriteString(w, "\uFEFF"+`{"results":[{"title":"A & B","url":"https://a.example/","content":"bold `+
				`words","published_date":"2026-01-02"},{"title":"2","url":"https://b.example/"},{"title":"3"}]}`)
		}
	}))
	t.Cleanup(srv.Close)
	return srv, asked
}

func open(t *testing.T, options string, env map[string]string) *search.Toolset {
	t.Helper()
	ts, err := search.New(config(env), tool.Spec{Type: tool.TypeWebSearch, Options: json.RawMessage(options),
		Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ts.Close() })
	return ts
}

func TestConform(t *testing.T) {
	t.Parallel()
	srv, _ := engine(t)
	tooltest.Conform(t, tooltest.Case{
		Open: func(t *testing.T) tool.Toolset { return open(t, "", map[string]string{"SEARXNG_URL": srv.URL}) },
		Good: tool.Call{Name: "web_search", Arguments: json.RawMessage(`{"query":"x"}`)},
	})
}

// TestProviders checks that each provider is queried in its own format, and that its response is
// converted to ours.
func TestProviders(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ options, want string }{
		"tavily": {`"provider":"tavily","api_key":"${env.CANARY}"`,
			`POST /search {"include_domains":["a.example"],"max_results":2,"query":"q \u0026 ` +
				`r","time_range":"week"} Bearer ` + canary},
		"brave": {`"provider":"brave","api_key":"$CANARY"`,
			"GET /res/v1/web/search?count=2&freshness=pw&q=site%3Aa.example+q+%26+r  " + canary},
		"searxng": {`"provider":"searxng"`, "GET /search?format=json&q=site%3Aa.example+q+%26+r&time_range=week  "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv, asked := engine(t)
			ts := open(t, `{`+tc.options+`,"base_url":"`+srv.URL+`/"}`, map[string]string{"CANARY": canary})
			res, err := ts.Call(t.Context(), tool.Call{Name: "web_search",
				Arguments: json.RawMessage(`{"query":"q & r","count":2,"freshness":"week","site":"A.example"}`)})
			if err != nil || res.IsError || res.Text != "1. A & B\n   https://a.example/\n   2026-01-02\n   bold "+
				"words\n2. 2\n   https://b.example/" {
				t.Errorf("%+v, %v", res, err)
			}
			if got := <-asked; got != tc.want {
				t.Errorf("asked %q, want %q", got, tc.want)
			}
			for query, want := range map[string]string{"fail": "answered 429 Too Many Requests",
				"odd": "invalid list of results"} {
				res, err := ts.Call(t.Context(),
					tool.Call{Name: "web_search", Arguments: json.RawMessage(`{"query":"` + query + `"}`)})
				if err != nil || !res.IsError || !strings.Contains(res.Text, want) ||
					strings.Contains(res.Text, canary) {
					t.Errorf("%s: %+v, %v", query, res, err)
				}
			}
		})
	}
}

// TestChoice checks that an untrusted document can neither select an address nor read a variable,
// and that without a provider the toolset says which variables would configure one (SEC8, SEC11).
func TestChoice(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		options string
		env     map[string]string
		trusted bool
		kind    tool.ErrorKind
		want    string
	}{
		"none": {"{}", nil, true, tool.KindUnsupported, "TAVILY_API_KEY"},
		"unknown": {`{"provider":"gopher"}`, nil, true, tool.KindFailed,
			"known providers: brave, searxng, tavily"},
		"no key":     {`{"provider":"brave"}`, nil, true, tool.KindFailed, "BRAVE_API_KEY is not set"},
		"no address": {`{"provider":"searxng"}`, nil, true, tool.KindFailed, "SEARXNG_URL"},
		"address": {`{"provider":"brave","base_url":"https://evil.example"}`,
			map[string]string{"BRAVE_API_KEY": "k"}, false, tool.KindUntrusted, "base_url"},
		"variable": {`{"provider":"brave","api_key":"$OTHER"}`, map[string]string{"OTHER": canary}, false,
			tool.KindFailed, "OTHER is not set"},
		"broken key": {`{"provider":"brave"}`, map[string]string{"BRAVE_API_KEY": "a\nb"}, true, tool.KindFailed,
			"line break"},
		"options no text": {`{"provider":7}`, nil, true, tool.KindFailed, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := search.New(config(tc.env),
				tool.Spec{Type: tool.TypeWebSearch, Options: json.RawMessage(tc.options), Trusted: tc.trusted})
			if e, ok := errors.AsType[*tool.Error](err); !ok || e.Kind != tc.kind ||
				!strings.Contains(e.Message, tc.want) || strings.Contains(e.Message, canary) {
				t.Errorf("got %v", err)
			}
		})
	}
	for env, want := range map[string]bool{"TAVILY_API_KEY": true, "BRAVE_API_KEY": true, "SEARXNG_URL": true,
		"OTHER": false} {
		if got := search.Configured(config(map[string]string{env: "x"})); got != want {
			t.Errorf("%s: %v", env, got)
		}
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	srv, _ := engine(t)
	ts := open(t, "", map[string]string{"SEARXNG_URL": srv.URL})
	for _, bad := range []string{`{"query":" "}`, `{"query":"x","site":"a b"}`, `{"query":"x","freshness":"hour"}`,
		`{"query":"` + strings.Repeat("x", 2001) + `"}`, `[]`} {
		_, err := ts.Call(t.Context(), tool.Call{Name: "web_search", Arguments: json.RawMessage(bad)})
		if e, ok := errors.AsType[*tool.Error](err); !ok || e.Kind != tool.KindInvalidArguments {
			t.Errorf("%.60s: %v", bad, err)
		}
	}
}

// TestTool checks that the tool without a toolset leaves nothing behind between calls; see
// TestMain.
func TestTool(t *testing.T) {
	t.Parallel()
	srv, _ := engine(t)
	res, err := search.Tool(config(map[string]string{"SEARXNG_URL": srv.URL})).Call(t.Context(),
		tool.Call{Name: "web_search", Arguments: json.RawMessage(`{"query":"x","count":1}`)})
	if err != nil || !strings.HasPrefix(res.Text, "1. A & B") {
		t.Errorf("%+v, %v", res, err)
	}
}
