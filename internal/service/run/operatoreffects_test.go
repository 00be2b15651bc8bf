package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/tool"
)

// fakeProtocolProvider is a provider of one protocol: it records its requests, calls the tools it
// is offered until it has an answer, and counts the concurrent calls. A call of the model `stuck`
// ends with its context, and sends no heartbeat.
type fakeProtocolProvider struct {
	mu             sync.Mutex
	asked          []model.Request
	endpoints      []model.Endpoint
	inFlight, most int
	// full is closed when two calls are in flight, so that in a test of parallel calls the first
	// can wait for the second.
	full chan struct{}
}

func (l *fakeProtocolProvider) factory(e model.Endpoint) (model.Client, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endpoints = append(l.endpoints, e)
	return l, nil
}

func (l *fakeProtocolProvider) Call(ctx context.Context, req model.Request, onDelta func(model.Delta)) (
	model.Reply, error) {
	l.mu.Lock()
	l.asked = append(l.asked, req)
	l.inFlight++
	if l.most = max(l.most, l.inFlight); l.inFlight == 2 && l.full != nil {
		close(l.full)
		l.full = nil
	}
	full := l.full
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.inFlight--
	}()
	switch {
	case strings.HasSuffix(req.Model, "stuck"):
		<-ctx.Done()
		return model.Reply{}, ctx.Err()
	case strings.HasSuffix(req.Model, "pair") && full != nil:
		select {
		case <-full:
		case <-ctx.Done():
			return model.Reply{}, ctx.Err()
		}
	}
	last := req.Messages[len(req.Messages)-1]
	usage := &chat.Usage{InputTokens: 1000, OutputTokens: 1000}
	if last.Role == chat.RoleUser && len(req.Tools) > 0 {
		call := chat.ToolCall{ID: "c1", Name: req.Tools[0].Name, Arguments: json.RawMessage(`{}`)}
		return model.Reply{Message: chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{call}},
			StopReason: model.StopToolCalls, Usage: usage}, nil
	}
	return model.Reply{Message: chat.Message{Role: chat.RoleAssistant,
		Text: chat.NewText("heard: " + last.Text.String())}, StopReason: model.StopEnd, Usage: usage}, nil
}

// probeTool is a tool that counts how often it was pressed; `stuck` ends with its context.
type probeTool struct {
	name    string
	pressed *int
}

func (b probeTool) Def() chat.ToolDef {
	return chat.ToolDef{Name: b.name, Parameters: json.RawMessage(`{"type":"object"}`)}
}
func (b probeTool) Policy() tool.Policy { return tool.PolicyRetry }
func (b probeTool) Call(ctx context.Context, _ tool.Call) (tool.Result, error) {
	if b.name == "stuck" {
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	}
	*b.pressed++
	return tool.Result{Text: "pressed"}, nil
}

// observations holds what a run, its provider and its tools observed.
type observations struct {
	run     project.Run
	lab     *fakeProtocolProvider
	pressed int
}

