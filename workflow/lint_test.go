package workflow_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/diag"
	. "github.com/hocket-run/hocket/workflow"
)

// chain builds a workflow of bare nodes: each edge is "from port to", port "" for out.
func chain(nodes []Node, edges ...[3]string) *Workflow {
	w := &Workflow{Entry: nodes[0].ID, Nodes: slices.Clone(nodes), Agents: []Agent{{ID: "w"}}}
	for _, e := range edges {
		w.Edges = append(w.Edges, Edge{From: e[0], Port: e[1], To: e[2]})
	}
	return w
}

func agentNode(id string, reads ...string) Node {
	return Node{ID: id, Kind: KindAgent, Reads: reads,
		Agent: &AgentNode{Agent: "w", Prompt: Prompt{Mode: PromptTemplate}}}
}

func inBranch(fork string, n Node) Node {
	n.Parent = fork
	return n
}

func approval(id string) Node { return Node{ID: id, Kind: KindWait, Wait: &Wait{Kind: WaitApproval}} }

// fork returns a fork with its join; the join's ID is the fork's with `/join` appended.
func fork(id string, branches ...string) []Node {
	f := &Fork{Join: id + "/join"}
	for _, b := range branches {
		f.Branches = append(f.Branches, Branch{ID: b})
	}
	return []Node{{ID: id, Kind: KindFork, Fork: f}, {ID: f.Join, Kind: KindJoin, Hidden: true, Join: &Join{Fork: id}}}
}

