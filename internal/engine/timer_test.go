package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

func timerAt(w *enginetest.World, id string) time.Time {
	i := slices.IndexFunc(w.Timers, func(t *engine.StartTimer) bool { return t.ID == id })
	if i < 0 {
		return time.Time{}
	}
	return w.Timers[i].At
}

// TestTimeoutAfterRecovery checks that the time a run has used survives a crash, and that time
// without an owner does not count (D21).
func TestTimeoutAfterRecovery(t *testing.T) {
	t.Parallel()
	g := enginetest.Graph(nodes("a", "b"), "a -> b")
	g.Limits.Timeout = workflow.Duration(time.Minute)
	w := enginetest.New(t, g, nil)
	w.Start("go")
	began := w.Now
	w.Now = w.Now.Add(20*time.Second - time.Millisecond)
	w.Finish("a", enginetest.Say("x"))
	if got := timerAt(w, "timeout").Sub(began); got != time.Minute {
		t.Errorf("time is over %s after the start, want 1m", got)
	}
	w.Now = w.Now.Add(time.Hour)
	w.Crash()
	if got := timerAt(w, "timeout").Sub(w.Now); got != 40*time.Second {
		t.Errorf("time is over %s after the recovery, want 40s", got)
	}
	w.Fire("timeout")
	wantStatus(t, w, event.StatusFailed)
	w.CheckPrefixes()
}

// TestEarlyTimers checks that a timer that fires early is ignored and requested again: nothing may
// wait for a timer that no driver has any more.
func TestEarlyTimers(t *testing.T) {
	t.Parallel()
	a := enginetest.Agent("a")
	a.Retry = &workflow.Retry{MaxRetries: 1, Delay: workflow.Duration(time.Hour)}
	g := enginetest.Graph(nodes(a), "")
	g.Limits.Timeout = workflow.Duration(24 * time.Hour)
	w := enginetest.New(t, g, nil)
	w.Start("go")
	w.Finish("a", enginetest.Fails("server", "boom"))
	for _, id := range []string{"timeout", w.Timers[1].ID} {
		w.Timers = slices.DeleteFunc(w.Timers, func(t *engine.StartTimer) bool { return t.ID == id })
		w.Feed(engine.TimerDue{ID: id})
		if timerAt(w, id).IsZero() {
			t.Errorf("timer %s is lost", id)
		}
	}
	w.Feed(engine.TimerDue{ID: "no such timer"})
	w.Feed(engine.TimerDue{ID: "settle"})
}

// race returns a race of a and b followed by a question and then by an agent z.
func race(t *testing.T, change func(*workflow.Workflow)) *enginetest.World {
	t.Helper()
	g := enginetest.Graph(nodes(enginetest.Fork("f", workflow.Fork{Until: workflow.UntilRace}, "a", "b"),
		enginetest.In("f", enginetest.Agent("a")),
		enginetest.In("f", enginetest.Agent("b")), enginetest.Question("q"), "z"),
		`f:a -> a; f:b -> b; a -> f/join; b -> f/join; f/join -> q; q -> z`)
	if change != nil {
		change(g)
	}
	w := enginetest.New(t, g, nil)
	w.Start("go")
	w.Finish("a", enginetest.Say("won"))
	return w
}

// TestPause_CancelledCallsSettle checks that a run that only waits for a person pauses when the
// calls that it cancelled have settled, or after five seconds; `run` ends with status 3 only when
// no call is in flight (D10).
func TestPause_CancelledCallsSettle(t *testing.T) {
	t.Parallel()
	w := race(t, nil)
	wantStatus(t, w, event.StatusRunning)
	w.Fire("settle")
	wantStatus(t, w, event.StatusPaused)
	w = race(t, nil)
	w.Go(nil)
	wantStatus(t, w, event.StatusPaused)
	w.CheckPrefixes()
	w = race(t, nil)
	w.Feed(engine.Answer{Value: enginetest.Text("at once")}) // the running timer does no harm
	w.Fire("settle")
	wantTrace(t, w, 0, "+f, +a, +b, .a, xb, .f, +q, ?q, .q, +z")
}

