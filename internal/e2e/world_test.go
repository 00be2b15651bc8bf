//go:build unix

package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/client/api"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/model/modeltest"
	"github.com/hocket-run/hocket/internal/op"
	"github.com/hocket-run/hocket/internal/server"
	"github.com/hocket-run/hocket/internal/service"
)

// Documents of the tests.
const (
	poem = "agents:\n  poet: {model: openai/m, instruction: by poet}\nworkflow:\n  - {id: a, type: agent, name: poet}\n"
	// gates is a workflow of parallel agents, each of which waits for a person before it thinks.
	gates = `permissions: {ask: [think]}
agents:
  a: {model: openai/m, instruction: by a, toolsets: [{type: think}]}
  b: {model: openai/m, instruction: by b, toolsets: [{type: think}]}
workflow:
  - {id: all, type: parallel, steps: [{id: a, type: agent, name: a}, {id: b, type: agent, name: b}]}
`
	gate = `{"name": "Gate", "nodes": [
  {"id": "s", "type": "start", "data": {"initialInput": "bees"}},
  {"id": "ok", "type": "approval", "data": {"prompt": "Print it?"}},
  {"id": "p", "type": "agent", "data": {"agentName": "publisher", "userPrompt": "{{PREVIOUS_OUTPUT}}", "model": ` +
		`"openai/m"}}],
 "connections": [{"source": "s", "target": "ok"}, {"source": "ok", "target": "p", "sourceHandle": "approve"}]}`
)

// says answers every call with the agent's instruction. An agent that has the tool think calls it
// first, and answers with the tool's result.
func says(r modeltest.Request) modeltest.Answer {
	switch {
	case r.Messages[len(r.Messages)-1].Role == chat.RoleTool:
		return modeltest.Answer{Text: "read: " + r.LastText()}
	case slices.ContainsFunc(r.Tools, func(d chat.ToolDef) bool { return d.Name == "think" }):
		return modeltest.Answer{
			ToolCalls: []chat.ToolCall{{Name: "think", Arguments: json.RawMessage(`{"thought": "of a person"}`)}},
		}
	}
	return modeltest.Answer{Text: "says " + r.System}
}

// world is a server with a fake model, and a client that records its requests.
type world struct {
	t     *testing.T
	p     *process
	home  string
	env   []string
	asked *recordingTransport
}

// newWorld starts a server whose hocket.yaml is config.
func newWorld(t *testing.T, config string, env ...string) *world {
	t.Helper()
	w := &world{t: t, home: t.TempDir()}
	m := modeltest.Start(t, says)
	w.env = append([]string{"OPENAI_BASE_URL=" + m.BaseURL(), "OPENAI_API_KEY=k"}, env...)
	file := filepath.Join(w.home, "operator.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	w.env = append(w.env, "HOCKET_CONFIG="+file)
	w.p = serve(t, w.home, w.env)
	w.asked = &recordingTransport{seen: map[string]bool{}}
	return w
}

// routes returns all routes of the server: the operations of its own document, and the transports
// that are in no document.
func (w *world) routes() (guarded, open []string) {
	w.t.Helper()
	s, err := server.Open(w.t.Context(), server.Config{
		Service: service.Config{Documents: linked.Kit(), DB: service.Memory, Env: func(name string) string {
			return map[string]string{"HOCKET_TOKEN": testToken}[name]
		}}})
	if err != nil {
		w.t.Fatal(err)
	}
	guarded, open = s.Routes()
	if err := s.Close(); err != nil {
		w.t.Error(err)
	}
	var doc struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	w.do("GET", "/openapi.json", "").is(200).into(&doc)
	for path, methods := range doc.Paths {
		for method := range methods {
			if r := strings.ToUpper(method) + " " + path; method != "parameters" && !slices.Contains(guarded, r) {
				guarded = append(guarded, r)
			}
		}
	}
	slices.Sort(guarded)
	if len(doc.Paths) < 20 || len(guarded) < 40 {
		w.t.Fatalf("%d paths, %d routes: the test looks in the wrong place", len(doc.Paths), len(guarded))
	}
	return guarded, open
}

// withTest returns the same world for another test.
func (w *world) withTest(t *testing.T) *world {
	c := *w
	c.t = t
	return &c
}

// recordingTransport is a transport that records which routes were requested and answered
// successfully.
type recordingTransport struct {
	mu   sync.Mutex
	seen map[string]bool
}

// RoundTrip implements http.RoundTripper.
func (a *recordingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := client.Transport.RoundTrip(r)
	if err == nil && res.StatusCode < http.StatusBadRequest {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.seen[r.Method+" "+r.URL.Path] = true
	}
	return res, err
}

// has reports whether a route was requested.
func (a *recordingTransport) has(route string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	form := regexp.QuoteMeta(route)
	form = regexp.MustCompile(`\\\{[A-Za-z]+(\\\.){3}\\\}`).ReplaceAllString(form, `.+`)
	form = regexp.MustCompile(`\\\{[A-Za-z]+\\\}`).ReplaceAllString(form, `[^/]+`)
	is := regexp.MustCompile("^" + form + "$")
	for r := range a.seen {
		if is.MatchString(r) {
			return true
		}
	}
	return false
}

// client returns the generated client with the given token.
func (w *world) client(token string) *api.ClientWithResponses {
	w.t.Helper()
	c, err := api.NewClientWithResponses(w.p.url, api.WithHTTPClient(&http.Client{Transport: w.asked}),
		api.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+token)
			return nil
		}))
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// answer is a response as tests inspect it.
type answer struct {
	t      *testing.T
	route  string
	status int
	header http.Header
	body   string
}

