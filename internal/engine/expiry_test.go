package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

func timed(n workflow.Node) workflow.Node {
	n.Timeout = workflow.Duration(time.Minute)
	return n
}

// TestStepTimeout checks that the timeout of a step covers all its attempts and the delays between
// them, and that no policy repeats the step.
func TestStepTimeout(t *testing.T) {
	t.Parallel()
	retry := &workflow.Retry{MaxRetries: 9, Delay: workflow.Duration(time.Hour)}
	step := timed(enginetest.Agent("a"))
	step.Retry = retry
	for name, play := range map[string]func(w *enginetest.World){
		"while a call is out": func(*enginetest.World) {},
		"between attempts":    func(w *enginetest.World) { w.Finish("a", enginetest.Fails("server", "boom")) },
		"after a crash":       func(w *enginetest.World) { w.Crash() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := enginetest.New(t, enginetest.Graph(nodes(step, "z"), "a -> z"), nil)
			w.Start("go")
			began := w.Now
			play(w)
			if got := timerAt(w, "timeout:1").Sub(began); got != time.Minute {
				t.Errorf("the timeout is over %s after the start of the step, want 1m", got)
			}
			w.Fire("timeout:1")
			if !timerAt(w, "settle").IsZero() {
				w.Fire("settle")
			}
			wantStatus(t, w, event.StatusFailed)
			end, _ := w.Events[len(w.Events)-1].Data.(*event.RunFailed)
			if end == nil || end.Error.Code != event.CodeTimeout ||
				end.Error.Message != "the step took longer than its timeout of 1m0s" || end.Error.Node != "a" {
				t.Errorf("the run ends with %+v", end)
			}
			w.CheckPrefixes()
		})
	}
}

// TestStepTimeout_Block checks that everything inside a block is cancelled with it, including
// calls and waits, and that the failure is caught like any other.
func TestStepTimeout_Block(t *testing.T) {
	t.Parallel()
	g := enginetest.Graph(append(enginetest.Fork("f", workflow.Fork{}, "a", "g"), enginetest.In("f",
		enginetest.Agent("a")), enginetest.In("f", enginetest.Approval("g")), enginetest.Agent("z")),
		"f:a -> a; f:g -> g; a -> f/join; g:approve -> f/join; f/join -> z")
	*g.Node("f") = timed(*g.Node("f"))
	g.Node("f").Catch = &workflow.Catch{Port: workflow.PortOut, Default: []byte(`"late"`)}
	for _, paused := range []bool{false, true} {
		w := enginetest.New(t, g, nil)
		w.Start("go")
		if paused {
			w.Finish("a", enginetest.Say("x"))
			wantStatus(t, w, event.StatusPaused)
			w.Crash()
		}
		w.Fire("timeout:1")
		wantStatus(t, w, event.StatusRunning)
		if n := len(w.Run.Waits()); n > 0 {
			t.Errorf("%d waits are open", n)
		}
		w.Finish("z", enginetest.Say("end"))
		if !paused {
			w.Model = answer
			w.Go(nil)
		}
		wantStatus(t, w, event.StatusCompleted)
		if trace := w.Trace(0); !strings.Contains(trace, "!f timeout, +z, .z, completed") {
			t.Errorf("trace %s", trace)
		}
		w.CheckPrefixes()
	}
}

// TestStepTimeout_TimerStopped checks that a step that was skipped or has ended has no running
// timer, and that a timer that fires early is requested again.
func TestStepTimeout_TimerStopped(t *testing.T) {
	t.Parallel()
	skipped := timed(enginetest.Agent("s"))
	skipped.If = &workflow.Condition{Language: workflow.LangMatch, Op: "contains", Text: "never"}
	w := enginetest.New(t, enginetest.Graph(nodes(skipped, timed(enginetest.Agent("a")), "z"), "s -> a; a -> z"), nil)
	w.Start("go")
	if !timerAt(w, "timeout:1").IsZero() {
		t.Error("the skipped step has a timer")
	}
	at := timerAt(w, "timeout:2")
	w.Timers = nil
	w.Feed(engine.TimerDue{ID: "timeout:2"})
	if got := timerAt(w, "timeout:2"); !got.Equal(at) {
		t.Errorf("after an early one the timer is due at %s, want %s", got, at)
	}
	w.Finish("a", enginetest.Say("x"))
	w.Now = at
	for _, id := range []string{"timeout:2", "timeout:02", "timeout:99", "timeout:0", "timeout:-1", "timeout:x"} {
		w.Feed(engine.TimerDue{ID: id})
	}
	w.Crash()
	if !timerAt(w, "timeout:2").IsZero() {
		t.Error("the ended step has a timer")
	}
	w.Finish("z", enginetest.Say("z"))
	wantStatus(t, w, event.StatusCompleted)
	w.CheckPrefixes()
}
