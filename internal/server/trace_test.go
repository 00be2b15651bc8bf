package server_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/tracecontext"
)

// headerClient is an HTTP client that adds its own headers.
type headerClient http.Header

func (s headerClient) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	maps.Copy(r.Header, s)
	return http.DefaultTransport.RoundTrip(r)
}

// TestTraceOfCallers checks that the caller's trace context is stored with a run however the run is
// started, and that an invalid one is ignored. For an MCP call, `_meta` takes precedence over the
// HTTP request.
func TestTraceOfCallers(t *testing.T) {
	t.Parallel()
	s := serve(t, modelled(t, "", func(context.Context, model.Request) (string, error) { return "done", nil }))
	const (
		parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
		inMeta = "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000001-01"
	)
	headers := func(parent string) http.Header {
		return http.Header{
			"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}, "Traceparent": {parent},
			"Tracestate": {"vendor=1"},
		}
	}
	post := func(path, body, parent string) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = headers(parent)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var out struct {
			Run string `json:"run"`
			ID  string `json:"id"`
		}
		if err := json.NewDecoder(res.Body).Decode(&out); err != nil || res.StatusCode >= 300 {
			t.Fatalf("%s: %s, %v", path, res.Status, err)
		}
		return out.ID + out.Run
	}
	flow, err := json.Marshal(map[string]any{"id": "flow", "document": work})
	if err != nil {
		t.Fatal(err)
	}
	post("/api/v1/workflows", string(flow), "")
	call := func(parent string, meta sdk.Meta) string {
		t.Helper()
		client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: s.url + "/mcp",
			HTTPClient: &http.Client{Transport: headerClient(headers(parent))}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		res, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "execute_workflow",
			Arguments: map[string]any{"workflowId": "flow", "input": "hi"}, Meta: meta})
		if err != nil || res.IsError {
			t.Fatalf("%v, %+v", err, res)
		}
		return newest(t, s)
	}
	svc, err := s.Service(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, run, want string }{
		{"API", post("/api/v1/runs", starting(t, work, "", ""), parent), parent},
		{"API, not valid", post("/api/v1/runs", starting(t, work, "", ""), strings.ToUpper(parent)), ""},
		{"OpenAI", func() string {
			post("/v1/chat/completions", `{"model": "flow", "messages": [{"role": "user", "content": "hi"}]}`, parent)
			return newest(t, s)
		}(), parent},
		{"MCP header", call(parent, nil), parent},
		{"MCP _meta", call(parent, sdk.Meta{"traceparent": inMeta}), inMeta},
		{"MCP _meta, not valid", call(parent, sdk.Meta{"traceparent": 7}), parent},
	} {
		head, err := svc.Head(t.Context(), tc.run)
		if err != nil {
			t.Fatal(err)
		}
		if got := head.Meta[tracecontext.Parent]; got != tc.want {
			t.Errorf("%s: the run has %q, want %q", tc.name, got, tc.want)
		}
		if tc.want == parent && head.Meta[tracecontext.State] != "vendor=1" {
			t.Errorf("%s: the state is %q", tc.name, head.Meta[tracecontext.State])
		}
	}
}

// newest returns the run that was started last.
func newest(t *testing.T, s *served) string {
	t.Helper()
	svc, err := s.Service(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	heads, _, err := svc.List(t.Context(), journal.Query{Limit: 1})
	if err != nil || len(heads) != 1 {
		t.Fatal(heads, err)
	}
	return heads[0].Run
}
