package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/workflow"
)

func waitOf(t *testing.T, w *enginetest.World, call string) engine.WaitInfo {
	t.Helper()
	for _, x := range w.Run.Waits() {
		if call == "" || x.Call == call {
			return x
		}
	}
	t.Fatalf("no wait of call %q is open\n%s", call, w.Log())
	return engine.WaitInfo{}
}

// TestHeldCalls checks that after an approval exactly that call is made once, with the binding that
// the person approved, and its result reaches the caller; after a rejection no call is made, and
// the reason reaches the agent or the step fails with its own code. A crash at any point changes
// nothing (P8, SEC12).
func TestHeldCalls(t *testing.T) {
	t.Parallel()
	const args = `{"path":"/x"}`
	rejected := "A person rejected the call of tool act; it was not made. Reason: not on a Friday"
	for name, tc := range map[string]struct {
		answer      string
		agent, tool string // traces
		conv        string // what the agent reads
	}{
		"approve": {`"approve"`, "+a, ?a, paused a, resumed, .a, completed", "+t, ?t, paused t, resumed, .t, completed",
			"tool 1: done\n"},
		"reject": {
			`{"decision":"reject","note":"not on a Friday"}`, "+a, ?a, paused a, resumed, .a, completed",
			"+t, ?t, paused t, resumed, !t rejected, failed rejected", "tool! 1: " + rejected + "\n",
		},
	} {
		for _, crash := range []bool{false, true} {
			for _, node := range []workflow.Node{toolNode("t", "act"), enginetest.Agent("a")} {
				t.Run(fmt.Sprintf("%s/%s/crash=%t", name, node.ID, crash), func(t *testing.T) {
					t.Parallel()
					node.Retry = &workflow.Retry{MaxRetries: 3} // a rejection is not retried
					w := enginetest.New(t, enginetest.Graph(nodes(node), ""), nil)
					w.Start(args)
					die := func() {
						if crash {
							w.Crash()
						}
					}
					if node.ID == "a" {
						w.Finish("a", enginetest.Asks(enginetest.Call("1", "act", args)))
					}
					first := w.Pending[0].(*engine.CallTool)
					if first.Approved != "" || first.Iteration != 1 || first.Definition == "" {
						t.Errorf("the call says approved %q, iteration %d, definition %q", first.Approved,
							first.Iteration, first.Definition)
					}
					w.FinishAt(0, enginetest.Held("bound", args))
					wantStatus(t, w, event.StatusPaused)
					die()
					wait := waitOf(t, w, "")
					if wait.Tool != "act" || string(wait.Arguments) != args || wait.Binding != "bound" ||
						wait.Kind != workflow.WaitApproval ||
						!slices.Equal(wait.Options, []string{"approve", "reject"}) {
						t.Errorf("the wait shows %+v", wait)
					}
					for _, odd := range []string{`"maybe"`, `"retry"`, `{"decision":"later"}`, `{"approved":true}`} {
						if err := w.Try(engine.Answer{Wait: wait.ID, Value: event.Value(odd)}); !errors.Is(err,
							waits.ErrAnswer) {
							t.Errorf("answer %s: %v, want ErrAnswer", odd, err)
						}
					}
					if len(w.Pending) > 0 {
						t.Fatalf("%s was called before anybody answered", w.PendingNodes())
					}
					w.Feed(engine.Answer{Wait: wait.ID, Value: event.Value(tc.answer)})
					w.Feed(engine.Answer{Wait: wait.ID, Value: event.Value(tc.answer)}) // P24: a double click
					if name == "approve" {
						die()
						c := w.Pending[0].(*engine.CallTool)
						if c.Approved != "bound" || c.Key != first.Key ||
							string(c.Arguments) != string(first.Arguments) || len(w.Pending) != 1 {
							t.Errorf("called as %+v, want the call %+v, approved", c, first)
						}
						w.FinishAt(0, enginetest.Returns("done"))
					}
					want := tc.tool
					if node.ID == "a" {
						want = tc.agent
						if got := enginetest.Conv(w.Asked("a").Messages[2:]); got != tc.conv {
							t.Errorf("the agent reads %q, want %q", got, tc.conv)
						}
						w.Finish("a", enginetest.Say("end"))
					}
					if !crash || name == "reject" {
						wantTrace(t, w, 0, want)
					}
					if err := w.Try(engine.Answer{Wait: wait.ID, Value: event.Value(`"opposite"`)}); err == nil {
						t.Error("another answer was taken")
					}
					w.CheckPrefixes()
				})
			}
		}
	}
}

