package hocket_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/documents"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/format/agents"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
)

// TestAgent_FieldsMatchDocumentKeys checks that each supported key of agents in documents is a
// field of hocket.Agent with the same name, and that there are no other fields.
func TestAgent_FieldsMatchDocumentKeys(t *testing.T) {
	t.Parallel()
	other := map[string]string{"id": "Name", "name": "Title"} // a program identifies agents by id
	var want, got []string
	for _, key := range agents.Names(true, true) {
		name := strings.ToUpper(key[:1]) + key[1:]
		if other[key] != "" {
			name = other[key]
		}
		want = append(want, name)
	}
	for f := range reflect.TypeFor[hocket.Agent]().Fields() {
		got = append(got, f.Name)
	}
	slices.Sort(want)
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-keys of documents +fields of hocket.Agent\n%s", d)
	}
}

// wholeAgent sets every field, and sayings is the same agent in the form of an agent list.
var wholeAgent = hocket.Agent{
	Name: "clerk", Title: "The clerk", Description: "does it", SystemPrompt: "Do.", Model: "own/m",
	Params: hocket.ModelParams{
		Temperature: graph.Zero, TopP: 0.9, FrequencyPenalty: -0.1, PresencePenalty: 0.2, MaxTokens: 700,
		ReasoningEffort: "high", ThinkingBudget: -1, Stop: []string{"END"},
		Provider: map[string]any{"seed": 3},
	},
	Tools: []string{"lookup"}, Toolsets: []hocket.Toolset{{"type": "think", "name": "pause"}},
	Permissions: hocket.Permissions{Allow: []string{"lookup"}, Ask: []string{"pause/*"},
		Deny: []string{"shell:cmd=rm *"}, Default: "ask"},
	SubAgents: []string{"helper"}, Handoffs: []string{"boss"},
	StructuredOutput: &hocket.StructuredOutput{Name: "o", Description: "an o", Strict: true,
		Schema: graph.SchemaJSON(`{"type": "object"}`), Repairs: graph.Zero},
	MaxIterations: 9, MaxConsecutiveToolCalls: 3, ToolCalls: "parallel",
	Fallback:   hocket.Fallback{Models: []string{"own/b"}, Retries: graph.Zero, Cooldown: 5 * time.Minute},
	Compaction: &hocket.Compaction{At: 0.5, Keep: 3, Pin: []string{"lookup"}, Model: "own/c"},
	AddDate:    true, AddEnvironmentInfo: true, AddPromptFiles: []string{"A.md"},
	Commands:       map[string]hocket.AgentCommand{"fix": {Description: "fixes", Instruction: "Fix it."}},
	WelcomeMessage: "Hello.",
}

const sayings = `[{"id": "clerk", "name": "The clerk", "description": "does it", "systemPrompt": "Do.", "model": ` +
	`"own/m",
	"params": {"temperature": 0, "topP": 0.9, "frequencyPenalty": -0.1, "presencePenalty": 0.2, "maxTokens": 700, ` +
	`"reasoningEffort": "high", "thinkingBudget": -1, "stop": ["END"], "provider": {"seed": 3}},
	"tools": ["lookup"], "toolsets": [{"name": "pause", "type": "think"}],
	"permissions": {"allow": ["lookup"], "ask": ["pause/*"], "deny": ["shell:cmd=rm *"], "default": "ask"}, ` +
	`"subAgents": ["helper"], "handoffs": ["boss"],
	"structuredOutput": {"name": "o", "description": "an o", "strict": true, "repairs": 0, "schema": {"type": ` +
	`"object"}},
	"maxIterations": 9, "maxConsecutiveToolCalls": 3, "toolCalls": "parallel", ` +
	`"fallback": {"models": ["own/b"], "retries": -1, ` +
	`"cooldown": "5m"},
	"compaction": {"at": 0.5, "keep": 3, "pin": ["lookup"], "model": "own/c"}, "addDate": true, ` +
	`"addEnvironmentInfo": true, "addPromptFiles": ["A.md"],
	"commands": {"fix": {"description": "fixes", "instruction": "Fix it."}}, "welcomeMessage": "Hello."}]`

