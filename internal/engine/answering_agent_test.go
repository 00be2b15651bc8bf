package engine_test

import (
	"testing"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/workflow"
)

// TestOutput_AgentAfterHandover checks that the agent of a step is the one that answered, for
// templates, for the outputs of blocks and for readers of recent turns (S1-3), before and after a
// crash (S4-34).
func TestOutput_AgentAfterHandover(t *testing.T) {
	t.Parallel()
	list := []workflow.Agent{
		{ID: "a", Name: "Front", Handoffs: []string{"b"}}, {ID: "b", Name: "Back"},
		{ID: "c", System: "{{ $steps.a.agent }} said {{ $steps.a.output }}.", Template: true},
	}
	reads := enginetest.Agent("c")
	reads.Agent.Prompt = workflow.Prompt{Mode: workflow.PromptTurns}
	w := enginetest.New(t, enginetest.Graph(nodes(enginetest.Agent("a"), reads), "a -> c", list...), nil)
	w.Start("go")
	w.Finish("a", handTo("1", "b"))
	w.Crash()
	w.Finish("a", enginetest.Say("yes"))
	w.Crash()
	got := w.Asked("c")
	if want := "Back said yes."; got.System != want {
		t.Errorf("got %q, want %q", got.System, want)
	}
	if got, want := enginetest.Conv(got.Messages),
		"user: Recent turns:\nBack: yes\n\nOutput from Back:\nyes\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	w.Finish("c", enginetest.Say("done"))

	g := enginetest.Graph(nodes(enginetest.Fork("f", workflow.Fork{Shape: workflow.ShapeSteps}, "a", "b"),
		enginetest.In("f", enginetest.Agent("a")), enginetest.In("f", enginetest.Agent("b"))),
		"f:a -> a; f:b -> b; a -> f/join; b -> f/join", list...)
	block := enginetest.New(t, g, nil)
	block.Start("go")
	block.Finish("a", handTo("1", "b"))
	for _, node := range []string{"a", "b"} {
		block.Finish(node, enginetest.Say("yes"))
		block.Crash()
	}
	want := `{"steps":{"a":{"output":"yes","agent":"Back"},"b":{"output":"yes","agent":"Back"}},"order":["a","b"]}`
	if got := string(block.Run.Output()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestRetry_AfterHandover checks that a retried step starts with its own agent and that agent's
// prompt, and that its output is attributed to that agent.
func TestRetry_AfterHandover(t *testing.T) {
	t.Parallel()
	odd := func() *engine.ModelResult { return enginetest.Say("no JSON") }
	zero := 0
	g := enginetest.Graph(nodes(enginetest.Agent("z"), enginetest.Agent("a"), enginetest.Agent("c")), "z -> a; a -> c",
		workflow.Agent{ID: "z"}, workflow.Agent{ID: "a", System: "Front after {{ $steps.z.output }}", Template: true,
			Handoffs: []string{"b"}},
		workflow.Agent{ID: "b", System: "Back", Output: &workflow.Output{Schema: []byte(`{"type":"object"}`),
			Repairs: &zero}},
		workflow.Agent{ID: "c", System: "after {{ $steps.a.agent }}", Template: true})
	g.Nodes[1].Retry = &workflow.Retry{MaxRetries: 1}
	w := enginetest.New(t, g, nil)
	w.Start("go")
	w.Finish("z", enginetest.Say("zed"))
	w.Finish("a", handTo("1", "b"))
	w.Finish("a", odd())
	w.Crash()
	w.Go(nil) // the timer, if there is one
	got := w.Asked("a")
	if want := "Front after zed"; got.Agent.ID != "a" || got.System != want ||
		enginetest.Conv(got.Messages) != "user: zed\n" {
		t.Errorf("agent %s is asked with %q and\n%s", got.Agent.ID, got.System, enginetest.Conv(got.Messages))
	}
	w.Finish("a", enginetest.Say("mine"))
	if got, want := w.Asked("c").System, "after a"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
