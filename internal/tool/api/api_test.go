package api_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/hocket-run/hocket/internal/leaktest"
	"github.com/hocket-run/hocket/internal/outbound"
	"github.com/hocket-run/hocket/internal/outbound/outboundtest"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/api"
	"github.com/hocket-run/hocket/internal/tool/fetch/page"
	"github.com/hocket-run/hocket/internal/tool/tooltest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const canary = "canary-0123456789"

// config returns the configuration of toolsets that may reach allow, and that look up CANARY if the
// spec is trusted.
func config(allow ...string) api.Config {
	return api.Config{
		HTTP: func(tool.Spec) *http.Client {
			return outbound.New(outbound.Config{Allow: allow, Proxy: outboundtest.NoProxy})
		},
		Decode: page.Reader{}.Decode,
		Lookup: func(s tool.Spec) func(string) (string, bool) {
			if !s.Trusted {
				return nil
			}
			return func(name string) (string, bool) { return canary, name == "CANARY" }
		},
	}
}

// seen is one request as received by a server.
type seen struct {
	method, uri, body string
	header            http.Header
}

// recorder is a server that records its requests and answers with answer; if answer is nil, with an
// object that echoes the request's path.
type recorder struct {
	*httptest.Server
	mu   sync.Mutex
	list []seen
}

func record(t *testing.T, answer http.HandlerFunc) *recorder {
	t.Helper()
	r := &recorder{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		r.list = append(r.list, seen{req.Method, req.RequestURI, string(body), req.Header.Clone()})
		r.mu.Unlock()
		if answer != nil {
			answer(w, req)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]string{"path": req.URL.Path})
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *recorder) all() []seen {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]seen{}, r.list...)
}

func apiSpec(config string) tool.Spec {
	return tool.Spec{Type: tool.TypeAPI, Options: json.RawMessage(`{"api_config":` + config + `}`), Trusted: true}
}

func open(t *testing.T, cfg api.Config, spec tool.Spec) tool.Toolset {
	t.Helper()
	ts, err := api.New(cfg, spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ts.Close() })
	return ts
}

// ask calls a tool of a toolset by name.
func ask(t *testing.T, ts tool.Toolset, name, args string) (tool.Result, error) {
	t.Helper()
	return named(t, ts, name).Call(t.Context(),
		tool.Call{Name: name, Key: "run/1/call/7", Arguments: json.RawMessage(args)})
}

func named(t *testing.T, ts tool.Toolset, name string) tool.Tool {
	t.Helper()
	tools, err := ts.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, tl := range tools {
		if tl.Def().Name == name {
			return tl
		}
	}
	t.Fatalf("no tool %q", name)
	return nil
}

func TestConform(t *testing.T) {
	t.Parallel()
	srv := record(t, nil)
	tooltest.Conform(t, tooltest.Case{
		Open: func(t *testing.T) tool.Toolset {
			return open(t, config(srv.URL), apiSpec(`{"name":"get_thing","method":"GET","endpoint":"`+srv.URL+
				`/things/${id}","args":{"id":{"type":"string"}},"required":["id"]}`))
		},
		Good: tool.Call{Name: "get_thing", Arguments: json.RawMessage(`{"id":"7"}`)},
	})
}

