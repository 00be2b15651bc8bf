package bench

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
)

// counter is the state of the workloads of bench/peers.
type counter struct {
	N int `json:"n"`
}

func nothing(context.Context, *counter) error { return nil }

// counterChain returns a chain of n nodes that do nothing.
func counterChain(n int) *graph.Builder[counter] {
	b := graph.New[counter]("chain")
	for i := range n {
		b.Then(graph.Do(fmt.Sprintf("n%d", i), nothing))
	}
	return b
}

func counterFan(n int) *graph.Builder[counter] {
	b := graph.New[counter]("fan")
	var ids []string
	for i := range n {
		ids = append(ids, fmt.Sprintf("n%d", i))
	}
	b.Parallel(graph.ParallelConfig[counter]{ID: "fan", Branches: ids})
	for _, id := range ids {
		b.Node(graph.Do(id, nothing))
	}
	return b
}

// BenchmarkPeerWork runs the in-memory workloads of bench/peers without the peers: nodes that do
// nothing, or count, in hocket.Run. A step of the loop is a body or a check; the fan-out is
// reported per branch.
func BenchmarkPeerWork(b *testing.B) {
	const passes = 1000
	count := graph.Do("body", func(_ context.Context, s *counter) error {
		s.N++
		return nil
	})
	loop := graph.New[counter]("loop").Loop(graph.LoopConfig[counter]{Until: func(v graph.View[counter]) bool {
		return v.State.N >= passes
	}, MaxIterations: passes + 1}, count)
	for _, bc := range []struct {
		name                string
		b                   *graph.Builder[counter]
		steps, want, atOnce int
	}{
		{"chain of 100", counterChain(chainLength), chainLength, 0, 1},
		{"loop of 2000", loop, 2 * passes, passes, 1},
		{"fan-out of 100", counterFan(fanWidth), fanWidth, 0, 1},
		{"1000 runs of 10", counterChain(10), 10, 0, 1000},
	} {
		b.Run(bc.name, func(b *testing.B) {
			g, err := bc.b.Compile(graph.Config{MaxSteps: 3 * passes})
			if err != nil {
				b.Fatal(err)
			}
			eng, err := hocket.Open(b.Context(), hocket.Config{MaxCalls: 4096})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() {
				if err := eng.Close(); err != nil {
					b.Error(err)
				}
			})
			once := func() {
				if res, err := hocket.Run(b.Context(), eng, g, counter{}); err != nil ||
					res.Status != hocket.StatusCompleted || res.State.N != bc.want {
					b.Errorf("%+v, %v", res, err)
				}
			}
			perStep(b, bc.steps*bc.atOnce, func() {
				if bc.atOnce == 1 {
					once()
					return
				}
				var all sync.WaitGroup
				for range bc.atOnce {
					all.Go(once)
				}
				all.Wait()
			})
		})
	}
}
