package project

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/workflow"
)

func agentNode(id, parent, agent string) workflow.Node {
	return workflow.Node{ID: id, Parent: parent, Kind: workflow.KindAgent,
		Agent: &workflow.AgentNode{Agent: agent, Prompt: workflow.Prompt{Mode: workflow.PromptTemplate}}}
}

func closing(id, of, parent string) workflow.Node {
	return workflow.Node{ID: id, Parent: parent, Hidden: true, Kind: workflow.KindJoin, Join: &workflow.Join{Fork: of}}
}

// blockFlow returns the workflow a → par( gen_1 → gen_2 | inner( y | z ) ) → after.
func blockFlow(shape, until, onFailure string, retry *workflow.Retry) *workflow.Workflow {
	par := fork("par", "par/join", shape, "gen_1", "inner")
	par.Fork.Until, par.Fork.OnFailure, par.Retry = until, onFailure, retry
	inner := fork("inner", "inner/join", shape, "y", "z")
	inner.Parent = "par"
	return &workflow.Workflow{
		Entry: "a", Agents: definition("").Agents,
		Nodes: []workflow.Node{
			agentNode("a", "", "a"), par, agentNode("par/gen_1", "par", "gen"), agentNode("gen_2", "par", "gen"), inner,
			agentNode("y", "inner", "a"), agentNode("z", "inner", "b"),
			closing("inner/join", "inner", "par"), closing("par/join", "par", ""), agentNode("after", "", "b"),
		},
		Edges: []workflow.Edge{
			{From: "a", To: "par"}, {From: "par", Port: "gen_1", To: "par/gen_1"},
			{From: "par", Port: "inner", To: "inner"}, {From: "par/gen_1", To: "gen_2"},
			{From: "gen_2", To: "par/join"}, {From: "inner", Port: "y", To: "y"}, {From: "inner", Port: "z", To: "z"},
			{From: "y", To: "inner/join"},
			{From: "z", To: "inner/join"}, {From: "inner/join", To: "par/join"}, {From: "par/join", To: "after"},
		},
	}
}

