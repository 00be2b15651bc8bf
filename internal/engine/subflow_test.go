package engine_test

import (
	"testing"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// subflow returns a graph whose node `s` runs f as a sub-flow, with the given number of retries.
func subflow(f *workflow.Workflow, retries int) *workflow.Workflow {
	s := workflow.Node{ID: "s", Kind: workflow.KindSubflow, Subflow: &workflow.Subflow{Flow: "f"}}
	if retries > 0 {
		s.Retry = &workflow.Retry{MaxRetries: retries}
	}
	g := enginetest.Graph(nodes(s, "z"), "s -> z")
	g.Flows = map[string]*workflow.Workflow{"f": f}
	return g
}

// TestSubflowRetries checks that a retried sub-flow starts at its entry with nothing of the
// previous attempt, whatever was in progress in it.
func TestSubflowRetries(t *testing.T) {
	t.Parallel()
	w := enginetest.New(t, subflow(enginetest.Graph(nodes(workflow.Node{ID: "s", Kind: workflow.KindStart}, "x", "y"),
		"s -> x; s -> y"), 1), nil)
	w.Start("go")
	w.Finish("s/x", enginetest.Say("x1"))
	w.Finish("s/y", enginetest.Fails("server", "boom"))
	w.Fire("retry:1")
	w.Finish("s/y", enginetest.Say("y2"))
	w.Finish("s/x", enginetest.Say("x2"))
	if got := w.Asked("z").Messages[0].Text.String(); got != "x2" {
		t.Errorf("z was given %q, want x2", got)
	}
	w.Finish("z", enginetest.Say("z"))
	wantTrace(t, w, 0,
		"+s, +s/s, .s/s, +s/x, +s/y, .s/x, !s/y server, rs, +s/s, .s/s, +s/x, +s/y, .s/y, .s/x, .s, +z, .z, completed")
	w.CheckPrefixes()
}

// TestSubflowRetriesAfterCrash checks that late results of the previous attempt's calls are
// ignored, and that a crash between the attempts changes nothing.
func TestSubflowRetriesAfterCrash(t *testing.T) {
	t.Parallel()
	w := enginetest.New(t, subflow(enginetest.Graph(nodes(workflow.Node{ID: "s", Kind: workflow.KindStart}, "x", "y"),
		"s -> x; s -> y"), 1), nil)
	w.Start("go")
	w.Finish("s/y", enginetest.Fails("server", "boom"))
	late := w.Pending[0].(*engine.CallModel)
	w.Fire("retry:1")
	w.Feed(engine.ModelResult{ID: late.ID, Message: enginetest.Say("late").Message})
	w.Crash()
	w.Finish("s/x", enginetest.Say("x2"))
	w.Finish("s/y", enginetest.Say("y2"))
	w.Finish("z", enginetest.Say("z"))
	wantStatus(t, w, event.StatusCompleted)
}

// TestSubflowRetries_CrashBeforeRetry checks that a sub-flow that waits for its next attempt when
// the process dies is retried, not completed: in the new attempt nothing has run yet.
func TestSubflowRetries_CrashBeforeRetry(t *testing.T) {
	t.Parallel()
	w := enginetest.New(t, subflow(enginetest.Graph(nodes("x"), ""), 1), nil)
	w.Start("go")
	w.Finish("s/x", enginetest.Fails("server", "boom"))
	w.Crash()
	wantStatus(t, w, event.StatusRunning)
	w.Fire("retry:1")
	w.Crash()
	w.Finish("s/x", enginetest.Say("x2"))
	w.Finish("z", enginetest.Say("z"))
	wantTrace(t, w, 0, "+s, +s/x, !s/x server, rs, resumed, +s/x, resumed, .s/x, .s, +z, .z, completed")
	w.CheckPrefixes()
}