// TestHeldRejectPort checks that a tool node can route a rejection to a port (P8).
func TestHeldRejectPort(t *testing.T) {
	t.Parallel()
	w := enginetest.New(t, enginetest.Graph(nodes(toolNode("t", "act"), "yes", "no"), "t -> yes; t:reject -> no"), nil)
	w.Start("go")
	w.FinishAt(0, enginetest.Held("b", `{}`))
	w.Reject("t")
	w.Finish("no", enginetest.Say("end"))
	wantTrace(t, w, 0, "+t, ?t, paused t, resumed, .t, +no, .no, completed")
}

// TestHeldCalls_NestedAgents checks that agents with equal names, three levels deep, each hold a
// call: whatever the order of the answers, each call receives its own answer and the reasons stay
// separate (P8, P1).
func TestHeldCalls_NestedAgents(t *testing.T) {
	t.Parallel()
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			t.Parallel()
			sub := func(id string) []workflow.Subagent { return []workflow.Subagent{{Agent: id, Tool: "ask"}} }
			g := enginetest.Graph(nodes("a"), "",
				workflow.Agent{ID: "a", Name: "Same", Subagents: sub("b")},
				workflow.Agent{ID: "b", Name: "Same", Subagents: sub("c")}, workflow.Agent{ID: "c", Name: "Same"})
			w := enginetest.New(t, g, nil)
			w.Start("go")
			agents := []string{"a", "b", "c"}
			for i, id := range agents {
				asks := enginetest.Asks(enginetest.Call("1", "act", fmt.Sprintf(`{"of":%q}`, id)))
				if i < 2 {
					asks.Message.ToolCalls = append(asks.Message.ToolCalls,
						enginetest.Call("2", "ask", `{"input":"go on"}`))
				}
				w.Finish("agent "+id, asks)
			}
			calls := map[string]string{}
			for range agents {
				c := w.Pending[0].(*engine.CallTool)
				key, _, _ := strings.Cut(c.ID, "#")
				calls[c.Agent.ID] = key
				w.FinishAt(0, enginetest.Held("of "+c.Agent.ID, string(c.Arguments)))
			}
			w.Crash()
			wantStatus(t, w, event.StatusPaused)
			if err := w.Try(engine.Answer{Value: event.Value(`"approve"`)}); !errors.Is(err, waits.ErrAmbiguous) {
				t.Errorf("an answer without id: %v, want ErrWaitAmbiguous", err)
			}
			for n, i := range order {
				id := agents[i]
				wait := waitOf(t, w, calls[id])
				if string(wait.Arguments) != fmt.Sprintf(`{"of":%q}`, id) {
					t.Errorf("the wait of %s shows %s", id, wait.Arguments)
				}
				if id == "b" {
					w.Feed(engine.Answer{Wait: wait.ID, Value: event.Value(`"reject"`), Note: "no for b"})
				} else {
					w.Feed(engine.Answer{Wait: wait.ID, Value: event.Value(`"approve"`)})
					c := w.Pending[len(w.Pending)-1].(*engine.CallTool)
					if c.Agent.ID != id || c.Approved != "of "+id {
						t.Errorf("after the answer for %s, %s is called, approved as %q", id, c.Agent.ID, c.Approved)
					}
					w.Finish("tool act", enginetest.Returns("done for "+id))
				}
				if w.Crash(); n < 2 && len(w.Run.Waits()) != 2-n {
					t.Errorf("%d waits are open after %d answers", len(w.Run.Waits()), n+1)
				}
			}
			want := map[string]string{
				"c": "tool 1: done for c\n",
				"b": "tool! 1: A person rejected the call of tool act; it was not made. Reason: no for b\ntool 2: " +
					"c ends\n",
				"a": "tool 1: done for a\ntool 2: b ends\n",
			}
			for _, id := range []string{"c", "b", "a"} {
				if got := enginetest.Conv(w.Asked("agent " + id).Messages[2:]); got != want[id] {
					t.Errorf("%s reads %q, want %q", id, got, want[id])
				}
				w.Finish("agent "+id, enginetest.Say("%s ends", id))
			}
			wantStatus(t, w, event.StatusCompleted)
			w.CheckPrefixes()
		})
	}
}

