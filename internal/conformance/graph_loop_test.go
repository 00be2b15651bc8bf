package conformance_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/graph/compat"
	"github.com/hocket-run/hocket/internal/graphtest"
)

var graphLoop = []rule{
	{name: "S2-20 body, then check; completed passes are counted; 100 at most by default", test: func(t *testing.T) {
		p := play(t, newGraph().Loop(upTo(2), counts("a"), counts("b")).Then(idle("z")), sheet{})
		p.went("two of two", "loop_start_1, a, b, loop_check_2, a, b, loop_check_2, z", "completed")
		same(t, "counter", p.output("loop_start_1_iteration"), "2")
		same(t, "default", play(t, newGraph().Loop(gLoop{}, counts("a")), sheet{}).State.N, 100)
		same(t, "constant", compat.DefaultMaxIterations, 100)
		same(t, "until",
			play(t, newGraph().Loop(gLoop{Until: func(v graph.View[sheet]) bool { return v.State.N >= 3 },
				MaxIterations: 9}, counts("a")), sheet{}).State.N, 3)
	}},
	{name: "S2-21 the body runs once whatever the maximum, and until is looked at after the whole body",
		test: func(t *testing.T) {
			play(t, newGraph().Loop(upTo(graph.Zero), idle("a")).Then(idle("z")), sheet{}).went("none",
				"loop_start_1, a, loop_check_2, z", "completed")
			play(t, newGraph().Loop(gLoop{Until: always}, idle("a"), idle("b")), sheet{}).went("until at once",
				"loop_start_1, a, b, loop_check_2", "completed")
		}},
	{name: "S2-22 whatever follows a loop runs once, after it", test: func(t *testing.T) {
		const twice = "loop_start_1, a, loop_check_2, a, loop_check_2, "
		b := func() *gBuilder { return newGraph().Loop(upTo(2), idle("a")) }
		for want, b := range map[string]*gBuilder{
			"z":                         b().Then(idle("z")),
			"decision_3, t, merge_4, z": b().If(always).Then(idle("t")).EndIf().Then(idle("z")),
			"parallel_3, p, z": b().Parallel(gParallel{Branches: []string{"p"}}).Node(idle("p")).Then(
				idle("z")),
			"loop_start_3, b, loop_check_4, z":                   b().Loop(upTo(1), idle("b")).Then(idle("z")),
			"loop_start_3, b, loop_check_4":                      b().Loop(upTo(1), idle("b")),
			"decision_3, loop_start_4, b, loop_check_5, merge_6": b().If(always).Loop(upTo(1), idle("b")).EndIf(),
		} {
			play(t, b, sheet{}).went("behind", twice+want, "completed")
		}
	}},
	{name: "S2-23 golden: until n is 3", test: func(t *testing.T) {
		p := play(t, newGraph().Start(idle("s")).Loop(gLoop{Until: func(v graph.View[sheet]) bool {
			return v.State.N >= 3
		}}, counts("body")).Then(idle("after")), sheet{})
		const want = "s, loop_start_1, body, loop_check_2, body, loop_check_2, body, loop_check_2, after"
		p.went("loop", want, "completed")
		same(t, "steps", p.stepped(), want)
		same(t, "counter", p.output("loop_start_1_iteration"), "3")
	}},
	{name: "S2-24 a loop at the end: an empty queue without failure is completed", test: func(t *testing.T) {
		play(t, newGraph().Start(idle("s")).Loop(gLoop{Until: always}, idle("a")), sheet{}).went("no end",
			"s, loop_start_1, a, loop_check_2", "completed")
	}},
	{name: "S2-56 review cycle: executor, reviewer, fixer; the fixer runs in the round that approved, too",
		test: func(t *testing.T) {
			review := changes("reviewer", func(s *sheet) { s.N++ })
			p := play(t, newGraph().Loop(gLoop{Until: func(v graph.View[sheet]) bool { return v.State.N == 2 }},
				idle("executor"), review, recordsID("fixer")), sheet{})
			p.went("cycle", "loop_start_1, executor, reviewer, fixer, loop_check_2, executor, reviewer, fixer, "+
				"loop_check_2", "completed")
			same(t, "fixes", p.State.Log, []string{"fixer", "fixer"})
		}},
	{name: "S2-70 loops and ifs leave the context as it is; a node sees the last usage and the threshold",
		test: func(t *testing.T) {
			var first, seen gContext
			agent := &coder{graphtest.Agent{Usage: filled(30)}}
			b := newGraph().Start(capturesContext("first", &first)).Then(
				graph.AgentConfig[sheet]{ID: "a", AgentType: "claude"}).
				Loop(upTo(1), idle("l")).If(always).EndIf().Then(outputs("g", 7)).Then(
				capturesContext("n", &seen, gOptions{Model: "p/own"}))
			e := opened(t, hocket.Config{})
			p := playOn(t, e, compiled(t, b, graph.Config{ContextWindowThreshold: 70, Runtime: agent.runtime(),
				Metadata: map[string]any{"k": "v"}}), sheet{N: 4}, gRun{})
			same(t, "end", p.end(), "completed")
			same(t, "before any", first.ContextWindowUsage, nil)
			same(t, "usage", *seen.ContextWindowUsage, graph.ContextWindowUsage{InputTokens: 30, MaxTokens: 100,
				UsagePercentage: 30})
			same(t, "threshold", seen.ContextWindowThreshold, 70)
			same(t, "state", seen.State.N, 4)
			same(t, "config", seen.Config.Metadata["k"], any("v"))
			same(t, "errors", len(seen.Errors), 0)
			same(t, "model", seen.Model, "p/own")
			out, ok := seen.Output("g")
			same(t, "output", string(out), "7")
			same(t, "output is there", ok, true)
			same(t, "ids", []string{seen.ExecutionID, seen.NodeID}, []string{"r", "n"})
			var byDefault gContext
			play(t, newGraph().Start(capturesContext("n", &byDefault)), sheet{})
			same(t, "threshold by default", byDefault.ContextWindowThreshold, 45)
			monitor := graph.ContextMonitorConfig[sheet]{ID: "m", Action: graph.CompactNone,
				Session: func(graph.View[sheet]) graph.Session {
					return (&coder{graphtest.Agent{Usage: filled(12)}}).Session()
				}}
			play(t, newGraph().Start(monitor).Then(capturesContext("n", &seen)), sheet{})
			same(t, "usage of a monitor", seen.ContextWindowUsage.UsagePercentage, 12)
		}},
	{name: "S2-76 the package docs map every name of the document", test: func(t *testing.T) {
		files, err := filepath.Glob("../../graph/*.go")
		same(t, "error", err, nil)
		i := slices.IndexFunc(files, func(path string) bool {
			return strings.Contains(file(t, path), "\n// # Names\n") || strings.HasPrefix(file(t, path), "// # Names\n")
		})
		same(t, "there is a table", i >= 0, true)
		table, _, ok := strings.Cut(file(t, files[max(i, 0)]), "\npackage graph\n")
		same(t, "in the package docs", ok, true)
		for name := range strings.FieldsSeq(
			`createNode createDecisionNode createWaitNode createExecutor executeGraph streamGraph routeStream ` +
				`agentNode toolNode
			clearContextNode decisionNode waitNode askUserNode parallelNode subgraphNode contextMonitorNode ` +
				`customToolNode subagentNode parallelSubagentNode
			StateOf StateUpdate Checkpointer ProgressEvent ExecutionSnapshot ExecutionOptions`) {
			same(t, name, strings.Contains(table, name), true)
		}
	}},
	{name: "S2-76 what is exported: nodes by functions, and executors", test: func(t *testing.T) {
		g := compiled(t, newGraph().Start(idle("s")).
			Then(graph.DecisionNode("d", []graph.Route[sheet]{{When: never, Target: "x"},
				{When: always, Target: "w", Label: "yes"}}, "x")).
			Node(compat.WaitNode[sheet]("w", "Sure?")).Node(idle("x")))
		x := compat.NewExecutor(opened(t, hocket.Config{}), g)
		r, err := x.Run(t.Context(), sheet{}, gRun{ID: "r"})
		same(t, "error", err, nil)
		same(t, "status", r.Status, hocket.StatusPaused)
		same(t, "prompt", r.Snapshot.Waiting[0].Prompt, "Sure?")
		if r, err = x.Resume(t.Context(), "r", hocket.Answer{Value: "yes"}); err != nil {
			t.Fatal(err)
		}
		same(t, "status after the answer", r.Status, hocket.StatusCompleted)
		same(t, "visited", r.Snapshot.VisitedNodes, []string{"s", "d", "w"})
		var got []string
		for s, err := range x.Stream(t.Context(), sheet{}, gRun{ID: "r2"}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, s.NodeID)
		}
		for s, err := range x.ResumeStream(t.Context(), "r2", hocket.Answer{Value: "yes"}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, s.NodeID)
		}
		same(t, "steps", got, []string{"s", "d", "w", "w"})
		falls := newGraph().Start(graph.DecisionNode("d", []graph.Route[sheet]{{When: never, Target: "x"}}, "y")).Node(
			idle("x")).Node(idle("y"))
		play(t, falls, sheet{}).went("fallback", "d, y", "completed")
		same(t, "a label of a route", slices.ContainsFunc(compat.EdgesFrom(g, "d"), func(e graph.Edge) bool {
			return e.Label == "yes" && e.To == "w"
		}), true)
	}},
}

func TestGraphLoop(t *testing.T) { check(t, graphLoop) }

func TestGraphLoopCovered(t *testing.T) {
	covered(t, graphLoop, "S2-20", "S2-21", "S2-22", "S2-23", "S2-24", "S2-56", "S2-70", "S2-76")
}