func TestLint(t *testing.T) {
	t.Parallel()
	a, b, c, d := agentNode("a"), agentNode("b"), agentNode("c"), agentNode("d")
	decide := Node{ID: "if", Kind: KindDecide, Decide: &Decide{Cases: []Case{
		{Port: "condition-0", When: Condition{Language: LangMatch, Text: "x"}},
		{Port: "condition-1", When: Condition{Language: LangMatch, Text: "y"}}}, Else: "false"}}
	loop := [][3]string{{"a", "", "b"}, {"b", "", "a"}}
	parallel := append(fork("f", "a", "b"), inBranch("f", a), inBranch("f", b), c)
	parallelEdges := [][3]string{{"f", "a", "a"}, {"f", "b", "b"}, {"a", "", "f/join"}, {"b", "", "f/join"},
		{"f/join", "", "c"}}

	tests := []struct {
		name string
		w    *Workflow
		edit func(w *Workflow)
		want []string
	}{
		{"unreachable", chain([]Node{a, b, c}, [3]string{"b", "", "c"}), nil, []string{
			`warning unreachable-node: no path leads from the entry to "b": it never runs`,
			`warning unreachable-node: no path leads from the entry to "c": it never runs`}},
		{"unreachable, but for a jump of a Go function",
			chain([]Node{{ID: "g", Kind: KindFunc, Func: &FuncNode{Func: "f"}}, a}), nil,
			[]string{`info unreachable-node: no edge leads from the entry to "a": only a Go function can go there`}},
		{"handlers and the handoff are reached without edges",
			chain([]Node{a, {ID: "h", Kind: KindWait, Wait: &Wait{Kind: WaitQuestion}},
				{ID: "r", Kind: KindEnd, Recovery: true}}),
			func(w *Workflow) { w.Rules.Handoff = "h" }, nil},
		{"S0-47: free cycle", chain([]Node{a, b}, loop...), nil,
			[]string{`warning unbounded-cycle: cycle a -> b -> a has no limit of its own: only maxSteps ends it; ` +
				`maxSteps is 1000 by default`}},
		{"free cycle under an explicit limit", chain([]Node{a, b}, loop...), func(w *Workflow) {
			w.Limits.MaxSteps = new(15)
		},
			[]string{`info unbounded-cycle: cycle a -> b -> a has no limit of its own: only maxSteps (15) ends it`}},
		{"node that follows itself", chain([]Node{a}, [3]string{"a", "", "a"}), nil,
			[]string{`warning unbounded-cycle: cycle a -> a has no limit of its own: only maxSteps ends it; maxSteps ` +
				`is 1000 by default`}},
		{"two cycles, each once, the shortest way", chain([]Node{a, b, c, d}, [3]string{"a", "", "b"},
			[3]string{"b", "", "c"}, [3]string{"c", "", "b"},
			[3]string{"c", "", "d"}, [3]string{"d", "", "b"}, [3]string{"d", "", "d"}), nil,
			[]string{`warning unbounded-cycle: cycle b -> c -> b has no limit of its own: only maxSteps ends it; ` +
				`maxSteps is 1000 by default`}},
		{"counted back-edge", chain([]Node{a, b}, loop...), func(w *Workflow) { w.Edges[1].Loop = true }, nil},
		{"rounds", chain([]Node{a, b}, loop...), func(w *Workflow) { w.Limits.MaxRounds = 3 }, nil},
		{"S0-35: a person is asked in each pass", chain([]Node{a, approval("ok")}, [3]string{"a", "", "ok"},
			[3]string{"ok", PortReject, "a"}), nil, nil},
		{"no person is asked", chain([]Node{a, approval("ok")}, [3]string{"a", "", "ok"},
			[3]string{"ok", PortReject, "a"}),
			func(w *Workflow) { w.Node("ok").Wait.AutoApprove = true },
			[]string{`warning unbounded-cycle: cycle a -> ok -> a has no limit of its own: only maxSteps ends it; ` +
				`maxSteps is 1000 by default`}},
		{"join without input", chain([]Node{{ID: "j", Kind: KindJoin, Join: &Join{}}}), func(w *Workflow) {
			w.Agents = nil
		},
			[]string{`warning join-without-input: join "j" has no incoming edge: it never fires`}},
		{"branch that never joins", chain(parallel, parallelEdges...), func(w *Workflow) {
			w.Edges = append(w.Edges[:3], w.Edges[4:]...)
		},
			[]string{`warning branch-never-joins: branch "b" of "f" never reaches its join: it gives no output`}},
		{"reads what ran before, in a branch and through one", chain(parallel, parallelEdges...),
			func(w *Workflow) { w.Node("c").Reads = []string{"a", "f"} }, nil},
		{"S4-12: reads a sibling branch", chain(parallel, parallelEdges...), func(w *Workflow) {
			w.Node("b").Reads = []string{"a", "f"}
		},
			[]string{`warning reads-unseen: "b" reads the output of "a", which no path runs before it`}},
		{"reads itself and what follows", chain([]Node{agentNode("a", "a", "b"), b}, [3]string{"a", "", "b"}), nil,
			[]string{
				`warning reads-unseen: "a" reads the output of "a", which no path runs before it`,
				`warning reads-unseen: "a" reads the output of "b", which no path runs before it`}},
		{"reads along a loop", chain([]Node{agentNode("a", "a", "b"), b}, loop...), func(w *Workflow) {
			w.Limits.MaxRounds = 2
		}, nil},
		{"reads what never runs", chain([]Node{agentNode("a", "b"), b}, [3]string{"b", "", "a"}), nil, []string{
			`warning reads-unseen: "a" reads the output of "b", which no path runs before it`,
			`warning unreachable-node: no path leads from the entry to "b": it never runs`}},
		{"reads no node", chain([]Node{agentNode("aa", "ab")}), nil,
			[]string{`warning reads-unknown: "aa" reads the output of "ab", which does not exist; did you mean "aa"?`}},
		{"unused agent", chain([]Node{a}), func(w *Workflow) {
			w.Agents = []Agent{{ID: "w", Subagents: []Subagent{{Agent: "s", Tool: "s"}}},
				{ID: "s", Subagents: []Subagent{{Agent: "t", Tool: "t"}}}, {ID: "t"}, {ID: "u"}}
		}, []string{`warning unused-agent: agent "u" is not used`}},
		{"edge by a port that is not fired", chain([]Node{a, b, approval("ok")}, [3]string{"a", "fals", "b"},
			[3]string{"a", "", "ok"}, [3]string{"ok", "", "b"}, [3]string{"ok", PortApprove, "b"}), nil,
			[]string{`warning dead-edge: the edge from "a" to "b" leaves by "fals", which a node of kind agent there ` +
				`never fires`,
				`warning dead-edge: the edge from "ok" to "b" leaves by "out", which a node of kind wait there ` +
					`never fires`}},
		{"edge twice", chain([]Node{a, b}, [3]string{"a", "", "b"}, [3]string{"a", "out", "b"}), nil,
			[]string{`warning duplicate-edge: the edge from "a" to "b" is a duplicate: "b" is started twice`}},
		{"decide without cases", chain([]Node{{ID: "if", Kind: KindDecide, Decide: &Decide{Else: "false"}}, b},
			[3]string{"if", "false", "b"}), nil,
			[]string{`warning decide-without-cases: "if" has no conditions: it always takes "false"`}},
		{"S0-25: ports without edges", chain([]Node{decide, b}, [3]string{"if", "condition-0", "b"}), nil,
			[]string{`info open-port: "if" has no edge at "condition-1", "false": a branch that goes there ends`}},
		{"S0-32: approval without edges", chain([]Node{a, approval("ok")}, [3]string{"a", "", "ok"}), nil,
			[]string{`info approval-without-edges: approval "ok" has neither an approve nor a reject edge: the ` +
				`branch ends there, whatever the answer`}},
		{"inside a flow", chain([]Node{{ID: "s", Kind: KindSubflow, Subflow: &Subflow{Flow: "x"}}, a},
			[3]string{"s", "", "a"}), func(w *Workflow) {
			w.Flows = map[string]*Workflow{"x": chain([]Node{a, b})}
		}, []string{`warning unreachable-node: flow "x": no path leads from the entry to "b": it never runs`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.edit != nil {
				tt.edit(tt.w)
			}
			if l := Validate(tt.w); len(l) > 0 {
				t.Fatalf("the test's own workflow is not valid:\n%s", l.Error())
			}
			l := Lint(tt.w)
			for _, d := range l {
				if d.Severity == diag.Error {
					t.Errorf("Lint gave an error: %s", d)
				}
			}
			if diff := cmp.Diff(messages(l), tt.want); diff != "" {
				t.Errorf("(-got +want):\n%s", diff)
			}
		})
	}
}
