package hocket_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
)

// TestDeadlines checks that questions of Go graphs have a deadline, at which the node fails with
// the code `deadline` unless its OnError leads elsewhere (P33).
func TestDeadlines(t *testing.T) {
	t.Parallel()
	late := graph.NodeOptions{OnError: graph.OnError(func(err error, _ *graph.Context[state]) graph.ErrorAction[state] {
		if !strings.Contains(err.Error(), "deadline") {
			return graph.ErrorAction[state]{Action: graph.ActionAbort}
		}
		return graph.ErrorAction[state]{Action: graph.ActionGoto, Node: "late"}
	})}
	for name, tc := range map[string]struct {
		ask  graph.Node[state]
		want hocket.Status
	}{
		"wait": {graph.WaitConfig[state]{ID: "w", Prompt: "Who?", Deadline: 30 * time.Millisecond},
			hocket.StatusFailed},
		"ask, with a way out": {graph.AskUserConfig[state]{
			ID: "w", Question: graph.Question{Text: "Who?"}, Deadline: 30 * time.Millisecond, Options: late,
		}, hocket.StatusCompleted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stores(t, func(t *testing.T, e *hocket.Engine) {
				g := compiled(t,
					graph.New[state]("t").Start(tc.ask).Node(note("late", graph.NodeOptions{Recovery: true})))
				// On a busy machine the deadline may have passed before the pause is seen, and the
				// run may already be ending.
				r, err := hocket.Run(t.Context(), e, g, state{}, hocket.RunOptions{ID: "r"})
				if r == nil || r.Status != hocket.StatusPaused && r.Status != hocket.StatusRunning &&
					r.Status != tc.want {
					t.Fatalf("%+v, %v; want a run that waits", r, err)
				}
				var types []string
				for ev, err := range e.Watch(t.Context(), "r", hocket.WatchOptions{UntilEnded: true}) {
					if err != nil {
						t.Fatal(err)
					}
					types = append(types, ev.Type)
				}
				if !slices.Contains(types, "wait.closed") {
					t.Errorf("events %v; want the end of the wait", types)
				}
				info, err := e.Get(t.Context(), "r")
				if err != nil || info.Status != tc.want {
					t.Errorf("%+v, %v; want %s", info, err, tc.want)
				}
			})
		})
	}
}

// TestReminders checks that questions of Go graphs have a reminder, whether or not anybody answers
// (P33).
func TestReminders(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *hocket.Engine) {
		g := compiled(t, graph.New[state]("t").Start(graph.WaitConfig[state]{ID: "w", Prompt: "Who?",
			RemindAfter: time.Millisecond}))
		if r, err := hocket.Run(t.Context(), e, g, state{}, hocket.RunOptions{ID: "r"}); err != nil ||
			r.Status != hocket.StatusPaused {
			t.Fatalf("%+v, %v; want a run that waits", r, err)
		}
		for ev, err := range e.Watch(t.Context(), "r", hocket.WatchOptions{UntilEnded: true}) {
			if err != nil {
				t.Fatal(err)
			}
			if ev.Type == "wait.reminded" {
				return
			}
		}
		t.Error("the run ended without a reminder")
	})
}