// TestHeldQuestion checks that the answer to a tool's question becomes its result if it matches the
// schema. An answer that would decide about a lost call has no special meaning here.
func TestHeldQuestion(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		schema, answer string
		want           string // what the agent reads; "" if the answer is rejected
	}{
		"text":              {``, `"blue"`, "blue"},
		"word of lost call": {``, `"retry"`, "retry"},
		"object":            {``, `{"a":1}`, `{"a":1}`},
		"fits":              {`{"type":"integer"}`, `5`, "5"},
		"typed":             {`{"type":"integer"}`, `"5"`, "5"},
		"typed object":      {`{"type":"object","required":["a"]}`, `" {\"a\": 1} "`, `{"a":1}`},
		"does not fit":      {`{"type":"integer"}`, `"five"`, ""},
		"not of the list":   {`{"enum":["a","b"]}`, `"c"`, ""},
		"no schema at all":  {`{"type":7}`, `"x"`, "x"},
	} {
		for _, node := range []workflow.Node{toolNode("t", "user_prompt"), enginetest.Agent("a")} {
			t.Run(name+"/"+node.ID, func(t *testing.T) {
				t.Parallel()
				w := enginetest.New(t, enginetest.Graph(nodes(node), ""), nil)
				w.Start("{}")
				if node.ID == "a" {
					w.Finish("a", enginetest.Asks(enginetest.Call("1", "user_prompt", `{}`)))
				}
				w.FinishAt(0, enginetest.AsksPerson("Which?", tc.schema))
				w.Crash()
				err := w.Try(engine.Answer{Value: event.Value(tc.answer)})
				if tc.want == "" {
					if !errors.Is(err, waits.ErrAnswer) {
						t.Errorf("got %v, want ErrAnswer", err)
					}
					wantStatus(t, w, event.StatusPaused)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if node.ID == "t" {
					wantStatus(t, w, event.StatusCompleted)
					return
				}
				if got := enginetest.Conv(w.Asked("a").Messages[2:]); got != "tool 1: "+tc.want+"\n" {
					t.Errorf("the agent reads %q, want %q", got, tc.want)
				}
				w.Finish("a", enginetest.Say("end"))
				w.CheckPrefixes()
			})
		}
	}
}

// TestHeldCalls_HeldTwice checks that a call held again after an approval, because it is now a
// different action, opens another wait (SEC12).
func TestHeldCalls_HeldTwice(t *testing.T) {
	t.Parallel()
	w := enginetest.New(t, enginetest.Graph(nodes(toolNode("t", "act")), ""), nil)
	w.Start("go")
	seen := map[string]bool{}
	for _, binding := range []string{"one", "two", "three"} {
		w.FinishAt(0, enginetest.Held(binding, `{}`))
		wait := waitOf(t, w, "")
		if seen[wait.ID] || wait.Binding != binding {
			t.Fatalf("wait %s is bound to %q, want a new one, bound to %q", wait.ID, wait.Binding, binding)
		}
		seen[wait.ID] = true
		w.Approve("t")
		if c := w.Pending[0].(*engine.CallTool); c.Approved != binding {
			t.Errorf("approved %q, want %q", c.Approved, binding)
		}
	}
	w.FinishAt(0, enginetest.Returns("done"))
	wantStatus(t, w, event.StatusCompleted)
	if err := w.Try(engine.ToolHeld{ID: "1.0.1#1", Hold: engine.Hold{Kind: workflow.WaitApproval}}); !errors.Is(err,
		engine.ErrInput) {
		t.Errorf("a hold without binding: %v, want ErrInput", err)
	}
}

