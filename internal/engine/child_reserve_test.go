package engine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// twoTools makes two concurrent tool calls, each of which may start a run.
func twoTools(t *testing.T, l workflow.Limits) *enginetest.World {
	t.Helper()
	a, b := toolNode("a", "child"), toolNode("b", "child")
	a.Retry = &workflow.Retry{MaxRetries: 1, Delay: workflow.Duration(time.Second)}
	g := enginetest.Graph(nodes(workflow.Node{ID: "s", Kind: workflow.KindStart}, a, b), "s -> a; s -> b")
	g.Limits = l
	w := enginetest.New(t, g, nil)
	w.Start("{}")
	return w
}

// callOf returns the id of the pending call of a node.
func callOf(t *testing.T, w *enginetest.World, node string) string {
	t.Helper()
	for _, c := range w.Pending {
		if enginetest.Node(c) == node {
			return engine.CallID(c)
		}
	}
	t.Fatalf("no call of %s is pending\n%s", node, w.Log())
	return ""
}

var (
	lostItsRun  = &engine.ToolResult{Failure: &event.Failure{Code: "failed", Message: "the store is away"}}
	shortOfRoom = &engine.ToolResult{Failure: &event.Failure{Code: "failed", Message: "no budget"}, Budget: "tokens"}
)

// TestReservation_ChildRunRetried checks that a run that could not be stored, and is started again
// by the next attempt of its call, gets its share reserved again, since others may have taken it
// (P20).
func TestReservation_ChildRunRetried(t *testing.T) {
	t.Parallel()
	w := twoTools(t, workflow.Limits{MaxTokens: 1000})
	a := callOf(t, w, "a")
	w.Feed(engine.ChildStart{ID: a, Run: "ra"})
	w.Feed(engine.CallUse{ID: a, Run: "ra", Ended: true})
	w.Finish("a", lostItsRun)
	b := callOf(t, w, "b")
	w.Feed(engine.ChildStart{ID: b, Run: "rb"})
	if part := w.Run.Allotment("rb"); part == nil || part.MaxTokens != 1000 {
		t.Fatalf("the only run below got %+v", part)
	}
	w.Fire(w.Timers[0].ID)
	if err := w.Try(engine.ChildStart{ID: callOf(t, w, "a"), Run: "ra"}); !errors.Is(err, engine.ErrNoRoom) {
		t.Fatalf("the run was begun again: %v, with %+v, beside one that holds all", err, w.Run.Allotment("ra"))
	}
	w.Feed(engine.CallUse{ID: b, Run: "rb", Ended: true, Used: event.Used{Borne: event.Spent{Tokens: 400}}})
	w.Feed(engine.ChildStart{ID: callOf(t, w, "a"), Run: "ra"})
	w.Feed(engine.ChildStart{ID: callOf(t, w, "a"), Run: "ra"})
	if part := w.Run.Allotment("ra"); part == nil || part.MaxTokens != 300 {
		t.Errorf("it got %+v; want the half of 600, since b may start another", part)
	}
	w.CheckPrefixes()
}

// TestReservation_HeldCallSlot checks that a call that was held while its run waited for a person
// continues after the answer although another call has the only slot, since that call waits for
// what the run holds (P20, P14).
func TestReservation_HeldCallSlot(t *testing.T) {
	t.Parallel()
	w := twoTools(t, workflow.Limits{MaxTokens: 1000, MaxConcurrency: 1})
	w.Feed(engine.ChildStart{ID: callOf(t, w, "a"), Run: "ra"})
	w.Finish("a", enginetest.Held("bound", `{}`))
	b := callOf(t, w, "b")
	if err := w.Try(engine.ChildStart{ID: b, Run: "rb"}); !errors.Is(err, engine.ErrNoRoom) {
		t.Fatalf("b got a part of what a holds: %v", err)
	}
	w.Feed(engine.Answer{Wait: waitOf(t, w, "").ID, Value: event.Value(`"approve"`)})
	a := callOf(t, w, "a")
	w.Crash(engine.Lost{ID: a, Policy: "retry"}, engine.Lost{ID: b, Policy: "retry"})
	w.Feed(engine.CallUse{ID: a, Run: "ra", Ended: true})
	w.Finish("a", &engine.ToolResult{Text: "done"})
	w.Feed(engine.ChildStart{ID: b, Run: "rb"})
	w.Finish("b", &engine.ToolResult{Text: "done"})
	wantStatus(t, w, event.StatusCompleted)
	w.CheckPrefixes()
}

