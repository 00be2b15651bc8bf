package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/httpapi"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
)

var update = flag.Bool("update", false, "rewrite golden files")

// echoModel replies to every call with the name of the agent. An agent that has tools calls think
// first, and replies with its result.
type echoModel struct{}

func (echoModel) Call(_ context.Context, q model.Request, _ func(model.Delta)) (model.Reply, error) {
	r := model.Reply{Message: chat.Message{Role: chat.RoleAssistant, Text: chat.NewText("by " + q.Agent)},
		Model: q.Model, StopReason: model.StopEnd}
	last := q.Messages[len(q.Messages)-1]
	switch {
	case last.Role == chat.RoleTool:
		r.Message.Text = chat.NewText(last.Text.String())
	case len(q.Tools) > 0:
		r.StopReason = model.StopToolCalls
		r.Message = chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{
			{ID: "c1", Name: "think", Arguments: json.RawMessage(`{"thought": "of ` + q.Agent + `"}`)},
		}}
	}
	return r, nil
}

// Documents used by the tests.
const (
	poem = `agents:
  poet: {model: own/m, instruction: Write.}
workflow:
  - {id: a, type: agent, name: poet}
`
	post = `{"id": "post", "name": "Post", "nodes": [
  {"id": "s", "type": "start", "data": {"initialInput": "bees"}},
  {"id": "w", "type": "agent", "data": {"agentName": "writer", "userPrompt": "{{PREVIOUS_OUTPUT}}", "model": "own/m"}},
  {"id": "ok", "type": "approval", "data": {"prompt": "Print it?"}},
  {"id": "p", "type": "agent", "data": {"agentName": "publisher", "userPrompt": "{{PREVIOUS_OUTPUT}}", "model": ` +
		`"own/m"}}],
 "connections": [
  {"source": "s", "target": "w"}, {"source": "w", "target": "ok"},
  {"source": "ok", "target": "p", "sourceHandle": "approve"}, {"source": "ok", "target": "w", "sourceHandle": ` +
		`"reject"}]}`
)

// world is an API over a service with its own store.
type world struct {
	t       testing.TB
	api     *httpapi.API
	service *service.Service
	caller  access.Principal
}

// newWorld returns a world whose caller is an admin with permission to approve.
func newWorld(t testing.TB) *world { return newWorldOn(t, service.Memory) }

// newWorldOn returns a world on the given store.
func newWorldOn(t testing.TB, db string) *world { return newWorldWith(t, db, echoModel{}) }

// newWorldWith returns a world whose agents use the given model.
func newWorldWith(t testing.TB, db string, own model.Client) *world {
	t.Helper()
	s, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: db, Env: func(string) string {
		return ""
	}, Models: map[string]model.Client{"own": own}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	who := access.Principal{Token: "t1", Name: "ann", Namespace: access.DefaultNamespace, Role: access.RoleAdmin,
		Approve: true}
	return &world{t: t, api: httpapi.New(httpapi.Config{}), service: s, caller: who}
}

// document returns the OpenAPI document, parsed once: parsing takes longer than most tests.
var document = sync.OnceValue(func() *openapi3.T {
	rec := httptest.NewRecorder()
	req := httptest.NewRequest(http.MethodGet, httpapi.SpecPath, http.NoBody)
	httpapi.New(httpapi.Config{}).ServeHTTP(rec, req)
	if rec.Code != http.StatusOK {
		panic(rec.Body.String())
	}
	doc, err := openapi3.NewLoader().LoadFromData(rec.Body.Bytes())
	if err != nil {
		panic(err)
	}
	for _, s := range doc.Components.Schemas {
		for _, p := range s.Value.Properties {
			if p.Value.Type == nil && p.Ref == "" && len(p.Value.AnyOf) == 0 {
				// any JSON value including null; the validator applies OpenAPI 3.0 rules to a
				// missing type
				p.Value.Nullable = true
			}
			if more := p.Value.AdditionalProperties.Schema; more != nil && more.Value.Type == nil {
				more.Value.Nullable = true
			}
		}
	}
	return doc
})

// withCaller returns the same world with another caller.
func (w *world) withCaller(role access.Role, approve bool) *world {
	c := *w
	c.caller.Role, c.caller.Approve = role, approve
	return &c
}

// answer is a response in the form that tests inspect.
type answer struct {
	t      testing.TB
	status int
	header http.Header
	body   string
}

// do sends a request and validates the response against the OpenAPI document. A string body is sent
// as is, any other body as JSON; headers are name-value pairs.
func (w *world) do(method, path string, body any, headers ...string) answer {
	w.t.Helper()
	var r io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		r = bytes.NewReader([]byte(b))
	default:
		text, err := json.Marshal(b)
		if err != nil {
			w.t.Fatal(err)
		}
		r = bytes.NewReader(text)
	}
	req := httptest.NewRequestWithContext(
		transport.With(w.t.Context(), &transport.Caller{Principal: w.caller, Service: w.service}), method, path, r)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	rec := httptest.NewRecorder()
	w.api.ServeHTTP(rec, req)
	a := answer{w.t, rec.Code, rec.Header(), rec.Body.String()}
	if strings.Contains(req.Pattern, httpapi.Prefix) {
		if err := described(document(), req.Pattern, a); err != nil {
			w.t.Errorf("%s %s: the answer does not fit the document: %v", method, path, err)
		}
	}
	return a
}

// is asserts the status and returns the answer.
func (a answer) is(status int) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("got %d, want %d: %s", a.status, status, a.body)
	}
	return a
}

// decode decodes the body.
func (a answer) decode(v any) {
	a.t.Helper()
	if err := json.Unmarshal([]byte(a.body), v); err != nil {
		a.t.Fatalf("%v: %s", err, a.body)
	}
}

// problem asserts a problem of this status and code.
func (a answer) problem(status int, code string) httpapi.Problem {
	a.t.Helper()
	a.is(status)
	var p httpapi.Problem
	a.decode(&p)
	if ct := a.header.Get("Content-Type"); ct != "application/problem+json" || string(p.Code) != code ||
		p.Status != status || p.Title == "" {
		a.t.Fatalf("got %s %+v, want code %s", ct, p, code)
	}
	return p
}

// run decodes a run object.
func (a answer) run() project.Run {
	a.t.Helper()
	var r project.Run
	a.decode(&r)
	return r
}

// withT returns the world for a subtest.
func (w *world) withT(t testing.TB) *world {
	c := *w
	c.t = t
	return &c
}

type m = map[string]any
