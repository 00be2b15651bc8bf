package workflow_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/diag"
	. "github.com/hocket-run/hocket/workflow"
)

// sample returns a valid workflow with every kind of node: start, decide, agent, fork with two
// branches, approval, tool, exec, func, free join, subflow and end.
func sample() *Workflow {
	return &Workflow{
		Name: "Sample", Format: "steps", Entry: "start",
		Nodes: []Node{
			{ID: "start", Kind: KindStart},
			{ID: "check", Kind: KindDecide, Decide: &Decide{
				Cases: []Case{{Port: "yes", When: Condition{Language: LangMatch, Op: "contains", Text: "go"}}},
				Else:  "no"}},
			{ID: "writer", Kind: KindAgent, Agent: &AgentNode{Agent: "w", Prompt: Prompt{Mode: PromptTemplate}}},
			{ID: "par", Kind: KindFork, Fork: &Fork{Join: "par/join", Branches: []Branch{{ID: "a"}, {ID: "b"}}}},
			{ID: "a", Kind: KindAgent, Parent: "par",
				Agent: &AgentNode{Agent: "w", Prompt: Prompt{Mode: PromptContext}}},
			{ID: "b", Kind: KindTool, Parent: "par",
				Tool: &ToolNode{Tool: "search", Args: json.RawMessage(`{"q": "x"}`)}},
			{ID: "par/join", Kind: KindJoin, Hidden: true, Join: &Join{Fork: "par"}},
			{ID: "gate", Kind: KindWait, Wait: &Wait{Kind: WaitApproval}},
			{ID: "fn", Kind: KindFunc, Func: &FuncNode{Func: "count"}},
			{ID: "meet", Kind: KindJoin, Join: &Join{}},
			{ID: "inner", Kind: KindSubflow, Subflow: &Subflow{Flow: "other"}},
			{ID: "end", Kind: KindEnd},
		},
		Edges: []Edge{
			{From: "start", To: "check"},
			{From: "check", Port: "yes", To: "writer"},
			{From: "check", Port: "no", To: "par"},
			{From: "par", Port: "a", To: "a"},
			{From: "par", Port: "b", To: "b"},
			{From: "a", To: "par/join"},
			{From: "b", To: "par/join"},
			{From: "par/join", To: "gate"},
			{From: "gate", Port: PortApprove, To: "fn"},
			{From: "gate", Port: PortReject, To: "meet"},
			{From: "fn", To: "meet"},
			{From: "writer", To: "meet"},
			{From: "meet", To: "inner"},
			{From: "inner", To: "end"},
		},
		Agents: []Agent{{ID: "w", Name: "Writer", Subagents: []Subagent{{Agent: "s", Tool: "ask_s"}}}, {ID: "s"}},
		Flows:  map[string]*Workflow{"other": {Entry: "only", Nodes: []Node{{ID: "only", Kind: KindEnd}}}},
	}
}

func TestValidate_Sample(t *testing.T) {
	t.Parallel()
	if l := Validate(sample()); len(l) > 0 {
		t.Errorf("Validate:\n%s", l.Error())
	}
	if l := Lint(sample()); len(l) > 0 {
		t.Errorf("Lint:\n%s", l.Error())
	}
}

// messages formats each diagnostic as a line `severity code: message`, with hints after a
// semicolon.
func messages(l diag.List) []string {
	var out []string
	for _, d := range l {
		s := d.Code + ": " + d.Message
		if d.Severity != diag.Error {
			s = string(d.Severity) + " " + s
		}
		if d.Hint != "" {
			s += "; " + d.Hint
		}
		out = append(out, s)
	}
	return out
}

// invalid is a workflow with one error, and the diagnostics of Validate for it.
type invalid struct {
	name string
	edit func(w *Workflow)
	want []string
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, tt := range slices.Concat(invalidGraphs(), invalidNodes()) {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := sample()
			tt.edit(w)
			got := messages(Validate(w)) // in the order of codes: nothing here has a position
			slices.Sort(got)
			slices.Sort(tt.want)
			if diff := cmp.Diff(got, tt.want); diff != "" {
				t.Errorf("(-got +want):\n%s", diff)
			}
		})
	}
}

