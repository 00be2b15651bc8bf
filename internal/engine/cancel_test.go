package engine_test

import (
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// TestCancel_ReasonRecorded checks that the reason of a cancellation reaches the last event,
// however many activations are in between, and through a crash.
func TestCancel_ReasonRecorded(t *testing.T) {
	t.Parallel()
	for name, crash := range map[string]bool{"settles": false, "crashes meanwhile": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := block(t, workflow.Fork{}, nil)
			w.Feed(engine.Cancel{Reason: "enough"})
			wantStatus(t, w, event.StatusRunning)
			if crash {
				w.Crash()
			} else {
				w.Go(nil)
			}
			wantStatus(t, w, event.StatusCancelled)
			if got := w.Events[len(w.Events)-1].Data.(*event.RunCancelled).Reason; got != "enough" {
				t.Errorf("reason %q, want enough\n%s", got, w.Log())
			}
			w.CheckPrefixes()
		})
	}
}

// TestCancelWhileEnding checks that a run that was failing, or being ended by a limit, while its
// last calls finished is cancelled on request once the calls have settled.
func TestCancelWhileEnding(t *testing.T) {
	t.Parallel()
	two := 2
	for name, tc := range map[string]struct {
		begin func(*enginetest.World)
		rules workflow.Rules
		steps *int
	}{
		"failing": {func(w *enginetest.World) { w.Finish("a", enginetest.Fails("server", "boom")) },
			workflow.Rules{OnFailure: workflow.FailDrain}, nil},
		"by limit": {func(*enginetest.World) {}, workflow.Rules{}, &two},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := enginetest.Graph(nodes("s", "a", "b"), "s -> a; s -> b")
			if tc.steps != nil {
				g = enginetest.Graph(nodes(workflow.Node{ID: "s", Kind: workflow.KindStart}, "a", "b"),
					"s -> a; s -> b")
			}
			g.Rules, g.Limits.MaxSteps = tc.rules, tc.steps
			w := enginetest.New(t, g, nil)
			w.Start("go")
			if tc.steps == nil {
				w.Finish("s", enginetest.Say("x"))
			}
			tc.begin(w)
			wantStatus(t, w, event.StatusRunning)
			w.Feed(engine.Cancel{Reason: "now"})
			wantStatus(t, w, event.StatusRunning)
			w.Fire("settle")
			wantStatus(t, w, event.StatusCancelled)
			if got := w.Events[len(w.Events)-1].Data.(*event.RunCancelled).Reason; got != "now" {
				t.Errorf("reason %q, want now", got)
			}
		})
	}
}

// TestCancelDuringRetrySleep checks that cancelling during the delay of a retry ends the run
// immediately; its timer comes too late (P11).
func TestCancelDuringRetrySleep(t *testing.T) {
	t.Parallel()
	a := enginetest.Agent("a")
	a.Retry = &workflow.Retry{MaxRetries: 1, Delay: workflow.Duration(time.Hour)}
	w := enginetest.New(t, enginetest.Graph(nodes(a), ""), nil)
	w.Start("go")
	w.Finish("a", enginetest.Fails("server", "boom"))
	w.Feed(engine.Cancel{})
	wantTrace(t, w, 0, "+a, ra, xa, cancelled")
	w.Fire(w.Timers[0].ID)
	wantTrace(t, w, 0, "+a, ra, xa, cancelled")
}
