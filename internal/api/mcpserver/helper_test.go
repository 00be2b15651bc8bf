package mcpserver_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/mcpserver"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/model/modeltest"
	"github.com/hocket-run/hocket/internal/model/providers"
	"github.com/hocket-run/hocket/internal/schema"
	"github.com/hocket-run/hocket/internal/service"
)

var update = flag.Bool("update", false, "rewrite golden files")

// echoModel is a model that replies with its own name and its input; user input that contains
// `boom` fails.
func echoModel(r modeltest.Request) modeltest.Answer {
	if strings.Contains(r.LastUser(), "boom") || strings.Contains(r.System, "boom") {
		return modeltest.Answer{Status: 400, Error: "the model does not like boom"}
	}
	return modeltest.Answer{Text: "answer " + fmt.Sprint(r.Seq) + " of " + r.System}
}

// world is an MCP server over HTTP with one store per namespace.
type world struct {
	t        *testing.T
	server   *mcpserver.Server
	url      string
	model    *modeltest.Server
	services map[string]*service.Service

	// with changes the configuration of services that are opened from now on.
	with func(*service.Config)

	mu      sync.Mutex
	callers map[string]*transport.Caller // by token
	audited []string                     // entries of the audit log
}

// newWorld returns a world whose models reply with answer, and whose server is configured by cfg.
func newWorld(t *testing.T, cfg mcpserver.Config, answer modeltest.Func) *world {
	t.Helper()
	w := &world{t: t, services: map[string]*service.Service{}, callers: map[string]*transport.Caller{}}
	w.model = modeltest.Start(t, answer)
	if cfg.LookEvery == 0 {
		cfg.LookEvery = 10 * time.Millisecond
	}
	cfg.Version = "v0-test"
	w.server = mcpserver.New(cfg)
	handler := w.server.Handler()
	guard := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		c := w.callers[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
		w.mu.Unlock()
		info := &transport.Request{ID: "test"}
		ctx := transport.WithRequest(r.Context(), info)
		if c != nil {
			ctx = transport.With(ctx, c)
		}
		handler.ServeHTTP(rw, r.WithContext(ctx))
		if deeds, told := info.Deeds(transport.Deed{}); told {
			w.mu.Lock()
			defer w.mu.Unlock()
			for _, d := range deeds {
				w.audited = append(w.audited, d.Action)
			}
		}
	}))
	w.url = guard.URL
	t.Cleanup(func() {
		if err := w.server.Close(); err != nil {
			t.Error(err)
		}
		guard.CloseClientConnections()
		guard.Close()
	})
	return w
}

// service returns the service of a namespace.
func (w *world) service(namespace string) *service.Service {
	w.t.Helper()
	if s := w.services[namespace]; s != nil {
		return s
	}
	cfg := service.Config{
		Documents: linked.Kit(),
		DB:        service.Memory, Adapters: providers.Adapters(nil),
		Env: func(name string) string {
			return map[string]string{"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": w.model.BaseURL(),
				"HOCKET_MODEL": "openai/fake"}[name]
		},
	}
	if w.with != nil {
		w.with(&cfg)
	}
	s, err := service.Open(w.t.Context(), cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			w.t.Error(err)
		}
	})
	w.services[namespace] = s
	return s
}

// token creates a token of the default namespace.
func (w *world) token(role access.Role, approve bool) string {
	return w.tokenOf(access.DefaultNamespace, role, approve)
}

func (w *world) tokenOf(namespace string, role access.Role, approve bool) string {
	w.t.Helper()
	s := w.service(namespace)
	w.mu.Lock()
	defer w.mu.Unlock()
	token := fmt.Sprintf("token-%d", len(w.callers)+1)
	w.callers[token] = &transport.Caller{Principal: access.Principal{Token: token, Name: token, Namespace: namespace,
		Role: role, Approve: approve}, Service: s}
	return token
}

// bearer sends a token with every request.
type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

// client is a session of the official client.
type client struct {
	t *testing.T
	*sdk.ClientSession
	schemas map[string]*schema.Schema
}

// connect opens a session with a token.
func (w *world) connect(token string, opts *sdk.ClientOptions) *client {
	w.t.Helper()
	return connect(w.t, &sdk.StreamableClientTransport{Endpoint: w.url,
		HTTPClient: &http.Client{Transport: bearer{token}}}, opts)
}

// connect opens a session of the official client over a transport. opts may be nil.
func connect(t *testing.T, transport sdk.Transport, opts *sdk.ClientOptions) *client {
	t.Helper()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, opts).Connect(t.Context(), transport,
		nil)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = session.Close() }) // the server may have disconnected first
	return &client{t, session, map[string]*schema.Schema{}}
}

// admin opens a session that has every permission except to approve.
func (w *world) admin(opts *sdk.ClientOptions) *client {
	return w.connect(w.token(access.RoleAdmin, false), opts)
}

// object is a JSON object.
type object = map[string]any

