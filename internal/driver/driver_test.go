package driver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

func TestFailureOf(t *testing.T) {
	t.Parallel()
	live := t.Context()
	done, cancel := context.WithCancel(live)
	cancel()
	tests := []struct {
		name string
		ctx  context.Context
		err  error
		want event.Failure
	}{
		{"the provider's own words", live, &model.Error{Kind: model.KindRateLimit, Message: "slow down",
			RetryAfter: 1500 * time.Millisecond},
			event.Failure{Code: "rate_limit", Message: "slow down", Retryable: true, RetryAfterMS: 1500}},
		{"never again", live, &model.Error{Kind: model.KindAuth, Message: "no key"},
			event.Failure{Code: "auth", Message: "no key"}},
		{"wrapped", live, fmt.Errorf("layer: %w", &model.Error{Kind: model.KindServer, Message: "500"}),
			event.Failure{Code: "server", Message: "500", Retryable: true}},
		{"tool", live, &tool.Error{Kind: tool.KindNetwork, Message: "refused"},
			event.Failure{Code: "network", Message: "refused", Retryable: true}},
		{"tool that may have acted (P12)", live, &tool.Error{Kind: tool.KindTimeout, Message: "late",
			OutcomeUnknown: true},
			event.Failure{Code: "timeout", Message: "late"}},
		{"cancelled", done, done.Err(), event.Failure{Code: event.CodeCancelled, Message: "cancelled"}},
		{"cancelled in other words", done, errors.New("connection closed"),
			event.Failure{Code: event.CodeCancelled, Message: "cancelled"}},
		{"deadline", live, context.DeadlineExceeded,
			event.Failure{Code: event.CodeTimeout, Message: context.DeadlineExceeded.Error(), Retryable: true}},
		{"anything else", live, errors.New("odd"), event.Failure{Code: "internal", Message: "odd"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(&tt.want, driver.FailureOf(tt.ctx, tt.err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNewRunID(t *testing.T) {
	t.Parallel()
	// The ULID specification: 01ARYZ6S41 is the time 1469918176385.
	at := time.UnixMilli(1469918176385)
	id := driver.NewRunID(at)
	if len(id) != 26 || id[:10] != "01ARYZ6S41" {
		t.Errorf("id %q, want 26 characters that begin with 01ARYZ6S41", id)
	}
	if driver.NewRunID(at) == id {
		t.Error("two ids are equal")
	}
	if later := driver.NewRunID(at.Add(time.Millisecond)); later <= id {
		t.Errorf("%q does not sort behind %q", later, id)
	}
}

// clientFunc implements model.Client with a function.
type clientFunc func(ctx context.Context, q model.Request, onDelta func(model.Delta)) (model.Reply, error)

func (f clientFunc) Call(ctx context.Context, q model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	return f(ctx, q, onDelta)
}

// tools implements driver.Tools with one tool.
type tools struct {
	driver.Tools
	def  chat.ToolDef
	call func(ctx context.Context, c tool.Call) (tool.Result, error)
	err  error
}

func (t *tools) Defs(context.Context, string) ([]chat.ToolDef, error) {
	return []chat.ToolDef{t.def}, t.err
}
func (t *tools) Instructions(context.Context, string) (string, error) { return "use it well", nil }
func (t *tools) Policy(context.Context, tool.Call) (tool.Policy, error) {
	return tool.PolicyRetry, t.err
}

func (t *tools) Call(ctx context.Context, c tool.Call) (tool.Result, error) { return t.call(ctx, c) }

func TestCallModel(t *testing.T) {
	t.Parallel()
	price := 0.5
	warm := 0.7
	own := []chat.ToolDef{{Name: "route"}, {Name: "spare"}}[:1]
	var got model.Request
	kit := &driver.RunResources{
		DefaultModel: "sim/default",
		Tools:        &tools{def: chat.ToolDef{Name: "search"}},
		Price:        func(ref string, u chat.Usage) *float64 { return &price },
		Models: clientFunc(func(_ context.Context, q model.Request, _ func(model.Delta)) (model.Reply, error) {
			got = q
			return model.Reply{Message: chat.Message{Text: chat.NewText("hi")}, Usage: &chat.Usage{InputTokens: 1},
				StopReason: model.StopEnd, Source: 3}, nil
		}),
	}
	cmd := &engine.CallModel{
		ID: "1.0.1#2", Key: "r/1.0.1", Node: "n", Step: 1, Attempt: 2, System: "be kind",
		Messages: []chat.Message{{Role: chat.RoleUser, Text: chat.NewText("hello")}},
		Tools:    own,
		Agent: &workflow.Agent{ID: "a", Name: "Writer", Params: workflow.ModelParams{Temperature: &warm},
			Output: &workflow.Output{Name: "out", Schema: json.RawMessage(`{}`), Strict: true}},
	}
	res := kit.CallModel(t.Context(), &driver.Info{Run: "r"}, cmd, nil)
	wantReq := model.Request{
		Model: "sim/default", System: "be kind\n\nuse it well", Messages: cmd.Messages,
		Tools:          []chat.ToolDef{{Name: "route"}, {Name: "search"}},
		Schema:         &model.Schema{Name: "out", JSON: json.RawMessage(`{}`), Strict: true},
		Params:         model.Params{Temperature: &warm},
		IdempotencyKey: "r/1.0.1", Agent: "Writer", Node: "n",
	}
	if got.Memo == nil {
		t.Error("the request has no memo")
	}
	got.Memo = nil
	if diff := cmp.Diff(wantReq, got); diff != "" {
		t.Errorf("request:\n%s", diff)
	}
	if own[:2][1].Name != "spare" {
		t.Error("the engine's list of tools was written over")
	}
	wantRes := engine.ModelResult{ID: "1.0.1#2", Message: chat.Message{Text: chat.NewText("hi")},
		Usage: &chat.Usage{InputTokens: 1}, CostUSD: &price,
		Model: "sim/default", Stop: "stop", Source: "3"}
	if diff := cmp.Diff(wantRes, res); diff != "" {
		t.Errorf("result:\n%s", diff)
	}
}

func TestModelChoice(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, override, own, fallback, want string }{
		{"override wins (D26)", "o", "a", "d", "o"},
		{"then the agent's", "", "a", "d", "a"},
		{"then the default", "", "", "d", "d"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got string
			kit := &driver.RunResources{DefaultModel: tt.fallback,
				Models: clientFunc(func(_ context.Context, q model.Request, _ func(model.Delta)) (model.Reply, error) {
					got = q.Model
					return model.Reply{}, nil
				})}
			kit.CallModel(t.Context(), &driver.Info{Model: tt.override}, &engine.CallModel{Model: tt.own}, nil)
			if got != tt.want {
				t.Errorf("asked %q, want %q", got, tt.want)
			}
		})
	}
}

// constProgram is a program whose functions all return the same result.
type constProgram struct {
	driver.Program
	engine.FuncResult
}

func (g constProgram) Call(context.Context, string, *engine.CallFunc, driver.Caller) engine.FuncResult {
	return g.FuncResult
}

// TestFailures covers everything that can go wrong with a call, and the reported failure.
func TestFailures(t *testing.T) {
	t.Parallel()
	bad := json.RawMessage(`{"half`)
	reply := func(m chat.Message, err error) clientFunc {
		return func(context.Context, model.Request, func(model.Delta)) (model.Reply, error) {
			return model.Reply{Message: m}, err
		}
	}
	result := func(r tool.Result, err error) *tools {
		return &tools{call: func(context.Context, tool.Call) (tool.Result, error) { return r, err }}
	}
	ask := func(k *driver.RunResources) *event.Failure {
		return k.CallModel(t.Context(), &driver.Info{}, &engine.CallModel{Agent: &workflow.Agent{ID: "a"}}, nil).Failure
	}
	use := func(k *driver.RunResources) *event.Failure {
		return toolResult(k.CallTool(t.Context(), &driver.Info{}, &engine.CallTool{Tool: "x"}, nil)).Failure
	}
	call := func(k *driver.RunResources) *event.Failure {
		return k.CallFunc(t.Context(), &driver.Info{}, &engine.CallFunc{Func: "f"}, nil).Failure
	}
	gives := func(r engine.FuncResult) *driver.RunResources {
		return &driver.RunResources{Program: constProgram{FuncResult: r}}
	}
	odd := map[string]event.Value{"\xff": event.Value("1")}
	tests := []struct {
		name string
		do   func(*driver.RunResources) *event.Failure
		kit  *driver.RunResources
		code string
	}{
		{"no models", ask, &driver.RunResources{}, "invalid_request"},
		{"tools that do not open", ask, &driver.RunResources{Models: reply(chat.Message{}, nil),
			Tools: &tools{err: &tool.Error{Kind: tool.KindUntrusted, Message: "no"}}}, "untrusted"},
		{"arguments that are not JSON", ask, &driver.RunResources{
			Models: reply(chat.Message{ToolCalls: []chat.ToolCall{{Arguments: bad}}}, nil),
		}, "server"},
		{"a model that fails", ask,
			&driver.RunResources{Models: reply(chat.Message{},
				&model.Error{Kind: model.KindContentFilter, Message: "no"})}, "content_filter"},
		{"no tools", use, &driver.RunResources{}, "unknown_tool"},
		{"a tool that fails", use, &driver.RunResources{
			Tools: result(tool.Result{}, &tool.Error{Kind: tool.KindFailed, Message: "no"}),
		}, "failed"},
		{"a result that is not JSON", use, &driver.RunResources{Tools: result(tool.Result{Structured: bad}, nil)},
			"internal"},
		{"no program", call, &driver.RunResources{}, event.CodeFunc},
		{"more of a field that does not grow", call,
			gives(engine.FuncResult{Grown: []typed.Growth{(typed.State{}).Grown("n", ",1")}}), "internal"},
		{"an update that is not JSON", call, gives(engine.FuncResult{Update: map[string]event.Value{"n": bad}}),
			"internal"},
		{"a field whose name is no text", call, gives(engine.FuncResult{Update: odd}), "internal"},
		{"a signal with such a name", call, gives(engine.FuncResult{Signals: []event.SignalRaised{{Data: odd}}}),
			"internal"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := tt.do(tt.kit)
			if f == nil || f.Code != tt.code || f.Message == "" {
				t.Errorf("failure %+v, want code %s and a message", f, tt.code)
			}
		})
	}
}

// TestTimeout checks that the node's own limit ends a call, and that the failure says so (P11). A
// tool call that was cut off may have been executed (P12).
func TestTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stuck := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		kit := &driver.RunResources{
			Models: clientFunc(func(ctx context.Context, _ model.Request, _ func(model.Delta)) (model.Reply, error) {
				return model.Reply{}, stuck(ctx)
			}),
			Tools: &tools{call: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
				return tool.Result{}, stuck(ctx)
			}},
		}
		failures := []*event.Failure{
			kit.CallModel(t.Context(), &driver.Info{}, &engine.CallModel{Timeout: time.Second}, nil).Failure,
			toolResult(kit.CallTool(t.Context(), &driver.Info{}, &engine.CallTool{Timeout: time.Second}, nil)).Failure,
		}
		for i, f := range failures {
			if isModel := i == 0; f == nil || f.Code != event.CodeTimeout || f.Retryable != isModel {
				t.Errorf("call %d: %+v, want a timeout, retryable %t", i, f, isModel)
			}
		}
	})
}

