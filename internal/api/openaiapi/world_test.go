package openaiapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/openaiapi"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/leaktest"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/sse"
)

// TestMain ignores one goroutine, which a dependency of an SDK starts at program start.
func TestMain(m *testing.M) {
	leaktest.Main(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// turn answers one model call; say streams a piece.
type turn func(ctx context.Context, req model.Request, say func(string)) (chat.Message, error)

// models answers model calls by the name of the agent.
type models struct {
	mu    sync.Mutex
	turns map[string]turn
	calls map[string]int
	asked []string // last messages, in call order
	// cut makes the answers of agents end at their limit.
	cut map[string]bool
}

func (m *models) Call(ctx context.Context, req model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	m.mu.Lock()
	t := m.turns[req.Agent]
	m.calls[req.Agent]++
	m.asked = append(m.asked, req.Messages[len(req.Messages)-1].Text.String())
	m.mu.Unlock()
	if t == nil {
		return model.Reply{}, &model.Error{Kind: model.KindInvalidRequest, Message: "no answer for " + req.Agent}
	}
	said := ""
	msg, err := t(ctx, req, func(text string) {
		said += text
		if onDelta != nil {
			onDelta(model.Delta{Text: text})
		}
	})
	if err != nil {
		return model.Reply{}, err
	}
	if msg.Role = chat.RoleAssistant; msg.Text.IsZero() {
		msg.Text = chat.NewText(said)
	}
	reply := model.Reply{Message: msg, Usage: &chat.Usage{InputTokens: 10, OutputTokens: 3}, StopReason: model.StopEnd}
	if m.cut[req.Agent] {
		reply.StopReason = model.StopLength
	}
	return reply, nil
}

// set replaces the turn of an agent.
func (m *models) set(agent string, t turn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turns[agent] = t
}

func (m *models) count(agent string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls[agent]
}

// says returns a turn that streams pieces.
func says(pieces ...string) turn {
	return func(_ context.Context, _ model.Request, say func(string)) (chat.Message, error) {
		for _, p := range pieces {
			say(p)
		}
		return chat.Message{}, nil
	}
}

func fails(kind model.ErrorKind, text string) turn {
	return func(context.Context, model.Request, func(string)) (chat.Message, error) {
		return chat.Message{}, &model.Error{Kind: kind, Message: text}
	}
}

// world is the endpoint over a service with some published workflows, behind a guard that knows a
// few tokens.
type world struct {
	*models
	service *service.Service
	url     string
	beats   chan struct{} // receives a value for each heartbeat sent
	tokens  map[string]access.Principal
}

const (
	tokenRun    = "run"     // may run
	tokenPerson = "person"  // may run and approve
	tokenOther  = "other"   // another person of the same namespace
	tokenNobody = "nothing" // known, but has no permissions
)

var documents = map[string]string{
	"poet.json": `{"nodes": [
		{"id": "start", "type": "start", "data": {}},
		{"id": "poet", "type": "agent", "data": {"agentName": "Poet", "model": "test/x", "userPrompt": ` +
		`"{{PREVIOUS_OUTPUT}}"}}
	], "connections": [{"source": "start", "target": "poet"}]}`,
	"pair.json": `{"nodes": [
		{"id": "start", "type": "start", "data": {}},
		{"id": "first", "type": "agent", "data": {"agentName": "First", "model": "test/x", "userPrompt": ` +
		`"{{PREVIOUS_OUTPUT}}"}},
		{"id": "poet", "type": "agent", "data": {"agentName": "Poet", "model": "test/x", "userPrompt": ` +
		`"{{PREVIOUS_OUTPUT}}"}}
	], "connections": [{"source": "start", "target": "first"}, {"source": "first", "target": "poet"}]}`,
	"gate.json": `{"nodes": [
		{"id": "start", "type": "start", "data": {}},
		{"id": "poet", "type": "agent", "data": {"agentName": "Poet", "model": "test/x", "userPrompt": ` +
		`"{{PREVIOUS_OUTPUT}}"}},
		{"id": "gate", "type": "approval", "data": {"prompt": "Publish it?"}},
		{"id": "done", "type": "agent", "data": {"agentName": "Printer", "model": "test/x", "userPrompt": ` +
		`"{{PREVIOUS_OUTPUT}}"}}
	], "connections": [{"source": "start", "target": "poet"}, {"source": "poet", "target": "gate"}, {"source": ` +
		`"gate", "target": "done", "sourceHandle": "approve"}]}`,
	"steady.yaml": `
agents:
  Poet: {model: test/x, instruction: Write., fallback: {models: [test/y]}}
workflow:
  - {type: agent, name: Poet, retry: {max_attempts: 3}}
`,
	"ask.yaml": `
agents:
  Clerk:
    model: test/x
    instruction: Ask for what you need.
    toolsets: [{type: user_prompt}]
workflow:
  - {type: agent, name: Clerk}
`,
	"desk.json": `{"name": "Desk", "agents": [{"id": "writer", "name": "Poet", "systemPrompt": "Write.", "model": ` +
		`"test/x"}], "branches": [
		{"id": "report", "nodes": [{"id": "write", "type": "agent", "config": {"agentId": "writer"}}], "edges": []},
		{"id": "headline", "nodes": [{"id": "write", "type": "agent", "config": {"agentId": "writer"}}], "edges": []}
	]}`,
}

// newWorld returns a world. Its heartbeat interval is short, so that every stream shows how clients
// handle heartbeats.
func newWorld(t *testing.T, turns map[string]turn) *world {
	t.Helper()
	m := &models{turns: maps.Clone(turns), calls: map[string]int{}}
	s, err := service.Open(t.Context(), service.Config{
		Documents: linked.Kit(),
		DB:        service.Memory, Env: func(string) string { return "" }, Models: map[string]model.Client{"test": m},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &world{models: m, service: s, beats: make(chan struct{}), tokens: map[string]access.Principal{
		tokenRun:    {Token: "t1", Name: "run", Role: access.RoleRun},
		tokenPerson: {Token: "t2", Name: "person", Role: access.RoleRun, Approve: true},
		tokenOther:  {Token: "t3", Name: "other", Role: access.RoleRun, Approve: true},
		tokenNobody: {Token: "t4", Name: "nothing"},
	}}
	for file, text := range documents {
		w.store(t, file, text, false)
	}
	w.store(t, "secret.json", documents["poet.json"], true)
	h := openaiapi.New(openaiapi.Config{MaxBody: 64 << 10, Heartbeat: 2 * time.Millisecond})
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if p, ok := w.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]; ok {
			r = r.WithContext(transport.With(r.Context(), &transport.Caller{Principal: p, Service: s}))
		}
		h.ServeHTTP(&heartbeatSignal{rw, w.beats}, r)
	}))
	t.Cleanup(srv.Close)
	w.url = srv.URL
	return w
}