// TestOutputs_MatchEngine checks that the outputs derived here are the outputs the engine works
// with: for every order of results and at every event, each step has the same output as in the
// engine's state.
func TestOutputs_MatchEngine(t *testing.T) {
	t.Parallel()
	flows := map[string]*workflow.Workflow{
		"block": blockFlow("", "", "", nil), "map": blockFlow(workflow.ShapeMap, "", "", nil),
		"race":                blockFlow("", workflow.UntilRace, "", nil),
		"any as map":          blockFlow(workflow.ShapeMap, workflow.UntilAny, "", nil),
		"going on":            blockFlow(workflow.ShapeMap, "", workflow.FailContinue, nil),
		"collecting":          blockFlow("", "", workflow.FailCollect, nil),
		"race without losers": hidingLosers(blockFlow("", workflow.UntilAny, "", nil)),
		"again":               blockFlow("", "", "", &workflow.Retry{MaxRetries: 2}),
		"sub-flow": {
			Entry: "a", Agents: definition("").Agents,
			Nodes: []workflow.Node{agentNode("a", "", "a"), {ID: "sub", Kind: workflow.KindSubflow,
				Subflow: &workflow.Subflow{Flow: "f"}}, agentNode("b", "", "b")},
			Edges: []workflow.Edge{{From: "a", To: "sub"}, {From: "sub", To: "b"}},
			Flows: map[string]*workflow.Workflow{"f": blockFlow("", "", "", nil)},
		},
		"sub-flow with a state": {
			Entry: "sub", Agents: definition("").Agents,
			Nodes: []workflow.Node{{ID: "sub", Kind: workflow.KindSubflow, Subflow: &workflow.Subflow{Flow: "f"}},
				agentNode("b", "", "b")},
			Edges: []workflow.Edge{{From: "sub", To: "b"}}, Flows: map[string]*workflow.Workflow{"f": {
				Entry: "a", Agents: definition("").Agents, Nodes: []workflow.Node{agentNode("a", "", "a")},
				Rules: workflow.TypedRules(),
			}},
		},
		"hand-offs": handing(blockFlow("", "", "", &workflow.Retry{MaxRetries: 2})),
		"arrived and at work": {
			Entry: "par", Agents: definition("").Agents, Nodes: []workflow.Node{
				{ID: "par", Kind: workflow.KindFork, Fork: &workflow.Fork{Join: "par/join", Shape: workflow.ShapeMap,
					Until: workflow.UntilAny, Branches: []workflow.Branch{{ID: "p"}, {ID: "r"}}}},
				agentNode("p", "par", "a"), agentNode("q", "par", "b"), agentNode("r", "par", "gen"),
				closing("par/join", "par", ""), agentNode("after", "", "b"),
			},
			Edges: []workflow.Edge{
				{From: "par", Port: "p", To: "p"}, {From: "par", Port: "r", To: "r"}, {From: "p", To: "par/join"},
				{From: "p", To: "q"}, {From: "q", To: "par/join"}, {From: "r", To: "par/join"},
				{From: "par/join", To: "after"},
			},
		},
		"error edge": {
			Entry: "a", Agents: definition("").Agents,
			Nodes: []workflow.Node{agentNode("a", "", "a"), agentNode("b", "", "b"), agentNode("h", "", "gen")},
			Edges: []workflow.Edge{{From: "a", To: "b"}, {From: "a", Port: workflow.PortError, To: "h"}},
		},
		"decisions": {
			Entry: "s", Agents: definition("").Agents, Nodes: []workflow.Node{
				node("s", workflow.KindStart),
				{ID: "if", Kind: workflow.KindDecide,
					Decide: &workflow.Decide{
						Cases: []workflow.Case{{Port: "c", When: workflow.Condition{Language: workflow.LangMatch,
							Op: "contains", Text: "x"}}}, Else: "no",
					}},
				agentNode("a", "", "a"), agentNode("b", "", "b"),
				{ID: "j", Kind: workflow.KindJoin, Join: &workflow.Join{}}, node("e", workflow.KindEnd)},
			Edges: []workflow.Edge{{From: "s", To: "if"}, {From: "if", Port: "c", To: "a"},
				{From: "if", Port: "c", To: "b"}, {From: "a", To: "j"}, {From: "b", To: "j"}, {From: "j", To: "e"}},
		},
	}
	for name, def := range flows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range randtest.Seeds(16) {
				rnd := rand.New(rand.NewPCG(seed, 1))
				w := enginetest.New(t, def, nil)
				w.SkipLaws = true
				w.Model = func(c *engine.CallModel) *engine.ModelResult {
					switch {
					case len(c.Agent.Handoffs) > 0 && rnd.IntN(2) == 0:
						r := enginetest.Reply("")
						r.Message.ToolCalls = []chat.ToolCall{{ID: "h", Name: workflow.HandoffTool,
							Arguments: event.Value(`{"agent":"` + c.Agent.Handoffs[0] + `"}`)}}
						return r
					case seed%2 == 1 && rnd.IntN(5) == 0:
						return enginetest.Fails("overloaded", "busy <"+c.Node+">")
					case rnd.IntN(6) == 0 && len(c.Messages) < 6:
						r := enginetest.Reply("calling")
						r.Message.ToolCalls = []chat.ToolCall{
							{ID: "k", Name: "look", Arguments: event.Value(`{"n":` + fmt.Sprint(rnd.IntN(99)) + `}`)},
						}
						return r
					}
					return enginetest.Reply(fmt.Sprintf("%s says \"%d\"", c.Node, rnd.IntN(1000)))
				}
				w.Tool = func(*engine.CallTool) *engine.ToolResult { return &engine.ToolResult{Text: "seen"} }
				w.Start("text with x")
				w.Go(func(n int) int { return rnd.IntN(n) })
				sameAsEngineToTheEnd(t, def, w)
			}
		})
	}
}

// hidingLosers hides the outputs of losing branches, as Go graphs do (S2-57).
func hidingLosers(w *workflow.Workflow) *workflow.Workflow {
	w.Rules.HideLosers = true
	return w
}

