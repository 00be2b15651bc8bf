package conformance_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/anthropic"
	"github.com/hocket-run/hocket/internal/model/modeltest"
	"github.com/hocket-run/hocket/internal/outbound"
	"github.com/hocket-run/hocket/internal/outbound/outboundtest"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/tool"
)

const searcher = `
agents:
  reader: {model: MODEL, instruction: Read., tools: [web_search]}
workflow:
  - {type: agent, name: reader}
`

// TestNativeSearch checks that a model uses its provider's own search if the operator enables it,
// no search provider is configured and the model is known to support it; no search tool is offered
// to it in that case. In all other cases the tool is offered.
func TestNativeSearch(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		native bool
		env    map[string]string
		model  string
		search bool
	}{
		"asked for":     {true, nil, "anthropic/claude-sonnet-4-5", true},
		"not asked for": {false, nil, "anthropic/claude-sonnet-4-5", false},
		"provider configured": {true, map[string]string{"TAVILY_API_KEY": "tvly-1234"}, "anthropic/claude-sonnet-4-5",
			false},
		"model without": {true, nil, "anthropic/claude-3-opus-20240229", false},
		"server in API's place": {true, map[string]string{"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"},
			"anthropic/claude-sonnet-4-5", false},
		"compatible server": {true, nil, "missing/claude-sonnet-4-5", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := modeltest.Start(t, func(r modeltest.Request) modeltest.Answer {
				if r.Search {
					return modeltest.Conformance(r)
				}
				return modeltest.Answer{Text: "no search"}
			})
			env := map[string]string{"ANTHROPIC_API_KEY": "k-1234"}
			maps.Copy(env, tc.env)
			s, err := service.Open(t.Context(), service.Config{
				Documents: linked.Kit(),
				DB:        service.Memory, Env: func(name string) string { return env[name] },
				Operator: &config.Config{
					Search: config.Search{Native: tc.native},
					Providers: map[string]config.Provider{
						"missing": {Protocol: "anthropic", BaseURL: "http://127.0.0.1:9"},
					},
				},
				Adapters: map[model.Protocol]model.Factory{
					model.ProtocolAnthropic: func(e model.Endpoint) (model.Client, error) {
						client := outbound.New(outbound.Config{Allow: []string{srv.URL()}, Proxy: outboundtest.NoProxy})
						t.Cleanup(client.CloseIdleConnections)
						return anthropic.New(anthropic.Config{BaseURL: srv.URL(), Own: e.Own, HTTP: client})
					}},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			w, problems, err := s.Load(t.Context(), "doc", []byte(strings.Replace(searcher, "MODEL", tc.model, 1)),
				service.LoadOptions{})
			if err != nil || problems.HasErrors() {
				t.Fatal(problems, err)
			}
			run, err := s.Start(t.Context(), service.StartRequest{Workflow: w, Input: modeltest.PromptSearch})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Wait(t.Context(), run); err != nil {
				t.Fatal(err)
			}
			o, err := s.Show(t.Context(), run)
			if err != nil {
				t.Fatal(err)
			}
			want := "no search"
			if tc.search {
				want = modeltest.ReplySearch
			}
			if string(o.Output) != strconv.Quote(want) {
				t.Errorf("got %s (%+v); want %q", o.Output, o.Error, want)
			}
			offered := slices.ContainsFunc(srv.Requests()[0].Tools, func(d chat.ToolDef) bool {
				return d.Name == "web_search"
			})
			if len(srv.Requests()) != 1 || offered == tc.search {
				t.Errorf("%d calls, the tool was offered: %v; want one and %v", len(srv.Requests()), offered,
					!tc.search)
			}
		})
	}
}

// TestMissingSearch checks S0-55: a canvas that names web_search yields a warning only if no search
// is available: neither a provider in the environment or in hocket.yaml, nor a model's own search.
func TestMissingSearch(t *testing.T) {
	t.Parallel()
	const doc = `{"nodes":[{"id":"s","type":"start"},{"id":"a","type":"agent","data":{"agentName":"A",` +
		`"tools":{"web_search":true}}},{"id":"e","type":"end"}],
		"edges":[{"id":"1","source":"s","target":"a"},{"id":"2","source":"a","target":"e"}]}`
	for name, tc := range map[string]struct {
		env  map[string]string
		op   config.Config
		warn bool
	}{
		"nothing":     {warn: true},
		"Tavily":      {env: map[string]string{"TAVILY_API_KEY": "tvly-1234"}},
		"SearXNG":     {env: map[string]string{"SEARXNG_URL": "http://127.0.0.1:9"}},
		"hocket.yaml": {op: config.Config{Toolsets: []tool.Spec{{Type: tool.TypeWebSearch}}}},
		"native":      {op: config.Config{Search: config.Search{Native: true}}},
	} {
		_, problems, err := service.Load(t.Context(), "doc.json", []byte(doc), service.LoadOptions{
			Formats: linked.Kit().Formats,
			Format:  "canvas", Operator: &tc.op, Env: func(name string) string { return tc.env[name] },
		})
		if err != nil {
			t.Fatal(err)
		}
		warned := slices.ContainsFunc(problems, func(d diag.Diagnostic) bool {
			return strings.Contains(d.Message, `"web_search"`)
		})
		if warned != tc.warn {
			t.Errorf("%s: warned: %v; want %v (%v)", name, warned, tc.warn, problems)
		}
	}
}
