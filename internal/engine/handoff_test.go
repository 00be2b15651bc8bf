package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// TestHandoff checks that a person takes over at the step limit, at the timeout and at an
// oscillation: the answer is added to the conversation, the step count and the clock restart, and
// the next edge is the one that the answer selects, else the edge without a condition, else the
// entry (S3-15).
func TestHandoff(t *testing.T) {
	t.Parallel()
	loop := func(w *enginetest.World, n int, text string) {
		for i := range n {
			w.FinishAt(0, enginetest.Say(text, i))
		}
	}
	same := func(w *enginetest.World, n int) {
		for range n {
			w.FinishAt(0, enginetest.Say(`{"next":"A"}`))
		}
	}
	for name, tc := range map[string]struct {
		until func(*enginetest.World)
		edges string
		then  string // the node that follows the answer
		ran   string
	}{
		"step limit": {func(w *enginetest.World) { loop(w, 4, `{"next":"A","n":%d}`) },
			"h:yes -> b; h:out -> c", "b", "a a a a h"},
		"step limit, other answer": {func(w *enginetest.World) { loop(w, 4, `{"next":"A","n":%d}`) },
			"h:no -> b; h:out -> c", "c", "a a a a h"},
		"step limit, no edges": {func(w *enginetest.World) { loop(w, 4, `{"next":"A","n":%d}`) }, "", "a",
			"a a a a h"},
		"timeout": {func(w *enginetest.World) { w.Fire("timeout"); w.Go(nil) }, "h:yes -> b", "b",
			"a h"},
		"oscillation": {func(w *enginetest.World) { same(w, 3) }, "h:yes -> b", "b", "a a a h"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := routes(t, "a b c x h", "a:A -> a; a:calls -> x; "+tc.edges, func(g *workflow.Workflow) {
				four := 4
				g.Rules.Handoff, g.Limits.MaxSteps, g.Limits.Timeout = "h", &four, workflow.Duration(time.Minute)
			})
			tc.until(w)
			wantStatus(t, w, event.StatusPaused)
			if got := order(w); got != tc.ran {
				t.Errorf("ran %s, want %s", got, tc.ran)
			}
			w.Now = w.Now.Add(time.Hour)
			w.Crash()
			w.Feed(engine.Answer{Value: enginetest.Text("yes")})
			c := w.Pending[0].(*engine.CallModel)
			if c.Node != tc.then || c.Messages[len(c.Messages)-1].Text.String() != "yes" {
				t.Fatalf("%s reads\n%s", c.Node, enginetest.Conv(c.Messages))
			}
			if got := timerAt(w, "timeout").Sub(w.Now); got != time.Minute {
				t.Errorf("the clock has %s left, want a minute", got)
			}
			if tc.then != "a" {
				w.FinishAt(0, enginetest.Say("end"))
				wantStatus(t, w, event.StatusCompleted)
				return
			}
			loop(w, 4, `{"next":"A","again":%d}`) // four more steps
			wantStatus(t, w, event.StatusPaused)
			w.CheckPrefixes()
		})
	}
}

// TestHandoff_NotOscillation checks that an oscillation requires the same source, target and
// output: different output, different tool calls and repeated answers by a person do not count
// (S3-15).
func TestHandoff_NotOscillation(t *testing.T) {
	t.Parallel()
	handoff := func(g *workflow.Workflow) { g.Rules.Handoff = "h" }
	w := routes(t, "a x h", "a:calls -> x", handoff)
	for i := range 10 {
		w.FinishAt(0, enginetest.Asks(enginetest.Call("1", "write", fmt.Sprintf(`{"n":%d}`, i))))
		w.FinishAt(0, enginetest.Returns("ok"))
	}
	if strings.Contains(order(w), "h") {
		t.Errorf("a working agent was handed over: %s", order(w))
	}
	for range 3 {
		w.FinishAt(0, enginetest.Asks(enginetest.Call("1", "write", `{}`)))
		if w.Run.Status() == event.StatusRunning {
			w.FinishAt(0, enginetest.Returns("ok"))
		}
	}
	wantStatus(t, w, event.StatusPaused)

	w = routes(t, "a b h", "a:B -> b; b:else -> a", nil)
	for range 20 {
		w.FinishAt(0, enginetest.Say(`{"next":"B"}`))
		w.FinishAt(0, enginetest.Say("no"))
	}
	wantStatus(t, w, event.StatusRunning) // no hand-off node: the step limit ends it

	w = routes(t, "h a", "h:out -> a; a:H -> h", handoff)
	for i := range 5 {
		w.Feed(engine.Answer{Value: enginetest.Text("go on")})
		w.FinishAt(0, enginetest.Say(`{"next":"H","n":%d}`, i))
		wantStatus(t, w, event.StatusPaused)
	}
}

// TestHandoffClosesCalls checks that a person who takes over between a call and its result leaves
// no call without a result, which no provider would accept.
func TestHandoffClosesCalls(t *testing.T) {
	t.Parallel()
	two := 2
	for name, steps := range map[string]*int{"before the executor": new(int), "inside it": &two} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if *steps == 0 {
				*steps = 1
			}
			w := routes(t, "a x h", "a:calls -> x; h:out -> a", func(g *workflow.Workflow) {
				g.Rules.Handoff, g.Limits.MaxSteps, g.Limits.Timeout = "h", steps, workflow.Duration(time.Minute)
			})
			w.FinishAt(0, enginetest.Asks(enginetest.Call("1", "search", `{}`), enginetest.Call("2", "look", `{}`)))
			if *steps == 2 {
				w.FinishAt(0, enginetest.Returns("found"))
				w.Fire("timeout")
				w.Go(nil)
			}
			wantStatus(t, w, event.StatusPaused)
			w.Feed(engine.Answer{Value: enginetest.Text("yes")})
			want := "user: help me\nassistant:  [search({}) 1] [look({}) 2]\ntool! 1: There is no result: a person " +
				"took over before this call ended.\ntool! 2: There is no result: a person took over before this call " +
				"ended.\nuser: yes\n"
			if *steps == 2 { // completed work is kept
				want = "user: help me\nassistant:  [search({}) 1] [look({}) 2]\ntool! 2: There is no result: a " +
					"person took over before this call ended.\ntool 1: found\nuser: yes\n"
			}
			if got := enginetest.Conv(w.Asked("a").Messages); got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

// TestHandoffEmptyAnswer checks that a person may answer with nothing, and that no agent is sent an
// empty message for it (S3-15, S3-23).
func TestHandoffEmptyAnswer(t *testing.T) {
	t.Parallel()
	w := routes(t, "a b c x h", "a:A -> a; a:calls -> x; h:out -> b", func(g *workflow.Workflow) {
		one := 1
		g.Rules.Handoff, g.Limits.MaxSteps = "h", &one
	})
	w.FinishAt(0, enginetest.Say(`{"next":"A"}`))
	wantStatus(t, w, event.StatusPaused)
	w.Feed(engine.Answer{Value: enginetest.Text(" ")})
	if got, want := enginetest.Conv(w.Asked("b").Messages),
		"user: help me\nuser: a: {\"next\":\"A\"}\nuser: Go on.\n"; got != want {
		t.Errorf("b reads\n%swant\n%s", got, want)
	}
}
