package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// everything returns a run with nearly every event in its journal: a fork with a retry, an
// approval, a tool, a function, a sub-flow, and an agent with a tool and a sub-agent.
func everything(t *testing.T) *enginetest.World {
	t.Helper()
	g := enginetest.Graph(nodes(workflow.Node{ID: "s", Kind: workflow.KindStart},
		enginetest.Fork("f", workflow.Fork{}, "x", "y"), enginetest.In("f", retrying("x", 1)),
		enginetest.In("f", enginetest.Agent("y")),
		enginetest.Approval("g"), tool("k", `{"q":1}`),
		workflow.Node{ID: "n", Kind: workflow.KindFunc, Func: &workflow.FuncNode{Func: "fn"}},
		workflow.Node{ID: "u", Kind: workflow.KindSubflow, Subflow: &workflow.Subflow{Flow: "u"}}, "h"),
		"s -> f; f:x -> x; x -> f/join; f:y -> y; y -> f/join; f/join -> g; g:approve -> k; k -> n; n -> u; u -> h",
		workflow.Agent{ID: "h", Subagents: []workflow.Subagent{{Agent: "i", Tool: "ask_i"}}}, workflow.Agent{ID: "i"})
	g.Flows = map[string]*workflow.Workflow{"u": enginetest.Graph(nodes("v"), "")}
	w := enginetest.New(t, g, nil)
	w.Start("go")
	w.Finish("x", enginetest.Fails("server", "boom"))
	w.Fire("retry:3.0.1")
	w.Finish("y", enginetest.Say("y"))
	w.Finish("x", enginetest.Say("x"))
	w.Approve("g")
	w.Finish("k", enginetest.Returns("found"))
	for _, key := range []string{"k1", "k2"} {
		w.Feed(engine.FuncNote{ID: engine.CallID(w.Pending[0]), Key: key, Value: enginetest.Text(key)})
	}
	w.Finish("n", &engine.FuncResult{Output: enginetest.Text("n")})
	w.Finish("u/v", enginetest.Say("v"))
	w.Finish("h", enginetest.Asks(enginetest.Call("1", "search", `{}`), enginetest.Call("2", "ask_i", `{"input":"x"}`)))
	w.Finish("tool search", enginetest.Returns("found"))
	w.Finish("agent i", enginetest.Say("i"))
	w.Finish("h", enginetest.Say("h"))
	wantStatus(t, w, event.StatusCompleted)
	return w
}

// find returns the index of the nth event of a type at a node, counted from 0.
func find[T event.Data](t *testing.T, events []event.Event, node string, nth int) int {
	t.Helper()
	for i, ev := range events {
		if _, ok := ev.Data.(T); ok && ev.Node == node {
			if nth == 0 {
				return i
			}
			nth--
		}
	}
	t.Fatalf("no such event at %q", node)
	return 0
}

// oddity is one change of one event, and the error that folding it returns.
type oddity struct {
	name string
	// make changes the journal and returns a position; events after that position are dropped.
	make func(t *testing.T, events []event.Event) int
	want string
}

// oddData returns an oddity that changes the data of one event.
func oddData[T event.Data](name, node string, nth int, change func(T), want string) oddity {
	return oddity{name, func(t *testing.T, events []event.Event) int {
		t.Helper()
		i := find[T](t, events, node, nth)
		change(events[i].Data.(T))
		return i
	}, want}
}

