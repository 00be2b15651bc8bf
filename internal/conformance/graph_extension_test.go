package conformance_test

import (
	"context"
	"testing"
	"time"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
)

var graphExtension = []rule{
	{name: "X-100 conditions, arguments and prompts see the state, outputs of earlier nodes and answers", test: func(t *testing.T) {
		double := graph.Tool("double", func(v graph.View[sheet]) int { return v.State.N }, func(_ context.Context, n int) (int, error) { return 2 * n, nil })
		p := play(t, newGraph().Then(double).
			Then(graph.Ask("ask", func(v graph.View[sheet]) string { return "Is it " + v.Text("double") + "?" }, nil)).
			If(func(v graph.View[sheet]) bool { return v.Text("ask") == "yes" && v.State.N == 4 }, idle("agreed")), sheet{N: 4})
		same(t, "prompt", p.Snapshot.Waiting[0].Prompt, "Is it 8?")
		p.answers("yes")
		same(t, "end", p.end(), "completed")
		same(t, "visited", p.VisitedNodes, []string{"double", "ask", "decision_1", "agreed", "merge_2"})
		seen := func(want bool) func(graph.View[sheet]) bool {
			return func(v graph.View[sheet]) bool { _, ok := v.Output("b"); return ok == want }
		}
		p = play(t, newGraph().Parallel(graph.ParallelConfig[sheet]{ID: "p"}, graph.Flow(later("a", nil), graph.If(seen(true), idle("saw"))), gives("b", 1)), sheet{})
		same(t, "other branches", p.VisitedNodes, []string{"b", "a", "decision_1", "merge_2", "p"})
	}},
	{name: "X-101 a result that goes into the state can be kept beside it", test: func(t *testing.T) {
		p := play(t, newGraph().Then(graph.Tool("t", func(graph.View[sheet]) int { return 3 }, func(_ context.Context, n int) (int, error) { return n + 1, nil }).
			Into(func(s *sheet, n int) error { s.N = n; return nil })), sheet{})
		same(t, "both", []any{p.State.N, p.output("t")}, []any{4, "4"})
	}},
	{name: "X-102 blocks are nodes, and nest at will", test: func(t *testing.T) {
		three := func(v graph.View[sheet]) bool { return v.State.N >= 3 }
		odd := func(v graph.View[sheet]) bool { return v.State.N%2 == 1 }
		add := func(id string, n int) gNode { return changes(id, func(s *sheet) { s.N += n }) }
		p := play(t, newGraph().Then(graph.Loop(three, graph.If(odd, add("two", 2)).Otherwise(graph.Body(func(b *gBuilder) { b.Then(add("one", 1)) })))), sheet{})
		same(t, "state", p.State.N, 3)
		same(t, "visited", p.VisitedNodes, []string{"loop_start_1", "decision_3", "one", "merge_4", "loop_check_2", "decision_3", "two", "merge_4", "loop_check_2"})
	}},
	{name: "X-103 a timeout of any node bounds it with all its attempts", test: func(t *testing.T) {
		for name, n := range map[string]gNode{
			"function": breaks("n", -1, gOptions{Timeout: 2 * time.Second}),
			"wait":     graph.WaitConfig[sheet]{ID: "n", Prompt: "?", Options: gOptions{Timeout: 2 * time.Second}},
			"block":    graph.ParallelConfig[sheet]{ID: "n", Options: gOptions{Timeout: 2 * time.Second}, Bodies: []gNode{breaks("b", -1)}},
			"graph":    graph.Inner("n", compiled(t, newGraph().Then(breaks("b", -1))), nil, func(*sheet, sheet) error { return nil }, gOptions{Timeout: 2 * time.Second}),
		} {
			begin := time.Now()
			p := play(t, newGraph().Then(n), sheet{})
			if name == "wait" {
				r, err := p.e.Wait(t.Context(), "r", hocket.WaitOptions{UntilPaused: true})
				same(t, "a wait: error", err, nil)
				for same(t, "a wait is open", r.Status, hocket.StatusPaused); r.Status == hocket.StatusPaused; r, err = p.e.Get(t.Context(), "r") {
					<-time.After(time.Second)
				}
				same(t, "a wait", []any{r.Err.Error() != "", time.Since(begin) < 10*time.Second, err}, []any{true, true, nil})
				continue
			}
			same(t, name, p.end(), "the step took longer than its timeout of 2s")
			same(t, name+" took", time.Since(begin), 2*time.Second)
		}
	}},
	{name: "X-104 a sleep ends after its time, or at a time, and hands on what it was given", test: func(t *testing.T) {
		begin := time.Now()
		var seen gContext
		p := play(t, newGraph().Then(gives("a", 7)).Sleep("night", 8*time.Hour).Then(looks("z", &seen)), sheet{})
		same(t, "end", p.end(), "completed")
		same(t, "took", time.Since(begin), 8*time.Hour)
		same(t, "input and output", []string{string(seen.Input), p.output("night")}, []string{"7", ""})
		begin = time.Now()
		same(t, "past", play(t, newGraph().Then(graph.SleepConfig[sheet]{ID: "n", Until: begin.Add(-time.Hour)}), sheet{}).end(), "completed")
		same(t, "at once", time.Since(begin), time.Duration(0))
		same(t, "until", play(t, newGraph().Then(graph.SleepConfig[sheet]{ID: "n", Until: begin.Add(time.Hour)}), sheet{}).end(), "completed")
		same(t, "an hour", time.Since(begin), time.Hour)
	}},
	{name: "X-105 a limit of zero is the default, and Zero none", test: func(t *testing.T) {
		same(t, "steps", play(t, newGraph().Then(idle("a")), sheet{}, graph.Config{MaxSteps: graph.Zero}).end(), "Exceeded maximum steps (0)")
		same(t, "default", play(t, newGraph().Then(idle("a")), sheet{}).end(), "completed")
		same(t, "negative", misused(t, newGraph().Then(idle("a")), graph.Config{MaxSteps: -1}), []string{"Config.MaxSteps is -1; it must not be negative"})
	}},
}

func TestGraphExtension(t *testing.T) { check(t, graphExtension) }

func TestGraphExtensionCovered(t *testing.T) {
	covered(t, graphExtension, "X-100", "X-101", "X-102", "X-103", "X-104", "X-105")
}
