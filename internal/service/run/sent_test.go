package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/format"
	"github.com/hocket-run/hocket/internal/inflight"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/service"
)

// recordingModel replies from a list, and records its requests by idempotency key, which identifies
// run, call and attempt.
type recordingModel struct {
	mu      sync.Mutex
	replies []model.Reply
	errs    []error
	asked   map[string][]string
}

func (m *recordingModel) Call(_ context.Context, req model.Request, _ func(model.Delta)) (model.Reply, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked[req.IdempotencyKey] = append(m.asked[req.IdempotencyKey], comparedText(req))
	n := 0
	for _, list := range m.asked {
		n += len(list)
	}
	if n > len(m.replies) {
		return model.Reply{Message: chat.Message{Role: chat.RoleAssistant, Text: chat.NewText("The end.")},
			Usage: &chat.Usage{InputTokens: 1, OutputTokens: 1}, Model: req.Model, StopReason: model.StopEnd}, nil
	}
	r := m.replies[n-1]
	r.Model = req.Model
	return r, m.errs[n-1]
}

// comparedText returns the part of a request that is compared: everything except what adapters do
// not send.
func comparedText(req model.Request) string {
	req.Memo = nil
	req.Model = req.Model[strings.Index(req.Model, "/")+1:] // a registry removes the provider
	if len(req.Messages) == 0 {
		req.Messages = nil
	}
	b, err := json.MarshalIndent(req, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func replied(text string) model.Reply {
	return model.Reply{Message: chat.Message{Role: chat.RoleAssistant, Text: chat.NewText(text)},
		Usage: &chat.Usage{InputTokens: 900, OutputTokens: 20}, StopReason: model.StopEnd}
}

func wants(name, arguments string) model.Reply {
	r := replied("")
	r.Message.ToolCalls, r.StopReason = []chat.ToolCall{
		{ID: "c-" + name, Name: name, Arguments: json.RawMessage(arguments)},
	}, model.StopToolCalls
	return r
}

// TestSentCall checks that SentCall returns for each attempt of each model call the request that
// the model received, with tools of toolsets, instructions, schemas, parameters, budgets,
// sub-agents and retries.
func TestSentCall(t *testing.T) {
	t.Parallel()
	documents := map[string]struct {
		format, text string
		replies      []model.Reply
		errs         map[int]error // by reply number, from 0
	}{
		"tools": {format.Steps, `
agents:
  root:
    model: house/m
    instruction: Look around.
    temperature: 0.25
    max_tokens: 300
    toolsets: [{type: think}, {type: todo}]
workflow: [{type: agent, name: root}]
`, []model.Reply{wants("create_todo", `{"description": "x"}`), wants("think", `{"thought": "hm"}`)}, nil},
		"retry and schema": {format.Steps, `
agents:
  root:
    model: house/m
    instruction: Count.
    structured_output: {name: count, strict: true, schema: {type: object, properties: {n: {type: integer}}, ` +
			`required: [n], additionalProperties: false}}
  other: {model: house/n, instruction: 'Say {{ $steps.one.output }}', toolsets: [{type: think}]}
workflow:
  - {id: one, type: agent, name: root, retry: {max_attempts: 3, backoff: {type: fixed, initial_delay_seconds: 0}}}
  - {type: agent, name: other}
`, []model.Reply{replied(""), replied(`{"n": 1}`)},
			map[int]error{0: &model.Error{Kind: model.KindOverloaded, Message: "busy"}}},
		"sub-agents": {format.Steps, `
agents:
  root: {model: house/m, instruction: Lead., sub_agents: [guide], toolsets: [{type: todo}]}
  guide: {model: house/g, description: Knows., instruction: Guide., toolsets: [{type: think, tools: [think]}]}
workflow: [{type: agent, name: root}]
`, []model.Reply{wants("transfer_task_guide", `{"input": "Where?"}`), replied("Here.")}, nil},
	}
	for name, d := range documents {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &recordingModel{replies: d.replies, errs: make([]error, len(d.replies)), asked: map[string][]string{}}
			for i, err := range d.errs {
				m.errs[i] = err
			}
			s := openHouse(t, filepath.Join(t.TempDir(), "db"), m, config.WorkflowBudget{})
			w, problems, err := service.Load(t.Context(), "d", []byte(d.text),
				service.LoadOptions{Formats: linked.Kit().Formats, Format: d.format})
			if err != nil || problems.HasErrors() {
				t.Fatal(problems, err)
			}
			w.Name = "d"
			if _, err := s.Start(t.Context(), service.StartRequest{Workflow: w, RunID: "r", Input: "go"}); err != nil {
				t.Fatal(err)
			}
			if o := ended(t, s, "r"); o.Status != event.StatusCompleted {
				t.Fatalf("status %s: %+v", o.Status, o.Error)
			}
			told := map[string][]string{}
			events, err := s.Events(t.Context(), "r", 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				c, ok := e.Data.(*event.ModelCalled)
				if !ok {
					continue
				}
				sent, err := s.SentCall(t.Context(), "r", c.Call, c.Attempt)
				if err != nil {
					t.Fatal(err)
				}
				if !sent.Ended || !sent.At.Equal(e.At) || sent.Command.Attempt != c.Attempt {
					t.Errorf("call %s: %+v", c.Call, sent.Called)
				}
				told[sent.Request.IdempotencyKey] = append(told[sent.Request.IdempotencyKey],
					comparedText(sent.Request))
			}
			if len(m.asked) < 2 {
				t.Errorf("only %d calls were made", len(m.asked))
			}
			if diff := cmp.Diff(m.asked, told); diff != "" {
				t.Errorf("keys %v: asked -, told +\n%s", slices.Sorted(maps.Keys(m.asked)), diff)
			}
			for _, missing := range []struct {
				call string
				n    int
			}{{"9.0.1", 0}, {"1.0.1", 7}} {
				if _, err := s.SentCall(t.Context(), "r", missing.call, missing.n); !errors.Is(err, service.ErrNoCall) {
					t.Errorf("call %s, attempt %d: %v", missing.call, missing.n, err)
				}
			}
		})
	}
}