// TestFits_RejectsImpossibleEvents checks that a journal that describes something impossible is
// rejected at the offending event, with the reason.
func TestFits_RejectsImpossibleEvents(t *testing.T) { //nolint:maintidx // a table of cases
	t.Parallel()
	w := everything(t)
	move := func(name, node string, to int, want string) oddity {
		return oddity{name, func(t *testing.T, events []event.Event) int {
			t.Helper()
			i := find[*event.StepCompleted](t, events, node, 0)
			events[i].Step = to
			return i
		}, want}
	}
	again := func(name, node string, want string, pick func(*testing.T, []event.Event, string) int) oddity {
		return oddity{name, func(t *testing.T, events []event.Event) int {
			t.Helper()
			i := pick(t, events, node)
			events[i+1] = events[i]
			events[i+1].Seq++
			return i + 1
		}, want}
	}
	for _, o := range []oddity{
		{"no data", func(_ *testing.T, e []event.Event) int { e[3].Data = nil; return 3 }, "without data"},
		{"gap", func(_ *testing.T, e []event.Event) int { e[3].Seq++; return 3 }, "expected event 4"},
		{"begins otherwise", func(_ *testing.T, e []event.Event) int { e[0].Data = &event.RunStarted{}; return 0 },
			"the first event is run.started"},
		{"not started", func(_ *testing.T, e []event.Event) int { e[1].Data = &event.RunPaused{}; return 1 },
			"the run has not started"},
		{"started twice", func(_ *testing.T, e []event.Event) int { e[2].Data = &event.RunStarted{}; return 2 },
			"already started"},
		{"created twice", func(_ *testing.T, e []event.Event) int { e[2].Data = e[0].Data; return 2 },
			"already exists"},
		{"paused without a wait", func(_ *testing.T, e []event.Event) int {
			e[2].Data = &event.RunPaused{Wait: "w"}
			return 2
		}, "no open wait"},
		{"reopened at work", func(_ *testing.T, e []event.Event) int {
			e[2].Data = &event.RunResumed{Limits: &workflow.Limits{}}
			return 2
		}, "the run is running"},
		{"completed at work", func(t *testing.T, e []event.Event) int {
			i := find[*event.ModelCalled](t, e, "y", 0)
			e[i] = event.Event{Seq: e[i].Seq, Data: &event.RunCompleted{OutputStep: 1}}
			return i
		}, "steps have not ended"},
		{"cancelled at work", func(t *testing.T, e []event.Event) int {
			i := find[*event.ModelCalled](t, e, "y", 0)
			e[i] = event.Event{Seq: e[i].Seq, Data: &event.RunCancelled{}}
			return i
		}, "steps have not ended"},
		{"handed over to an unknown agent", func(_ *testing.T, e []event.Event) int {
			e[3] = event.Event{Seq: 4, Data: &event.LimitReached{Limit: "timeout", Detail: "handoff"}}
			return 3
		}, "no handoff is possible"},
		{"later version", func(_ *testing.T, e []event.Event) int {
			e[0].Data.(*event.RunCreated).Version = 99
			return 0
		}, "needs engine version 99"},
		{"another definition", func(_ *testing.T, e []event.Event) int {
			e[0].Data.(*event.RunCreated).Digest = "x"
			return 0
		}, "belongs to definition"},
		{"negative step", func(_ *testing.T, e []event.Event) int {
			e[4].Step = -1
			return 4
		}, "step -1 does not exist"},
		move("step of another node", "y", 1, `one of node "s"`),
		move("step that is not there", "y", 99, "step 99 does not exist"),
		move("no step", "y", 0, "step 0 does not exist"),
		again("completed twice", "s", "has ended", func(t *testing.T, e []event.Event, n string) int {
			t.Helper()
			return find[*event.StepCompleted](t, e, n, 0)
		}),
		again("called twice", "y", "has a different step, kind or state",
			func(t *testing.T, e []event.Event, n string) int {
				t.Helper()
				return find[*event.ModelCalled](t, e, n, 0)
			}),
		again("replied twice", "y", "does not exist", func(t *testing.T, e []event.Event, n string) int {
			t.Helper()
			return find[*event.ModelReplied](t, e, n, 0)
		}),
		again("asked twice", "g", "already exists", func(t *testing.T, e []event.Event, n string) int {
			t.Helper()
			return find[*event.WaitOpened](t, e, n, 0)
		}),
		again("answered twice", "g", "is not open", func(t *testing.T, e []event.Event, n string) int {
			t.Helper()
			return find[*event.WaitAnswered](t, e, n, 0)
		}),
		again("fired twice", "x", "is not running", func(t *testing.T, e []event.Event, n string) int {
			t.Helper()
			return find[*event.TimerFired](t, e, n, 0)
		}),
		oddData("no token", "y", 0, func(d *event.StepStarted) { d.Tokens = nil }, "has no token"),
		oddData("unknown token", "y", 0, func(d *event.StepStarted) {
			d.Tokens = []int{77}
		}, "token 77 does not exist"),
		oddData("token twice", "y", 0, func(d *event.StepStarted) { d.Tokens = append(d.Tokens, d.Tokens[0]) },
			"does not exist"),
		oddData("tokens of two places", "x", 0, func(d *event.StepStarted) { d.Tokens = []int{3, 4} },
			"different nodes or scopes"),
		oddData("token of another node", "x", 0, func(d *event.StepStarted) { d.Tokens = []int{4} },
			`the token is at node "y"`),
		oddData("input from elsewhere", "g", 0, func(d *event.StepStarted) { d.From = 1 }, "comes from another step"),
		oddData("another iteration", "y", 0, func(d *event.StepStarted) { d.Iteration = 2 }, "another execution"),
		oddData("another kind", "y", 0, func(d *event.StepStarted) { d.Kind = workflow.KindTool }, "does not match"),
		oddData("another scope", "y", 0, func(d *event.StepStarted) { d.Scope = 9 }, "token 4 is in scope 2"),
		oddData("entry in a scope", "", 0, func(d *event.EdgeTaken) { d.Scope = 1 }, "starts at another node"),
		oddData("unknown edge", "s", 0, func(d *event.EdgeTaken) { d.Edge = 99 }, "edge does not exist"),
		oddData("another's edge", "s", 0, func(d *event.EdgeTaken) { d.Edge = 5 }, "does not belong to the step"),
		oddData("another target", "s", 0, func(d *event.EdgeTaken) { d.To = "g" }, "does not belong to the step"),
		oddData("another token", "s", 0, func(d *event.EdgeTaken) { d.Token = 9 }, "expected token 2"),
		oddData("unknown node", "s", 0, func(d *event.EdgeTaken) { d.Edge, d.To = -1, "nowhere" },
			`node "nowhere" does not exist`),
		oddData("unknown branch", "f", 0, func(d *event.EdgeTaken) { d.Branch = 9 }, "branch does not exist"),
		oddData("another scope for an edge", "x", 0, func(d *event.EdgeTaken) {
			d.Scope = 0
		}, "does not lead to that node"),
		oddData("sub-flow elsewhere", "u", 0, func(d *event.EdgeTaken) { d.Scope = 0 }, "starts at another node"),
		oddData("reply of no agent", "k", 0, func(d *event.StepCompleted) { d.Reply = true }, "runs no agent"),
		oddData("retry of another call", "x", 0, func(d *event.StepRetrying) { d.Call = "4.0.1" }, "has not failed"),
		oddData("call of another step", "y", 0, func(d *event.ModelCalled) { d.Call = "3.0.1" },
			"has a different step, kind or state"),
		oddData("call that skips", "y", 0, func(d *event.ModelCalled) { d.Call = "4.0.7" }, "is not one of the step"),
		oddData("attempt that skips", "y", 0, func(d *event.ModelCalled) { d.Attempt = 2 }, "expected attempt 1"),
		oddData("another retry", "x", 1, func(d *event.ModelCalled) { d.Attempt = 1 }, "expected attempt 2"),
		oddData("unknown frame", "y", 0, func(d *event.ModelCalled) { d.Frame = 4 }, "frame 4 is not active"),
		oddData("another conversation", "y", 0, func(d *event.ModelCalled) { d.Conversation = "9.0" },
			"belongs to another agent"),
		oddData("another length", "y", 0, func(d *event.ModelCalled) { d.Length = 9 }, "has 1 messages, not 9"),
		oddData("result of another attempt", "y", 0, func(d *event.ModelReplied) { d.Attempt = 2 }, "is at attempt 1"),
		oddData("late result", "y", 0, func(d *event.ModelReplied) { d.Late = true }, "in another state"),
		oddData("late failure", "x", 0, func(d *event.ModelFailed) { d.Late = true }, "in another state"),
		oddData("tool call that was not asked for", "h", 0, func(d *event.ToolCalled) { d.ToolCallID = "9" },
			"tool call 9 is not open"),
		oddData("tool of an agent", "k", 0, func(d *event.ToolCalled) { d.ToolCallID = "1" }, "is not active"),
		oddData("sub-agent that was not asked for", "h", 0, func(d *event.SubagentStarted) { d.ToolCallID = "9" },
			"tool call 9 is not open"),
		oddData("unknown sub-agent", "h", 0, func(d *event.SubagentStarted) { d.Agent = "missing" },
			`agent "missing" does not exist`),
		oddData("sub-agent in another frame", "h", 0, func(d *event.SubagentStarted) { d.Frame = 7 },
			"frame 7 does not match"),
		oddData("end of another frame", "h", 0, func(d *event.SubagentCompleted) { d.Frame = 0 },
			"frame 0 is not active"),
		oddData("another question", "g", 0, func(d *event.WaitOpened) { d.Kind = workflow.WaitQuestion },
			"waits of this kind"),
		oddData("question of a call that is not open", "g", 0, func(d *event.WaitOpened) { d.Call = "1.0.1" },
			"is not open"),
		oddData("answer to an unknown wait", "g", 0, func(d *event.WaitAnswered) { d.Wait = "w" },
			"wait w is not open"),
		oddData("result of no function", "n", 0, func(d *event.FuncReturned) { d.Call = "9.0.1" },
			"call 9.0.1 does not exist"),
		{"end of a step that asks", func(t *testing.T, e []event.Event) int {
			t.Helper()
			i := find[*event.WaitAnswered](t, e, "g", 0)
			e[i].Data = &event.StepCompleted{Same: true}
			return i
		}, "is open"},
		{"end of a block at work", func(t *testing.T, e []event.Event) int {
			t.Helper()
			i := find[*event.StepRetrying](t, e, "x", 0)
			e[i] = event.Event{Seq: e[i].Seq, Step: 2, Node: "f", Data: &event.StepCompleted{}}
			return i
		}, "inside of it has not ended"},
		{"function of an agent", func(t *testing.T, e []event.Event) int {
			t.Helper()
			i := find[*event.ModelCalled](t, e, "y", 0)
			e[i].Data = &event.FuncCalled{Call: "4.0.1", Attempt: 1}
			return i
		}, "calls no function"},
		{"tool of a function", func(t *testing.T, e []event.Event) int {
			t.Helper()
			i := find[*event.FuncCalled](t, e, "n", 0)
			e[i].Data = &event.ToolCalled{Call: "7.0.1", Attempt: 1}
			return i
		}, "calls no tool"},
		{"model of a function", func(t *testing.T, e []event.Event) int {
			t.Helper()
			i := find[*event.FuncCalled](t, e, "n", 0)
			e[i].Data = &event.ModelCalled{Call: "7.0.1", Attempt: 1}
			return i
		}, "calls no model"},
		{"sub-agent of a function", func(t *testing.T, e []event.Event) int {
			t.Helper()
			i := find[*event.FuncCalled](t, e, "n", 0)
			e[i].Data = &event.SubagentStarted{}
			return i
		}, "runs no agent"},
		{"end of a sub-agent of a function", func(t *testing.T, e []event.Event) int {
			t.Helper()
			i := find[*event.FuncCalled](t, e, "n", 0)
			e[i].Data = &event.SubagentFailed{}
			return i
		}, "runs no agent"},
		{"after the end", func(_ *testing.T, e []event.Event) int {
			e[len(e)-2] = event.Event{Seq: e[len(e)-2].Seq, Data: &event.RunFailed{}}
			return len(e) - 1
		}, "the run has ended"},
		{"model asked while tools are at work", func(t *testing.T, e []event.Event) int {
			t.Helper()
			i := find[*event.SubagentStarted](t, e, "h", 0)
			step := e[i].Step
			called := find[*event.ModelCalled](t, e, "h", 0)
			next := *e[called].Data.(*event.ModelCalled)
			next.Call, next.Length = strings.TrimSuffix(next.Call, "1")+"3", 2
			e[i] = event.Event{Seq: e[i].Seq, Step: step, Node: "h", Data: &next}
			return i
		}, "tool calls are open"},
	} {
		o.check(t, w)
	}
}

