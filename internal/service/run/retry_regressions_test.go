package run

import (
	"slices"
	"testing"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/workflow"
)

// Cases found by TestRetryProperty, each reduced to the minimum.

// pastOf returns the past that a retry of a run keeps, and a world that continues with it.
func pastOf(t *testing.T, w *enginetest.World) ([]engine.Event, *enginetest.World) {
	t.Helper()
	past, _, err := (&RetryRequest{}).past("run1", slices.Clone(w.Events), true)
	if err != nil {
		t.Fatal(err)
	}
	next := enginetest.New(t, w.Plan.Workflow(), nil)
	next.Events, next.Now = past, w.Now
	next.Crash()
	return past, next
}

// TestRetryAnswer checks that a step that was completed by a person's answer while the run was
// waiting to fail, and that led nowhere, is removed together with the answer: otherwise it would
// have neither a call nor a wait. The person is asked again.
func TestRetryAnswer(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{"question": `"42"`, "skip": `"skip"`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := enginetest.Graph([]workflow.Node{
				{ID: "s", Kind: workflow.KindStart},
				{ID: "ask", Kind: workflow.KindTool, Tool: &workflow.ToolNode{Tool: "ask"}},
				enginetest.Agent("a"),
				{ID: "f", Kind: workflow.KindFunc, Func: &workflow.FuncNode{Func: "f"}},
				{ID: "end", Kind: workflow.KindStart},
			}, "s -> ask; s -> a; s -> f; ask -> end")
			g.Rules.OnFailure = workflow.FailDrain
			w := enginetest.New(t, g, nil)
			w.Start("go")
			if name == "skip" {
				w.Finish("ask", &engine.ToolResult{Failure: &engine.Failure{Code: "unavailable", Message: "no answer"},
					Unknown: "ask"})
			} else {
				w.Finish("ask", enginetest.AsksPerson("How many?", ""))
			}
			w.Finish("a", enginetest.Fails("server", "boom"))
			w.Feed(engine.Answer{Wait: w.Run.Waits()[0].ID, Value: engine.Value(answer)})
			w.Finish("f", &engine.FuncResult{Output: engine.Value(`"f"`)})
			if w.Run.Status() != engine.StatusFailed {
				t.Fatalf("the run is %s\n%s", w.Run.Status(), w.Log())
			}
			past, next := pastOf(t, w)
			if waits := next.Run.Waits(); len(waits) != 1 || waits[0].Node != "ask" {
				t.Fatalf("open waits %v, want that of ask\npast:\n%s\nrun:\n%s", waits, enginetest.Print(past), w.Log())
			}
			next.Feed(engine.Answer{Wait: next.Run.Waits()[0].ID, Value: engine.Value(answer)})
			next.Finish("a", enginetest.Say("a"))
			next.Finish("f", &engine.FuncResult{Output: engine.Value(`"f"`)})
			if next.Run.Status() != engine.StatusCompleted {
				t.Fatalf("the retry is %s\n%s", next.Run.Status(), next.Log())
			}
		})
	}
}

// TestRetryHandedOver checks that a limit that handed the run over to a person did not end it: a
// retry continues after the handoff.
func TestRetryHandedOver(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string]int{engine.CodeMaxSteps: 2, engine.CodeOscillation: 100} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := enginetest.Graph([]workflow.Node{enginetest.Agent("a"), enginetest.Agent("b"), enginetest.Agent("h")},
				"a -> b; b => a; h -> b")
			g.Rules.Handoff, g.Limits.MaxSteps, g.Limits.MaxLoopIterations = "h", new(steps), 100
			w := enginetest.New(t, g, nil)
			w.Start("go")
			for calls := 0; enginetest.Node(w.Pending[0]) != "h"; calls++ {
				if calls > 10 {
					t.Fatalf("no handoff\n%s", w.Log())
				}
				w.FinishAt(0, enginetest.Say("the same"))
			}
			w.Finish("h", enginetest.Fails("server", "boom"))
			if w.Run.Status() != engine.StatusFailed {
				t.Fatalf("the run is %s\n%s", w.Run.Status(), w.Log())
			}
			past, next := pastOf(t, w)
			if got := next.PendingNodes(); got != "h" {
				t.Errorf("the retry calls %q, want h\npast:\n%s\nrun:\n%s", got, enginetest.Print(past), w.Log())
			}
		})
	}
}
