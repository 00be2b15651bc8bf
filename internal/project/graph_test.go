package project

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/workflow"
)

// TestGraphFolder checks S2-30 to S2-36 and S2-63: a chain a -> q -> b, in which q asks a question,
// as steps and as a state.
func TestGraphFolder(t *testing.T) {
	t.Parallel()
	does := func(id string) workflow.Node {
		return workflow.Node{
			ID: id, Kind: workflow.KindFunc, Func: &workflow.FuncNode{Func: "do_" + id},
			Retry: &workflow.Retry{MaxRetries: 1},
		}
	}
	set := func(value string) *engine.FuncResult {
		return &engine.FuncResult{Update: map[string]event.Value{"n": event.Value(value)}}
	}
	fails := &engine.FuncResult{Failure: &event.Failure{Code: "func", Message: "no luck", Retryable: true}}
	for name, tc := range map[string]struct {
		limit *int
		play  func(w *enginetest.World)
		steps string
		state string
	}{
		"to its end": {nil, func(w *enginetest.World) {
			w.Finish("a", set("2"))
			w.Feed(engine.Answer{Value: enginetest.Text("yes")})
			w.Finish("b", set("3"))
		}, "a running 2; q paused 2; q running 2; b completed 3", "completed at b, visited [a q b], n=3"},
		"waits": {nil, func(w *enginetest.World) { w.Finish("a", set("2")) }, "a running 2; q paused 2",
			"paused at q, visited [a], n=2, waits 1"},
		"second attempt": {nil, func(w *enginetest.World) {
			w.Finish("a", fails)
			w.Go(nil) // attempt timer
			w.Finish("a", set("2"))
		}, "a running 2 (2 attempts); q paused 2", "paused at q, visited [a], n=2, waits 1, errors [a#1 no luck]"},
		"fails": {nil, func(w *enginetest.World) {
			w.Finish("a", fails)
			w.Go(nil)
			w.Finish("a", fails)
		}, "a failed 1 (2 attempts): no luck",
			"failed at a: no luck, visited [a], n=1, errors [a#1 no luck a#2 no luck]"},
		"cancelled at work": {nil, func(w *enginetest.World) {
			w.Feed(engine.Cancel{Reason: "enough"})
			w.Go(nil)
		}, "a cancelled 1: the run was cancelled", "cancelled at a: enough, visited [], n=1, errors [a#1 cancelled]"},
		"cancelled while it waits": {nil, func(w *enginetest.World) {
			w.Finish("a", set("2"))
			w.Feed(engine.Cancel{})
		}, "a running 2; q paused 2; q cancelled 2: the run was cancelled",
			"cancelled at q: Run cancelled by user, visited [a], n=2"},
		"more budget": {nil, func(w *enginetest.World) { // the same attempt is repeated: it has not failed
			w.Finish("a", &engine.FuncResult{Failure: &event.Failure{Code: "func", Message: "no budget"},
				Budget: "tokens"})
			w.Pending = nil
			w.Feed(engine.Reopen{Limits: workflow.Limits{MaxTokens: 2000}})
			w.Finish("a", fails)
			w.Go(nil)
			w.Finish("a", set("2"))
		}, "a failed 1: the run's budget of 1000 tokens is used up; a running 2 (2 attempts); q paused 2",
			"paused at q, visited [a], n=2, waits 1, errors [a#1 no luck]"},
		"limit": {new(1), func(w *enginetest.World) {
			w.Finish("a", set("2"))
		}, "a running 2; a failed 2: Exceeded maximum steps (1)",
			"failed at a: Exceeded maximum steps (1), visited [a], pending [q], n=2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := enginetest.Graph([]workflow.Node{does("a"), enginetest.Question("q"), does("b")}, "a -> q; q -> b")
			g.Rules = workflow.TypedRules()
			g.Rules.Serial, g.Limits.MaxSteps, g.Limits.MaxTokens = true, tc.limit, 1000
			w := enginetest.New(t, g, nil)
			w.StartWith(event.RunCreated{Input: event.Value(`{"n":1}`), Limits: g.Limits})
			tc.play(w)
			f := NewGraphFolder("run1", w.Plan)
			var steps []string
			for _, ev := range w.Events {
				given, err := f.Add(ev)
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range given {
					steps = append(steps, stepText(s))
				}
			}
			if diff := cmp.Diff(tc.steps, strings.Join(steps, "; ")); diff != "" {
				t.Errorf("steps, -want +got:\n%s\n%s", diff, w.Log())
			}
			if diff := cmp.Diff(tc.state, stateText(f.State(), f.Typed())); diff != "" {
				t.Errorf("state, -want +got:\n%s\n%s", diff, w.Log())
			}
			var diverged *engine.DivergenceError
			if _, err := f.Add(w.Events[0]); !errors.As(err, &diverged) {
				t.Errorf("an event again: %v", err)
			}
		})
	}
}

func stepText(s GraphStep) string {
	text := fmt.Sprintf("%s %s %s", s.Node, s.Status, s.State["n"])
	if s.Attempts > 1 {
		text += fmt.Sprintf(" (%d attempts)", s.Attempts)
	}
	if s.Failure != nil {
		text += ": " + s.Failure.Message
	}
	return text
}

func stateText(s GraphState, state typed.State) string {
	text := fmt.Sprintf("%s at %s", s.Status, s.Current)
	if s.Failure != nil {
		text += ": " + s.Failure.Message
	}
	text += fmt.Sprintf(", visited %v", s.Visited)
	if len(s.Pending) > 0 {
		text += fmt.Sprintf(", pending %v", s.Pending)
	}
	text += fmt.Sprintf(", n=%s", state.Get("n"))
	if len(s.Waits) > 0 {
		text += fmt.Sprintf(", waits %d", len(s.Waits))
	}
	var failed []string
	for _, e := range s.Errors {
		failed = append(failed, fmt.Sprintf("%s#%d %s", e.Node, e.Attempt, e.Message))
	}
	if len(failed) > 0 {
		text += fmt.Sprintf(", errors %v", failed)
	}
	return text
}