// toolResult returns the result of a call that was not held, or the zero result if it was.
func toolResult(d engine.InputData) engine.ToolResult {
	res, _ := d.(engine.ToolResult)
	return res
}

func TestPolicy(t *testing.T) {
	t.Parallel()
	cmd := &engine.CallTool{Tool: "x"}
	tests := []struct {
		name string
		kit  *driver.RunResources
		want tool.Policy
	}{
		{"no kit", nil, tool.PolicyAsk},
		{"no tools", &driver.RunResources{}, tool.PolicyAsk},
		{"the tool's own", &driver.RunResources{Tools: &tools{}}, tool.PolicyRetry},
		{"no person to ask", &driver.RunResources{Tools: &tools{err: errors.New("down")}}, tool.PolicyAsk},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.kit.Policy(t.Context(), &driver.Info{}, cmd); got != tt.want {
				t.Errorf("policy %q, want %q", got, tt.want)
			}
		})
	}
}

// TestDerivedRunID checks that the id of a planned run depends only on its parts, and that
// different parts yield a different id (P37).
func TestDerivedRunID(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 8, 3, 0, 0, 1000, time.UTC)
	id := driver.DerivedRunID(at, "w", "b")
	if again := driver.DerivedRunID(at.In(time.FixedZone("", 3600)), "w", "b"); again != id || len(id) != 26 {
		t.Errorf("%s and %s", id, again)
	}
	if driver.NewRunID(at)[:10] != id[:10] {
		t.Errorf("%s does not sort by its time", id)
	}
	seen := map[string]bool{id: true}
	for _, other := range []string{
		driver.DerivedRunID(at.Add(time.Microsecond), "w", "b"), driver.DerivedRunID(at, "w"),
		driver.DerivedRunID(at, "w", ""), driver.DerivedRunID(at, "wb"),
		driver.DerivedRunID(at, "wb", ""), driver.DerivedRunID(at, "b", "w"), driver.DerivedRunID(at, "", "wb"),
	} {
		if seen[other] {
			t.Errorf("%s is that of something else", other)
		}
		seen[other] = true
	}
}