// TestReservation_HeldCallsExhaustBudget checks that calls whose own runs hold all remaining calls,
// and that must be made once more, exceed the budget: no other call releases one (P20).
func TestReservation_HeldCallsExhaustBudget(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2} {
		var list []any
		edges := ""
		for _, id := range []string{"a", "b"}[:n] {
			tool := toolNode(id, "child")
			tool.Retry = &workflow.Retry{MaxRetries: 1, Delay: workflow.Duration(time.Second)}
			list, edges = append(list, tool), edges+"; s -> "+id
		}
		g := enginetest.Graph(nodes(append([]any{workflow.Node{ID: "s", Kind: workflow.KindStart}}, list...)...),
			edges[2:])
		g.Limits.MaxCalls = 10
		w := enginetest.New(t, g, nil)
		w.Start("{}")
		for _, id := range []string{"a", "b"}[:n] {
			w.Feed(engine.ChildStart{ID: callOf(t, w, id), Run: "r" + id})
			if part := w.Run.Allotment("r" + id); part == nil || part.MaxCalls != int64(10-n)/int64(n) {
				t.Fatalf("the run below got %+v", part)
			}
		}
		for _, id := range []string{"a", "b"}[:n] {
			w.Finish(id, lostItsRun)
		}
		for len(w.Timers) > 0 {
			w.Fire(w.Timers[0].ID)
		}
		wantStatus(t, w, event.StatusFailed)
		if f := failure(t, w); f.Code != event.CodeBudget {
			t.Errorf("it failed by %s: %s", f.Code, f.Message)
		}
		w.Feed(engine.Reopen{Limits: workflow.Limits{MaxCalls: 20}})
		for _, id := range []string{"a", "b"}[:n] {
			w.Feed(engine.CallUse{ID: callOf(t, w, id), Run: "r" + id, Ended: true})
			w.Finish(id, &engine.ToolResult{Text: "done"})
		}
		wantStatus(t, w, event.StatusCompleted)
		w.CheckPrefixes()
	}
}

// TestReservation_HeldCallRetainsCall checks that a call that is held while its run holds all
// remaining calls keeps one for itself, which another call that continues does not take (P20, P14).
func TestReservation_HeldCallRetainsCall(t *testing.T) {
	t.Parallel()
	w := twoTools(t, workflow.Limits{MaxCalls: 10})
	w.Finish("b", enginetest.Held("bound", `{}`))
	b := waitOf(t, w, "").ID
	w.Feed(engine.ChildStart{ID: callOf(t, w, "a"), Run: "ra"})
	if part := w.Run.Allotment("ra"); part == nil || part.MaxCalls != 9 {
		t.Fatalf("the run below got %+v", part)
	}
	w.Finish("a", enginetest.Held("bound", `{}`))
	w.Feed(engine.Answer{Wait: b, Value: event.Value(`"approve"`)})
	if got := w.PendingNodes(); got != "" {
		t.Errorf("%s was called with what a needs", got)
	}
	w.Feed(engine.Answer{Wait: waitOf(t, w, "").ID, Value: event.Value(`"approve"`)})
	w.Feed(engine.CallUse{ID: callOf(t, w, "a"), Run: "ra", Ended: true,
		Used: event.Used{Borne: event.Spent{Calls: 8}}})
	w.Finish("b", &engine.ToolResult{Text: "done"})
	w.Finish("a", &engine.ToolResult{Text: "done"})
	wantStatus(t, w, event.StatusCompleted)
	w.CheckPrefixes()
}