// TestAgent_MatchesDocument checks that an agent in Go equals the agent that a document with the
// same keys defines, in every field.
func TestAgent_MatchesDocument(t *testing.T) {
	t.Parallel()
	v := reflect.ValueOf(wholeAgent)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("the test says nothing of %s", v.Type().Field(i).Name)
		}
	}
	list, problems := agents.Read("agents.json", []byte(sayings))
	if len(problems) > 0 || len(list) != 1 {
		t.Fatal(problems)
	}
	got, err := hocket.AgentDefinition(wholeAgent)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(list[0], got); d != "" {
		t.Errorf("-document +Go\n%s", d)
	}
	tokens, err := hocket.AgentDefinition(hocket.Agent{Name: "a", Compaction: &hocket.Compaction{At: 8000}})
	if err != nil || tokens.Compaction.Tokens != 8000 || tokens.Compaction.At != 0 {
		t.Errorf("%+v, %v", tokens.Compaction, err)
	}
}

// TestOpen_InvalidAgents checks that Open returns an error naming the agent for invalid values
//
func TestOpen_InvalidAgents(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		agent hocket.Agent
		want  string
	}{
		"turns": {hocket.Agent{MaxIterations: -1}, "maxTurns must not be negative"},
		"tokens": {hocket.Agent{Params: hocket.ModelParams{MaxTokens: -5}},
			"params.maxTokens must not be negative"},
		"option": {hocket.Agent{Params: hocket.ModelParams{Provider: map[string]any{"f": func() {}}}},
			`Params.Provider "f": json: unsupported type: func()`},
		"at": {hocket.Agent{Compaction: &hocket.Compaction{At: 1.5}},
			"Compaction.At is 1.5; it must be a part of the context window, above 0 and at most 1, or a number of " +
				"tokens, 100 or more"},
		"keep":    {hocket.Agent{Compaction: &hocket.Compaction{Keep: -1}}, "compaction.keep is -1"},
		"retries": {hocket.Agent{Fallback: hocket.Fallback{Retries: -7}}, "fallbackRetries is -7"},
		"cooldown": {hocket.Agent{Fallback: hocket.Fallback{Cooldown: -time.Second}},
			"Fallback.Cooldown is -1s; it must not be negative"},
		"no type": {hocket.Agent{Toolsets: []hocket.Toolset{{"command": "x"}}}, "toolset 0 has no type"},
		"bad type": {hocket.Agent{Toolsets: []hocket.Toolset{{"type": "mpc", "command": "x"}}},
			`unknown type of toolset "mpc"`},
		"bad key": {hocket.Agent{Toolsets: []hocket.Toolset{{"type": "mcp", "comand": "x"}}}, "comand"},
		"pattern": {hocket.Agent{Permissions: hocket.Permissions{Deny: []string{"shell:cmd"}}}, "permissions: "},
		"default": {hocket.Agent{Permissions: hocket.Permissions{Default: "maybe"}}, "permissions: "},
		"itself":  {hocket.Agent{SubAgents: []string{"a"}}, "names itself"},
		"no one":  {hocket.Agent{Handoffs: []string{""}}, "the name of a sub-agent or hand-off target is empty"},
		"no schema": {hocket.Agent{StructuredOutput: &hocket.StructuredOutput{}},
			"StructuredOutput: it has no Schema"},
		"bad schema": {
			hocket.Agent{StructuredOutput: &hocket.StructuredOutput{Schema: graph.SchemaJSON(`{"type": 7}`)}},
			"StructuredOutput: read schema: ",
		},
		"command": {hocket.Agent{Commands: map[string]hocket.AgentCommand{"fix": {}}}, "fix"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.agent.Name = "a"
			e, err := hocket.Open(t.Context(), hocket.Config{}, hocket.WithAgent(tc.agent))
			if err == nil {
				e.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), `agent "a"`) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

// TestAgent_AllFields checks that an agent's settings take effect in runs that graphs start:
// parameters, a toolset of its own, a sub-agent, a handoff agent, and the schema of its output
//
func TestAgent_AllFields(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var asked []string
	model := hocket.ModelFunc(func(_ context.Context, r hocket.ModelRequest) (hocket.ModelReply, error) {
		mu.Lock()
		defer mu.Unlock()
		var tools []string
		for _, d := range r.Tools {
			tools = append(tools, d.Name)
		}
		slices.Sort(tools)
		asked = append(asked, r.Agent+" "+strings.Join(tools, ","))
		last := r.Messages[len(r.Messages)-1].Text
		switch {
		case r.Agent == "helper":
			return hocket.ModelReply{Text: "1912"}, nil
		case r.Agent == "boss":
			if r.Schema == nil || r.Temperature == nil || *r.Temperature != 0 || *r.MaxTokens != 70 {
				t.Errorf("asked with %s, %v, %v", r.Schema, r.Temperature, r.MaxTokens)
			}
			return hocket.ModelReply{Text: `{"year": 1912}`}, nil
		case last == "when?":
			return hocket.ModelReply{ToolCalls: []hocket.ToolUse{
				{ID: "c1", Name: "transfer_task_helper", Arguments: json.RawMessage(`{"input":"which year?"}`)},
			}}, nil
		}
		return hocket.ModelReply{ToolCalls: []hocket.ToolUse{
			{ID: "c2", Name: "handoff", Arguments: json.RawMessage(`{"agent":"boss"}`)},
		}}, nil
	})
	type answer struct {
		Year int `json:"year"`
	}
	e, err := hocket.Open(t.Context(), hocket.Config{DB: filepath.Join(t.TempDir(), "app.db")},
		hocket.WithModel("own", model),
		hocket.WithAgent(hocket.Agent{Name: "clerk", Model: "own/m", Toolsets: []hocket.Toolset{{"type": "think"}},
			SubAgents: []string{"helper"}, Handoffs: []string{"boss"}}),
		hocket.WithAgent(hocket.Agent{Name: "helper", Model: "own/m", Description: "knows years"}),
		hocket.WithAgent(hocket.Agent{
			Name: "boss", Model: "own/m", Params: hocket.ModelParams{Temperature: graph.Zero, MaxTokens: 70},
			StructuredOutput: &hocket.StructuredOutput{Name: "answer", Schema: graph.SchemaOf[answer]()},
		}))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	r, err := hocket.Run(t.Context(), e, subagent(t, "clerk"), state{Text: "when?"})
	if err != nil || r.Err != nil {
		t.Fatalf("%+v, %v", r, err)
	}
	if r.State.Text != `{"year": 1912}` && r.State.Text != `{"year":1912}` {
		t.Errorf("gave %s", r.State.Text)
	}
	want := []string{"clerk handoff,think,transfer_task_helper", "helper ", "clerk handoff,think,transfer_task_helper",
		"boss "}
	if d := cmp.Diff(want, asked); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	r, err = hocket.Run(t.Context(), e, subagent(t, "clerk"), state{Text: "when?"},
		hocket.RunOptions{Limits: graph.Limits{Budget: graph.Budget{MaxCalls: 2}}})
	if err != nil || r.Err == nil {
		t.Errorf("with two calls: %+v, %v", r, err)
	}
}

// TestAgent_CatalogAgentNotTrusted checks that a program allows what its own agents start, and
// that this does not extend to catalog agents that they reference (X-151, SEC5).
func TestAgent_CatalogAgentNotTrusted(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "app.db")
	storeAgents(t, db, `{"agents": [{"id": "stranger", "model": "own/m", "toolsets": [{"type": "shell"}]}]}`)
	e, err := hocket.Open(t.Context(), hocket.Config{DB: db}, hocket.WithModel("own",
		hocket.ModelFunc(func(context.Context, hocket.ModelRequest) (hocket.ModelReply, error) {
			return hocket.ModelReply{Text: "done"}, nil
		})), hocket.WithAgent(hocket.Agent{Name: "own", Model: "own/m", Toolsets: []hocket.Toolset{{"type": "shell"}}}),
		hocket.WithAgent(hocket.Agent{Name: "mixed", Model: "own/m", SubAgents: []string{"stranger"}}))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	r, err := hocket.Run(t.Context(), e, subagent(t, "own"), state{Text: "x"})
	if err != nil || r.Err != nil || r.State.Text != "done" {
		t.Errorf("%+v, %v", r, err)
	}
	for _, name := range []string{"mixed", "stranger"} {
		r, err = hocket.Run(t.Context(), e, subagent(t, name), state{Text: "x"})
		if err != nil || r.Err == nil || !strings.Contains(r.Err.Error(), "shell") {
			t.Errorf("%s: %+v, %v", name, r.Err, err)
		}
	}
}