func invalidGraphs() []invalid {
	node := func(w *Workflow, id string) *Node { return w.Node(id) }
	edge := func(w *Workflow, from, to string) *Edge {
		i := slices.IndexFunc(w.Edges, func(e Edge) bool { return e.From == from && e.To == to })
		return &w.Edges[i]
	}
	return []invalid{
		{"a flow without nodes", func(w *Workflow) {
			*w.Flows["other"] = Workflow{}
		}, []string{`no-nodes: flow "other": the workflow has no nodes`}},
		{"no entry", func(w *Workflow) { w.Entry = "" }, []string{"no-entry: the workflow has no entry node"}},
		{"unknown entry", func(w *Workflow) {
			w.Entry = "stat"
		}, []string{`unknown-entry: the entry "stat" is not a node; did you mean "start"?`}},
		{"entry in a branch", func(w *Workflow) {
			w.Entry = "a"
		}, []string{`entry-in-branch: node "a": the entry is in a branch of "par"`}},
		{"duplicate node", func(w *Workflow) { w.Nodes = append(w.Nodes, Node{ID: "end", Kind: KindEnd}) },
			[]string{`duplicate-node: node id "end" is used twice`}},
		{"node without id", func(w *Workflow) { w.Nodes = append(w.Nodes, Node{Kind: KindEnd}) },
			[]string{`empty-id: a node of kind "end" has no id`}},
		{"duplicate agent", func(w *Workflow) {
			w.Agents = append(w.Agents, Agent{ID: "s"})
		}, []string{`duplicate-agent: agent id "s" is used twice`}},
		{"agent without id", func(w *Workflow) { w.Agents = append(w.Agents, Agent{Name: "X"}) },
			[]string{`empty-id: agent "X" has no id`}},
		{"edge from nowhere", func(w *Workflow) {
			edge(w, "inner", "end").From = "iner"
		}, []string{`unknown-node: an edge begins at "iner", which does not exist; did you mean "inner"?`}},
		{"edge to nowhere", func(w *Workflow) {
			edge(w, "inner", "end").To = "xyz"
		}, []string{`unknown-node: an edge from "inner" leads to "xyz", which does not exist`}},
		{"unknown kind", func(w *Workflow) {
			node(w, "end").Kind = "stop"
		}, []string{`unknown-kind: node "end": unknown kind "stop"`}},
		{"kind without its spec", func(w *Workflow) {
			node(w, "fn").Func = nil
		}, []string{`missing-spec: node "fn": is of kind func and has no settings for it`}},
		{"spec of another kind", func(w *Workflow) {
			node(w, "end").Wait = &Wait{}
		}, []string{`foreign-spec: node "end": is of kind end and holds the specification of a node of kind wait`}},
		{"unknown agent", func(w *Workflow) {
			node(w, "a").Agent.Agent = "v"
		}, []string{`unknown-agent: node "a": agent "v" is not defined; did you mean "s"?`}},
		{"unknown sub-agent", func(w *Workflow) {
			w.Agents[0].Subagents[0].Agent = "missing"
		}, []string{`unknown-agent: agent "w": sub-agent "missing" is not defined`}},
		{"sub-agent of itself", func(w *Workflow) {
			w.Agents[0].Subagents[0].Agent = "w"
		}, []string{`subagent-self: agent "w": cannot be a sub-agent of itself`}},
		{"sub-agent cycle", func(w *Workflow) {
			w.Agents[1].Subagents = []Subagent{{Agent: "x", Tool: "x"}}
			w.Agents = append(w.Agents, Agent{ID: "x", Subagents: []Subagent{{Agent: "s", Tool: "s"}}})
		}, []string{`subagent-cycle: agent "s": sub-agents form a cycle: s -> x -> s`}},
		{"sub-agent tools", func(w *Workflow) {
			w.Agents[0].Subagents = []Subagent{{Agent: "s", Tool: "t"}, {Agent: "s", Tool: "t"}, {Agent: "s"}}
		}, []string{`subagent-tool: agent "w": two sub-agents share the tool name "t"`,
			`subagent-tool: agent "w": sub-agent "s" has no tool name`}},
		{"decide with nothing", func(w *Workflow) {
			node(w, "check").Decide = &Decide{}
		}, []string{`decide-without-cases: node "check": has neither a case nor an else`}},
		{"case without port", func(w *Workflow) {
			node(w, "check").Decide.Cases[0].Port = ""
		}, []string{`empty-port: node "check": case 0 has no port`}},
		{"case without expression", func(w *Workflow) {
			node(w, "check").Decide.Cases[0].When = Condition{Language: LangExpr, Text: " "}
		},
			[]string{`bad-condition: node "check": case 0 has no expression`}},
		{"guard in no language", func(w *Workflow) { edge(w, "fn", "meet").When = &Condition{Language: "lua"} },
			[]string{`bad-condition: the guard of the edge from "fn" to "meet" has the unknown language "lua"`}},
		{"guard without function", func(w *Workflow) { edge(w, "fn", "meet").When = &Condition{Language: LangFunc} },
			[]string{`bad-condition: the guard of the edge from "fn" to "meet" names no function`}},
		{"fork names no join", func(w *Workflow) { node(w, "par").Fork.Join = "meat" }, []string{
			`fork-join: node "par": names the join "meat", which is not a join; did you mean "meet"?`,
			`join-fork: node "par/join": closes fork "par", which names "meat" as its join`,
		}},
		{"fork names another's join", func(w *Workflow) { node(w, "par").Fork.Join = "meet" }, []string{
			`fork-join: node "par": names the join "meet", which closes ""`,
			`join-fork: node "par/join": closes fork "par", which names "meet" as its join`,
		}},
		{"join closes no fork", func(w *Workflow) { node(w, "meet").Join.Fork = "fn" }, []string{
			`join-fork: node "meet": closes "fn", which is not a fork`,
			`edge-crosses-branch: "gate" leads to the join of fork "fn", but is in none of its branches`,
			`edge-crosses-branch: "fn" leads to the join of fork "fn", but is in none of its branches`,
			`edge-crosses-branch: "writer" leads to the join of fork "fn", but is in none of its branches`,
		}},
		{"fork without branches", func(w *Workflow) {
			node(w, "par").Fork.Branches = nil
			w.Edges = slices.DeleteFunc(w.Edges, func(e Edge) bool { return e.From == "par" })
		}, []string{`fork-without-branches: node "par": has no branches`}},
		{"branch without edge", func(w *Workflow) {
			node(w, "par").Fork.Branches = append(node(w, "par").Fork.Branches, Branch{ID: "c"})
		},
			[]string{`branch-without-edge: node "par": no edge begins branch "c"`}},
		{"branch twice", func(w *Workflow) {
			node(w, "par").Fork.Branches = append(node(w, "par").Fork.Branches, Branch{ID: "a"})
		},
			[]string{`duplicate-branch: node "par": branch id "a" is used twice`}},
	}
}

