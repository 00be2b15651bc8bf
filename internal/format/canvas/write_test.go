package canvas_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/format/canvas"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// chain returns a workflow that a canvas can express completely: an agent followed by another.
func chain() *workflow.Workflow {
	agent := func(id string) workflow.Agent {
		return workflow.Agent{
			ID: id, Name: id, System: "You write.", MaxTurns: 20, Trim: true,
			EmptyText: "Model returned no text output.",
			Params:    workflow.ModelParams{ReasoningEffort: "low"},
		}
	}
	node := func(id, agent string) workflow.Node {
		return workflow.Node{ID: id, Kind: workflow.KindAgent, Name: agent,
			Agent: &workflow.AgentNode{Agent: agent, Prompt: workflow.Prompt{Mode: workflow.PromptTemplate}}}
	}
	return &workflow.Workflow{
		Entry: "first", Nodes: []workflow.Node{node("first", "a"), node("second", "b")},
		Edges: []workflow.Edge{{From: "first", To: "second"}}, Agents: []workflow.Agent{agent("a"), agent("b")},
		Rules: workflow.Rules{OnFailure: workflow.FailDrain, HoldWhilePaused: true},
	}
}

const chainText = `{
  "nodes": [
    {
      "id": "start",
      "type": "start",
      "x": 80,
      "y": 80
    },
    {
      "id": "first",
      "type": "agent",
      "x": 80,
      "y": 260,
      "data": {
        "agentName": "a",
        "systemPrompt": "You write."
      }
    },
    {
      "id": "second",
      "type": "agent",
      "x": 80,
      "y": 440,
      "data": {
        "agentName": "b",
        "systemPrompt": "You write."
      }
    }
  ],
  "connections": [
    {
      "source": "start",
      "target": "first"
    },
    {
      "source": "first",
      "target": "second"
    }
  ]
}
`

