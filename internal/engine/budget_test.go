package engine_test

import (
	"testing"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// TestBudget checks that a budget stops the run before the call that would exceed it, wherever that
// call would be made, that completed work is kept, and that the run continues from there with a
// larger budget: nothing is paid for twice (P20, D20).
func TestBudget(t *testing.T) {
	t.Parallel()
	used := func(r *engine.ModelResult) *engine.ModelResult {
		r.Usage = &chat.Usage{InputTokens: 120, OutputTokens: 80}
		return r
	}
	tool := enginetest.Call("1", "search", `{}`)
	sub := enginetest.Call("1", "subagent_k", `{"input":"x"}`)
	for name, tc := range map[string]struct {
		// before holds the answers until the budget is used up, after the answers when the run
		// continues.
		before, after []any
		agent         workflow.Agent
		node          func(*workflow.Node)
	}{
		"next step": {before: []any{used(enginetest.Say("x"))}, after: []any{enginetest.Say("z")}},
		"in a tool loop": {before: []any{used(enginetest.Asks(tool)), enginetest.Returns("found")},
			after: []any{enginetest.Say("x"), enginetest.Say("z")}},
		"sub-agent": {before: []any{used(enginetest.Asks(sub))},
			after: []any{enginetest.Say("k"), enginetest.Say("x"), enginetest.Say("z")}},
		"after sub-agent": {before: []any{enginetest.Asks(sub), used(enginetest.Say("k"))},
			after: []any{enginetest.Say("x"), enginetest.Say("z")}},
		"repair": {before: []any{used(enginetest.Say("no JSON"))},
			after: []any{enginetest.Say("{}"), enginetest.Say("z")},
			agent: workflow.Agent{Output: &workflow.Output{Schema: []byte(`{"type":"object"}`)}}},
		"fallback": {before: []any{used(enginetest.Asks(tool)), enginetest.Returns("found")},
			after: []any{enginetest.Fails("overloaded", ""), enginetest.Say("x"), enginetest.Say("z")},
			agent: workflow.Agent{Fallbacks: []string{"other"}, FallbackRetries: -1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.agent.ID, tc.agent.Subagents = "a", []workflow.Subagent{{Agent: "k", Tool: "subagent_k"}}
			g := enginetest.Graph(nodes("a", "z"), "a -> z", tc.agent, workflow.Agent{ID: "k"})
			g.Limits.MaxTokens = 200
			w := enginetest.New(t, g, nil)
			w.Start("go")
			for _, in := range tc.before {
				wantStatus(t, w, event.StatusRunning)
				w.FinishAt(0, in)
			}
			wantStatus(t, w, event.StatusFailed)
			last := w.Events[len(w.Events)-1].Data.(*event.RunFailed)
			if last.Error.Code != event.CodeBudget || w.Run.EndedByLimit() != event.CodeBudget || len(w.Pending) > 0 {
				t.Fatalf("got %+v, %d calls out", last.Error, len(w.Pending))
			}
			w.Crash()
			w.Feed(engine.Reopen{Limits: workflow.Limits{MaxTokens: 10_000}})
			for _, in := range tc.after {
				if len(w.Pending) != 1 {
					t.Fatalf("%d calls out, want 1\n%s", len(w.Pending), w.Log())
				}
				w.FinishAt(0, in)
			}
			wantStatus(t, w, event.StatusCompleted)
			for id, n := range w.Calls {
				if n > 1 {
					t.Errorf("call %s was made %d times", id, n)
				}
			}
			w.CheckPrefixes()
		})
	}
}

// TestBudgetStopsRetries checks that a retry and a fallback count as calls (P20).
func TestBudgetStopsRetries(t *testing.T) {
	t.Parallel()
	g := enginetest.Graph(nodes(workflow.Node{ID: "s", Kind: workflow.KindStart}, retrying("a", 1), "b", "c"),
		"s -> a; s -> b; s -> c",
		workflow.Agent{ID: "c", Fallbacks: []string{"other"}, FallbackRetries: -1})
	g.Limits.MaxCostUSD = 0.5
	w := enginetest.New(t, g, nil)
	w.Start("go")
	w.Finish("a", enginetest.Fails("server", "boom"))
	cost := 0.5
	b := enginetest.Say("b")
	b.CostUSD = &cost
	w.Finish("b", b)
	wantStatus(t, w, event.StatusRunning)
	w.Finish("c", enginetest.Fails("overloaded", "busy"))
	wantTrace(t, w, 0, "+s, .s, +a, +b, +c, ra, .b, failed budget")
	w.Feed(engine.Reopen{Limits: workflow.Limits{MaxCostUSD: 5}})
	w.Finish("c", enginetest.Say("c"))
	w.Fire("retry:2.0.1")
	w.Finish("a", enginetest.Say("a"))
	wantStatus(t, w, event.StatusCompleted)
}

// TestBudgetStopsDueRetry checks that a retry that becomes due when the budget is used up is not
// made (P20).
func TestBudgetStopsDueRetry(t *testing.T) {
	t.Parallel()
	g := enginetest.Graph(nodes(workflow.Node{ID: "s", Kind: workflow.KindStart}, retrying("a", 1), "b"),
		"s -> a; s -> b")
	g.Limits.MaxTokens = 40_000
	w := enginetest.New(t, g, nil)
	w.Start("go")
	w.Finish("a", enginetest.Fails("server", "boom"))
	b := enginetest.Say("b")
	b.Usage = &chat.Usage{InputTokens: 20_000, OutputTokens: 10_000}
	w.Finish("b", b)
	w.Fire("retry:2.0.1")
	wantTrace(t, w, 0, "+s, .s, +a, +b, ra, .b, failed budget")
	w.Feed(engine.Reopen{Limits: workflow.Limits{MaxTokens: 100_000}})
	w.Finish("a", enginetest.Say("a"))
	wantStatus(t, w, event.StatusCompleted)
}

// TestBudget_CancelledCallsSettling checks that a limit that is reached while a loser's call still
// settles abandons only that call, and that the steps that the limit stopped continue after a
// reopening (D10, D20).
func TestBudget_CancelledCallsSettling(t *testing.T) {
	t.Parallel()
	g := enginetest.Graph(nodes(enginetest.Fork("f", workflow.Fork{}, "x", "y"),
		enginetest.In("f", enginetest.Agent("x")), enginetest.In("f", enginetest.Agent("y")), "e", "z"),
		"f:x -> x; x -> f/join; f:y -> y; y -> f/join; f:error -> e; e -> z")
	g.Limits.MaxTokens = 40_000
	w := enginetest.New(t, g, nil)
	w.Start("go")
	w.Finish("x", enginetest.Fails("broken", "boom"))
	e := enginetest.Reply("e")
	e.Usage = &chat.Usage{InputTokens: 40_000}
	w.Finish("e", e) // uses up the budget before y has answered
	wantStatus(t, w, event.StatusRunning)
	w.Fire("settle")
	if limit := w.Run.EndedByLimit(); limit != event.CodeBudget {
		t.Fatalf("ended by %q\n%s", limit, w.Log())
	}
	w.Pending = nil
	w.Feed(engine.Reopen{Limits: workflow.Limits{MaxTokens: 99_000}})
	w.Finish("z", enginetest.Reply("z"))
	wantStatus(t, w, event.StatusCompleted)
	if got := string(w.Run.Output()); got != `"z"` {
		t.Errorf("output %s\n%s", got, w.Log())
	}
}