// TestRequests checks that arguments go into their placeholders, and the others into the query of
// reading requests and the body of writing ones, and that writing requests carry the call's key
// (P12).
func TestRequests(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		config, args          string
		method, uri, body, id string
		policy                tool.Policy
	}{
		"get": {
			`"method":"get","endpoint":"$URL/u/${id}?q={q}","args":{"id":{"type":"string"},"q":{"type":"string"},` +
				`"more":{"type":"integer"}}`, `{"id":"a/b","q":"1&2","more":12345678901234567890}`, "GET",
			"/u/a%2Fb?q=1%262&more=12345678901234567890", "", "", tool.PolicyRetry,
		},
		"post": {
			`"method":"POST","endpoint":"$URL/tasks/{list}","args":{"list":{"type":"string"},` +
				`"title":{"type":"string"},"done":{"type":"boolean"}}`, `{"list":"l","title":"a\r\nb","done":false}`,
			"POST", "/tasks/l", `{"done":false,"title":"a\r\nb"}`, "run/1/call/7", tool.PolicyAsk,
		},
		"patch": {`"method":"PATCH","endpoint":"$URL/x"`, `{}`, "PATCH", "/x", `{}`, "run/1/call/7", tool.PolicyAsk},
		"put": {`"method":"PUT","endpoint":"$URL/x","args":{"n":{"type":"number"}}`, `{"n":1.50}`, "PUT", "/x",
			`{"n":1.50}`, "run/1/call/7", tool.PolicyRetry},
		"delete": {`"method":"DELETE","endpoint":"$URL/x","args":{"hard":{"type":"boolean"}}`, `{"hard":true}`,
			"DELETE", "/x?hard=true", "", "run/1/call/7", tool.PolicyRetry},
		"env": {`"method":"GET","endpoint":"$URL/${env.CANARY}/x"`, `{}`, "GET", "/" + canary + "/x", "", "",
			tool.PolicyRetry},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := record(t, nil)
			ts := open(t, config(srv.URL), apiSpec(`{"name":"x",`+strings.ReplaceAll(tc.config, "$URL", srv.URL)+`}`))
			if got := named(t, ts, "x").Policy(); got != tc.policy {
				t.Errorf("policy %s, want %s", got, tc.policy)
			}
			res, err := ask(t, ts, "x", tc.args)
			if err != nil || res.IsError || !strings.HasPrefix(res.Text, "HTTP 200 OK\n{") {
				t.Fatalf("%+v, %v", res, err)
			}
			got := srv.all()[0]
			if got.method != tc.method || got.uri != tc.uri || got.body != tc.body ||
				got.header.Get("Idempotency-Key") != tc.id {
				t.Errorf("got %+v", got)
			}
			if strings.Contains(res.Text+string(res.Structured), canary) {
				t.Errorf("a secret is in the result: %s", res.Text)
			}
		})
	}
}

// TestHeaders checks that headers are sent to the host that the endpoint names and to no other, and
// that no secret appears in the results from the server (SEC8, SEC11).
func TestHeaders(t *testing.T) {
	t.Parallel()
	other := record(t, nil)
	srv := record(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, other.URL, http.StatusFound)
			return
		}
		http.Error(w, "who is "+r.Header.Get("Authorization")+"?", http.StatusForbidden)
	})
	const headers = `"headers":{"Authorization":"Bearer ${env.CANARY}","X-Key":"$CANARY","Accept":"text/x"}`
	ts := open(t, config(srv.URL),
		apiSpec(`{"name":"x","method":"GET","endpoint":"`+srv.URL+`/{p}","args":{"p":{"type":"string"}},`+headers+`}`))
	res, err := ask(t, ts, "x", `{"p":"here"}`)
	if err != nil || !res.IsError || !strings.HasPrefix(res.Text, "HTTP 403 Forbidden\nwho is ") ||
		strings.Contains(res.Text, canary) {
		t.Errorf("%+v, %v", res, err)
	}
	if h := srv.all()[0].header; h.Get("Authorization") != "Bearer "+canary || h.Get("X-Key") != canary ||
		h.Get("Accept") != "text/x" {
		t.Errorf("sent %v", h)
	}
	// The operator has not named the other server, so the redirect is rejected; outbound's own test
	// checks that nothing is sent along to a public one.
	if _, err := ask(t, ts, "x", `{"p":"away"}`); !errors.Is(err, outbound.ErrRefused) || len(other.all()) != 0 ||
		strings.Contains(err.Error(), canary) {
		t.Errorf("%v, %d", err, len(other.all()))
	}
	for _, bad := range []string{`{"Host":"x"}`, `{"Content-Length":"1"}`, `{"A b":"x"}`, `{"X":"a\r\nY: b"}`,
		`{"X":"${env.MISSING}"}`, `{"X":"${headers.Authorization}"}`} {
		_, err := api.New(config(), apiSpec(`{"name":"x","method":"GET","endpoint":"https://x.example/","headers":`+bad+
			`}`))
		if e, ok := errors.AsType[*tool.Error](err); !ok || e.Kind != tool.KindFailed {
			t.Errorf("%s: %v", bad, err)
		}
	}
	// An untrusted document gets no variables.
	spec := apiSpec(`{"name":"x","method":"GET","endpoint":"https://x.example/",` + headers + `}`)
	spec.Trusted = false
	if _, err := api.New(config(), spec); err == nil || !strings.Contains(err.Error(), "CANARY is not set") {
		t.Errorf("not trusted: %v", err)
	}
}

