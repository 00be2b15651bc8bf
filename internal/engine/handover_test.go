package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// team returns the run of one agent node whose agent can hand over to others.
func team(t *testing.T, agents ...workflow.Agent) *enginetest.World {
	t.Helper()
	w := enginetest.New(t, enginetest.Graph(nodes(enginetest.Agent("a")), "", agents...), nil)
	w.Start("go")
	return w
}

func handTo(id, agent string) *engine.ModelResult {
	return enginetest.Asks(enginetest.Call(id, workflow.HandoffTool, `{"agent":"`+agent+`"}`))
}

// TestHandover checks that the conversation is kept, labeled with agent names, and that everything
// else is the new agent's: prompt, model, tools, output, limits. The step stays the same.
func TestHandover(t *testing.T) {
	t.Parallel()
	w := team(t,
		workflow.Agent{ID: "a", Name: "Front", System: "You ask.", Model: "m1", Handoffs: []string{"b", "c"}},
		workflow.Agent{
			ID: "b", Name: "Back", Description: "knows it all", System: "You answer.", Model: "m2",
			Fallbacks: []string{"m3"}, FallbackRetries: -1, Handoffs: []string{"a"},
			Output: &workflow.Output{Schema: []byte(`{"type":"object","required":["ok"]}`)},
		},
		workflow.Agent{ID: "c"})
	first := w.Asked("a")
	if len(first.Tools) != 1 || first.Tools[0].Name != "handoff" ||
		!strings.Contains(first.Tools[0].Description, "- b: knows it all\n- c") ||
		!strings.Contains(string(first.Tools[0].Parameters), `"enum":["b","c"]`) {
		t.Errorf("tools %+v", first.Tools)
	}
	w.Finish("a", handTo("1", "b"))
	w.Crash()
	got := w.Asked("agent b")
	if got.System != "You answer." || got.Model != "m2" || got.Step != first.Step ||
		got.Conversation != first.Conversation || !strings.Contains(string(got.Tools[0].Parameters), `"enum":["a"]`) {
		t.Errorf("got %+v", got)
	}
	want := "user: go\nuser: Front: \n[calls handoff {\"agent\":\"b\"}]\nuser: [handoff returned] The conversation " +
		"is handed over to Back.\n"
	if got := enginetest.Conv(got.Messages); got != want {
		t.Errorf("messages\n%swant\n%s", got, want)
	}
	w.Finish("a", enginetest.Fails("overloaded", "busy"))
	if got := w.Asked("a").Model; got != "m3" {
		t.Errorf("fallback %q", got)
	}
	w.Finish("a", enginetest.Say("no JSON")) // the schema is b's
	w.Finish("a", enginetest.Say(`{"ok":true}`))
	if got := string(w.Run.Output()); got != `{"ok":true}` {
		t.Errorf("output %s", got)
	}
	if got, want := w.Trace(0), "+a, >b, resumed, .a, completed"; got != want {
		t.Errorf("trace %s, want %s", got, want)
	}
}

// TestHandover_ParallelCalls checks that the other calls of a reply are carried out before a
// hand-off, since a call belongs to the agent that made it. A reply hands over at most once, and
// only to listed agents.
func TestHandover_ParallelCalls(t *testing.T) {
	t.Parallel()
	w := team(t, workflow.Agent{ID: "a", Handoffs: []string{"b", "c"}}, workflow.Agent{ID: "b"},
		workflow.Agent{ID: "c"}, workflow.Agent{ID: "d"})
	w.Finish("a", enginetest.Asks(
		enginetest.Call("1", "handoff", `{"agent":"d"}`), enginetest.Call("2", "handoff", `{"agent":"b"}`),
		enginetest.Call("3", "x", `{}`),
		enginetest.Call("4", "handoff", `{"agent":"c"}`), enginetest.Call("5", "handoff", `{}`),
		enginetest.Call("6", "y", `{}`)))
	if got := w.PendingNodes(); got != "a a" {
		t.Fatalf("pending %q, want the two tools\n%s", got, w.Log())
	}
	w.Crash()
	for _, tool := range []string{"x", "y"} {
		for _, c := range w.Pending {
			if c, ok := c.(*engine.CallTool); ok && c.Agent.ID != "a" {
				t.Errorf("the call of %s is one of agent %s", c.Tool, c.Agent.ID)
			}
		}
		w.Finish("tool "+tool, enginetest.Returns("from "+tool))
	}
	want := `user: go
user: a: 
[calls handoff {"agent":"d"}]
[calls handoff {"agent":"b"}]
[calls x {}]
[calls handoff {"agent":"c"}]
[calls handoff {}]
[calls y {}]
user: [handoff returned] The conversation can be handed over to: b, c.
user: [handoff returned] The conversation is handed over to b.
user: [x returned] from x
user: [handoff returned] The conversation is handed over to b: one reply hands over once.
user: [handoff returned] The conversation can be handed over to: b, c.
user: [y returned] from y
`
	if got := enginetest.Conv(w.Asked("agent b").Messages); got != want {
		t.Errorf("messages\n%swant\n%s", got, want)
	}
	if got := len(w.Asked("agent b").Tools); got != 0 {
		t.Errorf("b has no hand-offs and is offered %d tools", got)
	}
	// A tool with that name that is not a hand-off is an ordinary tool.
	w.Finish("a", handTo("1", "c"))
	if got, want := w.Trace(0), "+a, resumed, >b"; got != want || len(w.Pending) != 1 ||
		w.Pending[0].(*engine.CallTool).Tool != "handoff" {
		t.Errorf("trace %s, want %s\n%s", got, want, w.Log())
	}
}

