package workflow_test

import (
	"fmt"

	"github.com/hocket-run/hocket/workflow"
)

// A workflow of one agent whose edge leads nowhere.
func ExampleValidate() {
	w := &workflow.Workflow{
		Entry:  "write",
		Agents: []workflow.Agent{{ID: "writer", Name: "Writer"}},
		Nodes: []workflow.Node{{
			ID: "write", Kind: workflow.KindAgent,
			Agent: &workflow.AgentNode{Agent: "writer", Prompt: workflow.Prompt{Mode: workflow.PromptTemplate}},
		}},
		Edges: []workflow.Edge{{From: "write", To: "wirte"}},
	}
	fmt.Println(workflow.Validate(w).Error())
	// Output:
	// -: error: an edge from "write" leads to "wirte", which does not exist (unknown-node); hint: did you mean "write"?
}

// Two nodes that follow each other forever.
func ExampleLint() {
	w := &workflow.Workflow{
		Entry: "a",
		Nodes: []workflow.Node{{ID: "a", Kind: workflow.KindStart},
			{ID: "b", Kind: workflow.KindFunc, Func: &workflow.FuncNode{Func: "count"}}},
		Edges: []workflow.Edge{{From: "a", To: "b"}, {From: "b", To: "a"}},
	}
	fmt.Println(workflow.Lint(w)[0].Message)
	// Output: cycle a -> b -> a has no limit of its own: only maxSteps ends it
}

func ExamplePrint() {
	fmt.Print(workflow.Print(&workflow.Workflow{
		Entry: "a",
		Nodes: []workflow.Node{{ID: "a", Kind: workflow.KindStart}, {ID: "b", Kind: workflow.KindEnd}},
		Edges: []workflow.Edge{{From: "a", To: "b", Label: "go on"}},
	}))
	// Output:
	// workflow entry=a
	// node a start
	// node b end
	// edge a -> b label="go on"
}

// Equal definitions have equal digests; positions in the document are not part of them.
func ExampleWorkflow_Digest() {
	w := &workflow.Workflow{Entry: "a", Nodes: []workflow.Node{{ID: "a", Kind: workflow.KindEnd}},
		Edges: []workflow.Edge{}}
	before, _ := w.Digest()
	w.Source.File = "flow.json"
	after, _ := w.Digest()
	fmt.Println(before == after, len(after))
	// Output: true 64
}