// absentTools pins that a toolset did not start, with the first list of its tools.
type absentTools struct {
	tools
	pins tool.Pins
}

func (t *absentTools) NewPins() tool.Pins {
	p := t.pins
	t.pins = nil
	return p
}

// TestCallModel_Absent checks that a reply has a warning about a toolset that did not start, once,
// whichever call found it missing.
func TestCallModel_Absent(t *testing.T) {
	t.Parallel()
	pins := tool.Pins{"agent/a/gone//absent": {Def: chat.ToolDef{Description: "gone is missing"}}}
	ask := &engine.CallModel{ID: "1.0.1#1", Agent: &workflow.Agent{ID: "a"}}
	for _, tc := range []struct {
		name   string
		before func(kit *driver.RunResources, m *clientFunc)
		want   []string // warnings of two calls
	}{
		{"found by the call", nil, []string{"gone is missing; the server said so", "the server said so"}},
		{"found by a call that failed", func(kit *driver.RunResources, m *clientFunc) {
			works := *m
			*m = func(context.Context, model.Request, func(model.Delta)) (model.Reply, error) {
				return model.Reply{}, errors.New("down")
			}
			kit.CallModel(t.Context(), &driver.Info{Run: "r"}, ask, nil)
			*m = works
		}, []string{"gone is missing; the server said so", "the server said so"}},
		{"found by a tool call", func(kit *driver.RunResources, _ *clientFunc) {
			kit.CallTool(t.Context(), &driver.Info{Run: "r"}, &engine.CallTool{ID: "1.0.1#1", Tool: "x"}, nil)
		}, []string{"gone is missing; the server said so", "the server said so"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			models := clientFunc(func(context.Context, model.Request, func(model.Delta)) (model.Reply, error) {
				return model.Reply{Message: chat.Message{Text: chat.NewText("hi")}, Warning: "the server said so"}, nil
			})
			kit := &driver.RunResources{Models: clientFunc(func(ctx context.Context, q model.Request,
				f func(model.Delta)) (model.Reply, error) {
				return models(ctx, q, f)
			}), Tools: &absentTools{tools: tools{call: func(context.Context, tool.Call) (tool.Result, error) {
				return tool.Result{}, nil
			}}, pins: maps.Clone(pins)}}
			if tc.before != nil {
				tc.before(kit, &models)
			}
			for i, want := range tc.want {
				if res := kit.CallModel(t.Context(), &driver.Info{Run: "r"}, ask, nil); res.Warning != want {
					t.Errorf("call %d: warning %q, want %q", i, res.Warning, want)
				}
			}
		})
	}
}
