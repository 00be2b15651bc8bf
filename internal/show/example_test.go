package show_test

import (
	"fmt"

	"github.com/hocket-run/hocket/internal/show"
	"github.com/hocket-run/hocket/workflow"
)

func ExampleTree() {
	agent := func(id string) workflow.Node {
		return workflow.Node{ID: id, Kind: workflow.KindAgent, Agent: &workflow.AgentNode{Agent: id}}
	}
	fmt.Print(show.Tree(&workflow.Workflow{
		Name: "Review", Entry: "write",
		Nodes: []workflow.Node{agent("write"),
			{ID: "ok", Kind: workflow.KindWait, Wait: &workflow.Wait{Kind: workflow.WaitApproval}}, agent("publish")},
		Edges: []workflow.Edge{{From: "write", To: "ok"}, {From: "ok", Port: "reject", To: "write"},
			{From: "ok", Port: "approve", To: "publish"}},
		Agents: []workflow.Agent{{ID: "write", Model: "gpt-5"}, {ID: "publish"}},
	}))
	// Output:
	// Review
	//
	// ■ write  agent · gpt-5
	// │
	// ◐ ok  approval
	// ├─ reject ↺ write
	// ├─ approve ↓
	// │
	// ■ publish  agent
}
