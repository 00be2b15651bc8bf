package engine_test

import (
	"testing"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

func agents(ids ...string) (out []workflow.Agent) {
	for _, id := range ids {
		out = append(out, workflow.Agent{ID: id, Name: id, System: "you are " + id})
	}
	return out
}

func agentNode(id, agent string) workflow.Node {
	return workflow.Node{ID: id, Kind: workflow.KindAgent, Agent: &workflow.AgentNode{Agent: agent,
		Prompt: workflow.Prompt{Mode: workflow.PromptContext, Text: "Please proceed."}}}
}

func TestSmoke(t *testing.T) {
	w := &workflow.Workflow{
		Entry: "a", Agents: agents("x", "y"),
		Nodes: []workflow.Node{
			agentNode("a", "x"),
			{ID: "p", Kind: workflow.KindFork,
				Fork: &workflow.Fork{Join: "p/join", Branches: []workflow.Branch{{ID: "b"}, {ID: "c"}}}},
			{ID: "b", Parent: "p", Kind: workflow.KindAgent, Agent: agentNode("b", "x").Agent},
			{ID: "c", Parent: "p", Kind: workflow.KindAgent, Agent: agentNode("c", "y").Agent},
			{ID: "p/join", Hidden: true, Kind: workflow.KindJoin, Join: &workflow.Join{Fork: "p"}},
			agentNode("d", "y"),
		},
		Edges: []workflow.Edge{
			{From: "a", To: "p"}, {From: "p", Port: "b", To: "b"}, {From: "p", Port: "c", To: "c"},
			{From: "b", To: "p/join"}, {From: "c", To: "p/join"}, {From: "p/join", To: "d"},
		},
	}
	world := enginetest.New(t, w, nil)
	world.Model = func(c *engine.CallModel) *engine.ModelResult { return enginetest.Reply("from " + c.Node) }
	world.Start("hello")
	world.Go(func(n int) int { return n - 1 })
	t.Logf("%s\n%s", world.Run.Status(), world.Log())
	if world.Run.Status() != event.StatusCompleted {
		t.Fatal("not completed")
	}
}
