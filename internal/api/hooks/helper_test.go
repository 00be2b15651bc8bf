package hooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/api/hooks"
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/secret"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// gate is a workflow that asks for approval of its input and ends.
const gate = `{"id": "gate", "nodes": [{"id": "s", "type": "start"}, {"id": "ok", "type": "approval", "data": ` +
	`{"prompt": "Shall this go out?\n{{PREVIOUS_OUTPUT}}"}}],
 "connections": [{"source": "s", "target": "ok"}]}`

// echo is a workflow of one agent that repeats what it is told.
const echo = `
agents:
  Echo: {model: fake/echo, instruction: Repeat.}
workflow:
  - {type: agent, name: Echo}
`

// fake is a model that repeats what it is told.
type fake struct{}

func (fake) Call(_ context.Context, q model.Request, _ func(model.Delta)) (model.Reply, error) {
	text := ""
	for _, m := range q.Messages {
		if m.Role == chat.RoleUser {
			text = m.Text.String()
		}
	}
	if strings.Contains(text, "fail now") {
		return model.Reply{}, &model.Error{Kind: model.KindInvalidRequest, Message: "it cannot"}
	}
	return model.Reply{Message: chat.Message{Role: chat.RoleAssistant, Text: chat.NewText("heard: " + text)}}, nil
}

// world is the hooks of a server with one namespace.
type world struct {
	t       *testing.T
	hooks   *hooks.Hooks
	service *service.Service
	env     map[string]string
	db      string
}

type setup struct {
	db     string // "" means service.Memory
	config hooks.Config
	cfg    service.Config
}

func newWorld(t *testing.T, q setup) *world {
	t.Helper()
	w := &world{t: t, env: map[string]string{}, db: q.db}
	env := func(name string) string { return w.env[name] }
	q.cfg.DB, q.cfg.Env, q.cfg.Models, q.cfg.Documents = q.db, env, map[string]model.Client{"fake": fake{}},
		linked.Kit()
	if q.db == "" {
		q.cfg.DB = service.Memory
	}
	if q.cfg.Kind == "" {
		q.cfg.Kind = journal.KindServe
	}
	s, err := service.Open(t.Context(), q.cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	w.service = s
	q.config.Secrets = secret.Resolver{Env: env}
	q.config.Service = func(_ context.Context, namespace string) (*service.Service, error) {
		if namespace != "default" {
			return nil, errors.New("unknown namespace")
		}
		return s, nil
	}
	if w.hooks, err = hooks.New(q.config); err != nil {
		t.Fatal(err)
	}
	w.apply("gate", gate, "json")
	w.apply("echo", echo, "yaml")
	return w
}

func onDisk(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "hocket.db")
}

func (w *world) apply(id, text, ext string) {
	w.t.Helper()
	_, problems, err := w.service.Apply(w.t.Context(),
		service.ApplyRequest{ID: id, Documents: []service.Document{{File: id + "." + ext, Data: []byte(text)}}})
	if err != nil || problems.HasErrors() {
		w.t.Fatal(err, problems)
	}
}

// create creates a webhook of the workflow gate unless q says otherwise.
func (w *world) create(q hooks.CreateRequest) hooks.Created[hooks.Webhook] {
	w.t.Helper()
	if q.Workflow == "" {
		q.Workflow = "gate"
	}
	c, err := w.hooks.Create(w.t.Context(), "default", w.service, q)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// send sends a request to a handler; headers holds pairs.
func send(h http.Handler, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, req)
	return rec
}

// runOf returns the run of an accepted delivery.
func runOf(t *testing.T, rec *httptest.ResponseRecorder) string {
	t.Helper()
	var got struct{ Run, Status string }
	if err := json.Unmarshal(rec.Body.Bytes(), &got); rec.Code != http.StatusAccepted || err != nil ||
		got.Status != "pending" || got.Run == "" {
		t.Fatalf("got %d %s", rec.Code, rec.Body)
	}
	if at := rec.Header().Get("Location"); at != "/api/v1/runs/"+got.Run {
		t.Errorf("location %s", at)
	}
	return got.Run
}

func (w *world) runs() []journal.Head {
	w.t.Helper()
	heads, _, err := w.service.List(w.t.Context(), journal.Query{})
	if err != nil {
		w.t.Fatal(err)
	}
	return heads
}

// start starts a document and waits until it settles.
func (w *world) start(text, ext, replies, input string) string {
	w.t.Helper()
	flow, problems, err := w.service.Load(w.t.Context(), "doc."+ext, []byte(text), service.LoadOptions{})
	if err != nil || problems.HasErrors() {
		w.t.Fatal(err, problems)
	}
	return w.startFlow(flow, replies, input)
}

func (w *world) startFlow(flow *workflow.Workflow, replies, input string) string {
	w.t.Helper()
	q := service.StartRequest{Workflow: flow, Input: input}
	if replies != "" {
		q.Replies = []byte(replies)
	}
	run, err := w.service.Start(w.t.Context(), q)
	if err == nil {
		_, err = w.service.Wait(w.t.Context(), run)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return run
}

const long = 5 * time.Minute