// TestHeldCalls_Ended checks what ends a held call: cancellation, a concurrent failure, a limit
// that ends the run and is raised later (D20), a result that arrives too late.
func TestHeldCalls_Ended(t *testing.T) {
	t.Parallel()
	fork := func(extra string) *workflow.Workflow {
		return enginetest.Graph(nodes(enginetest.Fork("f", workflow.Fork{}, "t", "b"),
			enginetest.In("f", toolNode("t", "act")), enginetest.In("f", enginetest.Agent("b")), "z"),
			"f:t -> t; f:b -> b; t -> f/join; b -> f/join; f/join -> z"+extra)
	}
	t.Run("cancel", func(t *testing.T) {
		t.Parallel()
		w := enginetest.New(t, fork(""), nil)
		w.Start("go")
		w.Finish("t", enginetest.Held("x", `{}`))
		id := waitOf(t, w, "").ID
		w.Feed(engine.Cancel{Reason: "enough"})
		w.Go(nil)
		wantStatus(t, w, event.StatusCancelled)
		if err := w.Try(engine.Answer{Wait: id, Value: event.Value(`"approve"`)}); !errors.Is(err,
			waits.ErrClosed) {
			t.Errorf("P24: %v, want ErrWaitClosed", err)
		}
	})
	t.Run("held after the cancellation", func(t *testing.T) {
		t.Parallel()
		w := enginetest.New(t, enginetest.Graph(nodes(toolNode("t", "act")), ""), nil)
		w.Start("go")
		w.Feed(engine.Cancel{Reason: "enough"})
		w.FinishAt(0, enginetest.Held("x", `{}`))
		wantStatus(t, w, event.StatusCancelled)
		if n := len(w.Run.Waits()); n > 0 {
			t.Errorf("%d waits are open", n)
		}
	})
	t.Run("held while the run fails", func(t *testing.T) {
		t.Parallel()
		g := fork("")
		g.Rules.OnFailure = workflow.FailDrain
		w := enginetest.New(t, g, nil)
		w.Start("go")
		w.Finish("b", enginetest.Fails("server", "boom"))
		for len(w.Pending) > 0 {
			w.FinishAt(0, enginetest.Held("x", `{}`))
		}
		wantStatus(t, w, event.StatusFailed)
	})
	t.Run("budget", func(t *testing.T) {
		t.Parallel()
		w := enginetest.New(t, fork(""), nil)
		w.StartWith(event.RunCreated{Input: enginetest.Text("go"), Limits: workflow.Limits{MaxTokens: 100}})
		w.Finish("t", enginetest.Held("x", `{}`))
		asks := enginetest.Asks(enginetest.Call("1", "act", `{}`))
		asks.Usage = &chat.Usage{InputTokens: 99, OutputTokens: 1}
		w.Finish("b", asks)
		w.Finish("b", enginetest.Returns("found")) // and no model call after it
		wantStatus(t, w, event.StatusFailed)
		id := w.Run.Waits()[0].ID
		if err := w.Try(engine.Answer{Wait: id, Value: event.Value(`"approve"`)}); !errors.Is(err,
			waits.ErrClosed) {
			t.Errorf("an answer to an ended run: %v, want ErrWaitClosed", err)
		}
		w.Feed(engine.Reopen{Limits: workflow.Limits{MaxTokens: 100_000}})
		w.Feed(engine.Answer{Wait: id, Value: event.Value(`"approve"`)})
		w.Finish("t", enginetest.Returns("done"))
		w.Finish("b", enginetest.Say("end"))
		w.Finish("z", enginetest.Say("end"))
		wantStatus(t, w, event.StatusCompleted)
	})
}

// TestHeldCalls_Canvas checks that a held call delays everything that becomes ready after it; after
// the answer its branch runs first, then the queue (D18).
func TestHeldCalls_Canvas(t *testing.T) {
	t.Parallel()
	g := enginetest.Graph(nodes("s", "a", "b", "c", "d"), "s -> a; s -> b; a -> c; b -> d")
	g.Rules.HoldWhilePaused = true
	w := enginetest.New(t, g, nil)
	w.Start("go")
	w.Finish("s", enginetest.Say("s"))
	w.Finish("a", enginetest.Asks(enginetest.Call("1", "act", `{}`)))
	w.Finish("tool act", enginetest.Held("x", `{}`))
	w.Finish("b", enginetest.Say("b"))
	wantStatus(t, w, event.StatusPaused)
	if len(w.Pending) > 0 {
		t.Fatalf("%s runs while the run holds", w.PendingNodes())
	}
	w.Approve("a")
	if got := w.PendingNodes(); got != "a" {
		t.Fatalf("after the answer %s runs, want a alone", got)
	}
	w.Finish("a", enginetest.Returns("done"))
	w.Finish("a", enginetest.Say("a"))
	if got := w.PendingNodes(); got != "c" {
		t.Fatalf("then %s runs, want c alone", got)
	}
	w.Finish("c", enginetest.Say("c"))
	w.Finish("d", enginetest.Say("d"))
	wantStatus(t, w, event.StatusCompleted)
	w.CheckPrefixes()
}