// operated runs a document to its end, or to a wait, under an operator's configuration. together
// means that the first call waits for a second one.
func operated(t *testing.T, text, doc string, together bool) observations {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "prices.yaml"),
		[]byte("prices: [{models: [lab/*], input: 1, output: 1}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text, "providers:") {
		text += "\nproviders: {lab: {base_url: 'http://10.0.0.9/v1'}}\n"
	} else if !strings.Contains(text, "base_url") {
		text = strings.Replace(text, "lab: {", "lab: {base_url: 'http://10.0.0.9/v1', ", 1)
	}
	operator, problems := config.Read(filepath.Join(dir, "hocket.yaml"), []byte(text))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	prices, problems, err := service.OperatorPrices(operator)
	if err != nil || problems.HasErrors() {
		t.Fatal(err, problems)
	}
	l, pressed := &fakeProtocolProvider{}, 0
	if together {
		l.full = make(chan struct{})
	}
	env := map[string]string{"LAB": "key-of-the-lab"}
	s, err := service.Open(t.Context(), service.Config{
		Documents: linked.Kit(),
		DB:        service.Memory, Env: func(name string) string { return env[name] }, Operator: operator,
		Prices:   prices,
		Adapters: map[model.Protocol]model.Factory{model.ProtocolOpenAI: l.factory, model.ProtocolAnthropic: l.factory},
		Tools:    []tool.Tool{probeTool{"press", &pressed}, probeTool{"stuck", &pressed}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	w, ds, err := s.Load(t.Context(), "doc.yaml", []byte(doc), service.LoadOptions{})
	if err != nil || ds.HasErrors() {
		t.Fatal(err, ds)
	}
	run, err := s.Start(t.Context(), service.StartRequest{Workflow: w, Input: "go"})
	if err != nil {
		t.Fatal(err)
	}
	o := ended(t, s, run)
	return observations{o, l, pressed}
}

// TestOperatorKeys checks the effects of keys of the operator's configuration in runs, with and
// without each key (P11, P14, P20, D14, SEC12).
func TestOperatorKeys(t *testing.T) {
	t.Parallel()
	const (
		plain   = "agents: {a: {model: lab/m, instruction: x}}"
		presses = "agents: {a: {model: lab/m, instruction: x, tools: [press]}}"
		three   = plain + "\nworkflow:\n  - {type: agent, name: a}\n  - {type: agent, name: a}\n  - {type: agent, " +
			"name: a}\n"
		parallel = "agents: {a: {model: lab/MODEL, instruction: x}}\nworkflow:\n  - type: parallel\n    " +
			"steps:\n      - {type: agent, name: a}\n      - {type: agent, name: a}\n      - {type: agent, name: a}\n"
	)
	serial := strings.ReplaceAll(parallel, "MODEL", "m")
	pairs := strings.ReplaceAll(parallel, "MODEL", "pair")
	failed := func(code string) func(observations) error {
		return func(s observations) error {
			if s.run.Status != event.StatusFailed || s.run.Error == nil || s.run.Error.Code != code {
				return fmt.Errorf("status %s, error %+v; want %s", s.run.Status, s.run.Error, code)
			}
			return nil
		}
	}
	status := func(want event.Status, pressed int) func(observations) error {
		return func(s observations) error {
			if s.run.Status != want || s.pressed != pressed {
				return fmt.Errorf("status %s, error %+v, %d presses; want %s and %d", s.run.Status, s.run.Error,
					s.pressed, want, pressed)
			}
			return nil
		}
	}
	most := func(want int) func(observations) error {
		return func(s observations) error {
			if s.run.Status != event.StatusCompleted || (want == 1) != (s.lab.most == 1) {
				return fmt.Errorf("status %s, error %+v, at most %d calls at once; want %d", s.run.Status, s.run.Error,
					s.lab.most, want)
			}
			return nil
		}
	}
	for _, tt := range []struct {
		name, operator, doc string
		check               func(observations) error
	}{
		{"nothing", "", presses, status(event.StatusCompleted, 1)},
		{"permissions.deny", "permissions: {deny: [press]}", presses, status(event.StatusCompleted, 0)},
		{"permissions.ask", "permissions: {ask: [press]}", presses, status(event.StatusPaused, 0)},
		{"permissions.default", "permissions: {default: deny}", presses, status(event.StatusCompleted, 0)},
		{"permissions.allow", "permissions: {allow: [press], default: deny}", presses,
			status(event.StatusCompleted, 1)},
		{"budgets.run.tokens", "budgets: {run: {tokens: 3000}}", three, failed("budget")},
		{"budgets.run.costUSD", "budgets: {run: {costUSD: 0.003}}\nprices: prices.yaml", three, failed("budget")},
		{"budgets.run.calls", "budgets: {run: {calls: 1}}", three, failed("budget")},
		{"budgets.run.onReached", "budgets: {run: {calls: 1, onReached: pause}}", three,
			status(event.StatusPaused, 0)},
		{"prices", "prices: prices.yaml", plain, func(s observations) error {
			if c := s.run.Usage.CostUSD; c == nil || *c != 0.002 {
				return fmt.Errorf("cost %v", c)
			}
			return nil
		}},
		{"without limits.maxCalls", "", pairs, most(2)},
		{"limits.maxCalls", "limits: {maxCalls: 1}", serial, most(1)},
		{"providers.concurrency", "providers: {lab: {concurrency: 1}}", serial, most(1)},
		{"limits.modelTimeout", "limits: {modelTimeout: 50ms}\nmodels: {stuck: {provider: lab, model: stuck}}",
			strings.ReplaceAll(plain, "lab/m", "stuck"), failed("timeout")},
		{"limits.modelIdleTimeout", "limits: {modelIdleTimeout: 50ms}", strings.ReplaceAll(plain, "lab/m", "lab/stuck"),
			failed("timeout")},
		{"limits.toolTimeout", "limits: {toolTimeout: 50ms}", strings.ReplaceAll(presses, "press]", "stuck]"),
			func(s observations) error {
				if s.run.Status != event.StatusCompleted || !strings.Contains(string(s.run.Output), "50ms") {
					return fmt.Errorf("status %s, output %s", s.run.Status, s.run.Output)
				}
				return nil
			}},
		{"providers.protocol, base_url, key", "providers: {lab: {protocol: anthropic, base_url: 'http://10.0.0.9/x', " +
			"key: '${env.LAB}'}}", plain, func(s observations) error {
			if e := s.lab.endpoints[0]; e.Protocol != model.ProtocolAnthropic || e.BaseURL != "http://10.0.0.9/x" ||
				e.Key != "key-of-the-lab" || !e.Named {
				return fmt.Errorf("endpoint %s, named %v", e, e.Named)
			}
			return nil
		}},
		{"models.params", "models: {own: {provider: lab, model: deep, params: {temperature: 0.3, top_p: 0.4, " +
			"max_tokens: 55, reasoning_effort: low, thinking_budget: 7, provider_options: {seed: 8}}}}",
			strings.ReplaceAll(plain, "lab/m", "own"), func(s observations) error {
				q := s.lab.asked[0]
				p := q.Params
				if !strings.HasSuffix(q.Model, "deep") || p.Temperature == nil || *p.Temperature != 0.3 ||
					p.TopP == nil || *p.TopP != 0.4 || p.MaxTokens == nil || *p.MaxTokens != 55 ||
					p.ReasoningEffort != "low" || p.ThinkingBudget == nil || *p.ThinkingBudget != 7 ||
					string(p.ProviderOptions["seed"]) != "8" {
					return fmt.Errorf("asked %s with %+v", q.Model, p)
				}
				return nil
			}},
		{"defaultModel", "defaultModel: lab/other", "agents: {a: {instruction: x}}", func(s observations) error {
			if q := s.lab.asked[0]; !strings.HasSuffix(q.Model, "other") {
				return fmt.Errorf("asked %s", q.Model)
			}
			return nil
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if err := tt.check(operated(t, tt.operator, tt.doc, tt.doc == pairs)); err != nil {
				t.Error(err)
			}
		})
	}
}