// handing allows every agent to hand off to the next one.
func handing(w *workflow.Workflow) *workflow.Workflow {
	for i := range w.Agents {
		w.Agents[i].Handoffs = []string{w.Agents[(i+1)%len(w.Agents)].ID}
	}
	return w
}

// sameAsEngineToTheEnd compares a run as sameAsEngine does, and also its views at the end.
func sameAsEngineToTheEnd(t *testing.T, def *workflow.Workflow, w *enginetest.World) {
	t.Helper()
	sameAsEngine(t, w)
	f := Fold("run1", def, w.Events)
	if run := f.Run(); !run.Status.Ended() {
		t.Fatalf("run is %s\n%s", run.Status, w.Log())
	}
	for _, n := range f.Nodes() {
		switch n.Status {
		case NodeSucceeded, NodeFailed, NodeCancelled, NodeSkipped: // P2
		default:
			t.Errorf("node %s ends as %s", n.Node, n.Status)
		}
	}
	if !json.Valid(f.Context()) {
		t.Errorf("context is no JSON: %s", f.Context())
	}
}

// TestOutputsOfRandomWorkflows repeats the comparison for random workflows with loops, decisions
// and nested blocks.
func TestOutputsOfRandomWorkflows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := enginetest.DrawShape(rt, 4)
		s.SetLoops(2)
		def := s.Compile()
		w := enginetest.New(t, def, nil)
		w.SkipLaws = true
		w.Model = func(c *engine.CallModel) *engine.ModelResult {
			return enginetest.Reply(enginetest.ReplyTo(c.Node, c.Messages[len(c.Messages)-1].Text.String()))
		}
		w.Start("go")
		w.Go(func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "pick") })
		if len(w.Events) < 150 { // folding every prefix takes quadratic time
			sameAsEngineToTheEnd(t, def, w)
		}
	})
}

// TestLogsOfTwoApprovals checks S0-41, S0-44 and D18: the log of two concurrent approvals, as the
// engine runs them.
func TestLogsOfTwoApprovals(t *testing.T) {
	t.Parallel()
	gate := func(id string) workflow.Node {
		return workflow.Node{ID: id, Kind: workflow.KindWait, Wait: &workflow.Wait{Kind: workflow.WaitApproval}}
	}
	def := &workflow.Workflow{
		Format: "canvas", Entry: "s", Agents: definition("").Agents,
		Rules: workflow.Rules{HoldWhilePaused: true, OnFailure: workflow.FailDrain},
		Nodes: []workflow.Node{node("s", workflow.KindStart), gate("g1"), gate("g2"), agentNode("w", "", "a")},
		Edges: []workflow.Edge{{From: "s", To: "g1"}, {From: "s", To: "g2"},
			{From: "g1", Port: workflow.PortApprove, To: "w"}},
	}
	w := enginetest.New(t, def, nil)
	w.Model = func(*engine.CallModel) *engine.ModelResult { return enginetest.Reply("hi") }
	w.Start("x")
	w.Go(nil)
	first := Fold("r", def, w.Events).Run()
	wantJSON(t, []any{first.Status, first.CanvasFields}, `["paused",{"waitingForInput":true,"currentNodeId":"g1"}]`)
	w.Feed(engine.Answer{Value: enginetest.Text("approve")})
	w.Go(nil)
	second := Fold("r", def, w.Events).Run()
	wantJSON(t, []any{second.Status, second.CanvasFields}, `["paused",{"waitingForInput":true,"currentNodeId":"g2"}]`)
	w.Crash()
	w.Feed(engine.Answer{Value: enginetest.Text("reject"), Note: "no"})
	w.Go(nil)
	var got []entry
	for _, l := range Logs(def, w.Events) {
		got = append(got, entry{l.NodeID, l.Type, l.Content})
	}
	if diff := cmp.Diff(got, []entry{
		{"s", "step_start", "start node"}, {"g1", "step_start", "approval node"},
		{"g1", "wait_input", "Waiting for user approval"},
		{"g2", "step_start", "approval node"}, {"g2", "wait_input", "Waiting for user approval"},
		{"g1", "input_received", "User approved this step."},
		{"w", "step_start", "Writer agent node"}, {"w", "start_prompt", "x"}, {"w", "llm_response", "hi"},
		{"g2", "wait_input", "Waiting for user approval"},
		{"g2", "input_received", "User rejected this step. Feedback: no"},
	}); diff != "" {
		t.Errorf("%s\n%s", diff, w.Log())
	}
	last := Fold("r", def, w.Events).Run()
	wantJSON(t, []any{last.Status, last.CanvasFields, last.State},
		`["completed",{"waitingForInput":false,"currentNodeId":null},
		{"s":"x","g1":"x","g1_approval":{"decision":"approve","note":""},"w":"hi","g2":"x",`+
			`"g2_approval":{"decision":"reject","note":"no"}}]`)
}