// TestWrite checks that a workflow of another format gets a start node, and that agents belong to
// their nodes.
func TestWrite(t *testing.T) {
	t.Parallel()
	text, unsupported := canvas.Write(chain())
	if len(unsupported) > 0 {
		t.Errorf("unsupported: %v", unsupported)
	}
	if diff := cmp.Diff(string(text), chainText); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

// TestWrite_Unsupported checks that what a canvas cannot express is listed, each item once, and
// nothing else.
func TestWrite_Unsupported(t *testing.T) {
	t.Parallel()
	second := func(w *workflow.Workflow) *workflow.Node { return &w.Nodes[1] }
	tests := []struct {
		name string
		edit func(w *workflow.Workflow)
		want []string
	}{
		{"limits", func(w *workflow.Workflow) {
			w.Limits.MaxRounds = 3
		}, []string{`workflow: the limits {"maxRounds":3}`}},
		{"rules where nothing runs at once", func(w *workflow.Workflow) {
			w.Rules = workflow.Rules{SharedConversation: true}
		}, []string{
			`workflow: the rules {"sharedConversation":true}`}},
		{"rules where branches do", func(w *workflow.Workflow) {
			w.Rules = workflow.Rules{SharedConversation: true}
			w.Nodes = append(w.Nodes, workflow.Node{ID: "ok", Kind: workflow.KindWait,
				Wait: &workflow.Wait{Kind: workflow.WaitApproval}})
			w.Edges = append(w.Edges, workflow.Edge{From: w.Edges[0].From, To: "ok"})
		}, []string{
			"workflow: that a failure stops the calls in flight: in a canvas they finish",
			"workflow: that other branches continue while an approval waits: in a canvas they are held",
			`workflow: the rules {"sharedConversation":true}`}},
		{"flows and providers", func(w *workflow.Workflow) {
			w.Flows = map[string]*workflow.Workflow{"b": nil, "a": nil}
			w.Providers = map[string]workflow.Provider{"p": {}}
		}, []string{`workflow: the flow "a"`, `workflow: the flow "b"`, `workflow: the model provider "p"`}},
		{"hidden", func(w *workflow.Workflow) {
			w.Nodes[0].Hidden = true
		}, []string{`node "first": that it is hidden`}},
		{"kinds", func(w *workflow.Workflow) {
			w.Nodes = append(w.Nodes, workflow.Node{ID: "t", Kind: workflow.KindTool,
				Tool: &workflow.ToolNode{Tool: "x"}},
				workflow.Node{ID: "s", Kind: workflow.KindStart},
				workflow.Node{ID: "f", Kind: workflow.KindFork, Fork: &workflow.Fork{Join: "j"}},
				workflow.Node{ID: "j", Kind: workflow.KindJoin, Hidden: true, Join: &workflow.Join{Fork: "f"}},
				workflow.Node{ID: "q", Kind: workflow.KindWait, Wait: &workflow.Wait{Kind: workflow.WaitQuestion,
					Prompt: "Who?"}},
				workflow.Node{ID: "z", Kind: workflow.KindSleep, Sleep: &workflow.SleepNode{For: "1s"}})
			w.Edges = append(w.Edges, workflow.Edge{From: "second", To: "t"}, workflow.Edge{From: "t", To: "q"})
		}, []string{`node "t": that its arguments are its input`, `node "s": that it is a second start node`,
			`node "f": a node of kind fork`, `node "z": a node of kind sleep`}},
		{"an end node says nothing in a chain", func(w *workflow.Workflow) {
			w.Nodes = append(w.Nodes, workflow.Node{ID: "end", Kind: workflow.KindEnd})
			w.Edges = append(w.Edges, workflow.Edge{From: "second", To: "end"})
		}, nil},
		{"an end node beside another branch", func(w *workflow.Workflow) {
			w.Nodes = append(w.Nodes, workflow.Node{ID: "end", Kind: workflow.KindEnd})
			w.Edges = append(w.Edges, workflow.Edge{From: "first", To: "end"})
		}, []string{`node "end": that reaching it ends the run while other branches still run`}},
		{"what nodes say", func(w *workflow.Workflow) {
			n := second(w)
			n.Name, n.Retry, n.Timeout, n.OnError, n.Recovery = "Other", &workflow.Retry{MaxRetries: 2},
				workflow.Duration(time.Minute), "handler", true
			n.Agent.Prompt.Mode, n.Agent.Routing = workflow.PromptContext, &workflow.Routing{}
			n.Notes = []workflow.Note{{Text: "careful"}}
		}, []string{
			`node "second": 2 retries`, `node "second": the timeout of 1m0s`,
			`node "second": the error handler "handler"`, `node "second": that error handlers may go to it`,
			`node "second": that the agent chooses its successor`,
			`node "second": its own name in addition to its agent's, "b"`,
			`node "second": the note "careful"`}},
		{"only the first edge", func(w *workflow.Workflow) {
			w.Nodes[0].First = true
			w.Edges = append(w.Edges, workflow.Edge{From: "first", To: "first"})
		}, []string{`node "first": that only the first edge whose condition holds is taken`}},
		{"approvals", func(w *workflow.Workflow) {
			*second(w) = workflow.Node{ID: "second", Kind: workflow.KindWait, Wait: &workflow.Wait{
				Kind: workflow.WaitApproval, Deadline: workflow.Duration(time.Hour), AutoApprove: true,
			}}
			w.Edges = append(w.Edges, workflow.Edge{From: "second", Port: workflow.PortTimeout, To: "first"},
				workflow.Edge{From: "second", Port: workflow.PortReject, To: "first"})
			w.Agents = w.Agents[:1]
		}, []string{`node "second": that it continues at once`}},
		{"conditions", func(w *workflow.Workflow) {
			*second(w) = workflow.Node{ID: "second", Kind: workflow.KindDecide, Decide: &workflow.Decide{
				Cases: []workflow.Case{
					{Port: "yes", When: workflow.Condition{Language: workflow.LangMatch, Op: "equal", Text: "y"}},
					{Port: "yes", When: workflow.Condition{Language: workflow.LangExpr, Text: "1 == 1"}},
					{Port: "no", When: workflow.Condition{Language: workflow.LangFunc, Func: "f"}}}}}
			w.Edges = append(w.Edges, workflow.Edge{From: "second", Port: "no", To: "first"})
			w.Agents = w.Agents[:1]
		}, []string{
			`node "second": two conditions with the same branch, "yes"`,
			`node "second": the condition that the Go function "f" decides`,
			`node "second": that the step fails where no condition holds`}},
		{"edges", func(w *workflow.Workflow) {
			w.Edges[0].When = &workflow.Condition{Language: workflow.LangMatch, Op: "contains", Text: "x"}
			w.Edges = append(w.Edges, workflow.Edge{From: "second", To: "first", Loop: true},
				workflow.Edge{From: "first", Port: workflow.PortError, To: "second"})
		}, []string{`edge "first" -> "second": the condition contains "x"`,
			`edge "second" -> "first": that its passes are counted`, `edge "first" -> "second": the port "error"`}},
		{"agents", func(w *workflow.Workflow) {
			temperature := 0.5
			w.Agents[1] = workflow.Agent{
				ID: "b", Name: "b", Template: true, Description: "d", Fallbacks: []string{"m"},
				Toolsets: []json.RawMessage{json.RawMessage(`{"type":"think"}`)},
				Output:   &workflow.Output{Schema: json.RawMessage("{}")}, SubagentFailure: workflow.SubagentReports,
				NoProgress: 2,
				Params:     workflow.ModelParams{Temperature: &temperature}, Tools: []string{"subagents"}}
			w.Agents = append(w.Agents, workflow.Agent{ID: "c"})
		}, []string{
			`agent "c": an agent that nothing uses`,
			`agent "b": a system prompt with templates`, `agent "b": that there is no system prompt`,
			`agent "b": that a failed sub-agent is reported to the model`,
			`agent "b": that whitespace around replies are kept`, `agent "b": the text "" for empty replies`,
			`agent "b": a tool with the name "subagents"`}},
		{"unknown agent", func(w *workflow.Workflow) { second(w).Agent.Agent = "x" }, []string{
			`agent "b": an agent that nothing uses`, `node "second": the unknown agent "x"`,
			`node "second": a node of kind agent`}},
		{"tool names of sub-agents", func(w *workflow.Workflow) {
			w.Agents[0].Subagents = []workflow.Subagent{{Agent: "b", Tool: "transfer"}}
		}, []string{`agent "b": the name "transfer" of the tool that asks it`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := chain()
			tt.edit(w)
			text, unsupported := canvas.Write(w)
			var got []string
			for _, u := range unsupported {
				got = append(got, u.String())
			}
			if diff := cmp.Diff(got, tt.want); diff != "" {
				t.Errorf("(-got +want):\n%s", diff)
			}
			// What can be expressed is a valid document.
			if _, diags := read("f", text, canvas.Options{}); diags.HasErrors() {
				t.Errorf("%s\n%s", text, diags.Error())
			}
		})
	}
}

// TestWriteSharedAgents checks that an agent used by several nodes and agents is copied: a
// sub-agent belongs to one parent and to no execution path (S0-50).
func TestWriteSharedAgents(t *testing.T) {
	t.Parallel()
	w := chain()
	w.Nodes[1].Agent.Agent, w.Nodes[1].Name = "a", "a"
	w.Agents[0].Subagents = []workflow.Subagent{{Agent: "b", Tool: "subagent_b_b"}}
	text, unsupported := canvas.Write(w)
	// of its second copy, subagent_b_b_2
	want := []string{`agent "b": the name "subagent_b_b" of the tool that asks it`}
	var got []string
	for _, u := range unsupported {
		got = append(got, u.String())
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	back, diags := read("f", text, canvas.Options{})
	if diags.HasErrors() {
		t.Fatalf("%s\n%s", text, diags.Error())
	}
	var ids []string
	for _, a := range back.Agents {
		ids = append(ids, a.ID)
		for _, s := range a.Subagents {
			ids = append(ids, "  "+s.Agent)
		}
	}
	if diff := cmp.Diff(ids, []string{"first", "  b", "second", "  b_2", "b", "b_2"}); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

func TestDetect(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{"nodes": [], "connections": []}`:                           true,
		`{"connections": 1}`:                                         true,
		`{"nodes": [{"id": "s", "type": "start"}]}`:                  true,
		`{"nodes": [{"id": "s", "type": "agent"}]}`:                  false,
		`{"nodes": [{"id": "s", "type": "start"}], "edges": []}`:     false,
		`{"nodes": [{"id": "s", "type": "start"}], "branches": []}`:  false,
		`{"agents": {}, "workflow": []}`:                             false,
		`[]`:                                                         false,
		"nodes:\n- {id: s, type: start}\nconnections: []\n":          true,
		`{"nodes": "x"}`:                                             false,
		`{"nodes": [{"id": "n", "config": {"agentId": "a"}}, null]}`: false,
	} {
		root, _ := source.Parse("f", []byte(text))
		if got := canvas.Detect(root); got != want {
			t.Errorf("%s: got %t", text, got)
		}
	}
	if canvas.Detect(nil) {
		t.Error("nothing is taken for a canvas document")
	}
}

// TestWrite_SharedSubagents checks that the copies of a sub-agent that many agents share are named
// in proportion to their number.
func TestWrite_SharedSubagents(t *testing.T) { //nolint:paralleltest // it counts allocations
	allocations := func(n int) float64 {
		w := &workflow.Workflow{Entry: "n0", Agents: []workflow.Agent{{ID: "k", Name: "k"}}}
		for i := range n {
			id := fmt.Sprintf("a%d", i)
			w.Agents = append(w.Agents, workflow.Agent{ID: id, Name: id,
				Subagents: []workflow.Subagent{{Agent: "k", Tool: "subagent_k"}}})
			w.Nodes = append(w.Nodes, workflow.Node{ID: fmt.Sprintf("n%d", i), Kind: workflow.KindAgent,
				Agent: &workflow.AgentNode{Agent: id, Prompt: workflow.Prompt{Mode: workflow.PromptTemplate}}})
		}
		return testing.AllocsPerRun(1, func() {
			text, _ := canvas.Write(w)
			if !bytes.Contains(text, fmt.Appendf(nil, "%q", fmt.Sprintf("k_%d", n))) {
				t.Errorf("no copy %d", n)
			}
		})
	}
	if n, double := allocations(500), allocations(1000); double > 2.5*n {
		t.Errorf("%.0f allocations for 500 copies, %.0f for 1,000", n, double)
	}
}