func invalidNodes() []invalid {
	node := func(w *Workflow, id string) *Node { return w.Node(id) }
	edge := func(w *Workflow, from, to string) *Edge {
		i := slices.IndexFunc(w.Edges, func(e Edge) bool { return e.From == from && e.To == to })
		return &w.Edges[i]
	}
	return []invalid{
		{"branch without id", func(w *Workflow) {
			node(w, "par").Fork.Branches = append(node(w, "par").Fork.Branches, Branch{})
		},
			[]string{`empty-id: node "par": a branch has no id`}},
		{"branch begins outside", func(w *Workflow) { edge(w, "par", "a").To = "writer" },
			[]string{`branch-target: branch "a" of fork "par" begins at "writer", which is not in it`}},
		{"quorum of none", func(w *Workflow) {
			node(w, "par").Fork.Until = UntilQuorum
		}, []string{`bad-quorum: node "par": the quorum is 0 of 2 branches`}},
		{"quorum too large", func(w *Workflow) {
			node(w, "par").Fork.Until, node(w, "par").Fork.Quorum = UntilQuorum, 3
		},
			[]string{`bad-quorum: node "par": the quorum is 3 of 2 branches`}},
		{"quorum without need", func(w *Workflow) {
			node(w, "par").Fork.Until, node(w, "par").Fork.Quorum = UntilAny, 1
		},
			[]string{`bad-quorum: node "par": has a quorum, but waits for "any"`}},
		{"fork in unknown words", func(w *Workflow) {
			f := node(w, "par").Fork
			f.Until, f.OnFailure, f.Shape = "al", "drain", "list"
		}, []string{
			`unknown-word: node "par": fork.until is "al", not one of all, any, race, quorum; did you mean "all"?`,
			`unknown-word: node "par": fork.onFailure is "drain", not one of fail_fast, collect, continue`,
			`unknown-word: node "par": fork.shape is "list", not one of steps, map`,
		}},
		{"P31: negative concurrency", func(w *Workflow) {
			w.Limits.MaxConcurrency, node(w, "par").Fork.MaxConcurrency = -1, -2
		}, []string{
			`negative-limit: maxConcurrency must not be negative`,
			`negative-limit: node "par": fork.maxConcurrency must not be negative`,
		}},
		{"negative limits", func(w *Workflow) {
			w.Limits = Limits{MaxSteps: new(-1), MaxRounds: -1, MaxLoopIterations: -1, Timeout: -1, MaxTokens: -1,
				MaxCostUSD: math.NaN(), MaxCalls: -1, OnBudget: "wait"}
		}, []string{
			"negative-limit: maxSteps must not be negative", "negative-limit: maxRounds must not be negative",
			"negative-limit: maxLoopIterations must not be negative", "negative-limit: timeout must not be negative",
			"negative-limit: maxTokens must not be negative", "negative-limit: maxCostUSD must not be negative",
			"negative-limit: maxCalls must not be negative",
			`unknown-word: limits.onBudget is "wait", not one of fail, pause`,
		}},
		{"D28: no steps at all is a limit", func(w *Workflow) { w.Limits.MaxSteps = new(0) }, nil},
		{"negative values of nodes", func(w *Workflow) {
			n := node(w, "gate")
			n.Timeout, n.Wait.Deadline, n.Retry = -1, -1, &Retry{MaxRetries: -1, Delay: -1, Multiplier: -1}
			n.Budget = &Budget{MaxTokens: -1, MaxCostUSD: -1, MaxCalls: -1}
		}, []string{
			`negative-limit: node "gate": timeout must not be negative`,
			`foreign-spec: node "gate": is of kind wait, which calls no models and tools, and has a budget`,
			`negative-limit: node "gate": budget.maxTokens must not be negative`,
			`negative-limit: node "gate": budget.maxCostUSD must not be negative`,
			`negative-limit: node "gate": budget.maxCalls must not be negative`,
			`negative-limit: node "gate": retry.maxRetries must not be negative`,
			`negative-limit: node "gate": retry.delay must not be negative`,
			`negative-limit: node "gate": retry.multiplier must not be negative`,
			`negative-limit: node "gate": wait.deadline must not be negative`,
		}},
		{"bad agent", func(w *Workflow) {
			w.Agents[1] = Agent{ID: "s", MaxTurns: -1, NoProgress: -1, SubagentFailure: "ignore",
				Toolsets: []json.RawMessage{json.RawMessage("{")},
				Output:   &Output{Schema: json.RawMessage("x"), Repairs: new(-1)},
				Params: ModelParams{MaxTokens: new(int64(-1)), Temperature: new(math.Inf(1)),
					Provider: map[string]json.RawMessage{"k": nil}}}
		}, []string{
			`unknown-word: agent "s": subagentFailure is "ignore", not one of fail, report`,
			`negative-limit: agent "s": maxTurns must not be negative`,
			`negative-limit: agent "s": noProgress must not be negative`,
			`bad-json: agent "s": a toolset is not valid JSON`,
			`negative-limit: agent "s": output.repairs must not be negative`,
			`bad-json: agent "s": the schema of the output is not valid JSON`,
			`negative-limit: agent "s": params.maxTokens must not be negative`,
			`bad-json: agent "s": a model parameter is not a finite number`,
			`bad-json: agent "s": params.provider.k is not valid JSON`,
		}},
		{"bad rules", func(w *Workflow) {
			w.Rules = Rules{OnFailure: FailCollect, DefaultInput: json.RawMessage("nope"), Handoff: "ghost",
				Reducers: map[string]string{"a": "sum", "b": "func:f", "c": "func:", "d": "max"}}
			w.Providers = map[string]Provider{"p": {Kind: "azure"}, "q": {Kind: "google", Omit: []string{"stop",
				"top"}}}
		}, []string{
			`unknown-word: rules.onFailure is "collect", not one of fail_fast, drain`,
			`bad-json: the default input is not valid JSON`,
			`bad-handoff: the handoff "ghost" is not a node`,
			`unknown-word: the reducer of "c" is "func:", not one of append, sum, merge, last, func:NAME`,
			`unknown-word: the reducer of "d" is "max", not one of append, sum, merge, last, func:NAME`,
			`unknown-word: provider "p" is of kind "azure", not one of openai, anthropic, google`,
			`unknown-word: omit of provider "q": "top" is not a parameter that can be omitted; did you mean "stop"?`,
		}},
		{"handoff is no wait", func(w *Workflow) {
			w.Rules.Handoff = "fn"
		}, []string{`bad-handoff: node "fn": the handoff must be a node of kind wait`}},
		{"names left out", func(w *Workflow) {
			node(w, "b").Tool = &ToolNode{Args: json.RawMessage("[]")}
			node(w, "fn").Func.Func = ""
			node(w, "a").Agent.Prompt = Prompt{Mode: PromptFunc}
			node(w, "writer").Agent.Prompt.Mode = "context "
			node(w, "gate").Wait.Kind = ""
			node(w, "writer").Agent.Routing = &Routing{Values: []string{""}}
		}, []string{
			`unknown-word: node "writer": prompt.mode is "context ", not one of template, context, turns, shared, ` +
				`func; did you mean "context"?`,
			`empty-port: node "writer": a routing value is empty`,
			`missing-name: node "a": prompt.text is empty`, `missing-name: node "b": tool is empty`,
			`bad-json: node "b": args must be a JSON object`,
			`unknown-word: node "gate": wait.kind is "", not one of approval, question, signal`,
			`missing-name: node "fn": func is empty`,
		}},
		{"parent is no fork", func(w *Workflow) { node(w, "end").Parent = "gate" }, []string{
			`bad-parent: node "end": is in "gate", which is neither a fork nor a map`,
			`edge-crosses-branch: the edge from "inner" to "end" crosses the border of a branch: a branch is entered ` +
				`by its fork and left by its join`,
		}},
		{"parent is not a node", func(w *Workflow) { node(w, "b").Parent = "per" }, []string{
			`bad-parent: node "b": is in "per", which does not exist; did you mean "par"?`,
			`branch-target: branch "b" of fork "par" begins at "b", which is not in it`,
			`edge-crosses-branch: "b" leads to the join of fork "par", but is in none of its branches`,
		}},
		{"fork in itself", func(w *Workflow) { node(w, "par").Parent = "par" }, []string{
			`bad-parent: node "par": is its own parent`, `bad-parent: node "a": is its own parent`,
			`bad-parent: node "b": is its own parent`,
			`edge-crosses-branch: the edge from "check" to "par" crosses the border of a branch: a branch is entered ` +
				`by its fork and left by its join`,
		}},
		{"join stands elsewhere", func(w *Workflow) { node(w, "par/join").Parent = "par" }, []string{
			`bad-parent: node "par/join": is in "par", its fork in ""`,
			`edge-crosses-branch: the edge from "par/join" to "gate" crosses the border of a branch: a branch is ` +
				`entered by its fork and left by its join`,
		}},
		{"edge out of a branch", func(w *Workflow) { edge(w, "a", "par/join").To = "end" }, []string{
			`edge-crosses-branch: the edge from "a" to "end" crosses the border of a branch: a branch is entered by ` +
				`its fork and left by its join`,
		}},
		{"blocks too deep", func(w *Workflow) {
			parent := ""
			for i := range MaxBlockDepth + 3 { // one problem: deeper levels are not reported again
				id := fmt.Sprint("deep", i)
				w.Nodes = append(w.Nodes, Node{ID: id, Kind: KindFork, Parent: parent,
					Fork: &Fork{Join: id + "/join", Branches: []Branch{{ID: "b"}}}},
					Node{ID: id + "/join", Kind: KindJoin, Parent: parent, Join: &Join{Fork: id}},
					Node{ID: id + "/a", Kind: KindEnd, Parent: id})
				w.Edges = append(w.Edges, Edge{From: id, Port: "b", To: id + "/a"})
				parent = id
			}
		}, []string{`blocks-too-deep: node "deep64": parallel blocks and maps are nested more than 64 deep`}},
		{"map without a body", func(w *Workflow) {
			w.Nodes = append(w.Nodes, Node{ID: "m", Kind: KindMap, Map: &Map{Entry: "x", Over: json.RawMessage("["),
				OverFunc: "f", As: "steps", OnItemError: "stop", MaxConcurrency: -1}})
		}, []string{
			`bad-json: node "m": map.over must be JSON`, `bad-value: node "m": it has over and overFunc`,
			`negative-limit: node "m": map.maxConcurrency must not be negative`,
			`unknown-word: node "m": map.onItemError is "stop", not one of fail_fast, skip, collect`,
			`map-name: node "m": names its item "steps", which cannot be the name of a variable`,
			`map-entry: node "m": begins its items at "x", which does not exist; did you mean "a"?`,
		}},
		{"map with an end and another's body", func(w *Workflow) {
			w.Nodes = append(w.Nodes, Node{ID: "m", Kind: KindMap, Map: &Map{Entry: "end"}},
				Node{ID: "e", Kind: KindEnd, Parent: "m"})
			w.Edges = append(w.Edges, Edge{From: "e", To: "end"})
		}, []string{
			`map-entry: node "m": begins its items at "end", which is not in it`,
			`end-in-map: node "e": ends the run, so it cannot be inside of a map, where the other items would be lost`,
			`edge-crosses-branch: the edge from "e" to "end" crosses the border of a branch or of a map: an item ` +
				`begins at the entry of its map and ends where its path does`,
		}},
		{"unknown flow", func(w *Workflow) {
			node(w, "inner").Subflow.Flow = "othr"
		}, []string{`unknown-flow: node "inner": flow "othr" is not defined; did you mean "other"?`}},
		{"branch with a problem", func(w *Workflow) {
			w.Branches = []*Workflow{{ID: "b", Nodes: []Node{{ID: "only", Kind: KindEnd}}}}
		}, []string{`no-entry: branch "b": the workflow has no entry node`}},
		{"empty branch", func(w *Workflow) {
			w.Branches = []*Workflow{nil}
		}, []string{"empty-branch: branch 1 is empty"}},
		{"branch without id", func(w *Workflow) {
			w.Branches = []*Workflow{one("")}
		}, []string{"empty-branch: branch 1 has no id"}},
		{"two branches with one id", func(w *Workflow) { w.Branches = []*Workflow{one("b"), one("b")} },
			[]string{`duplicate-branch-id: two branches have the id "b"`}},
		{"branches in a branch", func(w *Workflow) { w.Branches = []*Workflow{one("b", one("c"))} },
			[]string{`nested-branches: branch "b": a branch has no branches of its own`}},
		{"empty flow", func(w *Workflow) { w.Flows["other"] = nil }, []string{`unknown-flow: flow "other" is empty`}},
		{"flow with a problem", func(w *Workflow) {
			w.Flows["other"].Entry = ""
		}, []string{`no-entry: flow "other": the workflow has no entry node`}},
		{"flow that calls itself", func(w *Workflow) {
			w.Flows["other"].Nodes = []Node{{ID: "only", Kind: KindSubflow, Subflow: &Subflow{Flow: "other"}}}
		}, []string{`flow-recursion: flow "other": node "only": flow "other" contains itself`}},
		{"flow that holds its workflow", func(w *Workflow) { w.Flows["other"].Flows = map[string]*Workflow{"x": w} },
			[]string{`flow-recursion: flow "other": flow "x" contains itself`}},
		{"flows too deep", func(w *Workflow) {
			for f, i := w.Flows["other"], 0; i < MaxFlowDepth; i++ {
				next := &Workflow{Entry: "only", Nodes: []Node{{ID: "only", Kind: KindEnd}}}
				f.Flows = map[string]*Workflow{"f": next}
				f = next
			}
		}, []string{"flow-too-deep: " + `flow "other": ` + strings.Repeat(`flow "f": `, MaxFlowDepth-1) +
			`flow "f" is nested more than 16 flows deep`}},
	}
}