// TestLogs_Subagents checks S0-54 and S0-56: the engine's sub-agent events produce the entries of
// canvas documents; usage includes them (P20).
func TestLogs_Subagents(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{workflow.SubagentFails, workflow.SubagentReports} {
		def := &workflow.Workflow{
			Format: "canvas", Entry: "w", Nodes: []workflow.Node{agentNode("w", "", "a")},
			Agents: []workflow.Agent{
				{ID: "a", Name: "Writer", Subagents: []workflow.Subagent{{Agent: "k", Tool: "ask_k"}},
					SubagentFailure: mode},
				{ID: "k", Name: "Helper", Subagents: []workflow.Subagent{{Agent: "l", Tool: "ask_l"}}},
				{ID: "l", Name: "Deeper"},
			},
		}
		w := enginetest.New(t, def, nil)
		asked := map[string]int{}
		w.Model = func(c *engine.CallModel) *engine.ModelResult {
			asked[c.Agent.ID]++
			r := enginetest.Reply("done")
			switch {
			case c.Agent.ID == "l" && asked["k"] == 2:
				return enginetest.Fails("overloaded", "busy")
			case c.Agent.ID == "a" && asked["a"] < 3:
				r.Message = chat.Message{ToolCalls: []chat.ToolCall{
					{ID: "c", Name: "ask_k", Arguments: event.Value(fmt.Sprintf(`{"input":"%d"}`, asked["a"]))},
				}}
			case c.Agent.ID == "k" && len(c.Messages) == 1:
				r.Message = chat.Message{
					ToolCalls: []chat.ToolCall{{ID: "c", Name: "ask_l", Arguments: event.Value(`{"input":"x"}`)}},
				}
			case c.Agent.ID == "k" && asked["k"] == 2:
				asked["k"] = 1 // the second round of k fails
			}
			return r
		}
		w.Start("x")
		w.Go(nil)
		var types []LogType
		open := map[string]bool{}
		for _, l := range Logs(def, w.Events) {
			types = append(types, l.Type)
			var sub subagentLog
			if json.Unmarshal([]byte(l.Content), &sub) != nil {
				continue
			}
			if l.NodeID != "w" || sub.ParentNodeID != "w" || sub.Type != l.Type ||
				(sub.Depth == 2) != (sub.ParentCallID != "") {
				t.Errorf("%s: %+v", mode, l)
			}
			switch {
			case l.Type == LogSubagentStart:
				open[sub.CallID] = true
			case !open[sub.CallID]:
				t.Errorf("%s: call %s ends without being open", mode, sub.CallID)
			default:
				delete(open, sub.CallID)
			}
		}
		if len(open) > 0 {
			t.Errorf("%s: calls without end: %v\n%v\n%s", mode, open, types, w.Log())
		}
		r := Fold("r", def, w.Events).Run()
		calls := 0
		for _, e := range w.Events {
			if _, ok := e.Data.(*event.ModelCalled); ok {
				calls++
			}
		}
		if len(r.Steps) != 1 || r.Usage.ModelCalls != calls || r.Usage.CostUSD != nil {
			t.Errorf("%s: %d steps, %+v, %d calls", mode, len(r.Steps), r.Usage, calls)
		}
	}
}
