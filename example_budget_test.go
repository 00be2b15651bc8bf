package hocket_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
)

// A run exceeds its budget, and continues where it stopped with a larger one.
func ExampleEngine_Reopen() {
	ctx := context.Background()
	model := hocket.ModelFunc(func(_ context.Context, r hocket.ModelRequest) (hocket.ModelReply, error) {
		return hocket.ModelReply{Text: "checked " + r.Messages[0].Text}, nil
	})
	eng, err := hocket.Open(ctx, hocket.Config{}, hocket.WithModel("own", model),
		hocket.WithAgent(hocket.Agent{Name: "checker", Model: "own/m"}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer eng.Close()
	type State struct{}
	g, err := graph.New[State]("check").
		Start(graph.SubagentConfig[State]{ID: "names", Agent: "checker", Task: "names"}).
		Then(graph.SubagentConfig[State]{ID: "dates", Agent: "checker", Task: "dates"}).
		Compile(graph.Config{Limits: graph.Limits{Budget: graph.Budget{MaxCalls: 100}}}) // for each run of the graph
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := hocket.Run(ctx, eng, g, State{},
		hocket.RunOptions{ID: "run-1", Limits: graph.Limits{Budget: graph.Budget{MaxCalls: 1}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	var short *hocket.BudgetError
	fmt.Println(res.Status, errors.As(res.Err, &short), short.Limit, short.Max)

	if err := eng.Reopen(ctx, "run-1", hocket.Limits{MaxCalls: 5}); err != nil {
		fmt.Println(err)
		return
	}
	info, err := eng.Wait(ctx, "run-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(info.Status, info.Usage.ModelCalls, "calls")
	// Output:
	// failed true calls 1
	// completed 2 calls
}
