package engine_test

import (
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// TestLimitsOfRun checks that the limits of a run override those of its definition individually.
func TestLimitsOfRun(t *testing.T) {
	t.Parallel()
	over := workflow.Limits{MaxSteps: new(7), MaxRounds: 2, MaxLoopIterations: 3, Timeout: 4, MaxConcurrency: 5,
		MaxTokens: 6, MaxCostUSD: 0.5, MaxBytes: 1 << 20}
	for _, part := range []workflow.Limits{{}, over} {
		g := enginetest.Graph(nodes("a"), "")
		g.Limits = workflow.Limits{MaxLoopIterations: 9, MaxConcurrency: 9}
		w := enginetest.New(t, g, nil)
		w.StartWith(event.RunCreated{Limits: part})
		got, want := w.Run.Created().Limits, part
		if part.MaxRounds == 0 {
			want = g.Limits
		}
		if got.MaxRounds != want.MaxRounds || got.MaxLoopIterations != want.MaxLoopIterations ||
			got.MaxConcurrency != want.MaxConcurrency ||
			got.MaxTokens != want.MaxTokens || got.MaxBytes != want.MaxBytes || got.MaxCostUSD != want.MaxCostUSD ||
			got.Timeout != want.Timeout || got.Steps() != want.Steps() {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if string(w.Run.Created().Input) != `""` {
			t.Errorf("no input is %s, want an empty text", w.Run.Created().Input)
		}
	}
}

// TestAutoApprove checks that a wait that approves itself asks no person (S2-52).
func TestAutoApprove(t *testing.T) {
	t.Parallel()
	gate, question := enginetest.Approval("g"), enginetest.Question("q")
	gate.Wait.AutoApprove, question.Wait.AutoApprove = true, true
	w := enginetest.New(t, enginetest.Graph(nodes(gate, question, "z"), "g:approve -> q; q -> z"), nil)
	w.Start("go")
	w.Finish("z", enginetest.Say("z"))
	wantTrace(t, w, 0, "+g, .g, +q, .q, +z, .z, completed")
	if got := w.Events[len(w.Events)-1]; got.Data.Type() != "run.completed" || len(w.Run.Waits()) > 0 {
		t.Errorf("got %s with %d waits", got.Data.Type(), len(w.Run.Waits()))
	}
}

// TestLimitEdge checks that reaching the limit of a loop follows the edge for limits, if there is
// one (P21).
func TestLimitEdge(t *testing.T) {
	t.Parallel()
	g := enginetest.Graph(nodes("a", "z"), "a:out => a; a:on_limit -> z")
	for i := range g.Edges {
		if g.Edges[i].Port == "on_limit" {
			g.Edges[i].Port = workflow.PortLimit
		}
	}
	g.Limits.MaxLoopIterations = 2
	w := enginetest.New(t, g, nil)
	w.Model = answer
	w.Start("go")
	w.Go(nil)
	wantTrace(t, w, 0, "+a, .a, +a, .a, +a, !a max_loop_iterations, +z, .z, completed")
}

// TestSignalsAndGoto checks that signals raised by a function are in the journal, and that a node
// that names one target twice goes there once (S2-34).
func TestSignalsAndGoto(t *testing.T) {
	t.Parallel()
	g := enginetest.Graph(nodes(workflow.Node{ID: "n", Kind: workflow.KindFunc, Func: &workflow.FuncNode{Func: "fn"}},
		"y", "z"), "n -> y")
	w := enginetest.New(t, g, nil)
	w.Start("go")
	w.Finish("n", &engine.FuncResult{Goto: []string{"z", "z"},
		Signals: []event.SignalRaised{{Signal: "note", Message: "here"}}})
	w.Finish("z", enginetest.Say("z"))
	wantTrace(t, w, 0, "+n, .n, +z, .z, completed")
	var raised []string
	for _, ev := range w.Events {
		if d, ok := ev.Data.(*event.SignalRaised); ok {
			raised = append(raised, ev.Node+" "+d.Signal+" "+d.Message)
		}
	}
	if len(raised) != 1 || raised[0] != "n note here" {
		t.Errorf("signals %q", raised)
	}
}

// TestOutputs checks that a function sees the outputs of the nodes before it, and no others.
func TestOutputs(t *testing.T) {
	t.Parallel()
	fn := func(id string) workflow.Node {
		return workflow.Node{ID: id, Kind: workflow.KindFunc, Func: &workflow.FuncNode{Func: id}}
	}
	w := enginetest.New(t, enginetest.Graph(nodes(fn("a"), fn("b"), fn("c")), "a -> b; b -> c"), nil)
	w.Start("go")
	w.Finish("a", &engine.FuncResult{Output: enginetest.Text("1")})
	w.Finish("b", &engine.FuncResult{Output: enginetest.Text("2")})
	outputs := w.Pending[0].(*engine.CallFunc).Outputs
	if a, ok := outputs.Get("a"); !ok || string(a) != `"1"` {
		t.Errorf("output of a: %s, %t", a, ok)
	}
	if c, ok := outputs.Get("c"); ok {
		t.Errorf("c has not run and gave %s", c)
	}
	for id := range outputs.All() {
		if id != "a" {
			t.Errorf("the first is %s, want a", id)
		}
		break
	}
}

// TestJoin_Cycle checks joins that wait only for each other: the first one in declared
// order continues, and nothing hangs (P2).
func TestJoin_Cycle(t *testing.T) {
	t.Parallel()
	join := func(id string) workflow.Node {
		return workflow.Node{ID: id, Kind: workflow.KindJoin, Join: &workflow.Join{}}
	}
	g := enginetest.Graph(nodes(workflow.Node{ID: "s", Kind: workflow.KindStart}, "a", "b", join("j"), join("k"), "z"),
		"s -> a; s -> b; a -> j; b -> k; j -> k; k -> j; k -> z")
	g.Limits.MaxSteps = new(9)
	w := enginetest.New(t, g, nil)
	w.Model = answer
	w.Start("go")
	w.Go(nil)
	if trace := w.Trace(0); !w.Run.Status().Ended() ||
		!strings.HasPrefix(trace, "+s, .s, +a, +b, .a, .b, +j, .j, +k, .k") {
		t.Errorf("%s: %s", w.Run.Status(), trace)
	}
}