// TestLimit_CancelledCallsSettle checks that a limit reached while cancelled calls are in flight
// also waits for them no longer than five seconds (D10).
func TestLimit_CancelledCallsSettle(t *testing.T) {
	t.Parallel()
	w := race(t, func(g *workflow.Workflow) {
		three := 3
		g.Limits.MaxSteps = &three
	})
	wantStatus(t, w, event.StatusRunning)
	w.Fire("settle")
	wantTrace(t, w, 0, "+f, +a, +b, .a, xb, .f, failed max_steps")
	four := 4
	w.Feed(engine.Reopen{Limits: workflow.Limits{MaxSteps: &four}})
	wantStatus(t, w, event.StatusPaused)
}

// TestReopenedRunSettles checks that a reopened run waits for cancelled calls again, with a timer
// of its own (D10, D20).
func TestReopenedRunSettles(t *testing.T) {
	t.Parallel()
	w := race(t, func(g *workflow.Workflow) {
		g.Limits.Timeout = workflow.Duration(time.Second)
		g.Edges = append(g.Edges[:4], workflow.Edge{From: "f/join", To: "z"})
	})
	w.Fire("timeout") // before the cancelled call has settled, during the call of z
	wantStatus(t, w, event.StatusFailed)
	w.Timers, w.Pending, w.Cancelled = nil, nil, map[string]bool{}
	w.Feed(engine.Reopen{Limits: workflow.Limits{Timeout: workflow.Duration(time.Hour)}})
	if got := w.PendingNodes(); got != "z" {
		t.Errorf("pending %q, want z", got)
	}
	if got := w.Run.InFlight(); got != 1 {
		t.Errorf("%d calls in flight, want 1: the cancelled one was given up", got)
	}
	w.Finish("z", enginetest.Say("end"))
	wantStatus(t, w, event.StatusCompleted)
}

// TestTimeoutWhileSettling checks that a run that has finished its work and only waits for
// cancelled calls ends as completed when its time is up (D21).
func TestTimeoutWhileSettling(t *testing.T) {
	t.Parallel()
	w := race(t, func(g *workflow.Workflow) {
		g.Limits.Timeout = workflow.Duration(time.Second)
		g.Edges = g.Edges[:4]
	})
	wantStatus(t, w, event.StatusRunning)
	w.Fire("timeout")
	wantStatus(t, w, event.StatusCompleted)
}

// TestTimeoutWhileEnding checks that the time limit also applies to how long a failing run, or one
// that reached another limit, waits for the calls that it lets finish (S0-46, D21).
func TestTimeoutWhileEnding(t *testing.T) {
	t.Parallel()
	g := enginetest.Graph(nodes(workflow.Node{ID: "s", Kind: workflow.KindStart}, "a", "b"), "s -> a; s -> b")
	g.Rules.OnFailure, g.Limits.Timeout = workflow.FailDrain, workflow.Duration(time.Second)
	w := enginetest.New(t, g, nil)
	w.Start("go")
	w.Finish("a", enginetest.Fails("server", "boom"))
	w.Fire("timeout")
	w.Go(nil)
	wantTrace(t, w, 0, "+s, .s, +a, +b, !a server, xb, failed server")

	two := 2
	g.Limits.MaxSteps = &two
	w = enginetest.New(t, g, nil)
	w.Start("go")
	w.Fire("timeout")
	wantTrace(t, w, 0, "+s, .s, +a, failed timeout")
	w.Pending, w.Cancelled = nil, map[string]bool{}
	w.Feed(engine.Reopen{Limits: workflow.Limits{Timeout: workflow.Duration(time.Hour)}})
	w.Finish("a", enginetest.Say("end"))
	wantTrace(t, w, 0, "+s, .s, +a, failed timeout, resumed, .a, failed max_steps")
}