// call calls a tool. The result must match the schema that the tool announces.
func (c *client) call(name string, args any) (*sdk.CallToolResult, object) {
	c.t.Helper()
	return c.callWith(c.t.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
}

// callWith calls a tool. A tool that waits for a run waits as long as it may: with the default
// limit it would return while a busy machine is still working.
func (c *client) callWith(ctx context.Context, p *sdk.CallToolParams) (*sdk.CallToolResult, object) {
	c.t.Helper()
	if args, ok := p.Arguments.(object); ok && (p.Name == "execute_workflow" && args["wait"] == nil ||
		p.Name == "resume_run" || p.Name == "shop") && args["waitSeconds"] == nil {
		args = maps.Clone(args)
		args["waitSeconds"] = 600
		p.Arguments = args
	}
	res, err := c.CallTool(ctx, p)
	if err != nil {
		c.t.Fatalf("%s: %v", p.Name, err)
	}
	var out object
	if res.IsError {
		return res, nil
	}
	text, err := json.Marshal(res.StructuredContent)
	if err != nil {
		c.t.Fatal(err)
	}
	if s := c.schema(p.Name); s != nil {
		if violations := s.Validate(text); len(violations) > 0 {
			c.t.Errorf("%s: the result does not fit its schema: %v\n%s", p.Name, violations, text)
		}
	}
	if got := textOf(res); !json.Valid([]byte(got)) {
		c.t.Errorf("%s: the text is no JSON: %s", p.Name, got)
	}
	if err := json.Unmarshal(text, &out); err != nil {
		c.t.Fatal(err)
	}
	return res, out
}

// schema returns the schema that a tool announces for its results.
func (c *client) schema(name string) *schema.Schema {
	c.t.Helper()
	if s := c.schemas[name]; s != nil {
		return s
	}
	for t, err := range c.Tools(c.t.Context(), nil) {
		if err != nil {
			c.t.Fatal(err)
		}
		raw, err := json.Marshal(t.OutputSchema)
		if err != nil {
			c.t.Fatal(err)
		}
		s, err := schema.Compile(raw)
		if err != nil {
			c.t.Fatalf("%s: %v", t.Name, err)
		}
		c.schemas[t.Name] = s
	}
	return c.schemas[name]
}

// mustCall calls a tool that must succeed.
func (c *client) mustCall(name string, args any) object {
	c.t.Helper()
	res, out := c.call(name, args)
	if res.IsError {
		c.t.Fatalf("%s: %s", name, textOf(res))
	}
	return out
}

// mustFail calls a tool that must fail with a code, and returns the text of the error.
func (c *client) mustFail(code, name string, args any) string {
	c.t.Helper()
	res, out := c.call(name, args)
	if !res.IsError {
		c.t.Fatalf("%s succeeds: %v", name, out)
	}
	text := textOf(res)
	p, _ := res.Meta["hocket/problem"].(object)
	if !strings.HasPrefix(text, code+": ") || p["code"] != code {
		c.t.Fatalf("%s: got %q and %v, want the code %s", name, text, p, code)
	}
	return text
}

// mustContain fails unless text contains all parts.
func mustContain(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q does not say %q", text, p)
		}
	}
}

func textOf(res *sdk.CallToolResult) string {
	var parts []string
	for _, c := range res.Content {
		if t, ok := c.(*sdk.TextContent); ok {
			parts = append(parts, t.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// at returns the value at a path of keys and indexes.
func at(t *testing.T, v any, path ...any) any {
	t.Helper()
	for _, p := range path {
		switch k := p.(type) {
		case string:
			m, ok := v.(object)
			if !ok {
				t.Fatalf("%v: no object at %v: %v", path, p, v)
			}
			v = m[k]
		case int:
			l, ok := v.([]any)
			if !ok || k >= len(l) {
				t.Fatalf("%v: no item %d: %v", path, k, v)
			}
			v = l[k]
		}
	}
	return v
}

// pair creates two agents and a workflow in which they talk, and returns its id.
func (c *client) pair() string {
	c.t.Helper()
	a := at(c.t, c.mustCall("create_agent", object{"name": "Ann", "systemPrompt": "You are Ann."}), "id")
	b := at(c.t, c.mustCall("create_agent", object{"name": "Bob", "systemPrompt": "You are Bob."}), "id")
	id := at(c.t, c.mustCall("create_workflow", object{"name": "Talk"}), "id").(string)
	c.mustCall("update_workflow", object{"id": id, "nodes": nodes(a, b), "edges": cycle, "maxRounds": 2})
	return id
}

// nodes returns agent nodes a1, a2 …
func nodes(agents ...any) []object {
	var out []object
	for i, a := range agents {
		out = append(out, object{"id": fmt.Sprintf("a%d", i+1), "type": "agent", "config": object{"agentId": a}})
	}
	return out
}

var cycle = []object{{"id": "e1", "from": "a1", "to": "a2"}, {"id": "e2", "from": "a2", "to": "a1"}}

// stringOf returns a value as JSON.
func stringOf(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
