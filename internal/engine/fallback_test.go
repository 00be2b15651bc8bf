package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// checkModel checks that a call of node a goes to a model, in place of another model or of none.
func checkModel(t *testing.T, w *enginetest.World, model, instead string) {
	t.Helper()
	c, got := w.Asked("a"), "none"
	for _, e := range w.Events {
		if d, ok := e.Data.(*event.ModelCalled); ok && engine.CommandID(d.Call, d.Attempt) == c.ID {
			got = "none"
			if d.Instead != nil {
				got = d.Instead.Model + " " + d.Instead.Code
			}
		}
	}
	if c.Model != model || got != instead {
		t.Fatalf("asks %s instead of %s, want %s instead of %s", c.Model, got, model, instead)
	}
}

// TestFallbacks checks that temporary failures are retried with the same model, after an increasing
// delay, and that others move on to the next model immediately. The step handles codes
// that no list names.
func TestFallbacks(t *testing.T) {
	t.Parallel()
	agent := workflow.Agent{Model: "m0", Fallbacks: []string{"m1", "m1", "m2"}, FallbackRetries: 2}
	for _, code := range []string{"rate_limit", "quota_exceeded", "auth", "unknown_model", "invalid_request",
		"context_length_exceeded"} {
		w := solo(t, agent, nil)
		w.Finish("a", enginetest.Fails(code, "no"))
		checkModel(t, w, "m1", "m0 "+code)
	}
	for _, code := range []string{"server", "network", "timeout", "overloaded"} {
		w := solo(t, agent, nil)
		for i, wait := range []time.Duration{200 * time.Millisecond, 400 * time.Millisecond} {
			w.Finish("a", enginetest.Fails(code, "no"))
			d := w.Events[len(w.Events)-1].Data.(*event.StepRetrying)
			if got := d.Until.Sub(w.Now); got != wait || d.Model != "m0" || d.Attempt != i+2 {
				t.Fatalf("%s: retry %+v after %s, want after %s", code, d, got, wait)
			}
			w.Crash()
			w.Fire("retry:1.0.1")
			checkModel(t, w, "m0", "none")
		}
		w.Finish("a", enginetest.Fails(code, "no"))
		checkModel(t, w, "m1", "m0 "+code)
	}
	for _, code := range []string{"content_filter", "no_reply", "anything"} {
		w := solo(t, agent, nil)
		w.Finish("a", enginetest.Fails(code, "no"))
		if f := failure(t, w); f.Code != code {
			t.Errorf("a fallback was tried after %+v", f)
		}
	}
}

// TestModelRetries checks that retries are the agent's: by default two with fallbacks and none
// without, and -1 for none. If a provider asks to wait longer than a minute, the agent does
// not wait. The retries do not use up the attempts of the step.
func TestModelRetries(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		agent workflow.Agent
		wait  time.Duration
		want  int
	}{
		{workflow.Agent{}, 0, 0}, {workflow.Agent{Fallbacks: []string{"m1"}}, 0, 2},
		{workflow.Agent{Fallbacks: []string{"m1"}, FallbackRetries: -1}, 0, 0},
		{workflow.Agent{FallbackRetries: 3}, 0, 3}, {workflow.Agent{FallbackRetries: 3}, time.Minute, 3},
		{workflow.Agent{FallbackRetries: 3}, 61 * time.Second, 0},
	} {
		tc.agent.Model = "m0"
		w := solo(t, tc.agent, func(n *workflow.Node) {
			n.Retry = &workflow.Retry{MaxRetries: 1, Delay: workflow.Duration(time.Hour)}
		})
		got := 0
		for {
			f := enginetest.Fails("server", "no")
			f.Failure.RetryAfterMS = tc.wait.Milliseconds()
			w.Finish("a", f)
			d, ok := w.Events[len(w.Events)-1].Data.(*event.StepRetrying)
			if !ok || d.Model == "" {
				break
			}
			if wait := d.Until.Sub(w.Now); tc.wait > 0 && wait != tc.wait {
				t.Errorf("waits %s, not %s", wait, tc.wait)
			}
			got++
			w.Fire("retry:1.0.1")
		}
		if got != tc.want {
			t.Errorf("%+v: %d retries, want %d", tc.agent, got, tc.want)
		}
		if d, ok := w.Events[len(w.Events)-1].Data.(*event.StepRetrying); len(tc.agent.Fallbacks) == 0 &&
			(!ok || d.Attempt != 2 || d.Until.Sub(w.Now) < time.Hour) {
			t.Errorf("the step's policy says %+v", d)
		}
	}
}

