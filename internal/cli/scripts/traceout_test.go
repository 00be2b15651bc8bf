package scripts_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model/modeltest"
)

// traceWorkflow is a workflow whose agents call models through all three protocols, and whose first
// agent calls tools of all kinds that reach other programs.
const traceWorkflow = `agents:
  caller:
    model: warm
    instruction: Call.
    toolsets:
      - {type: api, api_config: {name: look, method: GET, endpoint: "@WEB@/api", args: {}}}
      - {type: mcp, name: near, command: mcptool, env: {MCPTOOL_META: "1"}}
      - {type: mcp, name: far, remote: {url: "@MCP@"}}
      - {type: fetch}
  second: {model: anthropic/m, instruction: Say.}
  third: {model: google/m, instruction: Say.}
models:
  warm: {provider: openai, model: m, temperature: 0.5, max_tokens: 99}
workflow:
  - {type: agent, name: caller}
  - {type: agent, name: second}
  - {type: agent, name: third}
`

// echoMeta adds a tool that returns the traceparent of its call's _meta.
func echoMeta(s *sdk.Server, name string, seen func(string)) {
	s.AddTool(&sdk.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			text, _ := req.Params.Meta["traceparent"].(string)
			if seen != nil {
				seen(text)
			}
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "meta " + text}}}, nil
		})
}

// TestTrace_Propagation checks that calls of models, HTTP APIs and MCP servers carry the span that
// is exported for them, so that the spans of the callee are under it, that requests for web pages
// carry none, and that without telemetry no request has a trace context.
func TestTrace_Propagation(t *testing.T) {
	t.Parallel()
	for name, on := range map[string]bool{"on": true, "off": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			got := map[string]string{}
			saw := func(what, value string) {
				mu.Lock()
				defer mu.Unlock()
				got[what] = value
			}
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				saw(r.URL.Path, r.Header.Get("Traceparent"))
				w.Header().Set("Content-Type", "text/plain")
				_, _ = w.Write([]byte("here"))
			}))
			t.Cleanup(web.Close)
			server := sdk.NewServer(&sdk.Implementation{Name: "far", Version: "1"}, nil)
			echoMeta(server, "far_meta", func(text string) { saw("far", text) })
			mcp := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
				return server
			}, nil))
			t.Cleanup(mcp.Close)
			models := modeltest.Start(t, func(r modeltest.Request) modeltest.Answer {
				switch {
				case !strings.Contains(r.Path, "chat/completions"):
					return modeltest.Answer{Text: "said"}
				case len(r.Messages) > 2:
					for _, m := range r.Messages {
						if text, ok := strings.CutPrefix(m.Text.String(), "meta "); ok &&
							strings.Contains(m.ToolCallID, "near") {
							saw("near", text)
						}
					}
					return modeltest.Answer{Text: "called"}
				}
				return modeltest.Answer{ToolCalls: []chat.ToolCall{
					{ID: "1", Name: "look", Arguments: json.RawMessage(`{}`)},
					{ID: "near", Name: "near_meta", Arguments: json.RawMessage(`{}`)},
					{ID: "3", Name: "far_meta", Arguments: json.RawMessage(`{}`)},
					{ID: "4", Name: "fetch", Arguments: json.RawMessage(`{"urls":["` + web.URL + `/page"]}`)},
				}}
			})
			c, dir := startCollector(t), t.TempDir()
			files := map[string]string{
				"joining.yaml": strings.NewReplacer("@WEB@", web.URL, "@MCP@", mcp.URL).Replace(traceWorkflow),
				"hocket.conf":  "outbound: {allow: [127.0.0.1]}\n",
			}
			for name, text := range files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			env := []string{
				"OPENAI_BASE_URL=" + models.BaseURL(), "OPENAI_API_KEY=k-1234567", "ANTHROPIC_BASE_URL=" + models.URL(),
				"ANTHROPIC_API_KEY=k-1234567",
				"GOOGLE_GEMINI_BASE_URL=" + models.URL(), "GOOGLE_API_KEY=k-1234567",
				"TRACEPARENT=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
			}
			if on {
				env = append(env, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL)
			}
			command(t, dir, 0, env, "run", "joining.yaml", "hi", "--trust", "--config", "hocket.conf")
			for _, r := range models.Requests() {
				what := r.Path
				if strings.Contains(what, "chat/completions") && len(r.Messages) > 2 {
					what = "again"
				}
				got[what] = r.Header.Get("Traceparent")
			}
			byID := map[string]*tracepb.Span{}
			for _, s := range c.spans {
				byID[hex.EncodeToString(s.GetTraceId())+"-"+hex.EncodeToString(s.GetSpanId())] = s
			}
			if len(got) != 8 {
				t.Errorf("%d of 8 were asked: %q", len(got), got)
			}
			for what, value := range got {
				if !on || what == "/page" {
					if value != "" {
						t.Errorf("%s got %q", what, value)
					}
					continue
				}
				id := strings.TrimSuffix(strings.TrimPrefix(value, "00-"), "-01")
				s := byID[id]
				want := map[string]string{"/api": "execute_tool look", "near": "execute_tool near_meta",
					"far": "execute_tool far_meta"}[what]
				if want == "" {
					want = "chat m"
				}
				if s == nil || s.GetName() != want {
					t.Errorf("%s got %q, of the span %q; want %q", what, value, s.GetName(), want)
				}
			}
			if on {
				wantDetails(t, c, models.URL())
			}
		})
	}
}

// wantDetails checks the request and reply attributes of the span of the first model call.
func wantDetails(t *testing.T, c *collector, url string) {
	t.Helper()
	got := map[string]string{}
	for _, s := range c.spans {
		if s.GetName() != "chat m" {
			continue
		}
		for _, a := range s.GetAttributes() {
			if a.GetValue().GetStringValue() == "openai" {
				for _, a := range s.GetAttributes() {
					got[a.GetKey()] = a.GetValue().String()
				}
			}
		}
	}
	host, port, _ := strings.Cut(strings.TrimPrefix(url, "http://"), ":")
	for key, want := range map[string]string{
		"gen_ai.request.temperature": "0.5", "gen_ai.request.max_tokens": "99", "gen_ai.request.stream": "true",
		"server.address": host, "server.port": port,
		"gen_ai.response.id": "", "gen_ai.response.model": "m", "gen_ai.response.time_to_first_chunk": "",
	} {
		if value, ok := got[key]; !ok || !strings.Contains(value, want) {
			t.Errorf("%s is %q, want %q", key, value, want)
		}
	}
}
