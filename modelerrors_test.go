package hocket_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/documents"
	"github.com/hocket-run/hocket/graph"
)

// TestHostileUsageNeverRaisesBudget checks that no budget grows whatever usage a model reports:
// documents and Go graphs end, and their usage is positive and increases with each call (item 6,
// P20).
func TestHostileUsageNeverRaisesBudget(t *testing.T) {
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

// TestLastingModelErrors checks that failures whose codes require action by a person are not
// retried unless the policy names them, that fallbacks take over, and that a long Retry-After fails
// with an error that states the time (item 18).
func TestLastingModelErrors(t *testing.T) {
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

// TestFallbackOfLastingErrors checks that a fallback takes over from a model whose quota is
// exhausted, or whose context window is too small (item 18).
func TestFallbackOfLastingErrors(t *testing.T) {
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

// TestWarningOfEmptyReply checks that an empty reply completes the run with a warning, in documents
// and in sessions of Go graphs (item 18).
func TestWarningOfEmptyReply(t *testing.T) {
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
