package engine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/workflow"
)

// TestLostCalls_Twice checks that when a call that a person chose to retry is lost again, the
// person is asked again, in a wait with a new id (P12, D17).
func TestLostCalls_Twice(t *testing.T) {
	t.Parallel()
	g := enginetest.Graph([]workflow.Node{{ID: "t", Kind: workflow.KindTool, Tool: &workflow.ToolNode{Tool: "act"}}},
		"")
	w := enginetest.New(t, g, nil)
	w.Start("go")
	ids := map[string]bool{}
	for range 3 {
		call := engine.CallID(w.Pending[0])
		w.Crash(engine.Lost{ID: call, Policy: "ask"})
		wantStatus(t, w, event.StatusPaused)
		id := w.Run.Waits()[0].ID
		if ids[id] {
			t.Fatalf("wait id %s was used before\n%s", id, w.Log())
		}
		ids[id] = true
		w.Feed(engine.Answer{Wait: id, Value: enginetest.Text("retry")})
		wantStatus(t, w, event.StatusRunning)
	}
	w.Finish("t", &engine.ToolResult{Text: "done"})
	wantStatus(t, w, event.StatusCompleted)
}

func toolNode(id, tool string) workflow.Node {
	return workflow.Node{ID: id, Kind: workflow.KindTool, Tool: &workflow.ToolNode{Tool: tool}}
}

// TestLostCalls checks that a call with an unknown outcome follows its tool's policy or a person's
// answer, both in a tool node and inside an agent, and keeps its key (P12).
func TestLostCalls(t *testing.T) {
	t.Parallel()
	const skipped = "The outcome of this call is unknown; it was not repeated."
	for name, tc := range map[string]struct {
		policy, answer string
		tool, agent    string // traces after the crash
		conv           string // what the agent reads
	}{
		"retry": {"retry", "", "resumed, .t, completed", "resumed, .a, completed", "tool 1: done\n"},
		"skip": {"skip", "", "resumed, .t, completed", "resumed, .a, completed",
			"tool! 1: " + skipped + "\n"},
		"fail": {"fail", "", "resumed, !t outcome_unknown, failed outcome_unknown",
			"resumed, !a outcome_unknown, failed outcome_unknown", ""},
		"ask: retry": {"ask", "retry", "resumed, ?t, paused t, resumed, .t, completed",
			"resumed, ?a, paused a, resumed, .a, completed", "tool 1: done\n"},
		"ask: skip": {"ask", "skip", "resumed, ?t, paused t, resumed, .t, completed",
			"resumed, ?a, paused a, resumed, .a, completed", "tool! 1: " + skipped + "\n"},
		"ask: fail": {"ask", "fail", "resumed, ?t, paused t, resumed, !t outcome_unknown, failed " +
			"outcome_unknown", "resumed, ?a, paused a, resumed, !a outcome_unknown, failed outcome_unknown", ""},
		"odd policy": {"whatever", "retry", "resumed, ?t, paused t, resumed, .t, completed",
			"resumed, ?a, paused a, resumed, .a, completed", "tool 1: done\n"},
		"with retry policy, fail": {"fail", "", "resumed, !t outcome_unknown, failed outcome_unknown",
			"resumed, !a outcome_unknown, failed outcome_unknown", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, a := toolNode("t", "act"), enginetest.Agent("a")
			if name == "with retry policy, fail" {
				n.Retry, a.Retry = &workflow.Retry{MaxRetries: 3}, &workflow.Retry{MaxRetries: 3}
			}
			for _, node := range []workflow.Node{n, a} {
				w := enginetest.New(t, enginetest.Graph(nodes(node), ""), nil)
				w.Start("go")
				want := tc.tool
				if node.ID == "a" {
					want = tc.agent
					w.Finish("a", enginetest.Asks(enginetest.Call("1", "act", `{}`)))
				}
				first := w.Pending[0].(*engine.CallTool)
				after := len(w.Events)
				w.Crash(engine.Lost{ID: first.ID, Policy: tc.policy})
				if tc.answer != "" {
					if len(w.Pending) > 0 {
						t.Fatalf("%s was called while a person is asked", w.PendingNodes())
					}
					wait := w.Run.Waits()[0]
					w.Crash() // while asking
					if got := w.Run.Waits(); len(got) != 1 || got[0].ID != wait.ID {
						t.Fatalf("after another crash these waits are open: %+v", got)
					}
					for _, odd := range []event.Value{enginetest.Text("maybe"), enginetest.Text("approve"), nil} {
						if err := w.Try(engine.Answer{Wait: wait.ID, Value: odd}); !errors.Is(err, waits.ErrAnswer) {
							t.Errorf("answer %s: %v, want ErrAnswer", odd, err)
						}
					}
					w.Feed(engine.Answer{Wait: wait.ID, Value: enginetest.Text(tc.answer)})
				}
				if tc.policy == "retry" || tc.answer == "retry" {
					c := w.Pending[0].(*engine.CallTool)
					if c.Key != first.Key || string(c.Arguments) != string(first.Arguments) {
						t.Errorf("called again as %s with %s, want %s with %s", c.Key, c.Arguments, first.Key,
							first.Arguments)
					}
					if tc.answer != "" && c.Attempt != 2 {
						t.Errorf("attempt %d, want 2", c.Attempt)
					}
					w.FinishAt(0, enginetest.Returns("done"))
				}
				if node.ID == "a" && tc.conv != "" {
					if got := enginetest.Conv(w.Asked("a").Messages[2:]); got != tc.conv {
						t.Errorf("the agent reads %q, want %q", got, tc.conv)
					}
					w.Finish("a", enginetest.Say("end"))
				}
				wantTrace(t, w, after, want)
				w.CheckPrefixes()
			}
		})
	}
}

