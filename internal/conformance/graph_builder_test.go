package conformance_test

import (
	"context"
	"strings"
	"testing"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/graph/compat"
)

// ids returns the node ids of a compiled graph.
func ids(g *graph.Compiled[sheet]) string {
	var out []string
	for _, n := range g.Nodes() {
		out = append(out, n.ID)
	}
	return strings.Join(out, " ")
}

// elseIfs returns a graph with an if, two else-ifs and an else.
func elseIfs(c1, c2, c3 func(graph.View[sheet]) bool) *gBuilder {
	return newGraph().Start(idle("s")).Then(graph.IfConfig[sheet]{
		Condition: c1, Then: []gNode{idle("t")},
		ElseIf: []graph.ElseIf[sheet]{{Condition: c2, Then: []gNode{idle("e1")}},
			{Condition: c3, Then: []gNode{idle("e2")}}},
		Else: []gNode{idle("el")},
	}).Then(idle("z"))
}

var graphBuilder = []rule{
	{name: "S2-1 misuse has the document's texts, and Compile tells it", test: func(t *testing.T) {
		s := func() *gBuilder { return newGraph().Start(idle("s")) }
		agents := []graph.ParallelAgent[sheet]{{Agent: "a", Task: "work"}}
		for want, b := range map[string]*gBuilder{
			"Start node already set. Use Then to add more nodes.":      s().Start(idle("b")),
			`Node with ID "x" already exists`:                          s().Then(idle("x")).Then(idle("x")),
			"Cannot compile graph without a start node":                newGraph(),
			"Cannot use Else without a preceding If":                   s().Else(),
			"Cannot use EndIf without a preceding If":                  s().EndIf(),
			"Already in else branch. Use EndIf to close.":              s().If(always).Else().Else().EndIf(),
			"Cannot use If without a preceding node. Use Start first.": newGraph().If(always).Then(idle("x")),
			"Loop body must contain at least one node":                 s().Loop(gLoop{}),
			`Parallel node "pp" requires at least one branch`:          s().Parallel(gParallel{ID: "pp"}),
			`Tool node "x" requires an Execute function`: s().Tool(
				graph.ToolConfig[sheet, int, int]{ID: "x"}),
			`Parallel sub-agent node "x" requires an Output function`: s().Then(
				graph.ParallelSubagentConfig[sheet]{ID: "x", Agents: agents}),
		} {
			same(t, "misuse", misused(t, b), []string{want})
		}
		same(t, "all of it at once", misused(t, s().Start(idle("b")).Else().EndIf()), []string{
			"Start node already set. Use Then to add more nodes.", "Cannot use Else without a preceding If",
			"Cannot use EndIf without a preceding If",
		})
	}},
	{name: "S2-2 generated ids count from one counter for all prefixes", test: func(t *testing.T) {
		b := newGraph().Start(idle("s")).If(always).Then(idle("t")).EndIf().Loop(gLoop{}, idle("l")).Parallel(
			gParallel{Branches: []string{"p"}}).Node(idle("p")).Wait("?")
		same(t, "ids", ids(compiled(t, b)), "s decision_1 t merge_2 loop_start_3 l loop_check_4 parallel_5 p wait_6")
		same(t, "loop", ids(compiled(t, newGraph().Loop(gLoop{}, idle("l")))), "loop_start_1 l loop_check_2")
		same(t, "else-if", ids(compiled(t, elseIfs(always, always, always))),
			"s decision_1 t pass_2 decision_3 e1 pass_4 decision_5 e2 el merge_6 merge_7 merge_8 z")
	}},
	{name: "S2-3 first calls become the start", test: func(t *testing.T) {
		for want, b := range map[string]*gBuilder{
			"a":   newGraph().Then(idle("a")).Then(idle("b")),
			"sub": newGraph().Subagent(graph.SubagentConfig[sheet]{ID: "sub", Agent: "a", Task: "work"}),
			"tool": newGraph().Tool(graph.ToolConfig[sheet, int, int]{ID: "tool",
				Execute: func(context.Context, int) (int, error) { return 0, nil }}),
			"parallel_1":   newGraph().Parallel(gParallel{Branches: []string{"p"}}).Node(idle("p")),
			"loop_start_1": newGraph().Loop(gLoop{}, idle("l")),
		} {
			same(t, "start", compiled(t, b).Start(), want)
		}
		play(t, newGraph().Then(idle("a")).Then(idle("b")), sheet{}).went("then as start", "a, b", "completed")
	}},
	{name: "S2-4 labels of edges", test: func(t *testing.T) {
		b := newGraph().Start(idle("s")).If(always).Then(idle("t")).Else().Then(idle("e")).EndIf().Loop(gLoop{},
			idle("l")).Parallel(gParallel{Branches: []string{"p"}}).Node(idle("p"))
		g := compiled(t, b)
		var got []string
		for _, n := range g.Nodes() {
			for _, e := range compat.EdgesFrom(g, n.ID) {
				if e.Label != "" {
					got = append(got, e.From+" "+e.Label+" "+e.To)
				}
			}
		}
		same(t, "labels", got, []string{
			"decision_1 if-true t", "decision_1 if-false e", "loop_check_4 loop-continue l",
			"loop_check_4 loop-exit parallel_5", "parallel_5 parallel-p p",
		})
		same(t, "queries of the builder", compat.EdgesTo(b, "p"), compat.EdgesTo(g, "p"))
	}},
	{name: "S2-5 golden: if with else-ifs", test: func(t *testing.T) {
		for want, b := range map[string]*gBuilder{
			"s, decision_1, t, merge_8, z": elseIfs(always,
				never, never),
			"s, decision_1, pass_2, decision_3, e1, merge_7, merge_8, z": elseIfs(never,
				always, never),
			"s, decision_1, pass_2, decision_3, pass_4, decision_5, e2, merge_6, merge_7, merge_8, z": elseIfs(never,
				never, always),
			"s, decision_1, pass_2, decision_3, pass_4, decision_5, el, merge_6, merge_7, merge_8, z": elseIfs(never,
				never, never),
		} {
			p := play(t, b, sheet{})
			p.went("if", want, "completed")
			same(t, "steps", p.stepped(), want)
			same(t, "visited", strings.Join(p.VisitedNodes, ", "), want)
		}
	}},
	{name: "S2-6 an if without nodes goes to the merge node", test: func(t *testing.T) {
		play(t, newGraph().Start(idle("s")).If(always).EndIf().Then(idle("z")), sheet{}).went("alone",
			"s, decision_1, merge_2, z", "completed")
		play(t, newGraph().Start(idle("s")).If(always).Else().Then(idle("e")).EndIf().Then(idle("z")), sheet{}).went(
			"with else", "s, decision_1, merge_2, z", "completed")
		play(t, newGraph().Start(idle("s")).If(never).Then(idle("t")).EndIf(), sheet{}).went("not taken",
			"s, decision_1, merge_2", "completed")
	}},
	{name: "S2-7 ends are found, and the handler of catch runs once", test: func(t *testing.T) {
		same(t, "found", compiled(t, newGraph().Start(idle("s")).Then(idle("z")).Node(idle("x"))).Ends(),
			[]string{"z", "x"})
		same(t, "marked", compiled(t, newGraph().Start(idle("s")).End().Then(idle("z"))).Ends(), []string{"s"})
		handler := func(to ...string) gNode {
			return does("h", func(_ context.Context, c *gContext) (gResult, error) {
				c.State.Text = c.Feedback.FailedNodeID + ": " + c.Feedback.ErrorMessage
				return gResult{Update: &c.State, Goto: to}, nil
			})
		}
		p := play(t, newGraph().Start(breaks("a", -1, single())).Then(idle("z")).Catch(handler()), sheet{})
		p.went("stays failed", "a, h", "it is broken")
		same(t, "told", p.State.Text, "a: it is broken")
		p = play(t, newGraph().Start(breaks("a", -1, single())).Then(idle("z")).Catch(handler("z")), sheet{})
		p.went("goes on", "a, h, z", "completed")
		skip := handled(gAction{Action: graph.ActionSkip})
		play(t, newGraph().Start(breaks("a", -1, skip)).Then(idle("z")).Catch(handler()), sheet{}).went(
			"handled before", "a, z", "completed")
		play(t, newGraph().Start(breaks("a", -1)).Then(idle("z")).Catch(handler()), sheet{}).went(
			"once for all attempts", "a, h", "it is broken")
	}},
	{name: "S2-8 unknown branches are refused, and nodes can be added beside the flow", test: func(t *testing.T) {
		same(t, "unknown", misused(t, newGraph().Parallel(gParallel{ID: "pp", Branches: []string{"ab"}})),
			[]string{`Parallel node "pp": branch "ab" is not a node of the graph`})
		play(t, newGraph().Start(idle("s")).Parallel(gParallel{Branches: []string{"a"}}).Node(idle("a"), idle("a2")),
			sheet{}).went("added", "s, parallel_1, a, a2", "completed")
	}},
	{name: "S2-9 what follows a parallel block runs once, after it", test: func(t *testing.T) {
		b := newGraph().Start(idle("s")).Parallel(gParallel{Branches: []string{"a", "b"}}).Then(idle("j")).Node(
			idle("a")).Node(idle("b"))
		p := play(t, b, sheet{})
		p.went("block", "s, parallel_1, a, b, j", "completed")
		same(t, "last of the steps", p.steps[len(p.steps)-1].NodeID, "j")
		same(t, "executions", p.NodeExecutionCount, 5)
	}},
	{name: "S2-77 an open if, an empty else, loops inside each other, and what is frozen", test: func(t *testing.T) {
		same(t, "open", misused(t, newGraph().Start(idle("s")).If(always).Then(idle("a"))), []string{"Missing EndIf"})
		play(t, newGraph().Start(idle("s")).If(never).Then(idle("a")).Else().EndIf().Then(idle("z")), sheet{}).went(
			"empty else", "s, decision_1, merge_2, z", "completed")
		nested := newGraph().Loop(upTo(2), gParallel{ID: "p", Branches: []string{"in"}}).Branch("in",
			func(b *gBuilder) { b.Loop(upTo(3), counts("c")) })
		p := play(t, nested, sheet{})
		same(t, "inner passes", p.State.N, 6)
		same(t, "inner counter", p.output("loop_start_3_iteration"), "3")
		same(t, "outer counter", p.output("loop_start_1_iteration"), "2")
		again := newGraph().Loop(upTo(2), counts("c")).Then(
			does("again", func(_ context.Context, c *gContext) (gResult, error) {
				if c.State.N < 4 {
					return gResult{Goto: []string{"loop_start_1"}}, nil
				}
				return gResult{}, nil
			}))
		p = play(t, again, sheet{})
		same(t, "passes of a loop that is entered twice", p.State.N, 4)
		same(t, "its counter", p.output("loop_start_1_iteration"), "2")
		b := newGraph().Start(idle("a"))
		g := compiled(t, b)
		b.Then(idle("b")).Node(idle("c"))
		same(t, "nodes", ids(g), "a")
		same(t, "edges", len(compat.EdgesFrom(g, "a")), 0)
		playOn(t, opened(t, hocket.Config{}), g, sheet{}, gRun{}).went("frozen", "a", "completed")
	}},
}

func TestGraphBuilder(t *testing.T) { check(t, graphBuilder) }

func TestGraphBuilderCovered(t *testing.T) {
	covered(t, graphBuilder, "S2-1", "S2-2", "S2-3", "S2-4", "S2-5", "S2-6", "S2-7", "S2-8", "S2-9", "S2-77")
}
