package engine_test

import (
	"testing"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// Bugs found by TestEngine_RandomWorkflows, each reduced to a minimal case.

// TestReopenAfterFailure checks that a step that failed for good while a limit was ending the run
// has failed the run: reopening it does not make it a success and requests nothing more (D20).
func TestReopenAfterFailure(t *testing.T) {
	t.Parallel()
	g := enginetest.Graph(nodes(workflow.Node{ID: "s", Kind: workflow.KindStart}, "a", "b"), "s -> a; s -> b")
	g.Limits.MaxSteps = new(2)
	w := enginetest.New(t, g, nil)
	w.Start("go")
	w.Finish("a", enginetest.Fails("server", "boom"))
	wantTrace(t, w, 0, "+s, .s, +a, !a server, failed max_steps")
	at := len(w.Events)
	w.Feed(engine.Reopen{Limits: workflow.Limits{MaxSteps: new(9)}})
	wantTrace(t, w, at, "resumed, failed server")
	if len(w.Pending) > 0 {
		t.Errorf("pending %s, want nothing", w.PendingNodes())
	}
	w.CheckPrefixes()
}

// TestJoinsInLoop checks joins inside joins in the body of a loop: a join does not wait for tokens
// that arrive along the back-edge, and no join continues before those inside it (P15).
func TestJoinsInLoop(t *testing.T) {
	t.Parallel()
	yes := workflow.Condition{Language: workflow.LangMatch, Op: "contains", Text: "done"}
	g := enginetest.Graph(nodes(
		workflow.Node{ID: "head", Kind: workflow.KindStart}, workflow.Node{ID: "s", Kind: workflow.KindStart},
		workflow.Node{ID: "outer", Kind: workflow.KindJoin, Join: &workflow.Join{}},
		workflow.Node{ID: "inner", Kind: workflow.KindJoin, Join: &workflow.Join{}}, "a", enginetest.Approval("b"), "c",
		workflow.Node{ID: "check", Kind: workflow.KindDecide,
			Decide: &workflow.Decide{Cases: []workflow.Case{{Port: "done", When: yes}}, Else: "again"}}, "z"),
		`head -> s; s -> a; s -> b; s -> c; a -> inner; b:approve -> inner; inner -> outer; c -> outer; outer -> `+
			`check; check:again => head; check:done -> z`)
	w := enginetest.New(t, g, nil)
	w.Start("go")
	for _, text := range []string{"more", "done"} {
		w.Finish("a", enginetest.Say("a %s", text))
		w.Finish("c", enginetest.Say("c"))
		w.Reject("b")
	}
	if got, want := w.Asked("z").Messages[0].Text.String(), `{"inner":{"a":"a done"},"c":"c"}`; got != want {
		t.Errorf("z was given %s, want %s", got, want)
	}
	w.Finish("z", enginetest.Say("z"))
	wantStatus(t, w, event.StatusCompleted)
}

// TestHoldAndJoin checks that a join that waits for queued entries does not block the queue (D18).
func TestHoldAndJoin(t *testing.T) {
	t.Parallel()
	g := enginetest.Graph(nodes(workflow.Node{ID: "s", Kind: workflow.KindStart}, enginetest.Approval("g1"), "a", "b",
		workflow.Node{ID: "j", Kind: workflow.KindJoin, Join: &workflow.Join{}}, "z"),
		"s -> g1; s -> a; a -> b; b -> j; g1:approve -> j; j -> z")
	g.Rules.HoldWhilePaused = true
	w := enginetest.New(t, g, nil)
	w.Model = answer
	w.Start("go")
	w.Go(nil)
	w.Approve("g1")
	w.Go(nil)
	wantStatus(t, w, event.StatusCompleted)
}

// TestCall_CancelledBeforeStart checks that a call cancelled before anyone was asked to make it
// delays nothing (D10).
func TestCall_CancelledBeforeStart(t *testing.T) {
	t.Parallel()
	g := enginetest.Graph(nodes(enginetest.Fork("f", workflow.Fork{Until: workflow.UntilAny, MaxConcurrency: 1}, "x",
		"y"), in("f", nodes("x", "y"))),
		"f:x -> x; x -> f/join; f:y -> y; y -> f/join")
	w := enginetest.New(t, g, nil)
	w.Start("go")
	w.Finish("x", enginetest.Say("x"))
	wantTrace(t, w, 0, "+f, +x, .x, +y, xy, .f, completed")
	if len(w.Pending)+len(w.Timers) > 0 {
		t.Errorf("pending %s, timers %v", w.PendingNodes(), w.Timers)
	}
}

// TestSettleTimer_Rearmed checks that the time allowed for cancelled calls also expires if other
// calls were in flight when its timer fired (D10).
func TestSettleTimer_Rearmed(t *testing.T) {
	t.Parallel()
	g := enginetest.Graph(nodes(workflow.Node{ID: "s", Kind: workflow.KindStart}, enginetest.Approval("g"), "z",
		enginetest.Fork("f", workflow.Fork{Until: workflow.UntilAny}, "x", "y"), in("f", nodes("x", "y"))),
		"s -> g; s -> f; f:x -> x; x -> f/join; f:y -> y; y -> f/join; g:approve -> z")
	w := enginetest.New(t, g, nil)
	w.Start("go")
	w.Finish("x", enginetest.Say("x")) // y never answers
	w.Approve("g")
	w.Fire("settle")
	w.Finish("z", enginetest.Say("z"))
	wantStatus(t, w, event.StatusRunning)
	w.Fire("settle")
	wantStatus(t, w, event.StatusCompleted)
}

// TestBlock_FailedBranchStartsNothing checks that nothing new starts in a branch that failed while
// its block waits for the others, not even a join that has everything that can still arrive (D12).
func TestBlock_FailedBranchStartsNothing(t *testing.T) {
	t.Parallel()
	g := enginetest.Graph(nodes(enginetest.Fork("f", workflow.Fork{OnFailure: workflow.FailCollect}, "x", "y"),
		in("f", nodes(workflow.Node{ID: "s", Kind: workflow.KindStart}, "a", "b",
			workflow.Node{ID: "j", Kind: workflow.KindJoin, Join: &workflow.Join{}}, "c", "d"))),
		"f:x -> s; s -> a; s -> b; a -> j; b -> j; j -> c; c -> f/join; f:y -> d; d -> f/join")
	w := enginetest.New(t, g, nil)
	w.Start("go")
	w.Finish("a", enginetest.Say("a"))
	w.Finish("b", enginetest.Fails("server", "boom"))
	wantTrace(t, w, 0, "+f, +s, .s, +d, +a, +b, .a, !b server")
	w.Finish("d", enginetest.Say("d"))
	wantStatus(t, w, event.StatusFailed)
	w.CheckPrefixes()
}