// storeAgents adds agents to the catalog of a store.
func storeAgents(t *testing.T, db, list string) {
	t.Helper()
	s, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: db, Env: func(string) string {
		return ""
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, problems, err := s.ApplyAgents(t.Context(),
		service.ApplyAgentsRequest{Documents: []service.Document{{File: "agents.json", Data: []byte(list)}}})
	if err != nil || problems.HasErrors() {
		t.Fatal(err, problems)
	}
}

// TestBudget_HostileUsage checks that no budget grows whatever usage a model reports: documents and
// Go graphs end, and their usage is positive and increases with each call (P20).
func TestBudget_HostileUsage(t *testing.T) {
	t.Parallel()
	var usage atomic.Pointer[hocket.TokenUsage]
	var calls atomic.Int32
	e, err := hocket.Open(t.Context(), hocket.Config{}, documents.All(), hocket.WithModel("own",
		hocket.ModelFunc(func(context.Context, hocket.ModelRequest) (hocket.ModelReply, error) {
			if calls.Add(1) > 100 {
				return hocket.ModelReply{}, &hocket.ModelError{Kind: "auth", Message: "the budget did not hold"}
			}
			return hocket.ModelReply{Text: "again, please", Usage: usage.Load()}, nil
		})), hocket.WithAgent(hocket.Agent{Name: "a", Model: "own/m"}))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	doc, err := e.Parse("w.yaml", []byte("agents: {a: {model: own/m, instruction: Go.}}\nworkflow:\n"+
		strings.Repeat("  - {type: agent, name: a}\n", 60)))
	if err != nil {
		t.Fatal(err)
	}
	b := graph.New[state]("t")
	for i := range 60 {
		b.Then(graph.AgentConfig[state]{ID: fmt.Sprint("n", i), AgentType: hocket.AgentLLM, Message: "again",
			Session: graph.SessionConfig{Model: "own/m"}})
	}
	g := compiled(t, b)
	edge := []int64{math.MinInt64, -1_000_000, -1000, -1, math.MaxInt64, math.MaxInt64 - 3, 1 << 40}
	rapid.Check(t, func(rt *rapid.T) {
		usage.Store(&hocket.TokenUsage{InputTokens: rapid.SampledFrom(edge).Draw(rt, "in"),
			OutputTokens: rapid.SampledFrom(append(edge, 3)).Draw(rt, "out")})
		calls.Store(0)
		var used hocket.RunUsage
		if rapid.Bool().Draw(rt, "graph") {
			r, err := hocket.Run(rt.Context(), e, g, state{},
				hocket.RunOptions{Limits: graph.Limits{Budget: graph.Budget{MaxTokens: 600}}})
			var short *hocket.BudgetError
			if err != nil || !errors.As(r.Err, &short) {
				rt.Fatalf("%+v, %v after %d calls", r, err, calls.Load())
			}
			o, err := e.Get(rt.Context(), r.Snapshot.ExecutionID)
			if err != nil {
				rt.Fatal(err)
			}
			used = o.Usage
		} else {
			o, err := e.Run(rt.Context(), doc, hocket.StartOptions{Input: "x", Limits: hocket.Limits{MaxTokens: 600}})
			var short *hocket.BudgetError
			if err != nil || !errors.As(o.Err, &short) {
				rt.Fatalf("%+v, %v after %d calls", o, err, calls.Load())
			}
			used = o.Usage
		}
		if n := int64(calls.Load()); used.InputTokens < n || used.OutputTokens < n ||
			used.InputTokens+used.OutputTokens > 700 {
			rt.Fatalf("%d calls count as %+v", n, used)
		}
	})
}

// TestRetry_PermanentModelErrors checks that failures whose codes require action by a person are
// not retried unless the policy names them, that fallbacks take over, and that a long Retry-After
// fails with an error that states the time (S4-21, S4-22).
func TestRetry_PermanentModelErrors(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err   hocket.ModelError
		doc   string
		calls int32
		text  string // in the output or the error
	}{
		"quota": {hocket.ModelError{Kind: "quota_exceeded", Message: "no money"},
			"retry: {max_attempts: 2, backoff: {type: fixed, initial_delay_seconds: 0.001}}", 1, "no money"},
		"quota is no rate limit": {hocket.ModelError{Kind: "quota_exceeded", Message: "no money"},
			"retry: {max_attempts: 2, backoff: {type: fixed, initial_delay_seconds: 0.001}, on: [rate_limit]}", 1,
			"no money"},
		"quota, named": {hocket.ModelError{Kind: "quota_exceeded", Message: "no money"},
			"retry: {max_attempts: 2, backoff: {type: fixed, initial_delay_seconds: 0.001}, on: [quota_exceeded]}", 3,
			"no money"},
		"rate limit": {hocket.ModelError{Kind: "rate_limit", Message: "slow down"},
			"retry: {max_attempts: 2, backoff: {type: fixed, initial_delay_seconds: 0.001}}", 3, "slow down"},
		"long prompt": {hocket.ModelError{Kind: "context_length_exceeded", Message: "too long"},
			"retry: {max_attempts: 2, backoff: {type: fixed, initial_delay_seconds: 0.001}}", 1, "too long"},
		"long prompt, named": {hocket.ModelError{Kind: "context_length_exceeded", Message: "too long"},
			"retry: {max_attempts: 1, backoff: {type: fixed, initial_delay_seconds: 0.001}, on: " +
				"[context_length_exceeded]}", 2, "too long"},
		"a day": {hocket.ModelError{Kind: "rate_limit", Message: "slow down",
			RetryAfter: 24 * time.Hour},
			"retry: {max_attempts: 2, backoff: {type: fixed, initial_delay_seconds: 0.001}}", 1, "24h0m0s"},
		"a day, named": {hocket.ModelError{Kind: "rate_limit", Message: "slow down",
			RetryAfter: 24 * time.Hour}, "retry: {max_attempts: 2, backoff: {type: fixed, initial_delay_seconds: " +
			"0.001}, on: [rate_limit]}", 1, "at most 10m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			e, err := hocket.Open(t.Context(), hocket.Config{}, documents.All(), hocket.WithModel("own",
				hocket.ModelFunc(func(context.Context, hocket.ModelRequest) (hocket.ModelReply, error) {
					calls.Add(1)
					return hocket.ModelReply{}, &tc.err
				})))
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			doc, err := e.Parse("w.yaml",
				[]byte("agents: {a: {model: own/m, instruction: Go.}}\nworkflow:\n  - {type: agent, name: a, "+tc.doc+
					"}\n"))
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a call that sleeps for a day fails the test
			defer cancel()
			r, err := e.Run(ctx, doc, hocket.StartOptions{Input: "x"})
			if err != nil || r.Err == nil || !strings.Contains(r.Err.Error(), tc.text) || calls.Load() != tc.calls {
				t.Errorf("%v, %v after %d calls, want %d", r.Err, err, calls.Load(), tc.calls)
			}
		})
	}
}

