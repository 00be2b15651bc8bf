package resources

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/providers"
	"github.com/hocket-run/hocket/internal/outbound"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/fetch/page"
	"github.com/hocket-run/hocket/workflow"
)

// SEC8: no part of Hocket that speaks HTTP connects to a private address for an untrusted document;
// for the same document with trust it does.
func TestPrivateAddresses(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(t *testing.T, k *Opener, url string, trusted bool) error{
		"MCP server": func(t *testing.T, k *Opener, url string, trusted bool) error {
			return askToolset(t, k, tool.Spec{Type: tool.TypeMCP, Remote: &tool.Remote{URL: url + "/mcp"},
				Trusted: trusted}, "", "")
		},
		"fetch": func(t *testing.T, k *Opener, url string, trusted bool) error {
			host := strings.TrimPrefix(url, "http://")
			return askToolset(t, k,
				tool.Spec{Type: tool.TypeFetch, Options: json.RawMessage(`{"allowed_domains":["` + host + `"]}`),
					Trusted: trusted}, "fetch", `{"urls":["`+url+`/page"]}`)
		},
		"api": func(t *testing.T, k *Opener, url string, trusted bool) error {
			options := `{"api_config":{"name":"x","method":"GET","endpoint":"` + url +
				`/{p}","args":{"p":{"type":"string"}}}}`
			return askToolset(t, k, tool.Spec{Type: tool.TypeAPI, Options: json.RawMessage(options), Trusted: trusted},
				"x", `{"p":"a"}`)
		},
		"openapi document": func(t *testing.T, k *Opener, url string, trusted bool) error {
			return askToolset(t, k, tool.Spec{Type: tool.TypeOpenAPI,
				Options: json.RawMessage(`{"url":"` + url + `/openapi.json"}`), Trusted: trusted}, "", "")
		},
		"openapi server": func(t *testing.T, k *Opener, url string, trusted bool) error {
			file := filepath.Join(t.TempDir(), "openapi.json")
			if err := os.WriteFile(file, []byte(`{"openapi":"3.1.0","servers":[{"url":"`+url+
				`"}],"paths":{"/x":{"get":{"operationId":"x"}}}}`), 0o600); err != nil {
				t.Fatal(err)
			}
			// the operator names the file, which does not vouch for the servers in it
			options := `{"file":"` + file + `"}`
			if trusted {
				options = `{"file":"` + file + `","server":"` + url + `"}`
			}
			return askToolset(t, k, tool.Spec{Type: tool.TypeOpenAPI, Options: json.RawMessage(options), Trusted: true},
				"x", `{}`)
		},
		"web search": func(t *testing.T, k *Opener, url string, trusted bool) error {
			options := `{"provider":"searxng","base_url":"` + url + `"}`
			return askToolset(t, k, tool.Spec{Type: tool.TypeWebSearch, Options: json.RawMessage(options),
				Trusted: trusted}, "web_search", `{"query":"x"}`)
		},
		"model": func(t *testing.T, k *Opener, url string, trusted bool) error {
			w := &workflow.Workflow{
				Providers: map[string]workflow.Provider{"mine": {Kind: "openai", BaseURL: url + "/v1"}},
			}
			_, err := k.registry(w, trusted).Call(t.Context(), model.Request{Model: "mine/m",
				Messages: []chat.Message{{Role: chat.RoleUser, Text: chat.NewText("x")}}}, nil)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var hits atomic.Int64
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				hits.Add(1)
				http.Error(w, "here", http.StatusTeapot)
			}))
			defer srv.Close()
			k := newOpener(Config{Documents: linked.Kit(), Env: func(string) string { return "" },
				Adapters: providers.Adapters(nil), Pages: page.Reader{}})
			if err := ask(t, k, srv.URL, false); !errors.Is(err, outbound.ErrRefused) || hits.Load() != 0 {
				t.Errorf("not trusted: %v, %d requests; want ErrRefused and none", err, hits.Load())
			}
			if err := ask(t, k, srv.URL, true); errors.Is(err, outbound.ErrRefused) || hits.Load() == 0 {
				t.Errorf("trusted: %v, %d requests; want the server asked", err, hits.Load())
			}
		})
	}
}

// Private addresses and keys are listed whatever the depth at which a workflow is called, once each,
// even if workflows call each other.
func TestCalledProviders(t *testing.T) {
	t.Parallel()
	inner := &workflow.Workflow{Providers: map[string]workflow.Provider{
		"mine": {Kind: "openai", BaseURL: "http://127.0.0.1:9/v1", KeyEnv: "KEY"}}}
	mid := &workflow.Workflow{Called: map[string]*workflow.Workflow{"inner.yaml": inner}}
	outer := &workflow.Workflow{
		Called:   map[string]*workflow.Workflow{"mid.yaml": mid},
		Flows:    map[string]*workflow.Workflow{"flow": {Branches: []*workflow.Workflow{inner}}},
		Branches: []*workflow.Workflow{{Called: map[string]*workflow.Workflow{"mid.yaml": mid}}},
	}
	inner.Called = map[string]*workflow.Workflow{"mid.yaml": mid}
	k := newOpener(Config{Documents: linked.Kit(), Env: func(string) string { return "" }})
	want := []string{"call http://127.0.0.1:9/v1, which is not a public address (provider mine)"}
	if got := k.PrivateAddresses(t.Context(), nil, outer); !slices.Equal(got, want) {
		t.Errorf("private addresses %q, want %q", got, want)
	}
	if got, want := KeysSent(outer), []string{"KEY to http://127.0.0.1:9/v1"}; !slices.Equal(got, want) {
		t.Errorf("keys %q, want %q", got, want)
	}
}

// askToolset opens a toolset as a run does and calls one of its tools. A refusal that a tool
// reports to the model is returned as an error.
func askToolset(t *testing.T, k *Opener, spec tool.Spec, name, args string) error {
	t.Helper()
	ts, err := k.types(driver.Info{}, tool.Type{})[spec.Type].Open(spec)
	if e, ok := errors.AsType[*tool.Error](err); ok && e.Kind == tool.KindUntrusted {
		return outbound.ErrRefused // an address that is rejected before any request
	}
	if err != nil {
		return err
	}
	defer ts.Close()
	tools, err := ts.Tools(t.Context())
	if err != nil {
		return err
	}
	for _, tl := range tools {
		if tl.Def().Name != name {
			continue
		}
		res, err := tl.Call(t.Context(), tool.Call{Name: name, Key: "k", Arguments: json.RawMessage(args)})
		if err == nil && strings.Contains(res.Text, outbound.ErrRefused.Error()) {
			return outbound.ErrRefused
		}
		return err
	}
	t.Fatalf("no tool %q", name)
	return nil
}