func TestResults(t *testing.T) {
	t.Parallel()
	srv := record(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/json":
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"n":12345678901234567890}`)
		case "/mark":
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, "\uFEFF{\"a\":1}")
		case "/latin1":
			w.Header().Set("Content-Type", "text/plain; charset=iso-8859-1")
			io.WriteString(w, "caf\xe9")
		case "/latin1-json":
			w.Header().Set("Content-Type", "application/json; charset=iso-8859-1")
			io.WriteString(w, "{\"a\":\"caf\xe9\"}")
		case "/latin1-html":
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<meta charset=iso-8859-1>caf\xe9")
		case "/empty":
			w.WriteHeader(http.StatusNoContent)
		case "/image":
			w.Header().Set("Content-Type", "image/png")
			io.WriteString(w, "PNG!")
		case "/long":
			w.Header().Set("Content-Type", "text/plain")
			io.WriteString(w, strings.Repeat("x", 300_000))
		case "/huge":
			w.Header().Set("Content-Type", "text/plain")
			for range 40 {
				io.WriteString(w, strings.Repeat("x", 1<<16))
			}
		case "/broken":
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusInternalServerError)
			io.WriteString(w, `{"error":`+strings.Repeat("e", 10_000))
		}
	})
	ts := open(t, config(srv.URL),
		apiSpec(`{"name":"x","method":"GET","endpoint":"`+srv.URL+`/{p}","args":{"p":{"type":"string"}}}`))
	for path, want := range map[string]struct {
		text       string
		structured string
		isError    bool
		limit      int
	}{
		"json": {"HTTP 200 OK\n{\"n\":12345678901234567890}", `{"status":200,"body":{"n":12345678901234567890}}`,
			false, 100},
		"mark":        {"HTTP 200 OK\n{\"a\":1}", `{"status":200,"body":{"a":1}}`, false, 100},
		"latin1":      {"HTTP 200 OK\ncafé", "", false, 100},
		"latin1-json": {"HTTP 200 OK\n{\"a\":\"café\"}", `{"status":200,"body":{"a":"café"}}`, false, 100},
		"latin1-html": {"HTTP 200 OK\n<meta charset=iso-8859-1>café", "", false, 100},
		"empty":       {"HTTP 204 No Content (no body)", "", false, 100},
		"image":       {"HTTP 200 OK\n[not shown: image/png, 4 bytes]", "", false, 100},
		"long": {"HTTP 200 OK (truncated: the response has 300000 bytes, the first 100000 are shown)\nxxx", "", false,
			100_200},
		"huge":   {"HTTP 200 OK (truncated: the response has more than 1048576 bytes", "", false, 100_200},
		"broken": {"HTTP 500 Internal Server Error (truncated", "", true, 4_200},
	} {
		res, err := ask(t, ts, "x", `{"p":"`+path+`"}`)
		if err != nil || !strings.HasPrefix(res.Text, want.text) || string(res.Structured) != want.structured ||
			res.IsError != want.isError || len(res.Text) > want.limit {
			t.Errorf("%s: %.150q %s %v, %v", path, res.Text, res.Structured, res.IsError, err)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	t.Parallel()
	for bad, want := range map[string]string{
		`{}`: "needs a name", `{"name":"x","endpoint":"https://x.example"}`: "method must be one of",
		`{"name":"x","method":"TRACE","endpoint":"https://x.example"}`:                "method must be one of",
		`{"name":"x","method":"GET"}`:                                                 "endpoint must be an absolute",
		`{"name":"x","method":"GET","endpoint":"https://${env.CANARY}.example/${x}"}`: "not in args",
		`{"name":"x","method":"GET","endpoint":"https://{h}/"}`:                       "the host must not",
		`{"name":"x","method":"GET","endpoint":"https://x.example/${env.NONE}"}`:      "NONE is not set",
		`{"name":7}`: "cannot be read",
	} {
		_, err := api.New(config(), apiSpec(bad))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: got %v, want %q", bad, err, want)
		}
	}
}

// TestDescription checks that the model is told the schema of the response.
func TestDescription(t *testing.T) {
	t.Parallel()
	ts := open(t, config(),
		apiSpec(`{"name":"x","method":"GET","endpoint":"https://x.example/","instruction":"Get `+
			`it","output_schema":{"type":"object"}}`))
	def := named(t, ts, "x").Def()
	if def.Description != "Get it\nResponses have this JSON Schema: {\"type\":\"object\"}" ||
		string(def.Parameters) != `{"additionalProperties":false,"properties":{},"required":[],"type":"object"}` {
		t.Errorf("%+v", def)
	}
}
