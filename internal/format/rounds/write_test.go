package rounds_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/format/rounds"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// talk returns a workflow that a rounds document can express completely.
func talk() *workflow.Workflow {
	node := func(id, agent string) workflow.Node {
		return workflow.Node{ID: id, Kind: workflow.KindAgent, Name: agent, Agent: &workflow.AgentNode{
			Agent: agent, Prompt: workflow.Prompt{Mode: workflow.PromptTurns, Text: "Your turn."},
		}}
	}
	return &workflow.Workflow{
		ID: "w", Name: "Talk", Entry: "a", Nodes: []workflow.Node{node("b", "y"), node("a", "x")},
		Limits: workflow.Limits{MaxRounds: 2},
		Edges:  []workflow.Edge{{From: "a", To: "b"}, {From: "b", To: "a"}},
		Agents: []workflow.Agent{{ID: "x", System: "You are <x>."}, {ID: "y", Tools: []string{"search"}}},
	}
}

const talkText = `{
  "id": "w",
  "name": "Talk",
  "turnInstruction": "Your turn.",
  "nodes": [
    {
      "id": "a",
      "type": "agent",
      "config": {
        "agentId": "x"
      }
    },
    {
      "id": "b",
      "type": "agent",
      "config": {
        "agentId": "y"
      }
    }
  ],
  "edges": [
    {
      "from": "a",
      "to": "b"
    },
    {
      "from": "b",
      "to": "a"
    }
  ],
  "maxRounds": 2,
  "agents": [
    {
      "id": "x",
      "systemPrompt": "You are <x>."
    },
    {
      "id": "y",
      "tools": [
        "search"
      ]
    }
  ]
}
`