// TestFallback_PermanentModelErrors checks that a fallback takes over from a model whose quota is
// exhausted, or whose context window is too small.
func TestFallback_PermanentModelErrors(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"quota_exceeded", "context_length_exceeded"} {
		e, err := hocket.Open(t.Context(), hocket.Config{}, documents.All(), hocket.WithModel("own",
			hocket.ModelFunc(func(_ context.Context, r hocket.ModelRequest) (hocket.ModelReply, error) {
				if r.Model == "small" {
					return hocket.ModelReply{}, &hocket.ModelError{Kind: kind, Message: "not this one"}
				}
				return hocket.ModelReply{Text: "by " + r.Model}, nil
			})))
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		doc, err := e.Parse("w.yaml",
			[]byte("agents: {a: {model: own/small, fallback: {models: [own/large]}, instruction: Go.}}"))
		if err != nil {
			t.Fatal(err)
		}
		if r, err := e.Run(t.Context(), doc, hocket.StartOptions{Input: "x"}); err != nil || r.Text() != "by large" {
			t.Errorf("%s: %+v, %v", kind, r, err)
		}
	}
}

// TestRun_EmptyReplyWarning checks that an empty reply completes the run with a warning, in
// documents and in sessions of Go graphs.
func TestRun_EmptyReplyWarning(t *testing.T) {
	t.Parallel()
	e, err := hocket.Open(t.Context(), hocket.Config{}, documents.All(), hocket.WithModel("own",
		hocket.ModelFunc(func(context.Context, hocket.ModelRequest) (hocket.ModelReply, error) {
			return hocket.ModelReply{Text: " \n"}, nil
		})))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	doc, err := e.Parse("w.yaml", []byte("agents: {a: {model: own/m, instruction: Go.}}"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Run(t.Context(), doc, hocket.StartOptions{Input: "x"})
	if err != nil || r.Status != hocket.StatusCompleted || len(r.Steps) != 1 ||
		fmt.Sprint(r.Steps[0].Warnings) != "[the model's answer is empty]" {
		t.Errorf("%+v, %v", r, err)
	}
	g := compiled(t, graph.New[state]("t").Start(graph.AgentConfig[state]{ID: "n", AgentType: hocket.AgentLLM,
		Message: "go", Session: graph.SessionConfig{Model: "own/m"}}))
	if _, err := hocket.Run(t.Context(), e, g, state{}, hocket.RunOptions{ID: "g"}); err != nil {
		t.Fatal(err)
	}
	if r, err = e.Get(t.Context(), "g"); err != nil || r.Status != hocket.StatusCompleted ||
		len(r.Steps[0].Warnings) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// agentCaller returns a graph that asks a question, with a deadline unless it is 0.
func agentCaller(t *testing.T, deadline time.Duration) *graph.Compiled[tide] {
	t.Helper()
	g, err := graph.New[tide]("tides").Start(graph.WaitConfig[tide]{ID: "ask", Prompt: "High or low?",
		Deadline: deadline}).Compile()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// asksIn starts a run that asks a question.
func asksIn(t *testing.T, e *hocket.Engine, g *graph.Compiled[tide], id string) {
	t.Helper()
	if r, err := hocket.Run(t.Context(), e, g, tide{}, hocket.RunOptions{ID: id}); err != nil ||
		r.Status != hocket.StatusPaused {
		t.Fatalf("%+v, %v, want a run that waits", r, err)
	}
}

// outside opens the store as another process would, without any graphs.
func outside(t *testing.T, db string) *service.Service {
	t.Helper()
	s, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: db})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func answerOutside(t *testing.T, s *service.Service, run, text string) error {
	rec, err := s.Read(t.Context(), run)
	if err != nil {
		return err
	}
	by := event.LocalBy(event.ChannelCLI)
	return s.Proceed(t.Context(), rec,
		service.Proceed{By: by, Answer: &service.AnswerRequest{Value: expr.Quote(text), By: by}})
}

// TestAnswer_StoredBeforeDeadline checks that an answer stored before the deadline of its wait
// counts when the program comes back after the deadline (D21, D29), whatever a server on the store
// does meanwhile.
func TestAnswer_StoredBeforeDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := filepath.Join(t.TempDir(), "hocket.db")
		g := agentCaller(t, time.Hour)
		e, end := peer(t, db, g)
		for _, id := range []string{"answered", "late", "silent"} {
			asksIn(t, e, g, id)
		}
		end()
		s, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: db, Kind: journal.KindServe})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		ctx, stop := context.WithCancel(t.Context())
		var maintaining sync.WaitGroup
		defer maintaining.Wait()
		defer stop()
		// a server on the store, which cannot fire the deadlines of Go graphs
		maintaining.Go(func() { s.Maintain(ctx) })
		time.Sleep(30 * time.Minute)
		if err := answerOutside(t, s, "answered", "low"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if err := answerOutside(t, s, "late", "low"); err == nil {
			t.Error("an answer after the deadline was taken")
		}
		e, end = peer(t, db, g)
		defer end()
		time.Sleep(3 * time.Second)
		if r, err := e.Get(t.Context(), "answered"); err != nil || r.Status != hocket.StatusCompleted {
			t.Errorf("%+v, %v, want that the answer counts", r, err)
		}
		for _, id := range []string{"late", "silent"} {
			if s := status(t, e, id); s != hocket.StatusFailed {
				t.Errorf("run %s is %s, want that its deadline ends it", id, s)
			}
		}
	})
}