// TestUnattendedCall checks that a call about which nobody can be asked fails its step for good,
// and with it the run, instead of being reported to the model, also in a sub-agent.
func TestUnattendedCall(t *testing.T) {
	t.Parallel()
	failed := &engine.ToolResult{Failure: &event.Failure{Code: event.CodeUnattended, Message: "add a line"}}
	for _, depth := range []int{0, 1} {
		node := enginetest.Agent("a")
		node.Retry = &workflow.Retry{MaxRetries: 3}
		g := enginetest.Graph(nodes(node), "",
			workflow.Agent{ID: "a", Name: "A", Subagents: []workflow.Subagent{{Agent: "b", Tool: "ask"}}},
			workflow.Agent{ID: "b", Name: "B"})
		w := enginetest.New(t, g, nil)
		w.Start("go")
		at := "a"
		if depth == 1 {
			w.Finish("agent a", enginetest.Asks(enginetest.Call("1", "ask", `{"input":"go on"}`)))
			at = "b"
		}
		w.Finish("agent "+at, enginetest.Asks(enginetest.Call("1", "act", `{}`)))
		w.Finish("tool act", failed)
		wantStatus(t, w, event.StatusFailed)
		if !strings.Contains(w.Log(), `run.failed {"error":{"code":"unattended"`) {
			t.Errorf("the step did not fail for this reason:\n%s", w.Log())
		}
		w.CheckPrefixes()
	}
}

// TestMaxConcurrency_AnswerQueues checks that a step whose last result is a person's answer waits
// for a slot like any other, since its slot was released and taken while the person was asked
// (P31).
func TestMaxConcurrency_AnswerQueues(t *testing.T) {
	t.Parallel()
	for name, hold := range map[string]*engine.ToolHeld{"question": enginetest.AsksPerson("Which?", ""),
		"rejected": enginetest.Held("b", "{}")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := enginetest.Graph(nodes(workflow.Node{ID: "s", Kind: workflow.KindStart}, "a", "b"), "s -> a; s -> b")
			g.Limits.MaxConcurrency = 1
			w := enginetest.New(t, g, nil)
			w.Start("go")
			w.Finish("a", enginetest.Asks(enginetest.Call("1", "user_prompt", `{}`)))
			w.FinishAt(0, hold)
			answer := engine.Answer{Value: event.Value(`"reject"`)}
			if err := w.Try(answer); err != nil {
				t.Fatal(err)
			}
			w.Crash()
			if got := w.PendingNodes(); got != "b" {
				t.Fatalf("calls of %s are out, want b alone", got)
			}
			w.Finish("b", enginetest.Say("b"))
			w.Finish("a", enginetest.Say("a"))
			wantStatus(t, w, event.StatusCompleted)
			w.CheckPrefixes()
		})
	}
}

