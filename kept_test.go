package hocket_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
)

// TestFunctionsMayKeepTheirContexts checks that what a function keeps of its context does not
// change, although its command is reused for the next function.
func TestFunctionsMayKeepTheirContexts(t *testing.T) {
	t.Parallel()
	type state struct{ N int }
	const nodes = 40
	eng := open(t, hocket.Config{})
	var kept []*graph.Context[state]
	b := graph.New[state]("kept")
	for i := range nodes {
		b.Then(graph.NewNode(fmt.Sprintf("n%d", i), graph.TypeTool,
			func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
				kept = append(kept, c)
				c.State.N++
				return graph.Result[state]{Update: &c.State, Output: i}, nil
			}))
	}
	g, err := b.Compile()
	if err != nil {
		t.Fatal(err)
	}
	res, err := hocket.Run(t.Context(), eng, g, state{})
	if err != nil || res.State.N != nodes {
		t.Fatalf("%+v, %v", res, err)
	}
	for i, c := range kept {
		if want := fmt.Sprintf("%s/%d.0.1", res.Snapshot.ExecutionID, i+1); c.NodeID != fmt.Sprintf("n%d", i) ||
			c.Key != want || c.State.N != i+1 {
			t.Fatalf("context %d: node %s, key %s, state %+v; want key %s", i, c.NodeID, c.Key, c.State, want)
		}
		var want []string
		for j := range i {
			want = append(want, fmt.Sprintf("n%d=%d", j, j))
		}
		var got []string
		for node, out := range c.Outputs() {
			got = append(got, node+"="+string(out))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("context %d sees %v, want %v", i, got, want)
		}
	}
}