// TestCooldown checks that after a fallback has answered, the agent stays with it for the cooldown,
// and then calls its own model again. A fallback that fails meanwhile is followed by the
// next one, and the cooldown is not extended. All of this holds after a crash.
func TestCooldown(t *testing.T) {
	t.Parallel()
	w := solo(t, workflow.Agent{Model: "m0", Fallbacks: []string{"m1", "m2"},
		FallbackCooldown: workflow.Duration(time.Minute)}, nil)
	turn := 0
	answer := func() {
		turn++
		w.Finish("a", enginetest.Asks(enginetest.Call(fmt.Sprint(turn), "x", fmt.Sprintf(`{"n":%d}`, turn))))
		w.Crash()
	}
	returns := func(after time.Duration) {
		w.Now = w.Now.Add(after)
		w.Finish("tool x", enginetest.Returns("ok"))
	}
	w.Finish("a", enginetest.Fails("auth", "no"))
	checkModel(t, w, "m1", "m0 auth")
	answer()
	returns(30 * time.Second)
	checkModel(t, w, "m1", "m0 auth") // the cooldown is active
	w.Finish("a", enginetest.Fails("auth", "no"))
	checkModel(t, w, "m2", "m1 auth")
	answer()
	returns(20 * time.Second)
	checkModel(t, w, "m2", "m1 auth")
	answer()
	returns(11 * time.Second) // 61 seconds after a fallback's first answer
	checkModel(t, w, "m0", "none")
	w.Finish("a", enginetest.Fails("rate_limit", "no"))
	checkModel(t, w, "m1", "m0 rate_limit")
	answer()
	returns(59 * time.Second)
	checkModel(t, w, "m1", "m0 rate_limit")
	w.Finish("a", enginetest.Say("done"))
	wantStatus(t, w, event.StatusCompleted)
	if n := strings.Count(fmt.Sprint(models(w)), "m0"); n != 2 {
		t.Errorf("the agent's own model was asked %d times, want 2", n)
	}
}

// models returns the models that were called, in order.
func models(w *enginetest.World) []string {
	var out []string
	for _, e := range w.Events {
		if d, ok := e.Data.(*event.ModelCalled); ok {
			out = append(out, d.Model)
		}
	}
	return out
}

// TestFallback_RestartsOnRetry checks that the retry policy of the step decides once all models
// have failed, and that its attempt starts with the agent's own model again.
func TestFallback_RestartsOnRetry(t *testing.T) {
	t.Parallel()
	w := solo(t, workflow.Agent{Model: "m0", Fallbacks: []string{"m1"}, FallbackRetries: -1}, func(n *workflow.Node) {
		n.Retry = &workflow.Retry{MaxRetries: 1}
	})
	for range 2 {
		w.Finish("a", enginetest.Fails("rate_limit", "no"))
		w.Finish("a", enginetest.Fails("server", "no"))
		if slices.ContainsFunc(w.Run.Open(), func(c engine.Command) bool {
			_, ok := c.(*engine.StartTimer)
			return ok
		}) {
			w.Fire("retry:1.0.1")
		}
	}
	if f := failure(t, w); f.Code != "server" {
		t.Errorf("failed with %+v", f)
	}
	if got := fmt.Sprint(models(w)); got != "[m0 m1 m0 m1]" {
		t.Errorf("asked %s", got)
	}
}

// TestCooldownOfAgent checks that an agent's cooldown applies in all steps of a run, and that other
// agents have their own.
func TestCooldownOfAgent(t *testing.T) {
	t.Parallel()
	second := enginetest.Agent("b")
	second.Agent.Agent = "a"
	w := enginetest.New(t, enginetest.Graph(nodes(enginetest.Agent("a"), second, enginetest.Agent("c")),
		"a -> b; b -> c",
		workflow.Agent{ID: "a", Model: "m0", Fallbacks: []string{"m1"}},
		workflow.Agent{ID: "c", Model: "m0", Fallbacks: []string{"m1"}}), nil)
	w.Start("go")
	w.Finish("a", enginetest.Fails("auth", ""))
	for _, node := range []string{"a", "b", "c"} {
		w.Finish(node, enginetest.Say("x"))
	}
	if got := fmt.Sprint(models(w)); got != "[m0 m1 m1 m0]" {
		t.Errorf("asked %s", got)
	}
}