// TestHandover_Cycle checks that agents that hand over to each other terminate: without text as a
// cycle without progress, with text when the first of them runs out of turns (P27).
func TestHandover_Cycle(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		turns, back int // limits of a and b
		say         func(turn int) string
		code        string
		calls       int
		message     string
	}{
		"in silence": {0, 0, func(int) string {
			return ""
		}, event.CodeNoProgress, 11,
			"agent a made the same 2 calls with the same results 5 times, the next being handoff"},
		"with words": {3, 9, func(n int) string { return fmt.Sprint(n) }, event.CodeMaxTurns, 6,
			"agent a did not finish within 3 turns"},
		"the other": {9, 3, func(n int) string { return fmt.Sprint(n) }, event.CodeMaxTurns, 7,
			"agent b did not finish within 3 turns"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := team(t, workflow.Agent{ID: "a", MaxTurns: tc.turns, Handoffs: []string{"b"}},
				workflow.Agent{ID: "b", MaxTurns: tc.back, Handoffs: []string{"a"}})
			calls := 0
			w.Model = func(c *engine.CallModel) *engine.ModelResult {
				calls++
				r := handTo("1", map[string]string{"a": "b", "b": "a"}[c.Agent.ID])
				r.Message.Text = chat.NewText(tc.say(calls))
				return r
			}
			w.Go(nil)
			if f := failure(t, w); f.Code != tc.code || calls != tc.calls || f.Message != tc.message {
				t.Errorf("after %d calls %+v, want %d", calls, f, tc.calls)
			}
		})
	}
}

// TestHandover_SubagentAndRetry checks that a sub-agent can hand over too, and the last agent's
// answer is the result of the call. A retried sub-agent starts again with the step's own agent.
func TestHandover_SubagentAndRetry(t *testing.T) {
	t.Parallel()
	w := team(t, workflow.Agent{ID: "a", Subagents: []workflow.Subagent{{Agent: "k", Tool: "ask_k"}}},
		workflow.Agent{ID: "k", Handoffs: []string{"l"}}, workflow.Agent{ID: "l"})
	w.Finish("a", enginetest.Asks(enginetest.Call("1", "ask_k", `{"input":"find"}`)))
	w.Finish("agent k", handTo("1", "l"))
	w.Finish("agent l", enginetest.Say("found"))
	if got, want := enginetest.Conv(w.Asked("agent a").Messages),
		"user: go\nassistant:  [ask_k({\"input\":\"find\"}) 1]\ntool 1: found\n"; got != want {
		t.Errorf("messages\n%swant\n%s", got, want)
	}

	g := enginetest.Graph(nodes(enginetest.Fork("f", workflow.Fork{}, "a"), enginetest.In("f", enginetest.Agent("a"))),
		"f:a -> a; a -> f/join",
		workflow.Agent{ID: "a", Handoffs: []string{"b"}}, workflow.Agent{ID: "b"})
	g.Nodes[0].Retry = &workflow.Retry{MaxRetries: 1}
	again := enginetest.New(t, g, nil)
	again.Start("go")
	again.Finish("a", handTo("1", "b"))
	again.Finish("a", enginetest.Fails("auth", "no"))
	again.Go(nil) // the timer
	if got := enginetest.Conv(again.Asked("agent a").Messages); got != "user: go\n" {
		t.Errorf("the block that is tried again begins with\n%s", got)
	}
}

