package hocket_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
)

// TestMisuse checks that invalid calls return errors that say why, and that nothing runs.
func TestMisuse(t *testing.T) {
	t.Parallel()
	e := open(t, hocket.Config{})
	g := compiled(t, graph.New[state]("g").Wait("Go on?"))
	w, err := e.Parse("w.yaml",
		[]byte("agents:\n  a: {model: openai/gpt-5-mini}\nworkflow:\n  steps:\n    - {id: s, type: agent, name: a}\n"))
	if err != nil {
		t.Fatal(err)
	}
	run := func(g *graph.Compiled[state], o ...hocket.RunOption) error {
		_, err := hocket.Run(t.Context(), e, g, state{}, o...)
		return err
	}
	resume := func(g *graph.Compiled[state], run string, a ...hocket.RunOption) error {
		_, err := hocket.Resume(t.Context(), e, g, run, a...)
		return err
	}
	if err := run(g, hocket.RunOptions{ID: "paused"}); err != nil {
		t.Fatal(err)
	}
	const noGraph, twoOptions = "the graph is nil; see the error of its Compile",
		"at most one RunOptions may be given, not 2"
	for name, tc := range map[string]struct {
		call func() error
		want string
	}{
		"run without graph":      {func() error { return run(nil) }, noGraph},
		"run empty graph":        {func() error { return run(new(graph.Compiled[state])) }, noGraph},
		"resume without graph":   {func() error { return resume(nil, "paused") }, noGraph},
		"register without graph": {func() error { return hocket.Register[state](e, nil) }, noGraph},
		"snapshot without graph": {func() error {
			_, err := hocket.SnapshotOf[state](t.Context(), e, nil, "paused")
			return err
		}, noGraph},
		"two options": {func() error {
			return run(g, hocket.RunOptions{ID: "x"}, hocket.RunOptions{MaxSteps: 1})
		}, twoOptions},
		"two options of a stream": {func() error {
			var last error
			for _, err := range hocket.Stream(t.Context(), e, g, state{}, hocket.RunOptions{}, hocket.RunOptions{}) {
				last = err
			}
			return last
		}, twoOptions},
		"two answers": {func() error {
			return resume(g, "paused", hocket.Answer{Value: "yes"}, hocket.Answer{Value: "no"})
		}, "at most one Answer may be given, not 2"},
		"negative steps": {func() error { return run(g, hocket.RunOptions{ID: "x", MaxSteps: -1}) },
			"MaxSteps is -1; it must not be negative"},
		"document, two options": {func() error {
			_, err := e.Run(t.Context(), w, hocket.StartOptions{ID: "x"}, hocket.StartOptions{})
			return err
		}, "at most one StartOptions may be given, not 2"},
		"document, start with two options": {func() error {
			_, err := e.Start(t.Context(), w, hocket.StartOptions{ID: "x"}, hocket.StartOptions{})
			return err
		}, "at most one StartOptions may be given, not 2"},
		"no document": {func() error {
			_, err := e.Run(t.Context(), nil)
			return err
		}, "the workflow is nil; see the error of Load"},
		"nil option": {func() error {
			_, err := hocket.Open(t.Context(), hocket.Config{}, nil)
			return err
		}, "an option is nil"},
		"tool with two options": {func() error {
			_, err := hocket.Open(t.Context(), hocket.Config{},
				hocket.WithTool("t", "", func(context.Context, struct{}) (int, error) { return 0, nil },
					hocket.ToolOptions{}, hocket.ToolOptions{}))
			return err
		}, `tool "t": at most one ToolOptions may be given, not 2`},
	} {
		t.Run(name, func(t *testing.T) {
			if err := tc.call(); err == nil || err.Error() != tc.want {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
	if _, err := e.Get(t.Context(), "x"); !errors.Is(err, hocket.ErrNotFound) {
		t.Errorf("a run began: %v", err)
	}
	if s, err := hocket.SnapshotOf(t.Context(), e, g, "paused"); err != nil || s.Status != hocket.StatusPaused {
		t.Errorf("the paused run went on: %v %v", s, err)
	}
}

// TestAnswerAfterTheEnd checks that an answer to a run that has ended is rejected as such, and that
// the answer that the run accepted may be submitted again.
func TestAnswerAfterTheEnd(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *hocket.Engine) {
		g := compiled(t, graph.New[state]("g").Wait("Go on?"))
		r, err := hocket.Run(t.Context(), e, g, state{})
		if err != nil {
			t.Fatal(err)
		}
		run, wait := r.Snapshot.ExecutionID, r.Snapshot.Waiting[0].ID
		if _, err := hocket.Resume(t.Context(), e, g, run, hocket.Answer{Value: "yes"}); err != nil {
			t.Fatal(err)
		}
		for _, a := range []hocket.Answer{{Value: "no"}, {Wait: wait, Value: "no"}, {Node: "missing", Value: "yes"}} {
			err := e.Answer(t.Context(), run, a)
			if !errors.Is(err, hocket.ErrEnded) || !strings.Contains(err.Error(), "the run has ended") {
				t.Errorf("%+v: got %v, want ErrEnded", a, err)
			}
		}
		// no wait means the one that ended last (P24)
		for _, a := range []hocket.Answer{{Value: "yes"}, {Wait: wait, Value: "yes"}} {
			if err := e.Answer(t.Context(), run, a); err != nil {
				t.Errorf("%+v: the same answer again: %v", a, err)
			}
		}
	})
}

// TestOutputOfBlocks checks that a step shows the output of a parallel block as the snapshot does,
// that the next node gets it as its input, and that decisions have no output (S2-50, S2-73).
func TestOutputOfBlocks(t *testing.T) {
	t.Parallel()
	inner := compiled(t, graph.New[state]("inner").Loop(graph.LoopConfig[state]{MaxIterations: 1}, note("in")))
	var seen []string
	look := func(id string) graph.Node[state] {
		return graph.NewNode(id, graph.TypeTool,
			func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
				seen = append(seen, string(c.Input))
				return graph.Result[state]{}, nil
			})
	}
	g := compiled(t, graph.New[state]("g").
		Parallel(graph.ParallelConfig[state]{ID: "both", Branches: []string{"a", "b"}}).Node(gives("a", 1)).Node(
		gives("b", 2)).
		If(func(graph.View[state]) bool { return true }).Then(look("behind")).EndIf().
		Then(graph.SubgraphConfig[state, state]{ID: "sub", Graph: inner}).
		Then(look("last")))
	shown := map[string]json.RawMessage{}
	e := open(t, hocket.Config{})
	for s, err := range hocket.Stream(t.Context(), e, g, state{}, hocket.RunOptions{ID: "r"}) {
		if err != nil {
			t.Fatal(err)
		}
		shown[s.NodeID] = s.Result.Output
	}
	snapshot, err := hocket.SnapshotOf(t.Context(), e, g, "r")
	if err != nil {
		t.Fatal(err)
	}
	const both = `{"_parallel":true,"branches":["a","b"],"strategy":"all","results":{"a":1,"b":2}}`
	if got := string(shown["both"]); got != both || got != string(snapshot.Outputs["both"]) {
		t.Errorf("both: got %s, want %s", got, both)
	}
	if shown["decision_1"] != nil || snapshot.Outputs["decision_1"] != nil {
		t.Errorf("a decision has an output: %s, %s", shown["decision_1"], snapshot.Outputs["decision_1"])
	}
	sub := string(shown["sub"])
	if sub != string(snapshot.Outputs["sub"]) || sub != `{"log":["in"],"n":0}` {
		t.Errorf("sub: got %s, want %s", sub, snapshot.Outputs["sub"])
	}
	if want := []string{both, sub}; !slices.Equal(seen, want) {
		t.Errorf("inputs: got %q, want %q", seen, want)
	}
}

// gives returns a node whose output is a number.
func gives(id string, n int) graph.Node[state] {
	return graph.NewNode(id, graph.TypeTool, func(context.Context, *graph.Context[state]) (graph.Result[state], error) {
		return graph.Result[state]{Output: n}, nil
	})
}