// TestLostCalls_SameStep checks that if two calls of one step are lost, handling the second takes
// into account what the first one's policy did to the step.
func TestLostCalls_SameStep(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		policies [2]string
		want     string
	}{
		"fail, skip":  {[2]string{"fail", "skip"}, "resumed, !a outcome_unknown, failed outcome_unknown"},
		"fail, ask":   {[2]string{"fail", "ask"}, "resumed, !a outcome_unknown, failed outcome_unknown"},
		"ask, fail":   {[2]string{"ask", "fail"}, "resumed, ?a, !a outcome_unknown, failed outcome_unknown"},
		"ask, retry":  {[2]string{"ask", "retry"}, "resumed, ?a"},
		"skip, retry": {[2]string{"skip", "retry"}, "resumed"},
		"ask, ask":    {[2]string{"ask", "ask"}, "resumed, ?a, ?a, paused a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := solo(t, workflow.Agent{}, nil)
			w.Finish("a", enginetest.Asks(enginetest.Call("1", "x", `{}`), enginetest.Call("2", "y", `{}`)))
			after := len(w.Events)
			lost := []engine.Lost{{ID: engine.CallID(w.Pending[0]), Policy: tc.policies[0]},
				{ID: engine.CallID(w.Pending[1]), Policy: tc.policies[1]},
				{ID: "9.9.9#1", Policy: "fail"}, {ID: "nonsense", Policy: "skip"}, {ID: "1.0.1#1", Policy: "fail"}}
			w.Crash(lost...)
			w.Go(nil)
			wantTrace(t, w, after, tc.want)
		})
	}
}

// TestLostCalls_OtherBranchContinues checks that another branch continues while a person is asked
// about a call (P32), though only one step may have calls in flight (P31).
func TestLostCalls_OtherBranchContinues(t *testing.T) {
	t.Parallel()
	g := enginetest.Graph(nodes(workflow.Node{ID: "s", Kind: workflow.KindStart}, toolNode("t", "act"), "b"),
		"s -> t; s -> b")
	g.Limits.MaxConcurrency = 1
	w := enginetest.New(t, g, nil)
	w.Start("go")
	w.Crash(engine.Lost{ID: "2.0.1#1", Policy: "ask"})
	w.Feed(engine.Answer{Value: enginetest.Text("retry")})
	if got := w.PendingNodes(); got != "b" {
		t.Fatalf("pending %q, want b: it has the slot", got)
	}
	w.Finish("b", enginetest.Say("b"))
	w.Finish("t", enginetest.Returns("done"))
	wantStatus(t, w, event.StatusCompleted)
}

// TestWait_NewIDPerAttempt checks that a question asked again, because its step is retried after a
// deadline, gets a new id (D17).
func TestWait_NewIDPerAttempt(t *testing.T) {
	t.Parallel()
	q := enginetest.Question("q")
	q.Wait.Deadline, q.Retry = workflow.Duration(time.Second), &workflow.Retry{MaxRetries: 1}
	w := enginetest.New(t, enginetest.Graph(nodes(q), ""), nil)
	w.Start("go")
	first := w.Run.Waits()[0].ID
	w.Fire("deadline:" + first)
	w.Fire("retry:1")
	wantStatus(t, w, event.StatusPaused)
	if got := w.Run.Waits()[0].ID; got == first {
		t.Errorf("the question is asked again as %s", got)
	}
	if err := w.Try(engine.Answer{Wait: first, Value: enginetest.Text("x")}); !errors.Is(err, waits.ErrClosed) {
		t.Errorf("answer to the first: %v, want ErrWaitClosed", err)
	}
	w.Feed(engine.Answer{Value: enginetest.Text("x")})
	wantStatus(t, w, event.StatusCompleted)
}

// TestReopen_LostCalls checks that a tool call cut off by the time limit has an unknown
// outcome when the run is reopened (P12, D20).
func TestReopen_LostCalls(t *testing.T) {
	t.Parallel()
	g := enginetest.Graph(nodes(toolNode("t", "act"), "a"), "t -> a")
	g.Limits.Timeout = workflow.Duration(time.Second)
	w := enginetest.New(t, g, nil)
	w.Start("go")
	w.Fire("timeout")
	wantStatus(t, w, event.StatusFailed)
	if got := w.Run.Open(); len(got) > 0 {
		t.Errorf("an ended run has open commands: %v", got)
	}
	var lost []engine.Lost
	for _, c := range w.Run.Unfinished() {
		lost = append(lost, engine.Lost{ID: engine.CallID(c), Policy: "ask"})
	}
	w.Crash()
	w.Feed(engine.Reopen{Limits: workflow.Limits{Timeout: workflow.Duration(time.Hour)}, Lost: lost})
	wantStatus(t, w, event.StatusPaused)
	w.Feed(engine.Answer{Value: enginetest.Text("skip")})
	w.Finish("a", enginetest.Say("end"))
	wantStatus(t, w, event.StatusCompleted)
}
