package graph_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/driver/program"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
)

// TestLoopCounter_RecordedAsCall checks that loops count inside the engine, that the journal is the
// same as if the driver had called the functions, and that it is not asked to.
func TestLoopCounter_RecordedAsCall(t *testing.T) {
	t.Parallel()
	clock := regexp.MustCompile(`"2026-[^"]*"`)
	odd := func(v graph.View[state]) bool { return v.State.N%2 == 1 }
	for name, b := range map[string]*graph.Builder[state]{
		"until": graph.New[state]("t").Loop(graph.LoopConfig[state]{Until: odd}, count("a")).Then(count("z")),
		"at most": graph.New[state]("t").Then(count("s")).Loop(graph.LoopConfig[state]{MaxIterations: 3},
			nothing("a"), count("b")),
		"again": graph.New[state]("t").Then(count("s")).Loop(graph.LoopConfig[state]{MaxIterations: 2},
			count("a")).Then(gotoNode("g", "s")),
		"caught": graph.New[state]("t").Loop(graph.LoopConfig[state]{MaxIterations: 3}, count("a"),
			failingNode("b", 1)).Catch(nothing("h")),
		"in a branch": graph.New[state]("t").Parallel(graph.ParallelConfig[state]{ID: "p", Branches: []string{"l"}}).
			Branch("l", func(b *graph.Builder[state]) {
				b.Loop(graph.LoopConfig[state]{MaxIterations: 2}, count("a"))
			}),
		"steps used up": graph.New[state]("t").Loop(graph.LoopConfig[state]{Until: never, MaxIterations: 30},
			count("a")),
	} {
		g := compiled(t, b, graph.Config{MaxSteps: 20})
		var logs [2]string
		var called [2]int
		for i := range logs {
			p := program.New(g.Running().Program())
			var host engine.Host = p
			if i == 1 {
				host = struct { // hides the method Counter
					engine.Host
					engine.Reporter
				}{p, p}
			}
			w := enginetest.New(t, g.Workflow(), host)
			w.Func = func(c *engine.CallFunc) *engine.FuncResult {
				if _, counts := p.Counter(c.Func); counts {
					called[i]++
				}
				r := p.Call(t.Context(), "run1", c, caller{World: w})
				return &r
			}
			w.StartWith(event.RunCreated{})
			w.Go(nil)
			if !w.Run.Status().Ended() {
				t.Fatalf("%s: at rest as %s\n%s", name, w.Run.Status(), w.Log())
			}
			logs[i] = clock.ReplaceAllString(w.Log(), "") // a world's clock counts activations
		}
		if logs[0] != logs[1] || called[0] != 0 || called[1] < 2 {
			t.Errorf("%s: called %d times in place, %d by commands\nin place - by commands +\n%s", name, called[0],
				called[1], cmp.Diff(strings.Split(logs[0], "\n"), strings.Split(logs[1], "\n")))
		}
	}
}
