package hocket_test

import (
	"context"
	"testing"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
)

// TestSignalNameIsNoText checks that a value that no journal can hold fails the attempt that
// produced it and is not an internal error: another attempt may succeed.
func TestSignalNameIsNoText(t *testing.T) {
	t.Parallel()
	e, err := hocket.Open(t.Context(), hocket.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	g := compiled(t, graph.New[state]("t").Start(graph.NewNode("a", graph.TypeTool,
		func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
			if c.Attempt == 1 {
				c.Emit("odd", map[string]any{"\xff": 1})
			}
			return graph.Result[state]{Output: c.Attempt}, nil
		}, graph.NodeOptions{Retry: graph.Retry{Backoff: graph.Zero}})))
	r, err := hocket.Run(t.Context(), e, g, state{})
	if err != nil || r.Status != hocket.StatusCompleted {
		t.Errorf("%+v, %v", r, err)
	}
}