// TestSentCall_Charged checks that the long texts of a call are charged before they are read.
func TestSentCall_Charged(t *testing.T) {
	t.Parallel()
	m := &recordingModel{asked: map[string][]string{}}
	s := openHouse(t, filepath.Join(t.TempDir(), "db"), m, config.WorkflowBudget{})
	w, problems, err := service.Load(t.Context(), "d", []byte("agents: {a: {model: house/m, instruction: Say.}}\n"+
		"workflow: [{type: agent, name: a, prompt: "+strings.Repeat("x", 1<<20)+"}]\n"),
		service.LoadOptions{Formats: linked.Kit().Formats, Format: format.Steps})
	if err != nil || problems.HasErrors() {
		t.Fatal(problems, err)
	}
	w.Name = "d"
	if _, err := s.Start(t.Context(), service.StartRequest{Workflow: w, RunID: "r", Input: "go"}); err != nil {
		t.Fatal(err)
	}
	ended(t, s, "r")
	pool := inflight.New(inflight.Config{Total: 16 << 20, Share: 1 << 20})
	mine, other := pool.Claim("a"), pool.Claim("a")
	if err := other.Take(1); err != nil {
		t.Fatal(err)
	}
	ctx := inflight.With(t.Context(), mine)
	if _, err := s.SentCall(ctx, "r", "1.0.1", 0); !errors.As(err, new(*inflight.FullError)) {
		t.Errorf("beside another request: %v", err)
	}
	other.Close()
	if _, err := s.SentCall(ctx, "r", "1.0.1", 0); err != nil || mine.Bytes() < 4<<20 {
		t.Errorf("alone: %d bytes, %v", mine.Bytes(), err)
	}
}