// operate sends the request of an operation as an admin who may approve.
func (w *world) operate(o op.Operation, in any) answer {
	w.t.Helper()
	req, err := o.Request(w.t.Context(), w.p.url, in)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+testToken)
	return w.send(req)
}

// do sends a request as an admin who may approve. header holds names and values; an empty value
// removes the header.
func (w *world) do(method, path, body string, header ...string) answer {
	w.t.Helper()
	ctx := w.t.Context()
	req, err := http.NewRequestWithContext(ctx, method, w.p.url+path, bytes.NewBufferString(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+testToken)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		switch {
		case header[i] == "Host":
			req.Host = header[i+1]
		case header[i+1] == "":
			req.Header.Del(header[i])
		default:
			req.Header.Set(header[i], header[i+1])
		}
	}
	return w.send(req)
}

// send sends a request.
func (w *world) send(req *http.Request) answer {
	w.t.Helper()
	route := req.Method + " " + req.URL.RequestURI()
	res, err := w.asked.roundTrip(req)
	if err != nil {
		w.t.Fatalf("%s: %v", route, err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatalf("%s: %v", route, err)
	}
	return answer{w.t, route, res.StatusCode, res.Header, string(data)}
}

// roundTrip is RoundTrip for an a that may be nil: it then sends the request without recording it.
func (a *recordingTransport) roundTrip(r *http.Request) (*http.Response, error) {
	if a == nil {
		return client.Transport.RoundTrip(r)
	}
	return a.RoundTrip(r)
}

func (a answer) is(status int) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("%s: %d, want %d: %s", a.route, a.status, status, a.body)
	}
	return a
}

func (a answer) into(v any) {
	a.t.Helper()
	if err := json.Unmarshal([]byte(a.body), v); err != nil {
		a.t.Fatalf("%s: %v: %s", a.route, err, a.body)
	}
}

// problem returns the code of a problem response, and an error if the response is not a valid
// problem.
func (a answer) problem() (code string, err error) {
	var p struct {
		Status int
		Code   string
		Title  string
	}
	if !strings.HasPrefix(a.header.Get("Content-Type"), "application/problem+json") {
		return "", fmt.Errorf("the type is %q: %s", a.header.Get("Content-Type"), a.body)
	}
	if err := json.Unmarshal([]byte(a.body), &p); err != nil {
		return "", err
	}
	if p.Status != a.status || p.Code == "" || p.Title == "" {
		return p.Code, fmt.Errorf("no whole problem: %s", a.body)
	}
	return p.Code, nil
}

// checkStatus checks the status of a response of the generated client, and returns its body.
func checkStatus[T any](t *testing.T, res interface {
	StatusCode() int
	GetBody() []byte
}, status int, body *T,
) T {
	t.Helper()
	if res.StatusCode() != status || body == nil {
		t.Fatalf("%d, want %d: %s", res.StatusCode(), status, res.GetBody())
	}
	return *body
}