// TestWrite checks that the entry is written first, since a run starts at the first node of the
// array (S1-2).
func TestWrite(t *testing.T) {
	t.Parallel()
	text, unsupported := rounds.Write(talk())
	if len(unsupported) > 0 {
		t.Errorf("unsupported: %v", unsupported)
	}
	if diff := cmp.Diff(string(text), talkText); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

// TestWrite_Unsupported checks that what a rounds document cannot express is listed, each item
// once, and nothing else.
func TestWrite_Unsupported(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		edit func(w *workflow.Workflow)
		want []string
	}{
		{"the default on failure", func(w *workflow.Workflow) { w.Rules.OnFailure = workflow.FailFast }, nil},
		{"a note of a missing target", func(w *workflow.Workflow) {
			w.Nodes[0].Notes = []workflow.Note{{Text: `Edge target "ghost" not found`, Target: "ghost"}}
		}, nil},
		{"limits and rules", func(w *workflow.Workflow) {
			steps := 7
			w.Limits.MaxSteps, w.Limits.MaxConcurrency, w.Rules = &steps, 2, workflow.Rules{SharedConversation: true}
		}, []string{`workflow: the limits {"maxSteps":7,"maxConcurrency":2}`,
			`workflow: the rules {"sharedConversation":true}`}},
		{"rounds that take more steps than there may be", func(w *workflow.Workflow) { w.Limits.MaxRounds = 600 },
			[]string{"workflow: a limit of 1000 steps: in a rounds document that many rounds may take 1200"}},
		{"flows and providers", func(w *workflow.Workflow) {
			w.Flows, w.Providers = map[string]*workflow.Workflow{"f": {}}, map[string]workflow.Provider{"p": {}}
		}, []string{`workflow: the model provider "p"`, `workflow: the flow "f"`}},
		{"kinds", func(w *workflow.Workflow) {
			w.Nodes = append(w.Nodes, workflow.Node{ID: "end", Kind: workflow.KindEnd})
		}, []string{`node "end": a node of kind end`}},
		{"what nodes say", func(w *workflow.Workflow) {
			n := &w.Nodes[0]
			n.Retry, n.Timeout, n.OnError, n.Recovery, n.Hidden, n.Parent = &workflow.Retry{MaxRetries: 2},
				workflow.Duration(time.Minute), "h", true, true, "f"
			n.Agent.Routing, n.Reads, n.Agent.Prompt.Text = &workflow.Routing{}, []string{"a"}, "Other."
			n.Notes = []workflow.Note{{Text: "careful"}}
			w.Nodes[1].Agent.Prompt.Mode = workflow.PromptShared
		}, []string{
			`node "a": a prompt of mode shared`, `node "b": that the agent chooses its successor`,
			`node "b": 2 retries`, `node "b": the timeout of 1m0s`,
			`node "b": the error handler "h"`, `node "b": that error handlers may go to it`,
			`node "b": that it is hidden`, `node "b": that it is in a branch of "f"`,
			`node "b": that it reads the outputs of other nodes`, `node "b": the note "careful"`}},
		{"instructions that differ", func(w *workflow.Workflow) { w.Nodes[0].Agent.Prompt.Text = "Other." },
			[]string{`node "b": a turn instruction of its own`}},
		{"edges", func(w *workflow.Workflow) {
			w.Edges[0].Port, w.Edges[0].When, w.Edges[0].Loop = "error",
				&workflow.Condition{Language: workflow.LangExpr, Text: "true"}, true
		}, []string{`edge "a" -> "b": the port "error"`, `edge "a" -> "b": a condition`,
			`edge "a" -> "b": that its passes are counted`}},
		{"several edges", func(w *workflow.Workflow) {
			w.Edges = append(w.Edges, workflow.Edge{From: "a", To: "a"}, workflow.Edge{From: "b", To: "b"})
			w.Nodes[0].First = true
		}, []string{`node "a": that more than one edge is followed`, `node "b": edges after the first`}},
		{"a cycle without rounds", func(w *workflow.Workflow) {
			w.Limits.MaxRounds = 0
		}, []string{"workflow: a cycle without a number of rounds"}},
		{"nodes that do not follow each other", func(w *workflow.Workflow) {
			w.Edges = nil
		}, []string{"workflow: that nodes without edges do not follow each other"}},
		{"agents", func(w *workflow.Workflow) {
			temperature := 0.5
			w.Agents[0] = workflow.Agent{
				ID: "x", Template: true, Fallbacks: []string{"m"}, Toolsets: []json.RawMessage{
					json.RawMessage(`{"type":"think"}`),
				}, Output: &workflow.Output{}, MaxTurns: 20,
				NoProgress: 2, Trim: true, EmptyText: "nothing", Subagents: []workflow.Subagent{{Agent: "y"}},
				SubagentFailure: workflow.SubagentReports,
				Params:          workflow.ModelParams{Temperature: &temperature},
			}
			w.Agents = append(w.Agents, workflow.Agent{ID: "z"})
		}, []string{
			`agent "x": a system prompt with templates`, `agent "x": that whitespace around replies are stripped`,
			`agent "x": the text "nothing" for empty replies`, `agent "x": the tool name "" of the sub-agent "y"`,
			`agent "x": the description of the sub-agent "y" as a tool`, `agent "z": an agent that no node names`}},
		{"an agent that is not there", func(w *workflow.Workflow) {
			w.Agents = w.Agents[:1]
		}, []string{`agent "y": that it is not defined`}},
		{"branches", func(w *workflow.Workflow) {
			other := talk()
			other.ID, other.Agents[0].System, other.Branches = "b", "You are another.", []*workflow.Workflow{{}}
			w.Branches, w.Schedules = []*workflow.Workflow{other, nil, {ID: "b"}},
				[]workflow.Schedule{{Mode: workflow.ModeInterval, Spec: "60"}}
		}, []string{
			"workflow: a schedule of the main graph in addition to branches", `branch "b": branches of a branch`,
			`branch "b": agent "x": another definition of the same agent than in a graph before`,
			"workflow: branch 2, which has no id", `workflow: a second branch with the id "b"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := talk()
			tt.edit(w)
			text, unsupported := rounds.Write(w)
			var got []string
			for _, u := range unsupported {
				got = append(got, u.String())
			}
			if diff := cmp.Diff(got, tt.want); diff != "" {
				t.Errorf("(-got +want):\n%s", diff)
			}
			root, diags := source.Parse("f", text)
			if root == nil || diags.HasErrors() {
				t.Errorf("%s\n%s", text, diags.Error())
			}
		})
	}
}