// TestBudget_OneQuestion checks that calls that find the same budget exhausted at the same time
// ask a person once, and all continue with the answer (P20).
func TestBudget_OneQuestion(t *testing.T) {
	t.Parallel()
	w := twoTools(t, workflow.Limits{MaxTokens: 1000, OnBudget: workflow.OnBudgetPause})
	a, b := callOf(t, w, "a"), callOf(t, w, "b")
	w.Feed(engine.CallUse{ID: a, Used: event.Used{Borne: event.Spent{Tokens: 1000}}})
	for run, id := range map[string]string{"ra": a, "rb": b} {
		var short *engine.BudgetError
		if err := w.Try(engine.ChildStart{ID: id, Run: run}); !errors.As(err, &short) {
			t.Fatalf("%s began: %v", run, err)
		}
	}
	w.Finish("a", shortOfRoom)
	w.Finish("b", shortOfRoom)
	if n := len(w.Run.Waits()); n != 1 {
		t.Fatalf("%d questions are open\n%s", n, w.Log())
	}
	w.Feed(engine.Answer{Wait: waitOf(t, w, "").ID, Value: enginetest.Text("5000")})
	w.Finish("a", &engine.ToolResult{Text: "done"})
	w.Finish("b", &engine.ToolResult{Text: "done"})
	wantStatus(t, w, event.StatusCompleted)
	w.CheckPrefixes()
}

// TestReservation_EndingRun checks that a run ended by another limit does not wait for a call that
// waits for the reservation of a held call, since no answer can resume the held call any more; both
// continue when the run is reopened (P20, D20).
func TestReservation_EndingRun(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{false, true} {
		a, b, c := toolNode("a", "child"), toolNode("b", "child"), toolNode("c", "other")
		g := enginetest.Graph(nodes(workflow.Node{ID: "s", Kind: workflow.KindStart}, a, b, c, enginetest.Agent("d")),
			"s -> a; s -> b; s -> c; c -> d")
		if g.Limits.MaxSteps = new(4); own {
			g.Nodes[2].Budget = &workflow.Budget{MaxTokens: 1000}
		}
		g.Limits.MaxTokens = 1000
		w := enginetest.New(t, g, nil)
		w.Start("{}")
		w.Feed(engine.CallUse{ID: callOf(t, w, "c")})
		w.Feed(engine.ChildStart{ID: callOf(t, w, "a"), Run: "ra"})
		w.Finish("a", enginetest.Held("bound", `{}`))
		w.Feed(engine.ChildStart{ID: callOf(t, w, "b"), Run: "rb"})
		w.Feed(engine.CallUse{ID: callOf(t, w, "b"), Run: "rb", Ended: true,
			Used: event.Used{Borne: event.Spent{Tokens: 200}}})
		w.Finish("c", &engine.ToolResult{Text: "done"})
		var short *engine.BudgetError
		if err := w.Try(engine.ChildStart{ID: callOf(t, w, "b"), Run: "rb",
			More: &workflow.Budget{MaxTokens: 1000}}); !errors.As(err, &short) {
			t.Fatalf("a run below goes on in a run that ends: %v\n%s", err, w.Log())
		}
		w.Finish("b", shortOfRoom)
		wantStatus(t, w, event.StatusFailed)
		if f := failure(t, w); f.Code != event.CodeMaxSteps {
			t.Errorf("it failed by %s: %s", f.Code, f.Message)
		}
		w.Feed(engine.Reopen{Limits: workflow.Limits{MaxSteps: new(20), MaxTokens: 100_000}})
		w.Finish("b", &engine.ToolResult{Text: "done"})
		w.Feed(engine.Answer{Wait: waitOf(t, w, "").ID, Value: event.Value(`"approve"`)})
		w.Finish("a", &engine.ToolResult{Text: "done"})
		w.Finish("d", enginetest.Say("done"))
		wantStatus(t, w, event.StatusCompleted)
		w.CheckPrefixes()
	}
}
