package graph_test

import (
	"context"
	"fmt"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/graph/compat"
)

// A run has a budget, of which one node may use a part.
func ExampleLimits() {
	type State struct{}
	g, err := graph.New[State]("report").
		Start(graph.Do("write", func(context.Context, *State) error {
			return nil
		}, graph.NodeOptions{Budget: graph.Budget{MaxTokens: 50_000}})).
		Compile(graph.Config{Limits: graph.Limits{Budget: graph.Budget{MaxTokens: 200_000, MaxCalls: 100},
			OnBudget: graph.OnBudgetPause}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(g.Workflow().Limits.MaxTokens, g.Workflow().Limits.OnBudget, g.Workflow().Nodes[0].Budget.MaxTokens)

	_, err = graph.New[State]("report").Start(compat.WaitNode[State]("ask", "Go on?")).Compile(
		graph.Config{Limits: graph.Limits{Budget: graph.Budget{MaxTokens: -1}}})
	fmt.Println(err != nil)
	// Output:
	// 200000 pause 50000
	// true
}