// TestGuardedDelegation checks that a sub-agent or a hand-off that the permissions guard is first
// called like a tool: it is carried out once they allow it, perhaps because a person does, and not
// otherwise. A crash at any point changes nothing, and what works for a sub-agent is told as whose
// (ADR 138).
func TestGuardedDelegation(t *testing.T) {
	t.Parallel()
	forbidden := &engine.ToolResult{Text: "forbidden", IsError: true}
	for name, tc := range map[string]struct {
		answer     string // of a person; "" means that the driver answers with result
		result     *engine.ToolResult
		root, read string // of root after a sub-agent, or after a hand-off that was not made
	}{
		"allowed":  {"", &engine.ToolResult{Permitted: true}, "tool 1: helped\n", ""},
		"denied":   {"", forbidden, "tool! 1: forbidden\n", "tool! 1: forbidden\n"},
		"approved": {`"approve"`, &engine.ToolResult{Permitted: true}, "tool 1: helped\n", ""},
		"rejected": {`"reject"`, nil, "tool! 1: A person rejected the call of tool ask; it was not made.\n",
			"tool! 1: A person rejected the call of tool handoff; it was not made.\n"},
	} {
		for _, tool := range []string{"ask", workflow.HandoffTool} {
			for _, crash := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/crash=%t", name, tool, crash), func(t *testing.T) {
					t.Parallel()
					w := enginetest.New(t, enginetest.Graph(nodes("root"), "",
						workflow.Agent{ID: "root", Subagents: []workflow.Subagent{{Agent: "b", Tool: "ask"}},
							Handoffs: []string{"b"}}, workflow.Agent{ID: "b"}), nil)
					w.Start("go")
					die := func() {
						if crash {
							w.Crash()
						}
					}
					asks := enginetest.Asks(enginetest.Call("1", tool, `{"input":"help","agent":"b"}`))
					asks.Guarded = []string{tool, "unknown"}
					w.Finish("agent root", asks)
					die()
					c := w.Pending[0].(*engine.CallTool)
					if c.Tool != tool || !c.Delegates || len(w.Pending) != 1 {
						t.Fatalf("called as %+v", c)
					}
					if tc.answer != "" {
						w.FinishAt(0, enginetest.Held("bound", string(c.Arguments)))
						wantStatus(t, w, event.StatusPaused)
						die()
						w.Feed(engine.Answer{Wait: waitOf(t, w, "").ID, Value: event.Value(tc.answer)})
						die()
					}
					if tc.result != nil {
						if c := w.Pending[0].(*engine.CallTool); tc.answer != "" && c.Approved != "bound" ||
							!c.Delegates {
							t.Errorf("called as %+v", c)
						}
						w.FinishAt(0, tc.result)
						die()
					}
					if tc.read != "" { // it is not carried out
						if got := enginetest.Conv(w.Asked("agent root").Messages[2:]); tool == "ask" &&
							got != tc.root ||
							tool != "ask" && got != tc.read {
							t.Errorf("root reads %q", got)
						}
						w.CheckPrefixes()
						return
					}
					within := []string{"root"}
					if tool != "ask" {
						within = nil
					}
					if b := w.Asked("agent b"); !slices.Equal(b.Within, within) {
						t.Errorf("b works within %q, want %q", b.Within, within)
					}
					w.Finish("agent b", enginetest.Asks(enginetest.Call("2", "act", `{}`)))
					if c := w.Pending[0].(*engine.CallTool); !slices.Equal(c.Within, within) || c.Delegates {
						t.Errorf("b calls %+v, want within %q", c, within)
					}
					w.FinishAt(0, enginetest.Returns("done"))
					w.Finish("agent b", enginetest.Say("helped"))
					if tool == "ask" {
						if got := enginetest.Conv(w.Asked("agent root").Messages[2:]); got != tc.root {
							t.Errorf("root reads %q, want %q", got, tc.root)
						}
						w.Finish("agent root", enginetest.Say("end"))
					}
					wantStatus(t, w, event.StatusCompleted)
					w.CheckPrefixes()
				})
			}
		}
	}
}

// TestGuardedDelegation_Ended checks that nothing is delegated once the run is failing, and that
// only what an agent delegates can be guarded.
func TestGuardedDelegation_Ended(t *testing.T) {
	t.Parallel()
	w := enginetest.New(t, enginetest.Graph(nodes(enginetest.Fork("f", workflow.Fork{}, "a", "t"),
		enginetest.In("f", enginetest.Agent("a")), enginetest.In("f", toolNode("t", "act"))),
		"f:a -> a; f:t -> t; a -> f/join; t -> f/join",
		workflow.Agent{ID: "a", Subagents: []workflow.Subagent{{Agent: "b", Tool: "ask"}}}, workflow.Agent{ID: "b"}),
		nil)
	w.Start("go")
	asks := enginetest.Asks(enginetest.Call("1", "ask", `{"input":"help"}`), enginetest.Call("2", "act", `{}`))
	asks.Guarded = []string{"ask", "act"}
	w.Finish("agent a", asks)
	for _, c := range w.Pending {
		if c, ok := c.(*engine.CallTool); ok && c.Delegates != (c.Tool == "ask") {
			t.Errorf("called as %+v", c)
		}
	}
	w.Finish("t", &engine.ToolResult{Failure: &event.Failure{Code: "server", Message: "boom"}})
	w.Finish("tool ask", &engine.ToolResult{Permitted: true})
	if strings.Contains(w.Log(), "subagent.started") {
		t.Errorf("a failing run delegates\n%s", w.Log())
	}
	w.CheckPrefixes()
}