// TestValidatePlaces checks that diagnostics have positions in the document, and are in the order
// of the document.
func TestValidatePlaces(t *testing.T) {
	t.Parallel()
	at := func(line int) diag.Span { return diag.Span{File: "f.json", Start: diag.Pos{Line: line, Column: 2}} }
	w := sample()
	w.Source = Source{File: "f.json", Nodes: map[string]diag.Span{"fn": at(9)},
		Agents: map[string]diag.Span{"s": at(3)}, Edges: []diag.Span{at(5)}}
	w.Node("fn").Func = nil
	w.Agents[1].MaxTurns = -1
	w.Edges[0].To = "ghost"
	w.Limits.MaxRounds = -1
	var got []string
	for _, d := range Validate(w) {
		got = append(got, d.String())
	}
	want := []string{
		"f.json: error: maxRounds must not be negative (negative-limit)",
		`f.json:3:2: error: agent "s": maxTurns must not be negative (negative-limit)`,
		`f.json:5:2: error: an edge from "start" leads to "ghost", which does not exist (unknown-node)`,
		`f.json:9:2: error: node "fn": is of kind func and has no settings for it (missing-spec)`,
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

// TestValidateNoNodes checks that a workflow without nodes completes immediately (S1-7), but that
// an entry that it names is unknown.
func TestValidateNoNodes(t *testing.T) {
	t.Parallel()
	if l := Validate(&Workflow{}); len(l) > 0 {
		t.Errorf("no nodes: %v", l)
	}
	if l := Validate(&Workflow{Entry: "a"}); len(l) != 1 || l[0].Code != "unknown-entry" {
		t.Errorf("an entry without nodes: %v", l)
	}
}

// one returns a branch with a single node.
func one(id string, branches ...*Workflow) *Workflow {
	return &Workflow{ID: id, Entry: "only", Nodes: []Node{{ID: "only", Kind: KindEnd}}, Branches: branches}
}

// TestGraph checks that a run of the main graph or of a branch has its own definition, which
// changes elsewhere in the workflow do not affect (S1-20, S1-21).
func TestGraph(t *testing.T) {
	t.Parallel()
	w := &Workflow{Name: "w", Entry: "only", Nodes: []Node{{ID: "only", Kind: KindEnd}},
		Schedules: []Schedule{{Mode: ModeInterval, Spec: "60"}}, Branches: []*Workflow{one("b"), one("c")}}
	alone := *w
	alone.Branches, alone.Schedules = nil, nil
	want, err := alone.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := w.Graph("").Digest(); err != nil || got != want {
		t.Errorf("the main graph has digest %s, %v, want %s", got, err, want)
	}
	if g := w.Graph("c"); g == nil || g.ID != "c" {
		t.Errorf("branch c is %v", g)
	}
	if g := w.Graph("d"); g != nil {
		t.Errorf("branch d is %v", g)
	}
	if len(w.Branches) != 2 || w.Schedules == nil {
		t.Error("Graph changed the workflow")
	}
}

// TestValidateFlowState checks that only a flow with typed state has a state that functions can
// produce and accept (S2-66).
func TestValidateFlowState(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		sub   Subflow
		typed bool
		want  string
	}{
		{"neither", Subflow{}, false, ""},
		{"input", Subflow{Input: "f"}, false, `node "inner": maps states, but flow "other" has no typed state`},
		{"mapper", Subflow{Mapper: "f"}, false, `node "inner": maps states, but flow "other" has no typed state`},
		{"typed", Subflow{Input: "f", Mapper: "g"}, true, ""},
	} {
		w := sample()
		tc.sub.Flow = "other"
		w.Node("inner").Subflow, w.Flows["other"].Rules.StateFlows = &tc.sub, tc.typed
		l := Validate(w)
		if got := l.Error(); got != "" && tc.want == "" || !strings.Contains(got, tc.want) || tc.want != "" &&
			l[0].Code != "untyped-flow" {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}
