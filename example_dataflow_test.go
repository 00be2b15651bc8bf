package hocket_test

import (
	"context"
	"fmt"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/graph/compat"
)

// Review is the state of the example.
type Review struct {
	Text   string `json:"text"`
	Rounds int    `json:"rounds"`
	Strict bool   `json:"strict"`
}

// This example shows the flow of data from the builder to the end of a run: calls collect nodes and
// edges, Compile freezes them, and an executor runs the result, in one go or step by step. Each
// node receives the state and returns its changes; loops and ifs inspect the state in between.
func Example_dataFlow() {
	step := func(id string, fn func(r *Review)) graph.Node[Review] {
		return graph.Do(id, func(_ context.Context, r *Review) error {
			fn(r)
			return nil
		})
	}
	compiled, err := graph.New[Review]("review").
		Start(step("draft", func(r *Review) { r.Text = "words" })).
		Then(step("spell", func(r *Review) { r.Text += "." })).
		Loop(graph.LoopConfig[Review]{Until: func(v graph.View[Review]) bool { return v.State.Rounds == 2 }},
			step("revise", func(r *Review) {
				r.Rounds++
				r.Text = "better " + r.Text
			})).
		If(func(v graph.View[Review]) bool { return v.State.Strict }).
		Then(step("approve", func(r *Review) { r.Text += " (approved)" })).
		EndIf().
		End().
		Compile()
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	engine, err := hocket.Open(ctx, hocket.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer engine.Close()
	executor := compat.NewExecutor(engine, compiled)

	result, err := executor.Run(ctx, Review{Strict: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Status, result.State.Text)

	for s, err := range executor.Stream(ctx, Review{}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(s.Status, s.NodeID, s.State.Text)
	}
	// Output:
	// completed better better words. (approved)
	// running draft words
	// running spell words.
	// running loop_start_1 words.
	// running revise better words.
	// running loop_check_2 better words.
	// running revise better better words.
	// running loop_check_2 better better words.
	// running decision_3 better better words.
	// completed merge_4 better better words.
}