// TestHandover_Damaged checks that a damaged hand-over is rejected when read from disk.
func TestHandover_Damaged(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*event.AgentHanded)
		want   string
	}{
		"another frame":  {func(d *event.AgentHanded) { d.Frame = 3 }, "frame 3 is not active"},
		"another agent":  {func(d *event.AgentHanded) { d.Agent = "d" }, `is handed to agent "b"`},
		"another giver":  {func(d *event.AgentHanded) { d.From = "d" }, `is handed to agent "b"`},
		"another call":   {func(d *event.AgentHanded) { d.ToolCallID = "9" }, `is handed to agent "b"`},
		"missing frames": {func(d *event.AgentHanded) { d.Frame = -1 }, "frame -1 is not active"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := team(t, workflow.Agent{ID: "a", Handoffs: []string{"b"}}, workflow.Agent{ID: "b"},
				workflow.Agent{ID: "d"})
			w.Finish("a", handTo("1", "b"))
			i := slices.IndexFunc(w.Events, func(e event.Event) bool { return e.Data.Type() == "agent.handed" })
			d := *w.Events[i].Data.(*event.AgentHanded)
			tc.change(&d)
			w.Events[i].Data = &d
			if err := engine.New(w.Plan, "run1").Apply(w.Events); err == nil ||
				!strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

// TestAgent_EnvironmentFacts checks that facts follow the system prompt of agents that request them
// and are the same on every call. Templates inside facts are not expanded.
func TestAgent_EnvironmentFacts(t *testing.T) {
	t.Parallel()
	agents := []workflow.Agent{
		{ID: "a", System: "You ask.", AddDate: true, PromptFiles: []string{"B.md", "none.md", "A.md"},
			Handoffs: []string{"b", "c"}},
		{ID: "b", AddEnvironment: true, Handoffs: []string{"c"}},
		{ID: "c", System: "Plain."},
	}
	w := enginetest.New(t, enginetest.Graph(nodes(enginetest.Agent("a")), "", agents...), nil)
	w.StartWith(event.RunCreated{Input: enginetest.Text("go"), Facts: map[string]string{
		event.FactDate: "Today is Monday.", event.FactEnvironment: "{{ $steps.a.output }}",
		event.FactFile + "A.md": "Rules of A", event.FactFile + "B.md": "Rules of B",
	}})
	for _, want := range []string{"You ask.\n\nToday is Monday.\n\nRules of B\n\nRules of A", "{{ $steps.a.output }}",
		"Plain."} {
		w.Crash()
		c := w.Pending[0].(*engine.CallModel)
		if c.System != want {
			t.Errorf("agent %s is told %q, want %q", c.Agent.ID, c.System, want)
		}
		if c.Agent.ID != "c" {
			w.Finish("a", handTo("1", map[string]string{"a": "b", "b": "c"}[c.Agent.ID]))
		}
	}
}

// messagesSent plays a shape, delivering results in the order that pick selects, and returns
// everything sent to any model, sorted, and whether a step failed.
func messagesSent(t *testing.T, rt *rapid.T, s *enginetest.Shape, input string, pick func(int) int) (
	sent []string, failed bool) {
	t.Helper()
	w := enginetest.New(failRapid{t, rt}, s.Compile(), enginetest.Host{})
	w.SkipLaws = true
	s.Answers(w)
	answer := w.Model
	var out []string
	w.Model = func(c *engine.CallModel) *engine.ModelResult {
		tools := []string{}
		for _, d := range c.Tools {
			tools = append(tools, d.Name+string(d.Parameters))
		}
		out = append(out, fmt.Sprintf("%s %s %q %q %s\n%s", c.Node, c.Agent.ID, c.Model, c.System, tools,
			enginetest.Conv(c.Messages)))
		return answer(c)
	}
	w.Start(input)
	w.Go(pick)
	slices.Sort(out)
	return append(out, expr.Text(w.Run.Output()), string(w.Run.Status())),
		slices.ContainsFunc(w.Events, func(e event.Event) bool {
			return e.Data.Type() == "step.failed"
		})
}

// TestMessages_OrderIndependent checks that what a model is sent depends only on what came
// before it in its own branch: whatever the order of results, across forks, joins, loops,
// sub-flows, sub-agents and hand-offs, the models of a run are sent the same messages (P42).
func TestMessages_OrderIndependent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := enginetest.DrawWild(rt, 3)
		s.SetLoops(rapid.IntRange(1, 3).Draw(rt, "loops"))
		s.Calm()
		input := rapid.StringMatching(`[a-z]{0,3}`).Draw(rt, "input")
		first, failed := messagesSent(t, rt, s, input, nil)
		second, failedToo := messagesSent(t, rt, s, input, func(n int) int {
			return rapid.IntRange(0, n-1).Draw(rt, "next")
		})
		if failed != failedToo {
			rt.Fatalf("a step fails in one order, and none in the other\n%s", s)
		}
		if failed {
			return // a failure stops concurrent work, and how far that got depends on the order
		}
		if d := cmp.Diff(first, second); d != "" {
			rt.Fatalf("another order of results, other messages (-oldest first +any order)\n%s\n%s", s, d)
		}
	})
}