// check applies the change to the journal of w and folds it.
func (o oddity) check(t *testing.T, w *enginetest.World) {
	t.Helper()
	t.Run(o.name, func(t *testing.T) {
		t.Parallel()
		events := copied(t, w.Events)
		n := o.make(t, events)
		r := engine.New(w.Plan, "run1")
		if err := r.Apply(events[:n]); err != nil {
			t.Fatalf("the events before do not fit: %v", err)
		}
		err := r.Apply(events[n : n+1])
		diverged := new(engine.DivergenceError)
		if !errors.As(err, &diverged) || !strings.Contains(err.Error(), o.want) || diverged.Seq != events[n].Seq {
			t.Errorf("got %v, want %q at event %d\n%s", err, o.want, events[n].Seq, enginetest.Print(w.Events[:n+1]))
		}
	})
}

// TestFitsAfterEnd checks that events that no run produces are rejected: calls, results and
// questions of a step that has ended.
func TestFitsAfterEnd(t *testing.T) {
	t.Parallel()
	w := enginetest.New(t, enginetest.Graph(nodes("a", "b"), "a -> b"), nil)
	w.Start("go")
	w.Finish("a", enginetest.Say("a"))
	for name, d := range map[string]event.Data{
		"wait":  &event.WaitOpened{Wait: "w", Kind: workflow.WaitApproval},
		"call":  &event.ModelCalled{Call: "1.0.2", Attempt: 1, Agent: "a", Conversation: "1.0", Length: 2},
		"timer": &event.TimerFired{Timer: "retry:1"},
		"retry": &event.StepRetrying{Until: time.Now()},
		"reply": &event.ToolReturned{ToolCallID: "1"},
	} {
		events := append(copied(t, w.Events), event.Event{Seq: uint64(len(w.Events) + 1), Step: 1, Node: "a", Data: d})
		if err := engine.New(w.Plan, "run1").Apply(events); err == nil {
			t.Errorf("%s of a step that has ended is taken", name)
		}
	}
	if !slices.Equal(w.Batches, []int{5, len(w.Events)}) {
		t.Errorf("batches %v", w.Batches)
	}
}
