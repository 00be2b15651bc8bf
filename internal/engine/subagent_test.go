package engine_test

import (
	"testing"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// nested returns a node of agent a, which may call k, which may call l and m.
func nested(t *testing.T, change func(a, k *workflow.Agent)) *enginetest.World {
	t.Helper()
	sub := func(ids ...string) (out []workflow.Subagent) {
		for _, id := range ids {
			out = append(out, workflow.Subagent{Agent: id, Tool: "subagent_" + id})
		}
		return out
	}
	a, k := workflow.Agent{ID: "a", Subagents: sub("k", "m")}, workflow.Agent{ID: "k", Subagents: sub("l", "m")}
	if change != nil {
		change(&a, &k)
	}
	g := enginetest.Graph(nodes("a"), "", a, k, workflow.Agent{ID: "l"}, workflow.Agent{ID: "m"})
	w := enginetest.New(t, g, nil)
	w.Start("go")
	return w
}

func reports(a, _ *workflow.Agent) { a.SubagentFailure = workflow.SubagentReports }

// TestSubagentFailure_Propagates checks that a failure two levels deep propagates outward to the
// first agent that has its sub-agents' failures reported, and that every open call in between
// receives it (S0-54, S0-56).
func TestSubagentFailure_Propagates(t *testing.T) {
	t.Parallel()
	w := nested(t, reports)
	w.Finish("agent a", enginetest.Asks(enginetest.Call("1", "subagent_k", `{"input":"for k"}`)))
	w.Finish("agent k", enginetest.Asks(enginetest.Call("2", "subagent_l", `{"input":"for l"}`),
		enginetest.Call("3", "subagent_m", `{"input":"for m"}`)))
	w.Finish("agent l", enginetest.Fails("server", "boom"))
	wantTrace(t, w, 0, "+a, (k, (l, (m, 3!), 2!), 1!)")
	want := "user: go\nassistant:  [subagent_k({\"input\":\"for k\"}) 1]\ntool! 1: boom\n"
	if got := enginetest.Conv(w.Asked("agent a").Messages); got != want {
		t.Errorf("a reads\n%swant\n%s", got, want)
	}
	if !w.Cancelled["1.3.4#1"] {
		t.Errorf("the call of m was not cancelled\n%s", w.Log())
	}
	w.Finish("agent a", enginetest.Say("went on"))
	w.Go(nil)
	wantStatus(t, w, event.StatusCompleted)
}

// TestSubagentFailureFailsStep checks that if no agent has failures reported, the step fails and
// every open call receives the failure, whatever made the innermost agent fail (S0-54, S0-56).
func TestSubagentFailureFailsStep(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		last *engine.ModelResult
		code string
	}{
		"model":      {enginetest.Fails("server", "boom"), "server"},
		"turn limit": {enginetest.Asks(enginetest.Call("4", "search", `{}`)), "max_turns"},
		"no progress": {enginetest.Asks(enginetest.Call("4", "search", `{}`), enginetest.Call("5", "search", `{}`)),
			"no_progress"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := nested(t, func(_, k *workflow.Agent) { k.MaxTurns = 2 })
			w.Plan.Workflow().Agent("l").MaxTurns = 1
			w.Plan.Workflow().Agent("l").NoProgress = 2
			w.Finish("agent a", enginetest.Asks(enginetest.Call("1", "subagent_k", `{"input":"for k"}`)))
			w.Finish("agent k", enginetest.Asks(enginetest.Call("2", "subagent_l", `{"input":"for l"}`)))
			w.Finish("agent l", tc.last)
			if tc.code == "max_turns" {
				w.Finish("tool search", enginetest.Returns("found"))
			}
			wantTrace(t, w, 0, "+a, (k, (l, 2!), 1!), !a "+tc.code+", failed "+tc.code)
		})
	}
}