func (w *world) store(t *testing.T, file, text string, draft bool) {
	t.Helper()
	_, ds, err := w.service.Apply(t.Context(),
		service.ApplyRequest{Documents: []service.Document{{File: file, Data: []byte(text)}}, Draft: draft})
	if err != nil || ds.HasErrors() {
		t.Fatal(file, err, ds)
	}
}

type obj = map[string]any

// reply is a response in the form that tests inspect.
type reply struct {
	status int
	header http.Header
	body   string
	json   struct {
		ID      string
		Object  string
		Model   string
		Choices []struct {
			Message struct{ Role, Content string }
			Finish  string `json:"finish_reason"`
		}
		Usage struct {
			Prompt     int `json:"prompt_tokens"`
			Completion int `json:"completion_tokens"`
			Total      int `json:"total_tokens"`
		}
		Hocket struct{ Run, Status, Wait, Kind string } `json:"x_hocket"`
		Error  struct{ Message, Type, Param, Code string }
		Data   []struct{ ID, Object string }
	}
}

func (r reply) text() string {
	if len(r.json.Choices) == 0 {
		return ""
	}
	return r.json.Choices[0].Message.Content
}

// do sends a request; headers are name-value pairs.
func (w *world) do(t *testing.T, token, method, path, body string, headers ...string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	r := reply{status: res.StatusCode, header: res.Header, body: string(text)}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
		if err := json.Unmarshal(text, &r.json); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	return r
}

// talk calls a model; said are alternating messages of user and assistant, starting with the
// user's.
func (w *world) talk(t *testing.T, token, name string, said ...string) reply {
	t.Helper()
	return w.ask(t, token, obj{"model": name, "messages": conversation(said...)})
}

func (w *world) ask(t *testing.T, token string, body obj, headers ...string) reply {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return w.do(t, token, http.MethodPost, "/v1/chat/completions", string(text), headers...)
}

func conversation(said ...string) []obj {
	var list []obj
	for i, text := range said {
		list = append(list, obj{"role": []string{"user", "assistant"}[i%2], "content": text})
	}
	return list
}

// dataOf returns the data of a stream's events.
func dataOf(t *testing.T, body string) (data []string) {
	t.Helper()
	for e, err := range sse.Events(strings.NewReader(body)) {
		if err != nil {
			t.Fatal(err)
		}
		data = append(data, string(e.Data))
	}
	return data
}

// open sends a streaming request and returns its lines as they arrive; stop disconnects.
func (w *world) open(t *testing.T, body string) (lines iter.Seq[string], stop func()) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+"/v1/chat/completions",
		strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+tokenRun)
	res, err := http.DefaultClient.Do(req) //nolint:bodyclose // stop closes it
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(string) bool) {
		for in := bufio.NewScanner(res.Body); in.Scan() && yield(in.Text()); {
		}
	}, func() { res.Body.Close() }
}

// heartbeatSignal signals the heartbeats that it passes on.
type heartbeatSignal struct {
	http.ResponseWriter
	beats chan struct{}
}

func (b *heartbeatSignal) Write(text []byte) (int, error) {
	if strings.HasPrefix(string(text), ":") {
		select {
		case b.beats <- struct{}{}:
		default:
		}
	}
	return b.ResponseWriter.Write(text)
}

// Unwrap lets http.ResponseController flush.
func (b *heartbeatSignal) Unwrap() http.ResponseWriter { return b.ResponseWriter }