// TestWorkFiresDeadlines checks that a working engine fires the deadlines of runs that other
// processes of the program left paused, before it started and since (D21).
func TestWorkFiresDeadlines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := filepath.Join(t.TempDir(), "hocket.db")
		g := agentCaller(t, time.Hour)
		first, endFirst := peer(t, db, g)
		asksIn(t, first, g, "before")
		e, end := peer(t, db, g)
		defer end()
		time.Sleep(10 * time.Second)
		asksIn(t, first, g, "since")
		time.Sleep(10 * time.Second)
		endFirst()
		for _, id := range []string{"before", "since"} {
			if s := status(t, e, id); s != hocket.StatusPaused {
				t.Errorf("run %s is %s before its deadline", id, s)
			}
		}
		time.Sleep(time.Hour + time.Second)
		for _, id := range []string{"before", "since"} {
			if s := status(t, e, id); s != hocket.StatusFailed {
				t.Errorf("run %s is %s, want that its deadline ended it", id, s)
			}
		}
	})
}

// TestStoredAnswersInConflict checks that of several different answers sent concurrently to a
// program that is down, one is stored and the others are rejected (P24, D29).
func TestStoredAnswersInConflict(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "hocket.db")
	g := agentCaller(t, 0)
	e, end := peer(t, db, g)
	asksIn(t, e, g, "r")
	end()
	services := make([]*service.Service, 4)
	for i := range services {
		services[i] = outside(t, db)
	}
	var (
		wg     sync.WaitGroup
		mu     sync.Mutex
		stored []string
	)
	for i, s := range services {
		for j := range 2 {
			wg.Go(func() {
				text := fmt.Sprint(i, j)
				err := answerOutside(t, s, "r", text)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					stored = append(stored, text)
				case !errors.Is(err, waits.ErrAnswered):
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	if len(stored) != 1 {
		t.Fatalf("stored %q, want one answer", stored)
	}
	e, end = peer(t, db, g)
	defer end()
	for _, err := range e.Watch(t.Context(), "r", hocket.WatchOptions{UntilEnded: true}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	r, err := e.Get(t.Context(), "r")
	if err != nil || string(r.Outputs["ask"]) != fmt.Sprintf("%q", stored[0]) {
		t.Errorf("%+v, %v, want the answer %q", r, err, stored[0])
	}
}
